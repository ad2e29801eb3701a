// DLPack: memory of the cpu, and of devices with an ep::Interop, to and from other libraries,
// without a copy. Memory of the cpu is settled when it is handed over; that of a device is ordered
// by its queues.
#include "python/interop/dlpack.h"

#include <memory>
#include <optional>

#include "ep/interop.h"
#include "python/arguments.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/gil.h"
#include "python/interop/foreign_memory.h"
#include "python/machine/device_object.h"
#include "python/runtime.h"
#include "python/tensor/object.h"
#include "tensor/sharing.h"

namespace ofl::python {

namespace {

constexpr const char* kLegacyName = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kUsedLegacyName = "used_dltensor";
constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

// --- export

/// Everything that a consumer holds of a tensor. Its deleter runs in any thread, needs no GIL.
template <typename Managed>
struct Export {
  Managed managed;
  Tensor tensor;
  std::optional<SharedStorage> shared;
  int64_t shape[kMaxDims], strides[kMaxDims];  // in elements
};

template <typename Managed>
void delete_export(Managed* managed) {
  delete static_cast<Export<Managed>*>(managed->context);
}

/// Of a capsule that nobody has consumed.
template <typename Managed>
void destroy_capsule(PyObject* capsule) {
  const bool versioned = std::is_same_v<Managed, dlpack::Versioned>;
  const char* name = versioned ? kVersionedName : kLegacyName;
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter) managed->deleter(managed);
}

dlpack::DeviceId dlpack_id(Device device) {
  return {ep::backend_of(device.type).dlpack_type, device.index};
}

template <typename Managed>
void fill_array(Export<Managed>* out) {
  const Tensor& x = out->tensor;
  const auto itemsize = static_cast<int64_t>(size_of(x.dtype));
  for (int d = 0; d < x.ndim(); ++d) {
    if (x.shape[d] > 1 && x.strides[d] % itemsize != 0) {
      fail(ErrorKind::buffer, "[__dlpack__] strides are counted in elements of ", itemsize,
           " bytes, got ", shape_str(x.strides), " bytes; copy the tensor first");
    }
    out->shape[d] = x.shape[d];
    out->strides[d] = x.strides[d] / itemsize;
  }
  out->managed.context = out;
  out->managed.deleter = delete_export<Managed>;
  dlpack::Array& array = out->managed.array;
  array.data = x.size() ? x.address() : nullptr;
  array.device = dlpack_id(x.device());
  array.ndim = x.ndim();
  array.dtype = dlpack::type_of(x.dtype);
  array.shape = out->shape;
  array.strides = out->strides;
  array.byte_offset = 0;
}

constexpr int64_t kNoQueue = -1;  // the consumer orders itself

/// What a consumer wants.
struct Wish {
  bool versioned;
  bool host_copy;  // a copy on the host that nobody else has
  bool is_fresh;   // nobody else has the tensor: it is a copy already
  int64_t queue;   // of the consumer; for memory of a device
};

/// `x` itself, or a copy on the host.
template <typename Managed>
std::unique_ptr<Export<Managed>> make_export(const Tensor& x, const Wish& wish) {
  auto out = std::make_unique<Export<Managed>>();
  if (wish.host_copy) {
    out->tensor = look_from_python(x, "__dlpack__");
  } else if (x.storage->on_host()) {
    out->tensor = x;
    out->shared.emplace(x.storage);
    settle_from_python(out->tensor, "__dlpack__");
  } else {
    out->tensor = x;
    const ep::EventLease ready = hand_over(issuer(), x, "__dlpack__");
    ep::Interop* interop = x.storage->state().device.interop();
    if (wish.queue != kNoQueue) interop->make_wait(static_cast<uintptr_t>(wish.queue), *ready);
  }
  fill_array(out.get());
  return out;
}

template <typename Managed>
PyObject* capsule_over(std::unique_ptr<Export<Managed>> out, const char* name) {
  PyObject* capsule = checked(PyCapsule_New(&out->managed, name, destroy_capsule<Managed>));
  out.release();
  return capsule;
}

/// to_dlpack(x, versioned, host_copy, is_fresh, queue)
PyObject* to_dlpack(Arguments given) {
  const Tensor& x = require_tensor(given[0], "__dlpack__");
  const bool versioned = truth(given[1]), host_copy = truth(given[2]), is_fresh = truth(given[3]);
  const Wish wish{versioned, host_copy, is_fresh, integer_argument(given[4])};
  if (!host_copy && !x.storage->on_host() && !x.storage->state().device.interop()) {
    fail(ErrorKind::buffer, "[__dlpack__] the memory of ", x.device().str(),
         " cannot be shared with other libraries; ask for a copy on the host, dl_device=(1, 0)");
  }
  const bool read_only = !host_copy && !may_be_written(x);
  if (!versioned) {
    if (read_only) {
      fail(ErrorKind::buffer,
           "[__dlpack__] a read-only tensor needs max_version=(1, 0) or newer, which can say so; "
           "or copy it first");
    }
    return capsule_over(make_export<dlpack::Legacy>(x, wish), kLegacyName);
  }
  auto out = make_export<dlpack::Versioned>(x, wish);
  out->managed.version = {dlpack::kMajor, dlpack::kMinor};
  out->managed.flags =
      (read_only ? dlpack::kReadOnly : 0) | (host_copy || is_fresh ? dlpack::kIsCopied : 0);
  return capsule_over(std::move(out), kVersionedName);
}

/// memory_to_dlpack(x, versioned, read_only): of a tensor that the caller has, in a function that
/// reads or writes it. Nothing is issued.
PyObject* memory_to_dlpack(Arguments given) {
  const Tensor& x = require_tensor(given[0], "__dlpack__");
  const bool read_only = truth(given[2]);
  x.storage->note_export();
  if (!truth(given[1])) {
    if (read_only) {
      fail(ErrorKind::buffer,
           "[__dlpack__] what a function reads needs max_version=(1, 0) or "
           "newer, which can say so");
    }
    auto out = std::make_unique<Export<dlpack::Legacy>>();
    out->tensor = x;
    fill_array(out.get());
    return capsule_over(std::move(out), kLegacyName);
  }
  auto out = std::make_unique<Export<dlpack::Versioned>>();
  out->tensor = x;
  fill_array(out.get());
  out->managed.version = {dlpack::kMajor, dlpack::kMinor};
  out->managed.flags = read_only ? dlpack::kReadOnly : 0;
  return capsule_over(std::move(out), kVersionedName);
}

/// dlpack_device(x): of a tensor, or of a Device.
PyObject* dlpack_device(Arguments given) {
  const std::optional<Device> named = is_tensor(given[0]) ? std::nullopt : device_or_none(given[0]);
  const dlpack::DeviceId id =
      dlpack_id(named ? *named : require_tensor(given[0], "__dlpack_device__").device());
  return Py_BuildValue("(ii)", static_cast<int>(id.type), static_cast<int>(id.index));
}

// --- import

/// A capsule's content, whatever its version. Consumed by take().
struct Import {
  explicit Import(PyObject* capsule);
  /// From here on the memory is ours, until the last copy of the result goes.
  std::shared_ptr<void> take();

