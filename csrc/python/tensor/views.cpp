// Views that no other operation gives: any strides within a storage, and bytes as another dtype.
#include <string>
#include <utility>

#include "python/bind.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/alignment.h"

namespace ofl::python {

namespace {

/// Kernels read and write whole numbers of the machine: they take no element across their bounds.
void require_aligned(const Tensor& view, const char* op) {
  const int64_t align = alignment_of(view.device(), view.dtype);
  // The package's own memory begins at a multiple of all of them.
  const bool is_foreign = view.storage->is_foreign();
  const auto begin = is_foreign ? reinterpret_cast<uintptr_t>(view.storage->data()) : 0;
  const bool aligned = is_aligned(view, begin + static_cast<uintptr_t>(view.offset), align);
  if (aligned || view.size() == 0) return;
  const std::string memory = is_foreign ? concat("memory at address ", begin) : "its storage";
  fail(ErrorKind::value, "[", op, "] ", name_of(view.dtype), " begins at multiples of ", align,
       " bytes: the first element is at byte ", view.offset, " of ", memory, ", strides are ",
       shape_str(view.strides), "; copy the tensor first");
}

/// Error(value) where an element would be outside of the storage.
void require_inside(const Tensor& view, const char* op) {
  if (view.size() == 0) return;
  const auto itemsize = static_cast<int64_t>(size_of(view.dtype));
  const auto bytes = static_cast<int64_t>(view.storage->bytes());
  int64_t low = view.offset, high = 0;
  bool inside = !__builtin_add_overflow(view.offset, itemsize, &high);
  for (int d = 0; d < view.ndim() && inside; ++d) {
    int64_t& bound = view.strides[d] < 0 ? low : high;
    int64_t way;
    inside = !__builtin_mul_overflow(view.shape[d] - 1, view.strides[d], &way) &&
             !__builtin_add_overflow(bound, way, &bound);
  }
  if (inside && low >= 0 && high <= bytes) return;
  fail(ErrorKind::value, "[", op, "] shape ", shape_str(view.shape), " and strides ",
       shape_str(view.strides), " reach beyond the storage of ", bytes,
       " bytes, in which the first element is at byte ", view.offset);
}

/// strided_view(x, shape, strides, op)
PyObject* strided_view(Arguments given) {
  const char* op = utf8(given[3]);
  const Tensor& x = require_tensor(given[0], op);
  refuse_extents(given[2], op);
  Tensor view{x.storage, x.dtype, parse_new_shape(given[1], op), parse_dims(given[2], op),
              x.offset};
  if (view.shape.size() > kMaxDims || view.shape.size() != view.strides.size()) {
    fail(ErrorKind::value, "[", op, "] expected a stride for each of at most ", kMaxDims,
         " dimensions, got shape ", shape_str(view.shape), " and strides ",
         shape_str(view.strides));
  }
  count_elements(view.shape, static_cast<int64_t>(size_of(x.dtype)), op);
  require_inside(view, op);
  require_aligned(view, op);
  return wrap(std::move(view));
}

/// Gives the last axis as many elements of the dtype of `view` as have the bytes of x there.
void set_last_axis(const Tensor& x, Tensor* view, const char* op) {
  const auto before = static_cast<int64_t>(size_of(x.dtype));
  const auto after = static_cast<int64_t>(size_of(view->dtype));
  if (x.ndim() == 0) {
    fail(ErrorKind::value, "[", op, "] a 0-d tensor of ", name_of(x.dtype),
         " has no axis to see it along as ", name_of(view->dtype));
  }
  const int last = x.ndim() - 1;
  const int64_t count = x.shape[last], bytes = count * before;
  if (count != 1 && x.size() != 0 && x.strides[last] != before) {
    fail(ErrorKind::value, "[", op, "] the last axis has gaps: ", name_of(x.dtype), " of stride ",
         x.strides[last], " cannot be seen as ", name_of(view->dtype), "; copy the tensor first");
  }
  if (bytes % after != 0) {
    fail(ErrorKind::value, "[", op, "] the last axis has ", bytes,
         " bytes, which is no multiple of the ", after, " of ", name_of(view->dtype));
  }
  view->shape[last] = bytes / after;
  view->strides[last] = after;
}

/// reinterpret(x, dtype, op)
PyObject* reinterpret(Arguments given) {
  const char* op = utf8(given[2]);
  const Tensor& x = require_tensor(given[0], op);
  Tensor view = x;
  view.dtype = parse_dtype(given[1], op);
  const bool is_stricter = alignment_of(x.device(), view.dtype) > alignment_of(x.device(), x.dtype);
  if (issuer().sink && is_stricter) {  // others may be given later
    fail(ErrorKind::type, "[", op, "] a tensor of ", name_of(x.dtype),
         " may begin at any byte in the runs of a recorded program, and ", name_of(view.dtype),
         " must not: see it so before the call");
  }
  if (size_of(view.dtype) != size_of(x.dtype)) {
    if (may_have_stand_ins(x)) {
      fail(ErrorKind::type, "[", op, "] a dtype of another size needs known extents");
    }
    set_last_axis(x, &view, op);
  }
  require_aligned(view, op);
  return wrap(std::move(view));
}

PyMethodDef functions[] = {positional<strided_view, 4>("strided_view"),
                           positional<reinterpret, 3>("reinterpret"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_views(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
