// Native paths of functions on elements: casts, take, sorts, partitions, bits.
#include "python/convert.h"
#include "python/native/signature.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/layout.h"
#include "tensor/submit.h"

namespace ofl::python {

namespace {

PyObject* astype(const Operand& x, const Given& dtype, const Given& copy, const Given& device) {
  const Reference cast(cast_tensor(x.object(), parse_dtype(dtype, "astype"), truth(copy)));
  return move_tensor(cast.get(), device_or(device, tensor_of(cast.get()).device()), false);
}

/// sort(x, axis, kind, descending, stable)
PyObject* sort_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int> axis = x ? known_axis(call[1], x->ndim()) : std::nullopt;
  if (!axis || !is_flag(call[3]) || call[2] != Py_None) return nullptr;
  return sort_tensor(*x, *axis, call[3] == Py_True, call[4] != Py_False);
}

/// argsort(x, axis, kind, descending, stable)
PyObject* argsort_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int> axis = x ? known_axis(call[1], x->ndim()) : std::nullopt;
  if (!axis || !is_flag(call[3]) || call[2] != Py_None) return nullptr;
  return argsort_tensor(*x, *axis, call[3] == Py_True);
}

/// take(x, indices, axis, mode)
PyObject* take_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || !PyUnicode_CheckExact(call[3])) return nullptr;
  if (PyUnicode_CompareWithASCIIString(call[3], "raise") != 0) return nullptr;
  const bool flat = call[2] == Py_None && x->ndim() == 1;
  const std::optional<int> axis = flat ? 0 : known_axis(call[2], x->ndim());
  if (!axis) return nullptr;
  return take_along(*x, call[1], *axis, ops::OutOfRange::raise, "take");
}

/// partition(x, kth, axis, kind) and argpartition(), of one place
template <auto partition>
PyObject* partition_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int> axis = x ? known_axis(call[2], x->ndim()) : std::nullopt;
  const std::optional<int64_t> place = known_integer(call[1]);
  if (!axis || !place || !PyUnicode_CheckExact(call[3])) return nullptr;
  const int64_t size = x->shape[*axis];
  const bool is_within = *place >= -size && *place < size;
  if (!is_within || PyUnicode_CompareWithASCIIString(call[3], "introselect") != 0) return nullptr;
  return partition(*x, *axis, *place < 0 ? *place + size : *place);
}

// --- bits

/// The operand of packbits() or unpackbits(), of at least one dimension; its axis, and the order of
/// the bits.
struct Bits {
  Tensor x;
  int axis;
  bool is_little;
};

/// nullopt for what the functions are to find out: arguments that are wrong or of another type,
/// and devices that do not run the kernels of the host.
std::optional<Bits> bits_of(const Tensor* x, PyObject* axis, PyObject* order) {
  if (!x || !PyUnicode_CheckExact(order) || may_have_stand_ins(*x)) return std::nullopt;
  const bool is_little = PyUnicode_CompareWithASCIIString(order, "little") == 0;
  const bool is_big = PyUnicode_CompareWithASCIIString(order, "big") == 0;
  if (!x->storage->state().device.runs_host_kernels() || !(is_little || is_big))
    return std::nullopt;
  const std::optional<int> along = axis == Py_None ? 0 : known_axis(axis, std::max(x->ndim(), 1));
  if (!along) return std::nullopt;
  if (x->ndim() == 1 || (x->ndim() > 0 && axis != Py_None)) return Bits{*x, *along, is_little};
  const Reference flat(reshape_tensor(*x, {x->size()}, Reuse::where_possible));
  return Bits{tensor_of(flat.get()), *along, is_little};
}

/// The result, of an extent along the axis; it is column-major where the operand is.
PyObject* made_of_bits(const char* name, ops::KernelId kernel, const Bits& given, int64_t extent) {
  const Issuer from = issuer();
  const Tensor& x = given.x;
  Dims shape = x.shape;
  shape[given.axis] = extent;
  const bool by_columns = !x.contiguous() && reversed_view(x).contiguous();
  Tensor out = by_columns ? make_as_it_lies(x, DType::u8, shape, from.site)
                          : make_tensor(x.storage->state(), DType::u8, shape, from.site);
  submit(from, {name, kernel, {&x}, {&out}, {given.axis, int64_t{given.is_little}}, {}});
  return wrap(std::move(out));
}

/// packbits(a, axis, bitorder)
PyObject* packbits_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || !(is_integer(x->dtype) || x->dtype == DType::b1)) return nullptr;
  const std::optional<Bits> bits = bits_of(x, call[1], call[2]);
  if (!bits) return nullptr;
  const int64_t extent = (bits->x.shape[bits->axis] + 7) / 8;
  return made_of_bits("packbits", ops::KernelId::pack_bits, *bits, extent);
}

/// unpackbits(a, axis, count, bitorder)
PyObject* unpackbits_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || x->dtype != DType::u8) return nullptr;
  const std::optional<Bits> bits = bits_of(x, call[1], call[3]);
  const std::optional<int64_t> count = call[2] == Py_None ? 0 : known_integer(call[2]);
  if (!bits || !count) return nullptr;
  const int64_t all = 8 * bits->x.shape[bits->axis];
  const int64_t extent = call[2] == Py_None || *count < 0 ? all + *count : *count;
  if (extent < 0) return nullptr;
  return made_of_bits("unpackbits", ops::KernelId::unpack_bits, *bits, extent);
}

}  // namespace

const NativeRow kElementPaths[] = {whole<astype>("astype"),
                                   {"take", take_path},
                                   {"sort", sort_path},
                                   {"argsort", argsort_path},
                                   {"partition", partition_path<partition_tensor>},
                                   {"argpartition", partition_path<argpartition_tensor>},
                                   {"packbits", packbits_path},
                                   {"unpackbits", unpackbits_path},
                                   {nullptr, nullptr}};

}  // namespace ofl::python