  PyObject* capsule;
  dlpack::Versioned* versioned = nullptr;
  dlpack::Legacy* legacy = nullptr;
  const dlpack::Array* array = nullptr;
  bool read_only = true;  // a legacy capsule cannot tell: NumPy takes it for read-only, too
  bool copied = false;
};

Import::Import(PyObject* capsule) : capsule(capsule) {
  if (PyCapsule_IsValid(capsule, kVersionedName)) {
    versioned = static_cast<dlpack::Versioned*>(PyCapsule_GetPointer(capsule, kVersionedName));
    if (versioned->version.major != dlpack::kMajor) {
      fail(ErrorKind::buffer, "[from_dlpack] expected DLPack version ", dlpack::kMajor, ", got ",
           versioned->version.major, ".", versioned->version.minor);
    }
    array = &versioned->array;
    read_only = (versioned->flags & dlpack::kReadOnly) != 0;
    copied = (versioned->flags & dlpack::kIsCopied) != 0;
  } else if (PyCapsule_IsValid(capsule, kLegacyName)) {
    legacy = static_cast<dlpack::Legacy*>(PyCapsule_GetPointer(capsule, kLegacyName));
    array = &legacy->array;
  } else {
    fail(ErrorKind::value, "[from_dlpack] expected a DLPack capsule that nobody has consumed, got ",
         PyCapsule_CheckExact(capsule) ? "another capsule" : Py_TYPE(capsule)->tp_name);
  }
}

template <typename Managed>
void delete_import(void* object) {
  auto* managed = static_cast<Managed*>(object);
  if (managed->deleter) managed->deleter(managed);
}

std::shared_ptr<void> Import::take() {
  const bool is_versioned = versioned != nullptr;
  if (PyCapsule_SetName(capsule, is_versioned ? kUsedVersionedName : kUsedLegacyName) < 0) {
    throw PythonErrorSet{};
  }
  void* managed = is_versioned ? static_cast<void*>(versioned) : static_cast<void*>(legacy);
  const auto release =
      is_versioned ? delete_import<dlpack::Versioned> : delete_import<dlpack::Legacy>;
  // The producer's deleter may be Python.
  return {managed, [release](void* object) { release_with_gil(release, object); }};
}

DType dtype_of(const dlpack::DataType& type) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const dlpack::DataType known = dlpack::type_of(dtype);
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return dtype;
  }
  const std::string name = type.code < dlpack::kCodeNameCount
                               ? dlpack::kCodeNames[type.code]
                               : concat("type ", int(type.code), " of ");
  fail(ErrorKind::buffer, "[from_dlpack] unsupported dtype ", name, int(type.bits),
       type.lanes == 1 ? "" : concat(" with ", type.lanes, " lanes"));
}

