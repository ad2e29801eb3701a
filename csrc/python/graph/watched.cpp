#include "python/graph/watched.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "python/arguments.h"
#include "python/bind.h"
#include "python/graph/call_pattern.h"
#include "python/tensor/object.h"

namespace ofl::python {

namespace {

// Of containers with more items, those at the ends are looked at; of a dict the first ones.
constexpr Py_ssize_t kEnd = 64;
constexpr Py_ssize_t kMostItems = 2 * kEnd;

bool is_array(PyObject* x) { return PyList_Check(x) || PyTuple_Check(x); }

bool is_deque(PyObject* x) {
  static PyObject* const type = [] {
    const Reference module(checked(PyImport_ImportModule("collections")));
    return checked(PyObject_GetAttrString(module.get(), "deque"));
  }();
  return Py_IS_TYPE(x, reinterpret_cast<PyTypeObject*>(type));
}

/// A look for a tensor or a function among what an object refers to. It calls no code of the
/// program and allocates nothing, so that nothing changes meanwhile.
class Look {
 public:
  explicit Look(int64_t* visits) : visits_(visits) {}

  Sort sort_of(PyObject* x) {
    if (is_tensor(x)) return Sort::tensor;
    return at(x) == kFound ? Sort::holder : Sort::plain;
  }

  /// A holder that has grown so much that the look ends too soon is one still.
  bool has_sort(PyObject* x, Sort expected) {
    const Sort sort = sort_of(x);
    return sort == expected || (seen_ > kMostVisits && expected == Sort::holder);
  }

 private:
  static constexpr int kFound = 1;
  static constexpr int kTired = 2;
  static constexpr int kMostVisits = 32;

  static int visit(PyObject* x, void* self) { return static_cast<Look*>(self)->at(x); }

  static bool leads_on(PyObject* x) {
    if (!PyObject_IS_GC(x)) return false;
    const PyTypeObject* const type = Py_TYPE(x);
    // Of a class of the program, or a SimpleNamespace or an exception, say.
    const bool is_object = type->tp_flags & Py_TPFLAGS_HEAPTYPE || type->tp_dictoffset != 0;
    return is_object || is_array(x) || PyDict_Check(x) || is_deque(x);
  }

  int at(PyObject* x) {
    ++*visits_;
    if (++seen_ > kMostVisits) return kTired;
    if (x == Py_None || PyFloat_Check(x) || PyLong_Check(x) || PyUnicode_Check(x)) return 0;
    if (PyType_Check(x) || PyModule_Check(x) || PyWeakref_Check(x)) return 0;
    if (is_tensor(x) || PyCallable_Check(x)) return kFound;
    return leads_on(x) ? Py_TYPE(x)->tp_traverse(x, visit, this) : 0;
  }

