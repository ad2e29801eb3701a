#include "distributed/boxing/operators.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ofl::distributed {

namespace {

Combine combine_two = nullptr;

/// The bits of a component that is a floating point number.
uint64_t floating_bits(PartialOp op, DType component) {
  struct Format {
    uint64_t sign, infinity, one;
  };
  const auto format = [component]() -> Format {
    switch (component) {
      case DType::f16: return {0x8000, 0x7c00, 0x3c00};
      case DType::bf16: return {0x8000, 0x7f80, 0x3f80};
      case DType::f32: return {0x80000000, 0x7f800000, 0x3f800000};
      default: return {uint64_t{1} << 63, 0x7ff0000000000000, 0x3ff0000000000000};
    }
  }();
  switch (op) {
    case PartialOp::sum: return format.sign;
    case PartialOp::max: return format.sign | format.infinity;
    case PartialOp::min: return format.infinity;
    case PartialOp::any: return 0;
    case PartialOp::prod:
    case PartialOp::all: break;
  }
  return format.one;
}

uint64_t integer_bits(PartialOp op, const DTypeInfo& row) {
  const bool is_signed = row.kind == DTypeKind::signed_int;
  const uint64_t ones = ~uint64_t{0} >> (64 - 8 * row.size);
  const uint64_t sign = uint64_t{1} << (8 * row.size - 1);
  switch (op) {
    case PartialOp::sum:
    case PartialOp::any: return 0;
    case PartialOp::max: return is_signed ? sign : 0;
    case PartialOp::min: return is_signed ? ones & ~sign : ones;
    case PartialOp::prod:
    case PartialOp::all: break;
  }
  return 1;
}

}  // namespace

void set_combine(Combine combine) { combine_two = combine; }

Tensor combine_tree(const Issuer& issuer, PartialOp op, std::vector<Tensor> values) {
  while (values.size() > 1) {
    std::vector<Tensor> pairs;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      pairs.push_back(combine_two(issuer, op, values[i], values[i + 1]));
    }
    if (values.size() % 2) pairs.push_back(std::move(values.back()));
    values = std::move(pairs);
  }
  return std::move(values.front());
}

Scalar neutral(PartialOp op, DType dtype) {
  const DTypeInfo& row = info(dtype);
  Scalar value{};
  uint64_t bits = 0;
  switch (row.kind) {
    case DTypeKind::boolean:
      bits = op == PartialOp::prod || op == PartialOp::all || op == PartialOp::min;
      break;
    case DTypeKind::signed_int:
    case DTypeKind::unsigned_int: bits = integer_bits(op, row); break;
    case DTypeKind::floating: bits = floating_bits(op, dtype); break;
    case DTypeKind::complex: {
      const DType component = dtype == DType::c64 ? DType::f32 : DType::f64;
      bits = floating_bits(op, component);
      // The sum's -0.0 has two of them; an order looks at the imaginary part only between equals.
      const bool is_pair = op == PartialOp::sum || op == PartialOp::max || op == PartialOp::min;
      if (is_pair) std::memcpy(value.bytes + size_of(component), &bits, size_of(component));
      std::memcpy(value.bytes, &bits, size_of(component));
      return value;
    }
  }
  std::memcpy(value.bytes, &bits, row.size);  // little-endian
  return value;
}

}  // namespace ofl::distributed
