// The operators of GlobalTensor, and elementwise operations on it: layouts are inferred, operands
// brought into theirs, and the operation is that of the parts.
#include <algorithm>
#include <cmath>
#include <vector>

#include "distributed/rules/elementwise.h"
#include "ops/array_args.h"
#include "python/convert.h"
#include "python/distributed/implied.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/tensor/type.h"

namespace ofl::python {

namespace {

using distributed::Inferred;
using distributed::Layout;
using distributed::Sbp;
using distributed::Sbps;

/// Operands as what their parts are computed from.
class Operands {
 public:
  Operands(const char* name, PyObject* const* given, int count) : name_(name) {
    for (int k = 0; k < count; ++k) {
      if (is_global(given[k])) take(k, global_of(given[k]));
    }
    for (int k = 0; k < count; ++k) {
      layouts_.push_back(is_global(given[k]) ? global_of(given[k]).layout : layout_of(given[k]));
    }
  }

  const GlobalTensor& first() const { return *first_; }

  /// All have one layout, or none: nothing has to be inferred.
  bool are_alike() const {
    for (const Layout* layout : layouts_) {
      if (layout && layout != first_->layout) return false;
    }
    for (const Sbp& sbp : first_->layout->sbps()) {
      if (sbp.is_partial()) return false;
    }
    return true;
  }
  const Layout* layout(int k) const { return layouts_[k]; }
  std::vector<const Layout*> layouts() const { return {layouts_.begin(), layouts_.end()}; }

 private:
  void take(int k, const GlobalTensor& x) {
    if (!first_) first_ = &x;
    if (x.member != first_->member) {
      fail(ErrorKind::runtime, "[", name_, "] operand ", k, " belongs to another rank's thread");
    }
    if (&x.layout->placement() != &first_->layout->placement()) {
      fail(ErrorKind::value, "[", name_, "] operands are on ", first_->layout->placement().str(),
           " and ", x.layout->placement().str(),
           "; x.to_global(placement=...) brings them together");
    }
  }

  /// A NumPy array is the same on each rank; a number has no layout.
  const Layout* layout_of(PyObject* object) const {
    if (is_tensor(object)) {
      fail(ErrorKind::type, "[", name_, "] one operand is a GlobalTensor on ",
           first_->layout->placement().str(),
           ", another a Tensor of this rank alone; x.to_global(placement, sbp) says which part of "
           "what the latter is");
    }
    if (PyList_Check(object) || PyTuple_Check(object)) {
      fail(ErrorKind::type, "[", name_, "] expected a GlobalTensor, an array or a number beside a ",
           "GlobalTensor, got ", Py_TYPE(object)->tp_name);
    }
    if (!PyArray_Check(object)) return nullptr;
    require_unmasked(object, name_);
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    Dims shape;
    for (int d = 0; d < PyArray_NDIM(array); ++d) shape.push_back(PyArray_DIM(array, d));
    Sbps sbps;
    sbps.resize(first_->layout->sbps().size());
    return &Layout::of(shape, first_->layout->placement(), sbps);
  }

  const char* const name_;
  const GlobalTensor* first_ = nullptr;
  SmallVector<const Layout*, 4> layouts_;
};

/// The part of an operand in the layout that it is wanted in: a new reference.
PyObject* part_of_operand(PyObject* object, const Layout* wanted, const GlobalTensor& like,
                          const char* name) {
  if (is_global(object)) return part_object(brought(global_of(object), *wanted, name));
  if (!wanted || !like.is_here()) {
    return wanted
               ? wrap(empty(issuer(), Device{},
                            dtype_of(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object)), name),
                            Dims{0}))
               : Py_NewRef(object);
  }
  auto* const array = reinterpret_cast<PyArrayObject*>(object);
  const int64_t id = like.layout->placement().parallel_id(like.member->rank());
  const Sbps whole(wanted->sbps().size());
  const Layout& all = Layout::of(wanted->shape(), wanted->placement(), whole);
  const Tensor tensor = from_array(array, like.part.tensor.device());
  return wrap(distributed::view_of(tensor, all.box(id), wanted->box(id)));
}

PyObject* call_two(PyObject* const* parts, int, void* context) {
  return reinterpret_cast<binaryfunc>(context)(parts[0], parts[1]);
}
PyObject* call_one(PyObject* const* parts, int, void* context) {
  return reinterpret_cast<unaryfunc>(context)(parts[0]);
}
PyObject* raise_to_power(PyObject* base, PyObject* exponent) {
  return PyNumber_Power(base, exponent, Py_None);
}

bool is_known(PyObject* object) {
  if (is_global(object) || is_tensor(object) || PyArray_Check(object)) return true;
  ops::TypeCode code;
  return classify(object, &code, "operator") == OperandKind::scalar;
}

