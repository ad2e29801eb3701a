// Recorder for Python: what a program does is written down while one is open.
#include "graph/recording/recorder.h"

#include <pybind11/stl.h>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/graph/op_call.h"
#include "python/initialised.h"
#include "python/issue_site.h"
#include "python/machine/device_object.h"
#include "python/machine/host_object.h"
#include "python/runtime.h"
#include "python/tensor/object.h"
#include "python/tensor/unknown_extents.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

py::object steal(PyObject* object) { return py::reinterpret_steal<py::object>(checked(object)); }

py::object site_object(vm::SiteId id) {
  if (id == 0) return py::none();
  const Site known = site(id);
  return py::make_tuple(known.file, known.line);
}

/// None: that of whoever runs the program.
py::object lane_object(int lane) {
  return lane == kCallersLane ? py::object(py::none()) : py::object(py::int_(lane));
}

class Recording;
thread_local Recording* open_recording = nullptr;

/// The recording that the calling thread sets aside while it collects garbage.
struct SetAside {
  Recording* recording = nullptr;
  Sink* sink = nullptr;
  int lane = 0;
};
thread_local SetAside set_aside;

/// An open recording. While it is entered, calls of the thread that entered it go to the recorder.
/// It is a context of Python: no signal is looked at between its entry and the block, or between
/// the block and its exit, so that Ctrl-C leaves no thread recording.
class Recording {
 public:
  explicit Recording(const std::string& name) : recorder_(runtime().machine, name) {}
  Recording(const Recording&) = delete;
  ~Recording() { leave(); }

  void enter() {
    if (is_entered_) fail(ErrorKind::runtime, "[Recorder] is entered already");
    runtime().machine.note_recording(true);
    outer_ = exchange_sink(&recorder_);
    outer_lane_ = exchange_lane(kCallersLane);
    outer_recording_ = std::exchange(open_recording, this);
    is_entered_ = true;
  }
  /// An exception may keep this object for long: nothing goes on behind it.
  void leave() {
    if (!is_entered_) return;
    exchange_sink(outer_);
    exchange_lane(outer_lane_);
    open_recording = outer_recording_;
    runtime().machine.note_recording(false);
    is_entered_ = false;
  }

  /// The lane that the thread had before all recordings.
  int first_lane() const { return outer_recording_ ? outer_recording_->first_lane() : outer_lane_; }

  py::object parameter(const py::object& x) {
    return steal(wrap(recorder_.parameter(require_tensor(x.ptr(), "parameter"), issuer().site)));
  }
  py::object parameter_of(const py::object& dtype, const py::object& shape,
                          const py::object& strides, const py::object& device) {
    constexpr const char* kOp = "parameter";
    return steal(
        wrap(recorder_.parameter(named_device(device.ptr()), parse_dtype(dtype.ptr(), kOp),
                                 parse_dims(shape.ptr(), kOp), parse_dims(strides.ptr(), kOp))));
  }
  py::list parameters_over(const py::object& memory, const py::list& given) {
    std::vector<Tensor> tensors;
    for (const py::handle& x : given) tensors.push_back(require_tensor(x.ptr(), "parameter"));
    const Tensor& bytes = require_tensor(memory.ptr(), "parameter");
    py::list views;
    for (Tensor& view : recorder_.parameters_over(bytes, tensors, issuer().site)) {
      views.append(steal(wrap(std::move(view))));
    }
    return views;
  }
  int64_t value_of(const py::object& x) {
    return recorder_.value_of(require_tensor(x.ptr(), "value_of"), issuer().site);
  }

  py::object tensor_of(int64_t value) {
    return steal(wrap(recorder_.tensor_of(value, issuer().site)));
  }
  py::object alias_of(const py::object& x) {
    return steal(wrap(recorder_.alias_of(require_tensor(x.ptr(), "alias_of"), issuer().site)));
  }

  /// (value, layout in it), or None.
  py::object find(const py::object& x) const {
    const auto found = recorder_.find(require_tensor(x.ptr(), "find"));
    if (!found) return py::none();
    return py::make_tuple(found->first, py::tuple(py::cast(found->second)));
  }

  py::dict notes() const { return notes_; }

  void place_like(size_t begin, size_t like) { recorder_.place_like(begin, like); }

  py::tuple count() const {
    return py::make_tuple(recorder_.operations().size(), recorder_.values().size());
  }

  py::list values() const {
    py::list list;
    for (const graph::Value& value : recorder_.values()) {
      py::object given = py::none();
      if (value.tensor.storage) given = steal(wrap(Tensor(value.tensor)));
      list.append(py::make_tuple(graph::kOriginNames[static_cast<int>(value.origin)],
                                 dtype_object(value.dtype), tuple_of_dims(value.shape),
                                 tuple_of_dims(value.strides), steal(device_object(value.device)),
                                 given));
    }
    return list;
  }