/// The device whose memory others may give; that of the host has any index.
std::optional<Device> home_of(int64_t type, int64_t index) {
  for (const ep::Backend& row : ep::backends()) {
    if (type != row.dlpack_type && type != row.dlpack_also) continue;
    if (row.type == DeviceType::cpu) return Device{};
    if (row.has_interop && index >= 0 && index < row.count()) {
      return Device{row.type, static_cast<int16_t>(index)};
    }
  }
  return std::nullopt;
}

/// dlpack_home(type, index): a Device, or None.
PyObject* dlpack_home(Arguments given) {
  const auto home = home_of(integer_argument(given[0]), integer_argument(given[1]));
  if (home) return device_object(*home);
  Py_RETURN_NONE;
}

Device device_of(const dlpack::DeviceId& id) {
  if (const std::optional<Device> home = home_of(id.type, id.index)) return *home;
  std::string expected = "the host";
  for (const ep::Backend& row : ep::backends()) {
    const int count = row.has_interop ? row.count() : 0;
    if (count > 0) expected += concat(" or of one of ", count, " ", row.name, " devices");
  }
  fail(ErrorKind::buffer, "[from_dlpack] expected memory of ", expected,
       ", got DLPack device type ", id.type, ", index ", id.index);
}

/// Shape and strides; the storage is still missing.
Tensor describe(const dlpack::Array& array) {
  if (array.ndim < 0 || array.ndim > kMaxDims) {
    fail(ErrorKind::buffer, "[from_dlpack] at most ", kMaxDims, " dimensions, got ", array.ndim);
  }
  if (array.ndim > 0 && !array.shape) fail(ErrorKind::buffer, "[from_dlpack] expected a shape");
  Tensor x;
  x.dtype = dtype_of(array.dtype);
  descr_of(x.dtype);  // what has none is not taken in
  const auto itemsize = static_cast<int64_t>(size_of(x.dtype));
  for (int d = 0; d < array.ndim; ++d) {
    x.shape.push_back(array.shape[d]);
    if (array.shape[d] < 0) {
      fail(ErrorKind::buffer, "[from_dlpack] negative dimension in shape ", shape_str(x.shape));
    }
  }
  count_elements(x.shape, itemsize, "from_dlpack");
  x.strides = contiguous_strides(x.shape, itemsize);
  for (int d = 0; array.strides && d < array.ndim; ++d) {
    if (__builtin_mul_overflow(array.strides[d], itemsize, &x.strides[d])) {
      fail(ErrorKind::buffer, "[from_dlpack] stride ", array.strides[d], " of ", itemsize,
           " bytes an element does not fit in 64 bits");
    }
  }
  return x;
}

PyObject* from_dlpack(Arguments given) {
  Import source(given[0]);
  const Device device = device_of(source.array->device);
  Tensor x = describe(*source.array);
  if (x.size() == 0) {
    source.take();
    return wrap(empty(issuer(), device, x.dtype, x.shape));
  }
  const auto data = reinterpret_cast<uintptr_t>(source.array->data);
  if (!data || source.array->byte_offset > UINTPTR_MAX - data) {
    fail(ErrorKind::buffer, "[from_dlpack] expected memory, got address ", data,
         " and an offset of ", source.array->byte_offset, " bytes");
  }
  char* first = reinterpret_cast<char*>(data + source.array->byte_offset);
  const MemoryRange range = range_of(x, device, first, "from_dlpack");
  x.offset = range.offset;
  if (device != Device{}) {
    require_memory_of(device, range, "from_dlpack");
    // The producer has made the compute queue wait.
    x.storage = take_over(issuer(), device, range.begin, range.bytes, source.take(),
                          !source.read_only, nullptr);
    return wrap(std::move(x));
  }
  x.storage = StorageRef::adopt(TensorStorage::over(runtime().machine.state(Device{}), range.begin,
                                                    range.bytes, source.take(), !source.read_only));
  // The producer sees the memory as long as it lives, unless it was made for us.
  if (!source.copied) {
    x.storage->dependence().share();
    x.storage->enter_shared(runtime().machine);
  }
  return wrap(std::move(x));
}

PyMethodDef functions[] = {positional<to_dlpack, 5>("to_dlpack"),
                           positional<memory_to_dlpack, 3>("memory_to_dlpack"),
                           positional<dlpack_device, 1>("dlpack_device"),
                           positional<dlpack_home, 2>("dlpack_home"),
                           positional<from_dlpack, 1>("from_dlpack"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_dlpack(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