PyObject* call_operator(const OpObject& op, PyObject* a, PyObject* b, binaryfunc call) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (!is_known(a) || !is_known(b)) Py_RETURN_NOTIMPLEMENTED;
    PyObject* const operands[2] = {a, b};
    return call_elementwise(op.op->name.c_str(), &op, operands, 2, call_two,
                            reinterpret_cast<void*>(call));
  });
}

template <Slot slot, binaryfunc call>
PyObject* binary(PyObject* a, PyObject* b) {
  return call_operator(op_of(slot), a, b, call);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return call_operator(op_of(Slot::pow), a, b, raise_to_power);
}

template <Slot slot, unaryfunc call>
PyObject* unary(PyObject* a) {
  return guarded<PyObject*>(nullptr, [&] {
    const OpObject& op = op_of(slot);
    return call_elementwise(op.op->name.c_str(), &op, &a, 1, call_one,
                            reinterpret_cast<void*>(call));
  });
}

/// An operation of the table, as a function.
PyObject* call_row(const OpObject& op, PyObject* const* operands, int count) {
  if (op.op->is_product()) {
    fail(ErrorKind::type, "[", op.op->name, "] of GlobalTensors is the operator @");
  }
  const auto call = [](PyObject* const* parts, int n, void* row) {
    return PyObject_Vectorcall(static_cast<PyObject*>(row), parts, static_cast<size_t>(n), nullptr);
  };
  PyObject* const function = reinterpret_cast<PyObject*>(const_cast<OpObject*>(&op));
  return call_elementwise(op.op->name.c_str(), &op, operands, count, call, function);
}

template <int operation>
PyObject* compare(PyObject* a, PyObject* b) {
  return PyObject_RichCompare(a, b, operation);
}

bool is_partial_sum(PyObject* object) {
  if (!is_global(object)) return false;
  const Sbps& sbps = global_of(object).layout->sbps();
  return std::any_of(sbps.begin(), sbps.end(), [](const Sbp& sbp) {
    return sbp.is_partial() && sbp.op == distributed::PartialOp::sum;
  });
}

bool is_finite(const ops::ArrayView& x) { return ops::count_nonfinite(x).count() == 0; }

/// An array that the processor cannot read as it is may have anything.
bool is_finite(PyArrayObject* array, const char* name) {
  if (!PyArray_ISBEHAVED_RO(array)) return false;
  ops::ArrayView view{PyArray_BYTES(array), dtype_of(PyArray_DESCR(array), name), {}, {}};
  for (int d = 0; d < PyArray_NDIM(array); ++d) {
    view.shape.push_back(PyArray_DIM(array, d));
    view.strides.push_back(PyArray_STRIDE(array, d));
  }
  return is_finite(view);
}

/// So it is as an element of the result, too.
bool is_finite(double number, DType dtype) {
  if (!std::isfinite(number)) return false;
  if (is_integer(dtype) || dtype == DType::f64 || dtype == DType::c128) return true;
  if (dtype == DType::f32 || dtype == DType::c64) return std::isfinite(static_cast<float>(number));
  const Reference object(checked(PyFloat_FromDouble(number)));
  Scalar element = to_scalar(object.get(), dtype);
  return is_finite({reinterpret_cast<char*>(element.bytes), dtype, {}, {}});
}

/// Parts that are multiplied by an infinity, or divided by what is nearly 0, are infinite with
/// either sign.
bool is_finite_factor(PyObject* object, bool is_divisor, DType dtype, const char* name) {
  if (is_global(object)) return true;  // nobody looks at its values; see docs/distributed.md
  if (PyArray_Check(object)) return is_finite(reinterpret_cast<PyArrayObject*>(object), name);
  const double number = PyFloat_AsDouble(object);
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();  // no float holds it; the operation says so
    return false;
  }
  return is_finite(number, dtype) && (!is_divisor || is_finite(1 / number, dtype));
}

ops::TypeCode code_of_operand(PyObject* object, const char* name) {
  if (is_global(object)) return ops::code_of(global_of(object).part.dtype);
  if (PyArray_Check(object)) {
    return ops::code_of(dtype_of(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object)), name));
  }
  ops::TypeCode code = ops::kWeakComplex;
  classify(object, &code, name);
  return code;
}

bool is_complex(ops::TypeCode code) {
  if (code >= kDTypeCount) return code == ops::kWeakComplex;
  return info(static_cast<DType>(code)).kind == DTypeKind::complex;
}

