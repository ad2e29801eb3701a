#include "python/tensor/index_key.h"

#include <algorithm>

#include "python/arguments.h"
#include "python/convert.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/tensor/basic_key.h"
#include "python/tensor/object.h"
#include "tensor/index/elements.h"

namespace ofl::python {

Error out_of_bounds(const char* op, int64_t index, int64_t axis, int64_t size) {
  return {ErrorKind::index, concat("[", op, "] index ", index, " is out of bounds for axis ", axis,
                                   " with size ", size)};
}

namespace {

/// An index that is neither an integer nor a slice: an integer array or a mask, here or in a
/// tensor.
struct ArrayKey {
  PyObject* key;    // as it was given
  Reference array;  // of NumPy; null for a tensor
  Tensor tensor;    // set for tensors; for arrays once it is known that it is needed
  bool is_mask = false;
  bool is_integer = false;  // a 0-d integer array of NumPy
  int64_t count = -1;       // of true elements, where known

  PyArrayObject* host() const { return reinterpret_cast<PyArrayObject*>(array.get()); }
  Dims shape() const {
    if (!array.get()) return tensor.shape;
    Dims dims;
    for (int d = 0; d < PyArray_NDIM(host()); ++d) dims.push_back(PyArray_DIM(host(), d));
    return dims;
  }
};

[[noreturn]] void refuse(PyObject* key, const char* op) {
  fail(ErrorKind::index, "[", op, "] indices must be integers, slices, ..., None, or arrays of ",
       "integers or booleans, got ", Py_TYPE(key)->tp_name);
}

/// Every ndarray has __index__, and most of them refuse; a bool is a mask.
bool is_integer_index(PyObject* key) {
  return PyLong_CheckExact(key) ||
         (PyIndex_Check(key) && !PyBool_Check(key) && !PyArray_Check(key) && !is_tensor(key) &&
          !PyArray_IsScalar(key, Bool));
}

Reference stolen(PyObject* object) { return Reference(checked(object)); }

bool is_of_numpy(PyObject* object) {
  return PyArray_Check(object) || PyArray_IsScalar(object, Generic);
}

Reference as_int64(PyObject* object) {
  const int flags = NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST;
  return Reference(PyArray_FROM_OTF(object, NPY_INT64, flags));
}

/// A sequence with integers that int64 may not hold, each converted by itself: one that does not
/// fit is an OverflowError.
Reference convert_each(PyObject* data, PyObject* key, const char* op) {
  Reference array = as_int64(data);
  if (array.get()) return array;
  if (!PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    refuse(key, op);
  }
  PyErr_Clear();
  fail(ErrorKind::overflow, "[", op, "] an index does not fit in 64 bits");
}

/// `each`: integers of a sequence are converted one by one, where those of an array wrap around.
ArrayKey convert_key(PyObject* key, const char* op, bool each) {
  ArrayKey out{key, {}, {}};
  if (is_tensor(key)) {
    out.tensor = tensor_of(key);
    out.is_mask = out.tensor.dtype == DType::b1;
    if (!out.is_mask && !is_integer(out.tensor.dtype)) {
      fail(ErrorKind::index, "[", op, "] indices must be integers or booleans, got a tensor of ",
           name_of(out.tensor.dtype));
    }
    if (out.is_mask && out.tensor.size() == 0) out.count = 0;
    return out;
  }
  const Reference data(checked(held_data(key, op)));
  out.array = stolen(PyArray_FROM_O(data.get()));
  const int type = PyArray_TYPE(out.host());
  const bool is_wide = PyTypeNum_ISUNSIGNED(type) && PyArray_ITEMSIZE(out.host()) == 8;
  out.is_mask = type == NPY_BOOL;
  if (out.is_mask) {
    out.count = PyArray_CountNonzero(out.host());
    return out;
  }
  if (each && !is_of_numpy(key) && (is_wide || type == NPY_OBJECT)) {
    out.array = convert_each(data.get(), key, op);
    return out;
  }
  const bool nothing =
      !PyArray_Check(key) && PySequence_Check(key) && PyArray_SIZE(out.host()) == 0;
  if (!PyTypeNum_ISINTEGER(type) && (!nothing || PyUnicode_Check(key) || PyBytes_Check(key))) {
    refuse(key, op);
  }
  out.is_integer = PyArray_NDIM(out.host()) == 0;
  if (out.is_integer && !each && is_wide) {
    const Reference number(checked(PyNumber_Index(out.array.get())));
    index_argument(number.get(), op);  // throws where it does not fit
  }
  out.array = stolen(as_int64(out.array.get()).release());
  return out;
}

/// An integer of uint64 that int64 does not hold becomes one that no axis has.
Tensor without_wrap(const Tensor& x) {
  static const OpObject* minimum = nullptr;  // with the GIL; rows live as long as the process
  if (!minimum) {
    const Reference numpy(checked(PyImport_ImportModule("numpy")));
    const Reference ufunc(checked(PyObject_GetAttrString(numpy.get(), "minimum")));
    minimum = op_of_ufunc(ufunc.get());
  }
  const Reference given(wrap(Tensor(x))), most(checked(PyLong_FromLongLong(INT64_MAX)));
  PyObject* operands[] = {given.get(), most.get()};
  const Reference lower(checked(call_op(*minimum, operands, 2, false)));
  return tensor_of(lower.get());
}

/// The conversion of another item may change the shape of an array that was given.
void keep_shape(ArrayKey* key) {
  if (key->array.get() != key->key) return;
  key->array = stolen(PyArray_View(key->host(), nullptr, &PyArray_Type));
}

/// The key's array or tensor on a device.
Tensor tensor_of_key(const ArrayKey& key, Device device) {
  if (!key.tensor.storage) return from_array(key.host(), device);
  return to_device(issuer(), key.tensor, device, false);
}

void check_bounds(const ArrayKey& key, int64_t size, int64_t axis, const char* op) {
  const auto* values = static_cast<const int64_t*>(PyArray_DATA(key.host()));
  const int64_t* end = values + PyArray_SIZE(key.host());
  const int64_t* wrong =
      std::find_if(values, end, [size](int64_t value) { return value < -size || value >= size; });
  if (wrong != end) throw out_of_bounds(op, *wrong, axis, size);
}

/// Goes through a key item by item, and through the dimensions of x.
class KeyParser {
 public:
  KeyParser(const Tensor& x, const char* op) : x_(x), op_(op), view_(x) {
    view_.shape.clear();
    view_.strides.clear();
  }

