// pad() by a number or by the elements at the edges; ops/numpy/padding.py has the other modes.
#include <algorithm>

#include "python/convert.h"
#include "python/native/function.h"
#include "python/native/parts.h"
#include "python/native/signature.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"
#include "python/tensor/type.h"
#include "tensor/layout.h"

namespace ofl::python {

namespace {

/// How many elements are added before and after each axis.
struct Widths {
  Dims before, after;
};

/// Of an integer, a pair of them, or a pair for each axis; false for all else.
bool read_widths(PyObject* given, int ndim, Widths* widths) {
  const auto is_pair = [](PyObject* object) {
    return (PyTuple_CheckExact(object) || PyList_CheckExact(object)) &&
           PySequence_Fast_GET_SIZE(object) == 2;
  };
  const bool is_number = known_integer(given).has_value();
  const bool is_sequence = PyTuple_CheckExact(given) || PyList_CheckExact(given);
  if (!is_number && !is_sequence) return false;
  const bool is_one_pair = is_pair(given) && known_integer(PySequence_Fast_GET_ITEM(given, 0));
  if (is_sequence && !is_one_pair && PySequence_Fast_GET_SIZE(given) != ndim) return false;
  for (int d = 0; d < ndim; ++d) {
    PyObject* const own = is_number || is_one_pair ? given : PySequence_Fast_GET_ITEM(given, d);
    if (!is_number && !is_pair(own)) return false;
    const auto before = known_integer(is_number ? own : PySequence_Fast_GET_ITEM(own, 0));
    const auto after = known_integer(is_number ? own : PySequence_Fast_GET_ITEM(own, 1));
    constexpr int64_t kWide = int64_t{1} << 31;
    if (!before || !after || *before < 0 || *after < 0 || *before > kWide || *after > kWide) {
      return false;
    }
    widths->before.push_back(*before);
    widths->after.push_back(*after);
  }
  return true;
}

/// pad(x, pad_width, mode, constant_values, ...), with a number or the elements at the edges, which
/// have no values; the rest are arguments of other modes
PyObject* pad_path(const Call& call) {
  static PyObject* const zero = checked(PyLong_FromLong(0));
  const Tensor* x = tensor_or_null(call[0]);
  PyObject* const value = call[3] == Py_None ? zero : call[3];
  for (int i = 4; i < call.count; ++i) {
    if (call[i] != Py_None) return nullptr;
  }
  if (!x || x->ndim() == 0 || !PyUnicode_CheckExact(call[2])) return nullptr;
  const bool by_edge = PyUnicode_CompareWithASCIIString(call[2], "edge") == 0;
  const bool is_known = by_edge || PyUnicode_CompareWithASCIIString(call[2], "constant") == 0;
  const bool is_number = PyLong_CheckExact(value) || PyFloat_CheckExact(value);
  const Issuer from = issuer();
  Widths widths;
  if (!is_known || !is_number || from.sink || !read_widths(call[1], x->ndim(), &widths)) {
    return nullptr;
  }
  // NumPy has rules of its own for numbers that an unsigned dtype does not hold.
  const std::optional<int64_t> number = known_integer(value);
  if (by_edge && call[3] != Py_None) return nullptr;
  const bool fits_all = number && *number >= 0 && *number <= 255;
  if (!by_edge && info(x->dtype).kind == DTypeKind::unsigned_int && !fits_all) return nullptr;
  Dims shape;
  for (int d = 0; d < x->ndim(); ++d) {
    const int64_t added = widths.before[d] + widths.after[d];
    if (by_edge && added > 0 && x->shape[d] == 0) return nullptr;
    shape.push_back(x->shape[d] + added);
  }
  // As NumPy's, the result is column-major where x is that only: then no copy turns anything.
  const bool is_turned = !x->contiguous() && reversed_view(*x).contiguous();
  if (is_turned) std::reverse(shape.begin(), shape.end());
  const Tensor made = empty(from, x->device(), x->dtype, shape);
  if (is_turned) std::reverse(shape.begin(), shape.end());
  const Tensor result = is_turned ? reversed_view(made) : made;
  Tensor region = result;
  for (int d = 0; d < x->ndim(); ++d) region = part_of(region, d, widths.before[d], x->shape[d]);
  assign(from, region, *x, "assign");
  for (int d = 0; d < x->ndim(); ++d) {  // in the corners later axes win
    const int64_t before = widths.before[d], after = widths.after[d], size = x->shape[d];
    const Tensor whole = part_of(region, d, -before, shape[d]);
    for (const bool is_after : {false, true}) {
      const int64_t count = is_after ? after : before;
      if (count == 0) continue;
      const Tensor added = part_of(whole, d, is_after ? before + size : 0, count);
      const Tensor edge = part_of(whole, d, is_after ? before + size - 1 : before, by_edge);
      if (by_edge) assign(from, added, broadcast_view(edge, added.shape, "pad"), "assign");
      if (!by_edge) assign_value(added, value, "assign");
    }
    region = whole;
  }
  return wrap(Tensor(result));
}

}  // namespace

const NativeRow kPaddingPaths[] = {{"pad", pad_path}, {nullptr, nullptr}};

}  // namespace ofl::python