  int seen_ = 0;
  int64_t* visits_;
};

Sort sort_of(PyObject* x, int64_t* visits) { return Look(visits).sort_of(x); }

Sort sort_at(PyObject* sequence, Py_ssize_t i, int64_t* visits) {
  if (is_array(sequence)) return sort_of(PySequence_Fast_GET_ITEM(sequence, i), visits);
  return sort_of(Reference(checked(PySequence_GetItem(sequence, i))).get(), visits);
}

Py_ssize_t size_of(PyObject* sequence) {
  return is_array(sequence) ? PySequence_Fast_GET_SIZE(sequence) : PyObject_Size(sequence);
}

/// Without Python code of theirs.
bool is_same_name(PyObject* x, PyObject* known) {
  const bool is_comparable = (PyUnicode_CheckExact(x) && PyUnicode_CheckExact(known)) ||
                             (PyLong_CheckExact(x) && PyLong_CheckExact(known));
  return x == known || (is_comparable && PyObject_RichCompareBool(x, known, Py_EQ) == 1);
}

/// The first keys of an OrderedDict in its own order, by none of a derived class's code.
std::vector<Reference> first_keys(PyObject* dict) {
  const Reference iterator(checked(PyODict_Type.tp_iter(dict)));
  const iternextfunc next = Py_TYPE(iterator.get())->tp_iternext;
  std::vector<Reference> keys;
  while (keys.size() < static_cast<size_t>(kMostItems)) {
    PyObject* const key = next(iterator.get());
    if (!key) break;
    keys.emplace_back(key);
  }
  if (PyErr_Occurred()) throw PythonErrorSet{};
  return keys;
}

template <typename Call>
bool for_items_in_order(PyObject* dict, int64_t* visits, const Call& call) {
  for (const Reference& key : first_keys(dict)) {
    PyObject* const found = PyDict_GetItemWithError(dict, key.get());
    if (!found && PyErr_Occurred()) throw PythonErrorSet{};
    const Reference item(Py_XNewRef(found));
    const Sort sort = found ? sort_of(found, visits) : Sort::plain;
    if (sort != Sort::plain && !call(key.get(), sort)) return false;
  }
  return true;
}

/// Calls with each key and sort of the items that are not plain, until it returns false.
template <typename Call>
bool for_items_of_dict(PyObject* dict, int64_t* visits, const Call& call) {
  if (PyODict_Check(dict)) return for_items_in_order(dict, visits, call);
  Py_ssize_t at = 0;
  PyObject *key, *item;
  for (Py_ssize_t k = 0; k < kMostItems && PyDict_Next(dict, &at, &key, &item); ++k) {
    const Sort sort = sort_of(item, visits);
    if (sort != Sort::plain && !call(key, sort)) return false;
  }
  return true;
}

/// Calls with each place and sort, until it returns false.
template <typename Call>
bool for_items_of_sequence(PyObject* sequence, int64_t* visits, const Call& call) {
  const Py_ssize_t size = size_of(sequence);
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (i == kEnd) i = std::max(i, size - kEnd);
    if (!call(i, sort_at(sequence, i, visits))) return false;
  }
  return true;
}

bool has_items(const Contents& contents, PyObject* dict) {
  size_t k = 0;
  int64_t visits = 0;
  const auto is_next = [&](PyObject* key, Sort sort) {
    if (k == contents.sorts.size() || contents.sorts[k] != sort) return false;
    return is_same_name(key, contents.keys[k++].object);
  };
  return for_items_of_dict(dict, &visits, is_next) && k == contents.sorts.size();
}

bool has_sorts(const Contents& contents, PyObject* sequence) {
  const auto known = static_cast<Py_ssize_t>(contents.sorts.size());
  int64_t visits = 0;
  if (size_of(sequence) < known) return false;
  return for_items_of_sequence(sequence, &visits, [&](Py_ssize_t i, Sort sort) {
    return sort == (i < known ? contents.sorts[static_cast<size_t>(i)] : Sort::plain);
  });
}

bool has_contents(const Contents& contents, PyObject* x) {
  if (contents.is_mapping) return PyDict_Check(x) && has_items(contents, x);
  return (is_array(x) || is_deque(x)) && has_sorts(contents, x);
}

/// Of a method its object and function, of another function itself twice.
std::pair<PyObject*, PyObject*> parts_of(PyObject* x) {
  if (!PyMethod_Check(x)) return {x, x};
  return {PyMethod_GET_SELF(x), PyMethod_GET_FUNCTION(x)};
}

/// A weak reference where there may be one.
Reference weakly(PyObject* x) {
  if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(x)) && !PyCFunction_Check(x)) {
    return Reference(checked(PyWeakref_NewRef(x, nullptr)));
  }
  return Reference(Py_NewRef(x));
}

bool is_held(PyObject* held, PyObject* x) {
  // A builtin function is made anew for each use of a method: C code compares two of them.
  if (PyCFunction_Check(held) && PyCFunction_Check(x)) {
    return PyObject_RichCompareBool(held, x, Py_EQ) == 1;
  }
  if (held == x) return true;
  // A dead reference gives None. The program may have put None there, too.
  return PyWeakref_Check(held) && x != Py_None && PyWeakref_GET_OBJECT(held) == x;
}

