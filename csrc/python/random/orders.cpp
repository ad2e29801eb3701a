#include "python/random/orders.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "python/convert.h"
#include "python/random/distributions.h"
#include "python/runtime.h"
#include "tensor/index/elements.h"

namespace ofl::python {

namespace {

constexpr int64_t kFewBytes = 1 << 20;  // a copy takes some percent of the shuffle

/// A copy of a tensor that is small and settled, and has this axis; else null.
PyObject* copy_of_few(const Tensor* x, PyObject* axis) {
  const bool here =
      x && known_axis(axis, x->ndim()) && readable_here(runtime().machine, *x, kFewBytes);
  return here ? array_of(*x) : nullptr;
}

/// The axis that all have but 0-d ones.
PyObject* first_axis() {
  static PyObject* const first = checked(PyLong_FromLong(0));
  return first;
}

/// NumPy's method takes `count` arguments: x, and the axis.
PyObject* permutation_along(const Call& call, PyObject* axis, PyObject* device, int count) {
  static PyObject* const name = method_name("permutation");
  if (is_recording() || device != Py_None) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
  const Reference copy(copy_of_few(x, axis));
  if (!copy.get() && !known_integer(call[1])) return nullptr;
  PyObject* const given[2] = {copy.get() ? copy.get() : call[1], axis};
  const Reference order(draw_numbers(call[0], name, given, count));
  return wrap(from_array(as_array(order), x ? x->device() : default_device()));
}

using Interval = uint64_t (*)(bitgen_t*, uint64_t);

/// NumPy's function that draws from [0, a number]; null where it has none.
Interval interval_function() {
  static Interval draw = nullptr;  // the GIL guards it
  if (!draw) draw = reinterpret_cast<Interval>(numpy_function("random_interval"));
  return draw;
}

/// The elements in random order, as a RandomState shuffles them.
template <typename Element>
void shuffle_elements(bitgen_t* bits, void* memory, int64_t count) {
  auto* const elements = static_cast<Element*>(memory);
  const Interval draw = interval_function();
  for (int64_t i = count - 1; i > 0; --i) std::swap(elements[i], elements[draw(bits, i)]);
}

/// The caller has the lock of the bits. False for other sizes of elements.
bool shuffle_memory(bitgen_t* bits, void* memory, DType dtype, int64_t count) {
  switch (size_of(dtype)) {
    case 1: shuffle_elements<uint8_t>(bits, memory, count); return true;
    case 2: shuffle_elements<uint16_t>(bits, memory, count); return true;
    case 4: shuffle_elements<uint32_t>(bits, memory, count); return true;
    case 8: shuffle_elements<uint64_t>(bits, memory, count); return true;
    default: return false;
  }
}

/// A row of few elements whose memory this thread may read.
const Tensor* row_here(PyObject* object) {
  const Tensor* const x = tensor_or_null(object);
  const bool here = x && x->ndim() == 1 && x->size() > 0 && interval_function() &&
                    readable_here(runtime().machine, *x, kFewBytes);
  return here ? x : nullptr;
}

/// A copy of the row in random order; null for all else.
PyObject* permuted_here(PyObject* generator, PyObject* row) {
  const Tensor* const x = row_here(row);
  if (!x) return nullptr;
  Reference made(wrap(from_host(issuer(), x->address(), x->dtype, x->shape, x->device())));
  const Tensor& order = tensor_of(made.get());
  if (!readable_here(runtime().machine, order, kFewBytes)) return nullptr;
  const Source source(generator);
  const Holding holding(source.bits().lock);
  const bool done =
      shuffle_memory(source.bits().generator, order.address(), order.dtype, order.size());
  return done ? made.release() : nullptr;
}

/// Shuffles the row; false for all else.
bool shuffled_here(PyObject* generator, PyObject* row) {
  if (!row_here(row)) return false;
  const Source source(generator);
  const Holding holding(source.bits().lock);
  const Tensor* const x = row_here(row);  // other threads may have run while this one waited
  return x && x->storage->writable() &&
         shuffle_memory(source.bits().generator, x->address(), x->dtype, x->size());
}

/// NumPy's method takes `count` arguments: x, and the axis.
PyObject* shuffle_along(const Call& call, PyObject* axis, int count) {
  static PyObject* const name = method_name("shuffle");
  if (is_recording()) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
  const Reference copy(copy_of_few(x, axis));
  if (!copy.get() || !x->storage->writable() || x->size() == 0) return nullptr;
  PyObject* const given[2] = {copy.get(), axis};
  Py_DECREF(draw_numbers(call[0], name, given, count));
  if (readable_here(runtime().machine, *x, kFewBytes)) {
    const auto bytes = static_cast<size_t>(x->size()) * size_of(x->dtype);
    std::memcpy(x->address(), PyArray_DATA(as_array(copy)), bytes);
    Py_RETURN_NONE;
  }
  assign(issuer(), *x, from_array(as_array(copy), x->device()), "shuffle");
  Py_RETURN_NONE;
}

}  // namespace

/// permutation(self, x, axis, device)
PyObject* permutation_path(const Call& call) {
  return permutation_along(call, call[2], call[3], 2);
}

/// permuted(self, x, axis, device)
PyObject* permuted_path(const Call& call) {
  static PyObject* const name = method_name("permuted");
  static PyObject* const names = checked(Py_BuildValue("(s)", "axis"));
  if (is_recording() || call[3] != Py_None) return nullptr;
  const Tensor* const x = tensor_or_null(call[1]);
  if (x && call[2] == Py_None && !x->contiguous()) return nullptr;
  const Reference copy(copy_of_few(x, call[2] == Py_None ? first_axis() : call[2]));
  if (!copy.get()) return nullptr;
  const Source source(call[0]);
  const Reference method(checked(PyObject_GetAttr(source.numpys(), name)));
  PyObject* const given[2] = {copy.get(), call[2]};
  const Reference order(checked(PyObject_Vectorcall(method.get(), given, 1, names)));
  return wrap(from_array(as_array(order), x->device()));
}

/// shuffle(self, x, axis)
PyObject* shuffle_path(const Call& call) { return shuffle_along(call, call[2], 2); }

/// permutation(self, x, device)
PyObject* legacy_permutation_path(const Call& call) {
  if (is_recording() || call[2] != Py_None) return nullptr;
  PyObject* const made = permuted_here(call[0], call[1]);
  if (made) return made;
  return permutation_along(call, first_axis(), call[2], 1);
}

/// shuffle(self, x)
PyObject* legacy_shuffle_path(const Call& call) {
  if (!is_recording() && shuffled_here(call[0], call[1])) Py_RETURN_NONE;
  return shuffle_along(call, first_axis(), 1);
}

}  // namespace ofl::python
