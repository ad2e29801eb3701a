#include "base/vector_regions.h"
#include "ops/elementwise/arithmetic/arithmetic.h"

#ifdef OFL_X86_VECTORS
#include <immintrin.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

OFL_BEGIN_AVX2
#include "ops/elementwise/arithmetic/truths.h"

namespace ofl::ops::arithmetic {

namespace {

constexpr ArithmeticLoops make_loops() {
  ArithmeticLoops loops;
  const auto set = [&](DType dtype, const LoopFn* of_dtype) {
    loops.of_dtype[static_cast<int>(dtype)] = of_dtype;
  };
  set(DType::i8, kLoopsOf<int8_t>);
  set(DType::i16, kLoopsOf<int16_t>);
  set(DType::i32, kLoopsOf<int32_t>);
  set(DType::i64, kLoopsOf<int64_t>);
  set(DType::u8, kLoopsOf<uint8_t>);
  set(DType::u16, kLoopsOf<uint16_t>);
  set(DType::u32, kLoopsOf<uint32_t>);
  set(DType::u64, kLoopsOf<uint64_t>);
  set(DType::f32, kLoopsOf<float>);
  set(DType::f64, kLoopsOf<double>);
  return loops;
}

constexpr ArithmeticLoops kLoops = make_loops();

}  // namespace

}  // namespace ofl::ops::arithmetic
OFL_END_REGION

const ofl::ops::ArithmeticLoops* const ofl::ops::kArithmeticLoops256 =
    &ofl::ops::arithmetic::kLoops;
#else
const ofl::ops::ArithmeticLoops* const ofl::ops::kArithmeticLoops256 = nullptr;
#endif