bool is_function(const std::vector<Held>& known, PyObject* x) {
  const auto [owner, function] = parts_of(x);
  return is_held(known[0].object, owner) && is_held(known[1].object, function);
}

/// sort_of(x)
PyObject* call_sort_of(Arguments given) {
  int64_t visits = 0;
  return PyLong_FromLong(static_cast<long>(sort_of(given[0], &visits)));
}

/// function_of(x): what "function" watches.
PyObject* call_function_of(Arguments given) {
  const auto [owner, function] = parts_of(given[0]);
  const Reference of_owner = weakly(owner), of_function = weakly(function);
  return checked(PyTuple_Pack(2, of_owner.get(), of_function.get()));
}

PyObject* bytes_of(const std::vector<Sort>& sorts) {
  const auto size = static_cast<Py_ssize_t>(sorts.size());
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(sorts.data()), size);
}

/// contents_of(x): ((keys, sorts), visits) of the items of a mapping that are not plain,
/// ((None, sorts), visits) of a sequence up to the last such item, or None.
PyObject* call_contents_of(Arguments given) {
  PyObject* const x = given[0];
  const bool is_mapping = PyDict_Check(x);
  if (!is_mapping && !is_array(x) && !is_deque(x)) Py_RETURN_NONE;
  std::vector<Sort> sorts;
  std::vector<Reference> keys;
  int64_t visits = 0;
  if (is_mapping) {
    for_items_of_dict(x, &visits, [&](PyObject* key, Sort sort) {
      keys.emplace_back(Py_NewRef(key));
      sorts.push_back(sort);
      return true;
    });
  } else {
    for_items_of_sequence(x, &visits, [&](Py_ssize_t i, Sort sort) {
      if (sort == Sort::plain) return true;
      sorts.resize(static_cast<size_t>(i), Sort::plain);
      sorts.push_back(sort);
      return true;
    });
  }
  // Only now are there objects of Python's made, at which its garbage collector may run.
  const Reference found(checked(bytes_of(sorts)));
  if (!is_mapping) {
    return checked(Py_BuildValue("((OO)L)", Py_None, found.get(), static_cast<long long>(visits)));
  }
  const Reference names(checked(PyTuple_New(static_cast<Py_ssize_t>(keys.size()))));
  for (size_t k = 0; k < keys.size(); ++k) {
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(k), keys[k].release());
  }
  return checked(
      Py_BuildValue("((OO)L)", names.get(), found.get(), static_cast<long long>(visits)));
}

Sort sort_argument(PyObject* number) { return static_cast<Sort>(integer_argument(number)); }

Contents contents_argument(PyObject* row) {
  PyObject* const keys = row_item(row, 0);
  PyObject* const sorts = row_item(row, 1);
  if (!PyBytes_Check(sorts)) refuse_row("bytes");
  const auto* const first = reinterpret_cast<const Sort*>(PyBytes_AS_STRING(sorts));
  Contents contents{keys != Py_None, {first, first + PyBytes_GET_SIZE(sorts)}, {}};
  if (!contents.is_mapping) return contents;
  for_items(keys, [&](PyObject* key) { contents.keys.emplace_back(key); });
  if (contents.keys.size() != contents.sorts.size()) refuse_row("a sort for each key");
  return contents;
}

Step::Kind step_kind(PyObject* text) {
  if (is_text(text, "attribute")) return Step::Kind::attribute;
  if (is_text(text, "item")) return Step::Kind::item;
  if (is_text(text, "cell")) return Step::Kind::cell;
  if (is_text(text, "global")) return Step::Kind::global;
  refuse_row("the kind of a step");
}

/// Steps that begin as others do go on from there.
Step& step_to(std::vector<Step>& steps, PyObject* row) {
  const Step::Kind kind = step_kind(row_item(row, 0));
  PyObject* const key = row_item(row, 1);
  for (Step& step : steps) {
    if (step.kind == kind && is_same(key, step.key.object)) return step;
  }
  steps.push_back({kind, Held(key), {}, {}, {}, {}, {}});
  return steps.back();
}