  Indexed parse(PyObject* key) {
    if (!PyTuple_Check(key)) {
      parse_all(&key, 1);
    } else {
      parse_all(&PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key));
    }
    Indexed out;
    if (!fancy()) {
      out.copy = !arrays_.empty() || (view_.ndim() == 0 && !ellipsis_);
      out.view = std::move(view_);
    } else {
      out.selection = select();
    }
    return out;
  }

 private:
  /// Asked once for each item: the conversion of another one may change its class.
  enum class Kind { none, ellipsis, slice, integer, array };

  static Kind kind_of(PyObject* key) {
    if (key == Py_None) return Kind::none;
    if (key == Py_Ellipsis) return Kind::ellipsis;
    if (PySlice_Check(key)) return Kind::slice;
    return is_integer_index(key) ? Kind::integer : Kind::array;
  }

  /// Dimensions of x that an item takes.
  int dims_of(Kind kind, PyObject* key) {
    if (kind == Kind::none || kind == Kind::ellipsis) return 0;
    if (kind != Kind::array) return 1;
    arrays_.push_back(convert_key(key, op_, false));
    Tensor& tensor = arrays_.back().tensor;
    if (tensor.dtype == DType::u64 && tensor.storage && tensor.ndim() == 0) {
      tensor = without_wrap(tensor);
    }
    return arrays_.back().is_mask ? arrays_.back().shape().size() : 1;
  }

  bool fancy() const {
    return std::any_of(arrays_.begin(), arrays_.end(),
                       [](const ArrayKey& k) { return !k.is_integer; });
  }

  void parse_all(PyObject* const* keys, Py_ssize_t count) {
    int consumed = 0;
    SmallVector<Kind, 8> kinds;
    for (Py_ssize_t i = 0; i < count; ++i) kinds.push_back(kind_of(keys[i]));
    if (std::count(kinds.begin(), kinds.end(), Kind::ellipsis) > 1) {
      fail(ErrorKind::index, "[", op_, "] more than one ellipsis");
    }
    ellipsis_ = std::count(kinds.begin(), kinds.end(), Kind::ellipsis) > 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      consumed += dims_of(kinds[i], keys[i]);
      if (kinds[i] == Kind::array && count > 1) keep_shape(&arrays_.back());
    }
    if (consumed > x_.ndim()) {
      fail(ErrorKind::index, "[", op_, "] ", consumed, " indices for ", x_.ndim(), " dimensions");
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (kinds[i] == Kind::ellipsis) {
        keep(x_.ndim() - consumed);
      } else {
        parse_one(kinds[i], keys[i]);
      }
    }
    keep(x_.ndim() - axis_);
    check_dimensions(view_.ndim());
  }

