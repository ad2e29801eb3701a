#include "python/distributed/global_object.h"

#include <structmember.h>

#include <iterator>
#include <new>
#include <utility>

#include "distributed/boxing/buckets.h"
#include "ep/registry.h"
#include "python/arguments.h"
#include "python/convert.h"
#include "python/runtime.h"
#include "python/tensor/type.h"

namespace ofl::python {

PyTypeObject* global_type = nullptr;

namespace {

using distributed::Layout;
using distributed::Member;
using distributed::Placement;

void global_dealloc(PyObject* self) {
  auto* object = reinterpret_cast<GlobalObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (object->weakrefs) PyObject_ClearWeakRefs(self);
  Py_XDECREF(object->part);
  object->tensor.~GlobalTensor();
  type->tp_free(self);
  Py_DECREF(type);
}

template <typename Make>
PyObject* get(PyObject* self, const Make& make) {
  return guarded<PyObject*>(nullptr, [&] { return make(global_of(self)); });
}

PyObject* get_shape(PyObject* self, void*) {
  return get(self, [](const GlobalTensor& x) { return dims_tuple(x.layout->shape()); });
}
PyObject* get_dtype(PyObject* self, void*) {
  return get(self, [](const GlobalTensor& x) {
    return Py_NewRef(reinterpret_cast<PyObject*>(descr_of(x.part.dtype)));
  });
}
PyObject* get_ndim(PyObject* self, void*) {
  return get(self, [](const GlobalTensor& x) { return PyLong_FromLong(x.layout->shape().size()); });
}
PyObject* get_size(PyObject* self, void*) {
  return get(self, [](const GlobalTensor& x) {
    return PyLong_FromLongLong(element_count(x.layout->shape()));
  });
}

PyObject* global_part(PyObject* self, PyObject*) {
  return get(self, [](const GlobalTensor& x) { return part_object(x); });
}

PyObject* global_is_here(PyObject* self, PyObject*) {
  return PyBool_FromLong(global_of(self).is_here());
}

Py_ssize_t global_length(PyObject* self) {
  return guarded<Py_ssize_t>(-1, [&]() -> Py_ssize_t {
    const Dims& shape = global_of(self).layout->shape();
    if (shape.empty()) fail(ErrorKind::type, "len() of a 0-d tensor");
    return shape[0];
  });
}

constexpr char kDoc[] =
    "A tensor of many ranks; this rank holds a part of it.\n\n"
    "Made by ``to_global`` of a tensor. It has ``shape``, ``dtype``, ``layout``, ``placement``\n"
    "and ``sbp`` of the whole. Operators work on the parts; what has to move first, moves. Only a\n"
    "tensor that every rank has all of can be looked at: ``full()`` makes one.\n\n"
    "Examples\n--------\n"
    ">>> ranks = flow.distributed.placement(\"cpu\", ranks=[0])\n"
    ">>> x = flow.tensor([1.0, 2.0]).to_global(ranks, flow.distributed.sbp.split(0))\n"
    ">>> (x + 1).full().tolist()\n"
    "[2.0, 3.0]";

PyGetSetDef getset[] = {
    {"shape", get_shape, nullptr, "Sizes of the dimensions of the whole tensor.", nullptr},
    {"dtype", get_dtype, nullptr, "Type of the elements.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"size", get_size, nullptr, "Number of elements of the whole tensor.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"_part", global_part, METH_NOARGS, "This rank's part; without elements outside."},
    {"_is_here", global_is_here, METH_NOARGS, "Whether this rank is in its placement."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(GlobalObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

constexpr char kNoGlobalTensors[] =
    "programs have no global tensors; do it outside: call the function without jit or grad, or "
    "take this rank's part before it, x.to_local()";

/// This rank may issue what gives its tensor another layout.
void require_own(const GlobalTensor& x, const Layout& to, const char* op) {
  refuse_while_recording(op, kNoGlobalTensors);
  if (Member::current() != x.member) {
    fail(ErrorKind::runtime, "[", op, "] the tensor belongs to rank ", x.member->rank(),
         " of another thread; each rank issues what communicates from one thread");
  }
  x.member->require_in_world(to.placement());
  distributed::require_values(to.sbps(), x.part.dtype, op);
}

}  // namespace

Device home_of(const Member& member, const Placement& placement) {
  return member.device(placement.type(), ep::backend_of(placement.type()).count());
}

const GlobalTensor& require_global(PyObject* object, const char* op) {
  if (!is_global(object)) {
    fail(ErrorKind::type, "[", op, "] expected a GlobalTensor, got ", Py_TYPE(object)->tp_name);
  }
  return global_of(object);
}

PyObject* wrap_global(GlobalTensor&& tensor, PyObject* part) {
  Reference own(part);
  auto* object = PyObject_New(GlobalObject, global_type);
  if (!object) throw PythonErrorSet{};
  object->weakrefs = nullptr;
  object->part = own.release();
  new (&object->tensor) GlobalTensor(std::move(tensor));
  return reinterpret_cast<PyObject*>(object);
}

PyObject* part_object(const GlobalTensor& x) {
  if (x.part.is_held()) return wrap(Tensor(x.part.tensor));
  return wrap(empty(issuer(), Device{}, x.part.dtype, Dims{0}));
}

PyObject* kept_part(PyObject* object) {
  auto* const own = reinterpret_cast<GlobalObject*>(object);
  if (!own->part) own->part = part_object(own->tensor);
  return own->part;
}

GlobalTensor boxed(const GlobalTensor& x, const Layout& to, const char* op) {
  if (x.layout == &to) return x;
  require_own(x, to, op);
  const Device home = home_of(*x.member, to.placement());
  return {&to, distributed::box(issuer(), *x.member, *x.layout, to, home, x.part), x.member};
}

std::vector<GlobalTensor> boxed_all(const std::vector<const GlobalTensor*>& tensors,
                                    const std::vector<const Layout*>& to, const char* op) {
  std::vector<distributed::Change> changes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const GlobalTensor& x = *tensors[i];
    require_own(x, *to[i], op);
    changes.push_back({x.layout, to[i], home_of(*x.member, to[i]->placement()), x.part});
  }
  std::vector<GlobalTensor> results;
  if (tensors.empty()) return results;
  const std::shared_ptr<Member>& member = tensors[0]->member;
  std::vector<distributed::Part> parts = distributed::box_all(issuer(), *member, changes);
  for (size_t i = 0; i < parts.size(); ++i) results.push_back({to[i], std::move(parts[i]), member});
  return results;
}

GlobalTensor assembled(const Tensor& local, const Placement& placement,
                       const distributed::Sbps& sbps, const std::string& caller) {
  refuse_while_recording("to_global", kNoGlobalTensors);
  const std::shared_ptr<Member> member = Member::current();
  const Device home = home_of(*member, placement);
  distributed::Whole whole =
      distributed::assemble(issuer(), *member, placement, sbps, home, local, caller);
  return {whole.layout, std::move(whole.part), member};
}

void init_global_type(PyObject* module) {
  std::vector<PyType_Slot> slots = global_number_slots();
  const PyType_Slot others[] = {{Py_tp_doc, const_cast<char*>(kDoc)},
                                {Py_tp_dealloc, slot_pointer(global_dealloc)},
                                {Py_tp_richcompare, slot_pointer(global_richcompare)},
                                {Py_tp_hash, slot_pointer(PyObject_HashNotImplemented)},
                                {Py_mp_length, slot_pointer(global_length)},
                                {Py_tp_methods, methods},
                                {Py_tp_members, members},
                                {Py_tp_getset, getset},
                                {0, nullptr}};
  slots.insert(slots.end(), std::begin(others), std::end(others));
  PyType_Spec spec = {"oneflow_lite._C.GlobalTensor", sizeof(GlobalObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots.data()};
  global_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  if (PyModule_AddObjectRef(module, "GlobalTensor", reinterpret_cast<PyObject*>(global_type)) < 0) {
    throw PythonErrorSet{};
  }
  serve_rows();
}

}  // namespace ofl::python
