// Native paths of linalg/norms.py, of the products of vectors in ops/linear_algebra.py, and of
// those of sequences with windows in ops/numpy/convolution.py.
#include <algorithm>
#include <cstdlib>

#include "ops/product/blas.h"
#include "python/native/function.h"
#include "python/ops/blas.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/issue.h"
#include "tensor/layout.h"

namespace ofl::python {

namespace {

bool is_complex(const Tensor& x) { return info(x.dtype).kind == DTypeKind::complex; }

PyObject* product(PyObject* a, PyObject* b) {
  PyObject* const pair[2] = {a, b};
  return call_op(op_of(Slot::matmul), pair, 2, false);
}

/// The sum of squares of a vector of real numbers, by the loops of the dot product.
Reference sum_of_squares(Tensor vector) {
  const Reference x(wrap(std::move(vector)));
  return Reference(product(x.get(), x.get()));
}

/// A text, or no order: both name the root of the sum of squares of a matrix.
bool names_squares(PyObject* order) {
  if (order == Py_None) return true;
  return PyUnicode_CheckExact(order) && (PyUnicode_CompareWithASCIIString(order, "fro") == 0 ||
                                         PyUnicode_CompareWithASCIIString(order, "f") == 0);
}

/// The dimension with the longest steps first.
Tensor ordered(const Tensor& x) {
  SmallVector<int, 4> order;
  for (int d = 0; d < x.ndim(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return std::abs(x.strides[a]) > std::abs(x.strides[b]); });
  return permute_view(x, order);
}

/// The elements in one row, in NumPy's order K. A copy where they are no neighbours, as NumPy makes
/// one: the dot product may round otherwise.
Tensor in_memory_order(const Tensor& x) {
  if (x.contiguous()) return flattened(x);
  const Tensor there = ordered(x);
  if (there.contiguous()) return flattened(there);
  const Input input(&x);
  const Issuer from = issuer();
  const Tensor made =
      empty(from, make_like(&input, 1, x.shape, x.dtype, x.storage->state(), from.site));
  assign(from, made, x, "norm");
  return flattened(ordered(made));
}

/// From here on NumPy's dot product adds by several threads, in an order of their own. It is ours
/// only where no library of ours is in force.
constexpr int64_t kManyComponents = 65536;

bool orders_sums_freely(int64_t components) {
  look_for_blas();
  return components >= kManyComponents && ops::blas();
}

/// The real and imaginary parts of a dense vector in their order in memory.
Tensor components(const Tensor& flat) {
  Tensor parts = component_view(flat, 0);
  parts.shape[0] *= 2;
  parts.strides[0] /= 2;
  return parts;
}

/// The root of the sum of squares of a dense vector, of complex numbers that of the real parts and
/// that of the imaginary ones.
PyObject* root_of_squares(const Tensor& flat) {
  const bool has_parts = is_complex(flat);
  if (has_parts && orders_sums_freely(flat.size())) return root_of_squares(components(flat));
  Reference sum = sum_of_squares(has_parts ? component_view(flat, 0) : flat);
  if (has_parts) {
    const Reference imaginary = sum_of_squares(component_view(flat, 1));
    PyObject* const parts[2] = {sum.get(), imaginary.get()};
    sum = Reference(call_op(op_of(Slot::add), parts, 2, false));
  }
  PyObject* const squares = sum.get();
  return call_op(op_of(Slot::sqrt), &squares, 1, false);
}

/// Of real floating numbers that are computed in their own dtype; bfloat16 is rounded at the end.
bool has_own_squares(const Tensor& x) {
  return info(x.dtype).kind == DTypeKind::floating && x.dtype != DType::bf16;
}

/// The squares of real numbers.
Reference squares_of(PyObject* x) {
  PyObject* const pair[2] = {x, x};
  return Reference(call_op(op_of(Slot::mul), pair, 2, false));
}

/// The root of what is summed along these axes.
PyObject* root_of_sum(PyObject* squares, PyObject* axes, bool keepdims) {
  const Scalar zero;
  const Tensor& x = tensor_of(squares);
  const Reference total(reduce_tensor(op_of(Slot::sum), x, axes, x.dtype, &zero, keepdims));
  PyObject* const root = total.get();
  return call_op(op_of(Slot::sqrt), &root, 1, false);
}

/// An axis, or a tuple of two, along which `order` names the root of the sum of squares.
bool are_norm_axes(PyObject* axes, PyObject* order, int ndim) {
  if (known_axis(axes, ndim)) return order == Py_None || known_integer(order) == 2;
  const bool are_two = PyTuple_CheckExact(axes) && PyTuple_GET_SIZE(axes) == 2;
  if (!are_two || !names_squares(order)) return false;
  const std::optional<int> one = known_axis(PyTuple_GET_ITEM(axes, 0), ndim),
                           other = known_axis(PyTuple_GET_ITEM(axes, 1), ndim);
  return one && other && one != other;
}

/// norm(x, ord, axis, keepdims): the Euclidean one, of all elements or along axes.
PyObject* norm_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || !is_flag(call[3])) return nullptr;
  const bool is_real = has_own_squares(*x);
  if (is_real && call[2] != Py_None && are_norm_axes(call[2], call[1], x->ndim())) {
    return root_of_sum(squares_of(call[0]).get(), call[2], call[3] == Py_True);
  }
  const bool is_euclidean = call[1] == Py_None || (x->ndim() == 2 && names_squares(call[1])) ||
                            (x->ndim() == 1 && known_integer(call[1]) == 2);
  if (call[2] != Py_None || !is_euclidean || !(is_real || is_complex(*x))) return nullptr;
  if (!x->contiguous() && may_have_stand_ins(*x)) return nullptr;
  Reference root(root_of_squares(in_memory_order(*x)));
  if (call[3] == Py_False) return root.release();
  Dims ones;
  for (int d = 0; d < x->ndim(); ++d) ones.push_back(1);
  return reshape_tensor(tensor_of(root.get()), ones, Reuse::where_possible);
}