  void check_dimensions(int ndim) const {
    if (ndim <= kMaxDims) return;
    fail(ErrorKind::index, "[", op_, "] at most ", kMaxDims, " dimensions, got ", ndim);
  }

  void parse_one(Kind kind, PyObject* key) {
    if (kind == Kind::none) {
      separate();
      push(1, 0);
    } else if (kind == Kind::slice) {
      separate();
      slice(key);
    } else if (kind == Kind::integer) {
      note_array();
      element(key);
    } else {
      note_array();
      array(arrays_[next_array_++]);
    }
  }

  void element(PyObject* key) {
    const Reference number(checked(PyNumber_Index(key)));
    int overflow;
    const int64_t index = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (!overflow) return element(index);
    PyLong_AsUnsignedLongLong(number.get());
    const bool is_longer = PyErr_Occurred();  // than 64 bits: no index for NumPy
    PyErr_Clear();
    fail(is_longer ? ErrorKind::index : ErrorKind::overflow, "[", op_,
         "] an index does not fit in 64 bits");
  }

  void element(int64_t given) {
    const int64_t size = x_.shape[axis_];
    const int64_t index = given < 0 ? given + size : given;
    if (index < 0 || index >= size) throw out_of_bounds(op_, given, axis_, size);
    view_.offset += index * x_.strides[axis_];
    ++axis_;
  }

  void slice(PyObject* key) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) throw PythonErrorSet{};
    const Py_ssize_t length = PySlice_AdjustIndices(x_.shape[axis_], &start, &stop, step);
    if (length > 0) view_.offset += start * x_.strides[axis_];
    push(length, length > 1 ? step * x_.strides[axis_] : x_.strides[axis_]);
    ++axis_;
  }

  void array(const ArrayKey& key) {
    if (key.is_integer) {
      return element(*static_cast<const int64_t*>(PyArray_DATA(key.host())));
    }
    const Dims shape = key.shape();
    const int dims = key.is_mask ? shape.size() : 1;
    for (int d = 0; d < dims; ++d, ++axis_) {
      if (key.is_mask && shape[d] != x_.shape[axis_] && shape[d] != 0) {  // empty: selects nothing
        fail(ErrorKind::index, "[", op_, "] the mask has size ", shape[d], " along axis ", axis_,
             ", where the tensor has ", x_.shape[axis_]);
      }
      indexed_.push_back(axis_);
    }
  }

  void keep(int count) {
    separate();
    for (int i = 0; i < count; ++i, ++axis_) push(x_.shape[axis_], x_.strides[axis_]);
  }

  void push(int64_t size, int64_t stride) {
    view_.shape.push_back(size);
    view_.strides.push_back(stride);
  }

  /// Items that are arrays (and integers beside them) give dimensions in their place when they
  /// stand together, and in front when something stands between them.
  void note_array() {
    if (group_ == Group::none) place_ = view_.ndim();
    if (group_ == Group::ended) place_ = 0;
    if (group_ != Group::ended) group_ = Group::open;
  }
  void separate() {
    if (group_ == Group::open) group_ = Group::ended;
  }

  Selection select();
  Tensor indexed_first() const;
  void select_mask(Selection* out);
  void select_arrays(Selection* out);
  void expand_masks();

  const Tensor& x_;
  const char* op_;
  Tensor view_;
  int axis_ = 0;  // of x_, the next to index
  bool ellipsis_ = false;
  std::vector<ArrayKey> arrays_;
  size_t next_array_ = 0;
  std::vector<int64_t> indexed_;  // axes of x_ with an array
  enum class Group { none, open, ended } group_ = Group::none;
  int place_ = 0;
};

/// Each mask becomes as many integer arrays as it has dimensions; a 0-d one stays, for its count is
/// a shape all the same.
void KeyParser::expand_masks() {
  std::vector<ArrayKey> expanded;
  for (ArrayKey& key : arrays_) {
    if (!key.is_mask) {
      expanded.push_back(std::move(key));
      continue;
    }
    key.tensor = tensor_of_key(key, x_.device());
    if (key.count < 0) key.count = look_at_count(key.tensor, op_);
    if (key.tensor.ndim() == 0) {
      expanded.push_back(std::move(key));
      continue;
    }
    Tensor row = nonzero(issuer(), op_, key.tensor, key.count);
    const int64_t step = row.strides[0];
    row.shape = {key.count};
    row.strides = {row.strides[1]};
    for (int d = 0; d < key.tensor.ndim(); ++d, row.offset += step) {
      expanded.push_back({key.key, {}, row});
    }
  }
  arrays_ = std::move(expanded);
}

