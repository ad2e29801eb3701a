#include "python/errors.h"

#include "python/gil.h"
#include "python/issue_site.h"
#include "vm/dependence.h"

namespace ofl::python {

namespace {

/// The exception class `name` of a module, for good. Not by PyImport_ImportModule, which calls the
/// __import__ of the frame that runs: a program may have none, and this is called while an error is
/// on its way, where nothing else can be raised.
PyObject* error_type(const char* module_name, const char* name) {
  const Reference names(checked(Py_BuildValue("(s)", name)));  // else it is the outermost package
  const Reference module(
      checked(PyImport_ImportModuleLevel(module_name, nullptr, nullptr, names.get(), 0)));
  return checked(PyObject_GetAttrString(module.get(), name));
}

PyObject* linear_algebra_error_type() {
  static PyObject* type = error_type("numpy.linalg", "LinAlgError");
  return type;
}

PyObject* cancelled_error_type() {
  static PyObject* type = error_type("concurrent.futures", "CancelledError");
  return type;
}

PyObject* axis_error_type() {
  static PyObject* type = error_type("numpy.exceptions", "AxisError");
  return type;
}

PyObject* exception_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::value: return PyExc_ValueError;
    case ErrorKind::type: return PyExc_TypeError;
    case ErrorKind::index: return PyExc_IndexError;
    case ErrorKind::axis: return axis_error_type();
    case ErrorKind::overflow: return PyExc_OverflowError;
    case ErrorKind::floating_point: return PyExc_FloatingPointError;
    case ErrorKind::out_of_memory: return out_of_memory_type();
    case ErrorKind::linear_algebra: return linear_algebra_error_type();
    case ErrorKind::buffer: return PyExc_BufferError;
    case ErrorKind::recording: return recording_error_type();
    case ErrorKind::cancelled: return cancelled_error_type();
    case ErrorKind::rank: return rank_error_type();
    case ErrorKind::desync: return desync_error_type();
    case ErrorKind::runtime:
    case ErrorKind::interrupted:
    case ErrorKind::foreign: break;
  }
  return PyExc_RuntimeError;
}

/// One name for all calls: CPython's cache of attributes keeps up to 4,096 names that are looked
/// up, so a new string at each look would grow the process.
PyObject* notes_name() {
  static PyObject* const name = checked(PyUnicode_InternFromString("__notes__"));
  return name;
}

/// A new reference, or null without an error.
PyObject* notes_of(PyObject* exception) {
  PyObject* notes = PyObject_GetAttr(exception, notes_name());
  if (!notes) PyErr_Clear();
  return notes;
}

/// An empty list of notes, whatever a __setattr__ of its class says (that of a frozen dataclass
/// refuses all).
PyObject* give_notes(PyObject* exception) {
  PyObject* notes = PyList_New(0);
  if (!notes || PyObject_GenericSetAttr(exception, notes_name(), notes) < 0) PyErr_Clear();
  return notes;
}

/// Adds a note that is not there yet. BaseException.add_note would set the attribute by the class.
void add_note(PyObject* exception, const std::string& text) {
  PyObject* note = PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  PyObject* notes = note ? notes_of(exception) : nullptr;
  if (note && !notes) notes = give_notes(exception);
  const int found = notes ? PySequence_Contains(notes, note) : -1;
  if (found == 0) PyList_Append(notes, note);
  if (PyErr_Occurred()) PyErr_Clear();  // no memory, or notes that are no list: it has none
  Py_XDECREF(notes);
  Py_XDECREF(note);
}

PyObject* exception_maker = nullptr;

/// The exception of a failed operation is raised at each look. One object for all looks would grow
/// its traceback with each, and keep the frames of all. So each look gets a new exception like the
/// original, which is its cause. Where no such exception can be made, the original is raised.
PyObject* made_again(PyObject* original) {
  PyObject* made = exception_maker ? PyObject_CallOneArg(exception_maker, original) : nullptr;
  if (made && PyExceptionInstance_Check(made)) {
    PyException_SetCause(made, Py_NewRef(original));
    return made;
  }
  PyErr_Clear();
  Py_XDECREF(made);
  return Py_NewRef(original);
}

PyObject* make_exception(const Error& error, bool of_operation) {
  if (error.payload()) {
    PyObject* original = static_cast<PyObject*>(error.payload().get());
    return of_operation ? made_again(original) : Py_NewRef(original);
  }
  return PyObject_CallFunction(exception_type(error.kind()), "s", error.what());
}

/// A frame with a generator or a coroutine belongs to one that has not ended; clear() would end it.
void clear_frame(PyFrameObject* frame) {
  const Reference generator(PyFrame_GetGenerator(frame));
  if (generator.get()) return;
  const Reference done(PyObject_CallMethod(reinterpret_cast<PyObject*>(frame), "clear", nullptr));
  if (!done.get()) PyErr_Clear();  // it runs
}

/// Variables of finished frames may lead back to what keeps this exception alive, through C++,
/// where the garbage collector cannot see the cycle.
void clear_frames(PyObject* traceback) {
  Reference entry(Py_NewRef(traceback));
  while (entry.get() && PyTraceBack_Check(entry.get())) {
    const auto* one = reinterpret_cast<PyTracebackObject*>(entry.get());
    clear_frame(one->tb_frame);
    entry = Reference(Py_XNewRef(reinterpret_cast<PyObject*>(one->tb_next)));
  }
}

}  // namespace

PyObject* out_of_memory_type() {
  static PyObject* type = PyErr_NewExceptionWithDoc(
      "oneflow_lite.OutOfMemoryError",
      "A device has no memory left for a result, even after caches were released.",
      PyExc_MemoryError, nullptr);
  return type;
}

PyObject* recording_error_type() {
  static PyObject* type = PyErr_NewExceptionWithDoc(
      "oneflow_lite.graph.TraceError",
      "What a function does cannot be recorded, or a tensor of a recording is used after it.",
      PyExc_RuntimeError, nullptr);
  return type;
}

PyObject* rank_error_type() {
  static PyObject* type = PyErr_NewExceptionWithDoc(
      "oneflow_lite.distributed.RankError",
      "Another rank has failed, or is gone: what this rank needs from it does not come.",
      PyExc_RuntimeError, nullptr);
  return type;
}

PyObject* desync_error_type() {
  static PyObject* type = PyErr_NewExceptionWithDoc(
      "oneflow_lite.distributed.DesyncError",
      "Ranks do not do the same; says what each of them does, and in which line.",
      PyExc_RuntimeError, nullptr);
  return type;
}

void set_exception_maker(PyObject* again) { exception_maker = Py_NewRef(again); }

PyObject* python_exception(const Error& error) {
  const auto* failed = dynamic_cast<const vm::OperationError*>(&error);
  const std::string note =
      failed ? failed->op + ": issued at " + format_site(failed->site) : std::string();
  PyObject* exception = make_exception(error, failed != nullptr);
  if (exception && failed) add_note(exception, note);
  return exception;
}

void set_python_error(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  if (!known) {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    PyErr_SetString(memory ? PyExc_MemoryError : PyExc_RuntimeError, error.what());
    return;
  }
  PyObject* exception = python_exception(*known);
  if (!exception) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
}

Error take_python_error(const std::string& prefix) {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "failed without an exception");
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) {
    PyException_SetTraceback(value, traceback);
    clear_frames(traceback);
  }
  PyObject* text = PyObject_Str(value);
  const char* message = text ? PyUnicode_AsUTF8(text) : nullptr;
  const std::string what = prefix + (message ? message : "unprintable exception");
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return Error(ErrorKind::foreign, what, keep_object(value));
}

}  // namespace ofl::python