/// matrix_norm(x, keepdims, ord): the Frobenius norm of real numbers.
PyObject* matrix_norm_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || x->ndim() < 2 || !is_flag(call[1]) || !names_squares(call[2])) return nullptr;
  if (!has_own_squares(*x)) return nullptr;
  const Reference axes(Py_BuildValue("(ii)", -2, -1));
  return root_of_sum(squares_of(call[0]).get(), axes.get(), call[1] == Py_True);
}

/// vector_norm(x, axis, keepdims, ord): the Euclidean norm of real numbers, along one axis or of
/// all elements, by NumPy's loops.
PyObject* vector_norm_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || x->ndim() == 0 || !is_flag(call[2]) || known_integer(call[3]) != 2) return nullptr;
  if (!has_own_squares(*x)) return nullptr;
  const bool of_all = call[1] == Py_None && x->ndim() > 1;
  if (!of_all) {
    const bool is_known = call[1] == Py_None || known_axis(call[1], x->ndim());
    if (!is_known) return nullptr;
    return root_of_sum(squares_of(call[0]).get(), call[1], call[2] == Py_True);
  }
  if (call[2] == Py_True || may_have_stand_ins(*x)) return nullptr;
  const Reference squares = squares_of(call[0]);
  const Reference flat(wrap(flattened(contiguous(issuer(), tensor_of(squares.get())))));
  return root_of_sum(flat.get(), Py_None, false);
}

/// Two tensors of one device, with dimensions.
bool is_pair(const Tensor* a, const Tensor* b) {
  return a && b && a->ndim() > 0 && b->ndim() > 0 && a->device() == b->device();
}

/// Either has a single element: NumPy's dot functions multiply by that.
bool is_scaled(const Tensor& a, const Tensor& b) { return a.size() == 1 || b.size() == 1; }

/// The element of a tensor that has one, with so many dimensions.
Reference single(const Tensor& x, int ndim) {
  Tensor view = x;
  view.shape = Dims(ndim, 1);
  view.strides = Dims(ndim, 0);
  return Reference(wrap(std::move(view)));
}

/// The product of two vectors or matrices of a single element each, which keeps its sign; null for
/// others, and for dtypes whose products NumPy adds to 0.
PyObject* product_of_singles(const Tensor& a, const Tensor& b) {
  const DTypeKind kind = info(a.dtype).kind;
  const bool is_of_blas = (kind == DTypeKind::floating && size_of(a.dtype) >= sizeof(float)) ||
                          kind == DTypeKind::complex;
  if (!is_of_blas || a.dtype != b.dtype || a.size() != 1 || b.size() != 1) return nullptr;
  if (a.ndim() > 2 || b.ndim() > 2) return nullptr;
  if (may_have_stand_ins(a) || may_have_stand_ins(b)) return nullptr;
  const int ndim = a.ndim() + b.ndim() - 2;
  const Reference left = single(a, ndim), right = single(b, ndim);
  PyObject* const factors[] = {left.get(), right.get()};
  return call_op(op_of(Slot::mul), factors, 2, false);
}

/// Two vectors of one length.
bool are_vectors(const Tensor* a, const Tensor* b) {
  return is_pair(a, b) && a->ndim() == 1 && b->ndim() == 1 && a->shape == b->shape;
}

