// The buffer protocol: the memory of a cpu tensor for memoryview, NumPy and compiled modules.
#include <memory>
#include <utility>

#include "python/convert.h"
#include "python/errors.h"
#include "python/runtime.h"
#include "python/tensor/type.h"

namespace ofl::python {

namespace {

/// What a buffer holds; its memory stays shared as long.
struct Held {
  explicit Held(const Tensor& x) : shared(x.storage) {}

  SharedStorage shared;
  char format[3] = {};
  Py_ssize_t shape[kMaxDims], strides[kMaxDims];
};

bool asks(int flags, int wanted) { return (flags & wanted) == wanted; }

bool fortran_contiguous(const Tensor& x) {
  Dims shape, strides;
  for (int d = x.ndim() - 1; d >= 0; --d) {
    shape.push_back(x.shape[d]);
    strides.push_back(x.strides[d]);
  }
  return is_contiguous(shape, strides, static_cast<int64_t>(size_of(x.dtype)));
}

void check_layout(const Tensor& x, int flags) {
  const bool c_order = x.contiguous();
  const bool f_order = fortran_contiguous(x);
  const bool fits = asks(flags, PyBUF_ANY_CONTIGUOUS) ? c_order || f_order
                    : asks(flags, PyBUF_F_CONTIGUOUS) ? f_order
                    : asks(flags, PyBUF_C_CONTIGUOUS) ? c_order
                                                      : asks(flags, PyBUF_STRIDES) || c_order;
  if (!fits) {
    fail(ErrorKind::buffer, "[memoryview] the consumer needs contiguous memory, got strides ",
         shape_str(x.strides), " for shape ", shape_str(x.shape), "; copy the tensor first");
  }
}

bool is_writable(const Tensor& x) {
  const auto itemsize = static_cast<int64_t>(size_of(x.dtype));
  return x.storage->writable() && !may_self_overlap(x.shape, x.strides, itemsize);
}

void require_host(const Tensor& x, const char* op) {
  if (x.storage->on_host()) return;
  fail(ErrorKind::buffer, "[", op, "] the memory of ", x.device().str(),
       " cannot be looked into; use .cpu() or .numpy()");
}

/// NumPy's: one letter, or Z and the letter of the parts for a complex dtype.
void write_format(DType dtype, char* format) {
  const bool complex = info(dtype).kind == DTypeKind::complex;
  if (complex) *format++ = 'Z';
  const DType part = dtype == DType::c64 ? DType::f32 : dtype == DType::c128 ? DType::f64 : dtype;
  *format = info(part).code;
}

/// The interrupt of the last wait for a buffer. NumPy lets go of what the protocol raises, and asks
/// for __array__() next, which raises it. Of all threads; with the GIL. A program that has seen the
/// exception is told by its traceback, which grows with each frame that the exception passes.
struct Unseen {
  unsigned long thread = 0;
  PyObject* tensor = nullptr;     // only compared
  PyObject* traceback = nullptr;  // only compared
  PyObject* exception = nullptr;  // owned
};
Unseen unseen;

PyObject* traceback_of(PyObject* exception) {
  return exception ? Reference(PyException_GetTraceback(exception)).get() : nullptr;
}

void settle_for_buffer(PyObject* tensor, const Tensor& x) {
  Py_CLEAR(unseen.exception);
  try {
    settle_from_python(x, "memoryview");
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) {
      PyObject* const before = std::exchange(unseen.exception, python_exception(error));
      unseen.thread = PyThread_get_thread_ident();
      unseen.tensor = tensor;
      unseen.traceback = traceback_of(unseen.exception);
      Py_XDECREF(before);
    }
    throw;
  }
}

}  // namespace

int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded(-1, [&] {
    const Tensor x = tensor_of(self);  // another thread may donate it meanwhile
    require_host(x, "memoryview");
    const auto itemsize = static_cast<int64_t>(size_of(x.dtype));
    const bool writable = is_writable(x);
    if (asks(flags, PyBUF_WRITABLE) && !writable) {
      fail(ErrorKind::buffer, "[memoryview] the consumer needs to write, got a read-only tensor");
    }
    if (x.dtype == DType::bf16 && asks(flags, PyBUF_FORMAT)) {
      fail(ErrorKind::buffer,
           "[memoryview] the buffer protocol has no format for bfloat16; use .numpy(), or "
           ".astype(flow.float32)");
    }
    check_layout(x, flags);
    auto held = std::make_unique<Held>(x);
    settle_for_buffer(self, x);
    for (int d = 0; d < x.ndim(); ++d) {
      held->shape[d] = x.shape[d];
      held->strides[d] = x.strides[d];
    }
    write_format(x.dtype, held->format);
    view->buf = x.address();
    view->len = x.size() * itemsize;
    view->itemsize = itemsize;
    view->readonly = writable ? 0 : 1;
    view->ndim = x.ndim();
    view->format = asks(flags, PyBUF_FORMAT) ? held->format : nullptr;
    view->shape = asks(flags, PyBUF_ND) ? held->shape : nullptr;
    view->strides = asks(flags, PyBUF_STRIDES) ? held->strides : nullptr;
    view->suboffsets = nullptr;
    view->internal = held.release();
    Py_INCREF(self);
    view->obj = self;
    return 0;
  });
}

void raise_unseen(PyObject* tensor) {
  const Reference exception(std::exchange(unseen.exception, nullptr));
  const bool is_here = unseen.thread == PyThread_get_thread_ident() && unseen.tensor == tensor;
  if (!exception.get() || !is_here || traceback_of(exception.get()) != unseen.traceback) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  throw PythonErrorSet{};
}

// Where NumPy cannot go through the buffer protocol. Sharing begins before the wait; the memory may
// be there only after it.
PyObject* shared_array(PyObject* tensor) {
  const Tensor x = tensor_of(tensor);  // see tensor_get_buffer()
  require_host(x, "__array__");
  auto shared = std::make_unique<SharedStorage>(x.storage);
  settle_from_python(x, "__array__");
  return shared_array_over(x, is_writable(x), std::move(shared));
}

void tensor_release_buffer(PyObject*, Py_buffer* view) {
  delete static_cast<Held*>(view->internal);
}

}  // namespace ofl::python