/// Whether the operation may be done on each part of a partial sum. A part that is cast before it
/// is added is not rounded, wrapped or cut to a bool as the sum is. So partial sums must have the
/// result's dtype.
ops::Linear linear_for(const OpObject* row, PyObject* const* operands, int count) {
  const ops::Linear linear = row ? row->op->linear : ops::Linear::none;
  if (linear == ops::Linear::none || std::none_of(operands, operands + count, is_partial_sum)) {
    return ops::Linear::none;
  }
  const char* const name = row->op->name.c_str();
  ops::TypeCode codes[ops::kMaxInputs] = {};
  for (int k = 0; k < count; ++k) codes[k] = code_of_operand(operands[k], name);
  const DType result = resolve(*row, codes).result;
  for (int k = 0; k < count; ++k) {
    if (is_partial_sum(operands[k])) {
      if (codes[k] != ops::code_of(result) || result == DType::b1) return ops::Linear::none;
      continue;
    }
    if (!is_global(operands[k]) && !PyArray_Check(operands[k]) && is_complex(codes[k])) {
      return ops::Linear::none;
    }
    const bool is_divisor = linear == ops::Linear::first && k > 0;
    if (!is_finite_factor(operands[k], is_divisor, result, name)) return ops::Linear::none;
  }
  return linear;
}

}  // namespace

PyObject* call_elementwise(const char* name, const OpObject* row, PyObject* const* operands,
                           int count, CallOnParts call, void* context) {
  const Operands known(name, operands, count);
  const GlobalTensor& first = known.first();
  const Layout* result_layout = first.layout;
  const Inferred* inferred = nullptr;
  if (!known.are_alike()) {
    inferred =
        &distributed::infer_elementwise(linear_for(row, operands, count), known.layouts(), name);
    result_layout = inferred->result;
  }
  SmallVector<PyObject*, 4> parts;
  std::vector<Reference> made_parts;
  for (int k = 0; k < count; ++k) {
    const Layout* const wanted = inferred ? inferred->operands[k] : known.layout(k);
    if (is_global(operands[k]) && global_of(operands[k]).layout == wanted) {
      parts.push_back(kept_part(operands[k]));
      continue;
    }
    made_parts.emplace_back(part_of_operand(operands[k], wanted, first, name));
    parts.push_back(made_parts.back().get());
  }
  Reference made(checked(call(parts.begin(), count, context)));
  const Tensor& part = require_tensor(made.get(), name);
  GlobalTensor result{result_layout, {part.dtype, {}}, first.member};
  if (!first.is_here()) return wrap_global(std::move(result));
  result.part.tensor = part;
  return wrap_global(std::move(result), made.release());
}

void serve_rows() { set_other_type(global_type, call_row); }

std::vector<PyType_Slot> global_number_slots() {
  return {
      {Py_nb_add, slot_pointer(binary<Slot::add, PyNumber_Add>)},
      {Py_nb_subtract, slot_pointer(binary<Slot::sub, PyNumber_Subtract>)},
      {Py_nb_multiply, slot_pointer(binary<Slot::mul, PyNumber_Multiply>)},
      {Py_nb_true_divide, slot_pointer(binary<Slot::truediv, PyNumber_TrueDivide>)},
      {Py_nb_floor_divide, slot_pointer(binary<Slot::floordiv, PyNumber_FloorDivide>)},
      {Py_nb_remainder, slot_pointer(binary<Slot::mod, PyNumber_Remainder>)},
      {Py_nb_and, slot_pointer(binary<Slot::and_, PyNumber_And>)},
      {Py_nb_or, slot_pointer(binary<Slot::or_, PyNumber_Or>)},
      {Py_nb_xor, slot_pointer(binary<Slot::xor_, PyNumber_Xor>)},
      {Py_nb_lshift, slot_pointer(binary<Slot::lshift, PyNumber_Lshift>)},
      {Py_nb_rshift, slot_pointer(binary<Slot::rshift, PyNumber_Rshift>)},
      {Py_nb_power, slot_pointer(power)},
      {Py_nb_negative, slot_pointer(unary<Slot::neg, PyNumber_Negative>)},
      {Py_nb_positive, slot_pointer(unary<Slot::pos, PyNumber_Positive>)},
      {Py_nb_absolute, slot_pointer(unary<Slot::abs, PyNumber_Absolute>)},
      {Py_nb_invert, slot_pointer(unary<Slot::invert, PyNumber_Invert>)},
  };
}

PyObject* global_richcompare(PyObject* a, PyObject* b, int operation) {
  static constexpr Slot kSlots[] = {Slot::lt, Slot::le, Slot::eq, Slot::ne, Slot::gt, Slot::ge};
  static constexpr binaryfunc kCalls[] = {compare<Py_LT>, compare<Py_LE>, compare<Py_EQ>,
                                          compare<Py_NE>, compare<Py_GT>, compare<Py_GE>};
  return call_operator(op_of(kSlots[operation]), a, b, kCalls[operation]);
}

}  // namespace ofl::python
