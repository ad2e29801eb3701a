// Element types. One row each; everything that depends on a dtype asks this table.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

namespace ofl {

enum class DType : uint8_t {
  b1,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128
};

enum class DTypeKind : uint8_t { boolean, signed_int, unsigned_int, floating, complex };

struct DTypeInfo {
  const char* name;  // the array API name
  char code;         // NumPy's one-letter type code; of bfloat16 that of ml_dtypes
  uint8_t size;      // bytes
  uint8_t align;     // bytes
  DTypeKind kind;
};

// clang-format off
inline constexpr DTypeInfo kDTypes[] = {
    {"bool", '?', 1, 1, DTypeKind::boolean},
    {"int8", 'b', 1, 1, DTypeKind::signed_int},
    {"int16", 'h', 2, 2, DTypeKind::signed_int},
    {"int32", 'i', 4, 4, DTypeKind::signed_int},
    {"int64", 'l', 8, 8, DTypeKind::signed_int},
    {"uint8", 'B', 1, 1, DTypeKind::unsigned_int},
    {"uint16", 'H', 2, 2, DTypeKind::unsigned_int},
    {"uint32", 'I', 4, 4, DTypeKind::unsigned_int},
    {"uint64", 'L', 8, 8, DTypeKind::unsigned_int},
    {"float16", 'e', 2, 2, DTypeKind::floating},
    {"bfloat16", 'E', 2, 2, DTypeKind::floating},
    {"float32", 'f', 4, 4, DTypeKind::floating},
    {"float64", 'd', 8, 8, DTypeKind::floating},
    {"complex64", 'F', 8, 4, DTypeKind::complex},
    {"complex128", 'D', 16, 8, DTypeKind::complex},
};
// clang-format on
inline constexpr int kDTypeCount = sizeof(kDTypes) / sizeof(kDTypes[0]);

inline constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
inline constexpr size_t size_of(DType dtype) { return info(dtype).size; }
inline constexpr const char* name_of(DType dtype) { return info(dtype).name; }
inline constexpr bool is_integer(DType dtype) {
  return info(dtype).kind == DTypeKind::signed_int || info(dtype).kind == DTypeKind::unsigned_int;
}

/// IEEE binary16, as bits. Conversions are in base/half.h.
struct Half {
  uint16_t bits;
};

/// The upper half of a float32, as bits. Conversions are in base/half.h; nothing computes in it.
struct BFloat16 {
  uint16_t bits;
};

/// Calls `visitor(T{})` with the C++ type that holds one element of `dtype`.
template <typename Visitor>
decltype(auto) visit_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::b1: return visitor(bool{});
    case DType::i8: return visitor(int8_t{});
    case DType::i16: return visitor(int16_t{});
    case DType::i32: return visitor(int32_t{});
    case DType::i64: return visitor(int64_t{});
    case DType::u8: return visitor(uint8_t{});
    case DType::u16: return visitor(uint16_t{});
    case DType::u32: return visitor(uint32_t{});
    case DType::u64: return visitor(uint64_t{});
    case DType::f16: return visitor(Half{});
    case DType::bf16: return visitor(BFloat16{});
    case DType::f32: return visitor(float{});
    case DType::f64: return visitor(double{});
    case DType::c64: return visitor(std::complex<float>{});
    case DType::c128: break;
  }
  return visitor(std::complex<double>{});
}

/// One element of any dtype, as raw bytes.
struct alignas(16) Scalar {
  unsigned char bytes[16] = {};
};

}  // namespace ofl