  /// From the operation `begin` on.
  py::list operations(size_t begin) const {
    py::list list;
    const std::vector<graph::Operation>& all = recorder_.operations();
    for (size_t k = begin; k < all.size(); ++k) {
      const graph::Operation& operation = all[k];
      list.append(py::make_tuple(operation.call, operands_of(operation),
                                 py::tuple(py::cast(operation.targets)),
                                 py::tuple(py::cast(operation.results)),
                                 site_object(operation.site), lane_object(operation.lane)));
    }
    return list;
  }

  py::list written() const {
    py::list list;
    for (const graph::Written& written : recorder_.written()) {
      list.append(py::make_tuple(written.value, written.last));
    }
    return list;
  }

  std::vector<std::pair<int64_t, int64_t>> overlaps() const { return recorder_.overlaps(); }

  py::list held_elsewhere() const {
    py::list list;
    for (const auto& [value, site] : recorder_.held_elsewhere()) {
      list.append(py::make_tuple(value, site_object(site)));
    }
    return list;
  }

 private:
  /// Numbers of values, and (np.dtype, number, slot) for scalars.
  static py::tuple operands_of(const graph::Operation& operation) {
    py::tuple operands(operation.operands.size());
    for (size_t k = 0; k < operation.operands.size(); ++k) {
      const graph::Operand& operand = operation.operands[k];
      if (operand.value != graph::kScalar) {
        operands[k] = operand.value;
        continue;
      }
      const DType dtype = scalar_dtype(operation.call, static_cast<int>(k));
      const auto* bytes = reinterpret_cast<const char*>(operand.scalar.bytes);
      operands[k] =
          py::make_tuple(dtype_object(dtype), steal(to_python(bytes, dtype)), operand.slot);
    }
    return operands;
  }

  graph::Recorder recorder_;
  py::dict notes_;
  Sink* outer_ = nullptr;
  int outer_lane_ = 0;
  Recording* outer_recording_ = nullptr;
  bool is_entered_ = false;
};

/// recording_notes(): those of the recording that the calling thread has entered, or None.
PyObject* notes_function(Arguments) {
  if (!is_recording()) Py_RETURN_NONE;
  return open_recording->notes().release().ptr();
}

/// note_collection(phase, info), of gc.callbacks, which are called by the thread that collects:
/// finalizers are no part of what is recorded, so they work as outside of it. Collections do not
/// nest, and this runs no code of Python, so that none is interrupted between its phases.
PyObject* collection_function(Arguments given) {
  const bool begins = PyUnicode_CompareWithASCIIString(given[0], "start") == 0;
  if (begins && open_recording) {
    const int lane = open_recording->first_lane();
    set_aside = {std::exchange(open_recording, nullptr), exchange_sink(nullptr),
                 exchange_lane(lane)};
  } else if (!begins && set_aside.recording) {
    open_recording = std::exchange(set_aside.recording, nullptr);
    exchange_sink(set_aside.sink);
    exchange_lane(set_aside.lane);
  }
  Py_RETURN_NONE;
}

/// open_recording(): the Recorder that the calling thread has entered, or None.
PyObject* open_recording_function(Arguments) {
  if (!is_recording()) Py_RETURN_NONE;
  return py::cast(open_recording, py::return_value_policy::reference).release().ptr();
}

/// record_source(name, object, dtype, shape, device): what the object makes before each run, a
/// row-major tensor; none of it where the dtype is None.
PyObject* source_function(Arguments given) {
  OpCall call(CallKind::source, intern(name_argument(given[0])));
  call.object = host_object(given[1]);
  call.device = named_device(given[4]);
  const bool has_result = given[2] != Py_None;
  if (has_result) {
    const DType dtype = parse_dtype(given[2], call.name);
    const Dims shape = parse_dims(given[3], call.name);
    call.made.push_back(
        {dtype, shape, contiguous_strides(shape, static_cast<int64_t>(size_of(dtype)))});
  }
  std::vector<Tensor> made = take_source(issuer(), call);
  if (!has_result) Py_RETURN_NONE;
  return wrap(std::move(made[0]));
}

/// refuse_while_recording(op, why): raises TraceError while the calling thread records; None: no
/// reason of its own.
PyObject* refuse_function(Arguments given) {
  if (!is_recording()) Py_RETURN_NONE;
  const char* const op = intern(name_argument(given[0]));
  if (given[1] == Py_None) refuse_while_recording(op);
  refuse_while_recording(op, name_argument(given[1]));
  Py_RETURN_NONE;
}

