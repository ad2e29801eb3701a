// The binary interface of DLPack 1.x, written from its public specification. Layouts are fixed by
// it.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace ofl::python::dlpack {

inline constexpr uint32_t kMajor = 1;
inline constexpr uint32_t kMinor = 0;

struct DeviceId {
  int32_t type;  // Backend::dlpack_type
  int32_t index;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Array {
  void* data;
  DeviceId device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};

/// What a capsule named "dltensor" holds.
struct Legacy {
  Array array;
  void* context;
  void (*deleter)(Legacy* self);
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kIsCopied = 2;

/// What a capsule named "dltensor_versioned" holds.
struct Versioned {
  Version version;
  void* context;
  void (*deleter)(Versioned* self);
  uint64_t flags;
  Array array;
};

/// Codes of element types by DTypeKind; bool is a byte of its own code.
inline constexpr uint8_t kCodes[] = {6, 0, 1, 2, 5};
inline constexpr uint8_t kBFloatCode = 4;
inline constexpr const char* kCodeNames[] = {"int",    "uint",    "float", "opaque",
                                             "bfloat", "complex", "bool"};
inline constexpr int kCodeNameCount = sizeof(kCodeNames) / sizeof(kCodeNames[0]);

inline DataType type_of(DType dtype) {
  const uint8_t code =
      dtype == DType::bf16 ? kBFloatCode : kCodes[static_cast<int>(info(dtype).kind)];
  return {code, static_cast<uint8_t>(size_of(dtype) * 8), 1};
}

}  // namespace ofl::python::dlpack