/// x as kernels want it: the dimensions with an array, then those of the view.
Tensor KeyParser::indexed_first() const {
  Tensor x = view_;
  x.shape.clear();
  x.strides.clear();
  for (int64_t axis : indexed_) {
    x.shape.push_back(x_.shape[axis]);
    x.strides.push_back(x_.strides[axis]);
  }
  for (int d = 0; d < view_.ndim(); ++d) {
    x.shape.push_back(view_.shape[d]);
    x.strides.push_back(view_.strides[d]);
  }
  return x;
}

/// One mask; or several 0-d ones, of which the one that is false, if any, decides.
void KeyParser::select_mask(Selection* out) {
  ArrayKey& key =
      *std::min_element(arrays_.begin(), arrays_.end(),
                        [](const ArrayKey& a, const ArrayKey& b) { return a.count < b.count; });
  out->mask = tensor_of_key(key, x_.device());
  out->picked = {key.count};
}

void KeyParser::select_arrays(Selection* out) {
  for (const ArrayKey& key : arrays_) {
    const Dims shape = key.is_mask ? Dims{key.count} : key.shape();
    try {
      out->picked = broadcast_shapes(out->picked, shape, op_);
    } catch (const Error&) {
      fail(ErrorKind::index, "[", op_, "] index arrays of shapes ", shape_str(out->picked), " and ",
           shape_str(shape), " do not broadcast");
    }
  }
  const bool nothing = element_count(out->picked) == 0;
  for (const ArrayKey& key : arrays_) {
    if (key.is_mask) continue;
    const int64_t axis = indexed_[out->arrays.size()];
    const bool is_number = !key.array.get() && key.tensor.ndim() == 0;
    if (is_number && x_.shape[axis] == 0) {  // its value makes no difference
      fail(ErrorKind::index, "[", op_, "] an index is out of bounds for axis ", axis,
           " with size 0");
    }
    if (key.array.get() && !nothing) check_bounds(key, x_.shape[axis], axis, op_);
    out->arrays.push_back(tensor_of_key(key, x_.device()));
  }
}

Selection KeyParser::select() {
  arrays_.erase(std::remove_if(arrays_.begin(), arrays_.end(),
                               [](const ArrayKey& key) { return key.is_integer; }),
                arrays_.end());
  Selection selection;
  selection.x = indexed_first();
  selection.axes = indexed_;
  selection.place = place_;
  if (arrays_.size() > 1) expand_masks();
  if (arrays_[0].is_mask && (indexed_.empty() || arrays_.size() == 1)) {
    select_mask(&selection);
  } else {
    select_arrays(&selection);
  }
  check_dimensions(view_.ndim() + selection.picked.size());
  return selection;
}

}  // namespace

namespace {

/// One tensor of int64 in the first place, by far the most common key with an array.
bool is_plain_array(const Tensor& x, PyObject* key) {
  if (!is_tensor(key) || x.ndim() == 0) return false;
  const Tensor& indices = tensor_of(key);
  return indices.dtype == DType::i64 && indices.device() == x.device() &&
         indices.ndim() + x.ndim() <= kMaxDims;
}

}  // namespace

Indexed parse_key(const Tensor& x, PyObject* key, const char* op) {
  Indexed out;
  if (basic_view(x, key, &out.view)) {
    out.copy = element_offset(x, key).has_value();
    return out;
  }
  if (is_plain_array(x, key)) {
    out.selection = select_along(x, 0, tensor_of(key), ops::OutOfRange::raise);
    return out;
  }
  return KeyParser(x, op).parse(key);
}

int64_t look_at_count(const Tensor& x, const char* op) {
  if (const std::optional<int64_t> count = count_nonzero_here(issuer(), x)) return *count;
  refuse_while_recording(op, &x);  // the mask is what the user knows, not the count
  const Tensor count = count_nonzero(issuer(), op, x);
  Scalar element;
  int64_t value;
  if (read_element(runtime().machine, count, &element)) {
    std::memcpy(&value, element.bytes, sizeof value);
  } else {
    std::memcpy(&value, look_from_python(count, op).address(), sizeof value);
  }
  return value;
}

Tensor index_array(PyObject* object, const Tensor& x, int axis, ops::OutOfRange mode,
                   const char* op) {
  ArrayKey key = convert_key(object, op, true);
  if (key.is_mask) fail(ErrorKind::index, "[", op, "] indices must be integers, got booleans");
  if (key.array.get() && mode == ops::OutOfRange::raise) check_bounds(key, x.shape[axis], axis, op);
  return tensor_of_key(key, x.device());
}

}  // namespace ofl::python