/// The address is 0 where no other storage is over the memory: it is not looked at then, as an
/// instruction in flight may be about to get the memory.
py::tuple place_of(const py::object& object) {
  const Tensor& x = require_tensor(object.ptr(), "place_of");
  TensorStorage* const storage = x.storage.get();
  const char* const address = storage->is_alone() ? nullptr : storage->data();
  return py::make_tuple(reinterpret_cast<uintptr_t>(storage), x.offset, storage->bytes(),
                        reinterpret_cast<uintptr_t>(address));
}

/// Convolutions have the number of images from an operand, and all else from known extents.
bool kernel_keeps_extents(const std::string& name) {
  const ops::Kernel& row = ops::info(ops::array_kernel(name));
  return row.pattern == ops::Pattern::injective || row.pattern == ops::Pattern::out_fusable ||
         row.placing == ops::Placing::in_place;
}

void bind_recording(py::module_& m) {
  py::class_<Recording>(m, "Recorder", "Writes down what its thread does while it is entered.",
                        initialised<Recording>())
      .def(py::init<const std::string&>(), py::arg("name"))
      .def("__enter__", &Recording::enter)
      .def("__exit__", [](Recording& self, const py::args&) { self.leave(); })
      .def("parameter", &Recording::parameter, py::arg("x"))
      .def("parameter_of", &Recording::parameter_of, py::arg("dtype"), py::arg("shape"),
           py::arg("strides"), py::arg("device"))
      .def("parameters_over", &Recording::parameters_over, py::arg("memory"), py::arg("given"))
      .def("value_of", &Recording::value_of, py::arg("x"))
      .def("find", &Recording::find, py::arg("x"))
      .def("count", &Recording::count)
      .def("tensor_of", &Recording::tensor_of, py::arg("value"))
      .def("alias_of", &Recording::alias_of, py::arg("x"))
      .def("place_like", &Recording::place_like, py::arg("begin"), py::arg("like"))
      .def("notes", &Recording::notes)
      .def("values", &Recording::values)
      .def("operations", &Recording::operations, py::arg("begin") = 0)
      .def("written", &Recording::written)
      .def("overlaps", &Recording::overlaps)
      .def("held_elsewhere", &Recording::held_elsewhere);
}

}  // namespace

void bind_recorder(py::module_& m) {
  bind_op_call(m);
  bind_recording(m);
  m.def(
      "type_code",
      [](const py::object& dtype) {
        return static_cast<int>(ops::code_of(parse_dtype(dtype.ptr(), "type_code")));
      },
      py::arg("dtype"), "The number of a dtype in OpCall.codes and in the attr of views.");
  m.def(
      "set_unknown_extents",
      [](const py::function& shape_of, const py::function& strides_of, const py::function& note_key,
         const py::type& kind) {
        set_unknown_extents(shape_of.ptr(), strides_of.ptr(), note_key.ptr(), kind.ptr());
      },
      py::arg("shape_of"), py::arg("strides_of"), py::arg("note_key"), py::arg("kind"),
      "Sets who tells the shape and the strides of tensors without values, who is told of keys, "
      "and the type of unknown extents.");
  py::tuple kinds(kCallKinds);
  for (int kind = 0; kind < kCallKinds; ++kind) kinds[kind] = kCallKindNames[kind];
  m.attr("CALL_KINDS") = kinds;
  m.attr("ALIAS") = graph::Recorder::kAlias;
  m.attr("WEAK_CODES") =
      py::make_tuple(static_cast<int>(ops::kWeakInt), static_cast<int>(ops::kWeakFloat),
                     static_cast<int>(ops::kWeakComplex));
  static PyMethodDef often[] = {positional<refuse_function, 2>("refuse_while_recording"),
                                positional<notes_function, 0>("recording_notes"),
                                positional<open_recording_function, 0>("open_recording"),
                                positional<source_function, 5>("record_source"),
                                positional<collection_function, 2>("note_collection"),
                                {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(m.ptr(), often) < 0) throw PythonErrorSet{};
  m.def(
      "place_of", &place_of, py::arg("x"),
      "Of a tensor: what names its storage, the byte of its first element there, the bytes of the "
      "storage, and its address (0: there is none yet).");
  m.def("kernel_keeps_extents", &kernel_keeps_extents, py::arg("name"),
        "Whether each extent of the kernel's results is one of an operand, or does not depend on "
        "unknown ones; of one that writes into targets, elements come from operands.");
  m.def(
      "is_recorded", [] { return runtime().machine.is_recorded(); }, "Whether any thread records.");
  m.def("is_recording", [] { return is_recording(); }, "Whether the calling thread records.");
}

}  // namespace ofl::python