/// Null where a lookup failed: with any exception, the object is not there.
Reference or_nothing(PyObject* found) {
  if (found) return Reference(found);
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) throw PythonErrorSet{};
  PyErr_Clear();
  return Reference();
}

/// Whether an attribute of a class is code that an object of the class runs to look at its own.
bool runs_code(PyObject* of_class) {
  if (!of_class || !Py_TYPE(of_class)->tp_descr_get) return false;
  return !(PyFunction_Check(of_class) || Py_IS_TYPE(of_class, &PyMemberDescr_Type) ||
           Py_IS_TYPE(of_class, &PyGetSetDescr_Type) || Py_IS_TYPE(of_class, &PyMethodDescr_Type) ||
           Py_IS_TYPE(of_class, &PyWrapperDescr_Type) ||
           Py_IS_TYPE(of_class, &PyStaticMethod_Type) || Py_IS_TYPE(of_class, &PyClassMethod_Type));
}

/// Whether C code finds the attributes of the type's objects in another way than usual: of
/// threading.local, and of proxies.
bool has_own_way(PyTypeObject* type) {
  static PyObject* const names[] = {PyUnicode_InternFromString("__getattr__"),
                                    PyUnicode_InternFromString("__getattribute__")};
  if (type->tp_getattro == PyObject_GenericGetAttr) return false;
  if (PyType_IsSubtype(type, &PyModule_Type)) return false;
  return std::none_of(std::begin(names), std::end(names), [&](PyObject* name) {
    PyObject* const found = _PyType_Lookup(type, name);
    return found && PyFunction_Check(found);
  });
}

/// An attribute from an object's __dict__, its slots or its classes. None of their code is called:
/// properties and __getattr__ are passed over.
Reference attribute_or_nothing(PyObject* holder, PyObject* key) {
  if (PyType_Check(holder)) {
    if (runs_code(_PyType_Lookup(Py_TYPE(holder), key))) return Reference();
    PyObject* const found = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(holder), key);
    if (runs_code(found)) return Reference(Py_NewRef(found));
    return or_nothing(PyType_Type.tp_getattro(holder, key));
  }
  PyObject* const of_class = _PyType_Lookup(Py_TYPE(holder), key);
  if (has_own_way(Py_TYPE(holder))) return or_nothing(PyObject_GetAttr(holder, key));
  if (!runs_code(of_class)) {
    return or_nothing(_PyObject_GenericGetAttrWithDict(holder, key, nullptr, 1));
  }
  if (Py_TYPE(of_class)->tp_descr_set) return Reference();
  const Reference own = or_nothing(PyObject_GenericGetDict(holder, nullptr));
  if (!own.get() || !PyDict_Check(own.get())) return Reference();
  return or_nothing(Py_XNewRef(PyDict_GetItemWithError(own.get(), key)));
}

/// Without a call of __getitem__ or __missing__ of a derived class.
Reference item_or_nothing(PyObject* holder, PyObject* key) {
  if (PyDict_Check(holder)) return or_nothing(Py_XNewRef(PyDict_GetItemWithError(holder, key)));
  if (Py_IS_TYPE(holder, &PyDictProxy_Type)) return or_nothing(PyObject_GetItem(holder, key));
  if ((!is_array(holder) && !is_deque(holder)) || !PyLong_CheckExact(key)) return Reference();
  int overflow;
  const auto place = static_cast<Py_ssize_t>(PyLong_AsLongLongAndOverflow(key, &overflow));
  if (overflow || place < 0 || place >= size_of(holder)) return Reference();
  if (!is_array(holder)) return or_nothing(PySequence_GetItem(holder, place));
  return Reference(Py_NewRef(PySequence_Fast_GET_ITEM(holder, place)));
}

