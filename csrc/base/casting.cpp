#include "base/casting.h"

#include "base/error.h"

namespace ofl {

namespace {

/// Of the kinds, in the order in which `same_kind` goes up.
int rank(DType dtype) {
  static constexpr int kRanks[] = {0, 2, 1, 3, 4};
  return kRanks[static_cast<int>(info(dtype).kind)];
}

/// Of a complex dtype, that of a part.
size_t real_size(DType dtype) {
  return size_of(dtype) / (info(dtype).kind == DTypeKind::complex ? 2 : 1);
}

/// Whether `to` holds each value of `from`. NumPy counts float64 as holding 64-bit integers.
bool is_safe(DType from, DType to) {
  if (from == to || from == DType::b1) return true;
  if (rank(from) > rank(to)) return false;
  const size_t have = real_size(from), room = real_size(to);
  if (is_integer(from)) {
    if (is_integer(to)) return info(from).kind == info(to).kind ? have <= room : have < room;
    return have < room || room == 8;
  }
  const bool differ = from == DType::bf16 || to == DType::bf16;  // of one size, with float16
  return differ ? have < room : have <= room;
}

}  // namespace

bool can_cast(DType from, DType to, Casting casting) {
  if (from == to || casting == Casting::unsafe) return true;
  if (casting == Casting::safe) return is_safe(from, to);
  return casting == Casting::same_kind && rank(from) <= rank(to);
}

void require_castable(const char* op, DType from, DType to, Casting casting) {
  if (from == to) return;
  if (info(from).kind == DTypeKind::complex && info(to).kind != DTypeKind::complex &&
      to != DType::b1) {
    fail(ErrorKind::type, "[", op, "] cannot cast ", name_of(from), " to ", name_of(to),
         "; take flow.real() or flow.imag() first");
  }
  if (can_cast(from, to, casting)) return;
  fail(ErrorKind::type, "[", op, "] cannot cast ", name_of(from), " to ", name_of(to),
       " by the rule '", kCastingNames[static_cast<int>(casting)], "'; call astype() first");
}

}  // namespace ofl