/// dot(a, b): the product, where that sums over the same axes.
PyObject* dot_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (!is_pair(a, b) || (b->ndim() > 2 && a->ndim() != 1)) return nullptr;
  return is_scaled(*a, *b) ? product_of_singles(*a, *b) : product(call[0], call[1]);
}

/// inner(a, b) of vectors and matrices
PyObject* inner_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (!is_pair(a, b) || a->ndim() > 2 || b->ndim() > 2) return nullptr;
  if (a->shape.back() != b->shape.back()) return nullptr;
  if (is_scaled(*a, *b)) return product_of_singles(*a, *b);
  if (b->ndim() == 1) return product(call[0], call[1]);
  const Reference turned(wrap(reversed_view(*b)));
  return product(call[0], turned.get());
}

/// Itself where it is real.
Reference conjugated(PyObject* x) {
  if (!is_complex(tensor_of(x))) return Reference(Py_NewRef(x));
  return Reference(call_op(op_of(Slot::conj), &x, 1, false));
}

/// Of two vectors.
PyObject* product_with_conjugate(PyObject* a, PyObject* b) {
  if (!is_complex(tensor_of(a))) return product(a, b);
  const OpObject& op = op_of(Slot::matmul);
  const Tensor &x = tensor_of(a), &y = tensor_of(b);
  const ops::TypeCode codes[] = {ops::code_of(x.dtype), ops::code_of(y.dtype)};
  Tensor made;
  look_for_blas();
  if (conjugated_product(issuer(), *op.op, resolve(op, codes), x, y, &made)) {
    return wrap(std::move(made));
  }
  const Reference left = conjugated(a);
  return product(left.get(), b);
}

/// vdot(a, b), of row-major tensors
PyObject* vdot_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (are_vectors(a, b)) return product_with_conjugate(call[0], call[1]);
  if (!is_pair(a, b) || a->size() != b->size() || !lies_flat(*a) || !lies_flat(*b)) return nullptr;
  const Reference left(wrap(flattened(*a))), right(wrap(flattened(*b)));
  return product_with_conjugate(left.get(), right.get());
}

/// tensordot(x1, x2, axes) of vectors and matrices: over one axis, or over all of two matrices
PyObject* tensordot_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (!is_pair(a, b) || a->ndim() > 2 || b->ndim() > 2) return nullptr;
  const std::optional<int64_t> axes = known_integer(call[2]);
  if (is_scaled(*a, *b)) return axes == 1 ? product_of_singles(*a, *b) : nullptr;
  if (axes == 1 && a->shape.back() == b->shape[0]) return product(call[0], call[1]);
  if (axes != 2 || a->shape != b->shape || a->ndim() != 2) return nullptr;
  if (!lies_flat(*a) || !lies_flat(*b)) return nullptr;
  const Reference left(wrap(flattened(*a))), right(wrap(flattened(*b)));
  return product(left.get(), right.get());
}

/// x with `axis` moved to the end, before or behind one of size 1.
Tensor as_matrix(const Tensor& x, int axis, bool is_row) {
  Tensor view = x;
  const int64_t size = x.shape[axis], step = x.strides[axis];
  for (int d = axis; d + 1 < x.ndim(); ++d) {
    view.shape[d] = x.shape[d + 1];
    view.strides[d] = x.strides[d + 1];
  }
  const int last = x.ndim() - 1;
  view.shape[last] = is_row ? 1 : size;
  view.strides[last] = is_row ? 0 : step;
  view.shape.push_back(is_row ? size : 1);
  view.strides.push_back(is_row ? step : 0);
  return view;
}

/// vecdot(x1, x2, axis = -1): of many vectors, with as many or with one, the products of rows with
/// columns.
PyObject* vecdot_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (are_vectors(a, b)) {
    return known_axis(call[2], 1) ? product_with_conjugate(call[0], call[1]) : nullptr;
  }
  if (!is_pair(a, b) || a->ndim() + 2 > kMaxDims || b->ndim() + 2 > kMaxDims) return nullptr;
  const std::optional<int> of_a = known_axis(call[2], a->ndim()),
                           of_b = known_axis(call[2], b->ndim());
  if (!of_a || !of_b || a->shape[*of_a] != b->shape[*of_b]) return nullptr;
  if (a->shape != b->shape && a->ndim() > 1 && b->ndim() > 1) return nullptr;
  const Reference left = conjugated(call[0]);
  const Reference row(wrap(as_matrix(tensor_of(left.get()), *of_a, true))),
      column(wrap(as_matrix(*b, *of_b, false)));
  const Reference products(product(row.get(), column.get()));
  Tensor result = tensor_of(products.get());
  result.shape.resize(result.ndim() - 2);
  result.strides.resize(result.shape.size());
  return wrap(std::move(result));
}