Reference taken(const Step& step, PyObject* holder) {
  PyObject* const key = step.key.object;
  if (step.kind == Step::Kind::attribute) return attribute_or_nothing(holder, key);
  if (step.kind == Step::Kind::item) return item_or_nothing(holder, key);
  if (!PyFunction_Check(holder)) return Reference();
  if (step.kind == Step::Kind::global) {
    PyObject* const found = PyDict_GetItemWithError(PyFunction_GET_GLOBALS(holder), key);
    return or_nothing(Py_XNewRef(found));
  }
  PyObject* const closure = PyFunction_GET_CLOSURE(holder);
  const int64_t place = integer_argument(key);
  if (!closure || place >= PyTuple_GET_SIZE(closure)) return Reference();
  return Reference(Py_XNewRef(PyCell_GET(PyTuple_GET_ITEM(closure, place))));
}

bool may_miss(const Step& step) {
  return step.same.empty() && step.function.empty() && step.sort == Sort::plain && !step.contents &&
         step.steps.empty();
}

bool all_there(const std::vector<Step>& steps, PyObject* holder) {
  for (const Step& step : steps) {
    const Reference found = taken(step, holder);
    if (found.get() ? !is_there(step, found.get()) : !may_miss(step)) return false;
  }
  return true;
}

void add_what(Step& step, PyObject* what, PyObject* x) {
  if (is_text(what, "same")) {
    if (step.same.empty()) step.same.emplace_back(x);
  } else if (is_text(what, "function")) {
    step.function.clear();
    for_items(x, [&](PyObject* part) { step.function.emplace_back(part); });
    if (step.function.size() != 2) refuse_row("two parts of a function");
  } else if (is_text(what, "sort")) {
    step.sort = sort_argument(x);
  } else if (is_text(what, "contents")) {
    step.contents = contents_argument(x);
  } else {
    refuse_row("what is watched");
  }
}

/// is_as_seen(what, x, found): whether what is found is what was seen.
PyObject* call_is_as_seen(Arguments given) {
  Step step{Step::Kind::item, Held(Py_None), {}, {}, {}, {}, {}};
  add_what(step, given[0], given[1]);
  return PyBool_FromLong(is_there(step, given[2]));
}

/// taken(kind, key, holder, missing): a step from a holder; missing where it leads nowhere.
PyObject* call_taken(Arguments given) {
  const Step step{step_kind(given[0]), Held(given[1]), {}, {}, {}, {}, {}};
  Reference found = taken(step, given[2]);
  return found.get() ? found.release() : Py_NewRef(given[3]);
}

}  // namespace

void add_watch(std::vector<Step>& steps, PyObject* row) {
  std::vector<Step>* from = &steps;
  Step* last = nullptr;
  for_items(row_item(row, 0), [&](PyObject* step) {
    last = &step_to(*from, step);
    from = &last->steps;
  });
  if (!last) refuse_row("a step");
  add_what(*last, row_item(row, 1), row_item(row, 2));
}

bool is_there(const Step& step, PyObject* found) {
  if (!step.same.empty() && step.same[0].object != found) return false;
  if (!step.function.empty() && !is_function(step.function, found)) return false;
  int64_t visits = 0;
  if (step.sort && !Look(&visits).has_sort(found, *step.sort)) return false;
  if (step.contents && !has_contents(*step.contents, found)) return false;
  return all_there(step.steps, found);
}

int visit_step(const Step& step, visitproc visit, void* arg) {
  Py_VISIT(step.key.object);
  if (const int stopped = visit_all(step.same, visit, arg)) return stopped;
  if (const int stopped = visit_all(step.function, visit, arg)) return stopped;
  if (step.contents) {
    if (const int stopped = visit_all(step.contents->keys, visit, arg)) return stopped;
  }
  for (const Step& next : step.steps) {
    if (const int stopped = visit_step(next, visit, arg)) return stopped;
  }
  return 0;
}

void init_watched(PyObject* module) {
  is_deque(Py_None);  // which imports: a walk over items may not
  static PyMethodDef functions[] = {positional<call_sort_of, 1>("sort_of"),
                                    positional<call_contents_of, 1>("contents_of"),
                                    positional<call_function_of, 1>("function_of"),
                                    positional<call_is_as_seen, 3>("is_as_seen"),
                                    positional<call_taken, 4>("taken"),
                                    {nullptr, nullptr, 0, nullptr}};
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