/// The same leading dimensions.
bool is_same_batch(const Tensor& a, int cores_a, const Tensor& b, int cores_b) {
  const int batch = a.ndim() - cores_a;
  return batch == b.ndim() - cores_b &&
         std::equal(a.shape.begin(), a.shape.begin() + batch, b.shape.begin());
}

/// matvec(x1, x2): with one vector, or one for each matrix
PyObject* matvec_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (!is_pair(a, b) || a->ndim() < 2 || a->shape.back() != b->shape.back()) return nullptr;
  if (b->ndim() == 1) return product(call[0], call[1]);
  if (!is_same_batch(*a, 2, *b, 1) || b->ndim() + 1 > kMaxDims) return nullptr;
  const Reference column(wrap(as_matrix(*b, b->ndim() - 1, false)));
  const Reference products(product(call[0], column.get()));
  Tensor result = tensor_of(products.get());
  result.shape.resize(result.ndim() - 1);
  result.strides.resize(result.shape.size());
  return wrap(std::move(result));
}

/// vecmat(x1, x2), which conjugates: with one vector, or one for each matrix
PyObject* vecmat_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (!is_pair(a, b) || b->ndim() < 2) return nullptr;
  if (a->shape.back() != b->shape[b->ndim() - 2]) return nullptr;
  if (a->ndim() > 1 && (!is_same_batch(*a, 1, *b, 2) || a->ndim() + 1 > kMaxDims)) return nullptr;
  const Reference left = conjugated(call[0]);
  if (a->ndim() == 1) return product(left.get(), call[1]);
  const Reference row(wrap(as_matrix(tensor_of(left.get()), a->ndim() - 1, true)));
  const Reference products(product(row.get(), call[1]));
  Tensor result = tensor_of(products.get());
  const int last = result.ndim() - 1;
  result.shape[last - 1] = result.shape[last];
  result.strides[last - 1] = result.strides[last];
  result.shape.resize(last);
  result.strides.resize(last);
  return wrap(std::move(result));
}

/// Two tensors of one dtype with elements along one dimension, where there is a kernel for both.
bool are_sequences(const Tensor* a, const Tensor* b) {
  return is_pair(a, b) && a->ndim() == 1 && b->ndim() == 1 && a->size() > 0 && b->size() > 0 &&
         a->dtype == b->dtype && a->dtype != DType::bf16 &&
         a->storage->state().device.runs_host_kernels();
}

/// A vector with elements from the last to the first.
Tensor turned(Tensor vector) {
  vector.offset += (vector.size() - 1) * vector.strides[0];
  vector.strides[0] = -vector.strides[0];
  return vector;
}

/// The sums in a mode that is known.
PyObject* correlate_by_mode(const Tensor& x, const Tensor& window, PyObject* mode) {
  const int64_t n = x.size(), m = window.size();
  if (!PyUnicode_CheckExact(mode)) return nullptr;
  const auto is = [mode](const char* name) {
    return PyUnicode_CompareWithASCIIString(mode, name) == 0;
  };
  if (is("full")) return correlate_tensors(x, window, m - 1, n + m - 1);
  if (is("same")) return correlate_tensors(x, window, m / 2, n);
  return is("valid") ? correlate_tensors(x, window, 0, n - m + 1) : nullptr;
}

/// convolve(a, v, mode)
PyObject* convolve_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (!are_sequences(a, b)) return nullptr;
  if (b->size() > a->size()) std::swap(a, b);
  return correlate_by_mode(*a, turned(*b), call[2]);
}

/// correlate(a, v, mode)
PyObject* correlate_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (!are_sequences(a, b) || is_complex(*b)) return nullptr;
  if (b->size() <= a->size()) return correlate_by_mode(*a, *b, call[2]);
  const Reference sums(correlate_by_mode(*b, *a, call[2]));
  return sums.get() ? wrap(contiguous(issuer(), turned(tensor_of(sums.get())))) : nullptr;
}

}  // namespace

const NativeRow kLinalgPaths[] = {{"norm", norm_path},
                                  {"vector_norm", vector_norm_path},
                                  {"matrix_norm", matrix_norm_path},
                                  {"dot", dot_path},
                                  {"inner", inner_path},
                                  {"vdot", vdot_path},
                                  {"vecdot", vecdot_path},
                                  {"matvec", matvec_path},
                                  {"vecmat", vecmat_path},
                                  {"tensordot", tensordot_path},
                                  {"convolve", convolve_path},
                                  {"correlate", correlate_path},
                                  {nullptr, nullptr}};

}  // namespace ofl::python
