#include "ops/elementwise/float_functions/float_functions.h"

#include "base/vector_regions.h"

#ifdef OFL_X86_VECTORS
#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

OFL_BEGIN_AVX2
#include "ops/elementwise/float_functions/formulas/double_library_functions.h"
#include "ops/elementwise/float_functions/formulas/lanes256.h"
#include "ops/elementwise/float_functions/formulas/tanh256.h"
#include "ops/elementwise/float_functions/formulas/trigonometric_functions.h"
#include "ops/elementwise/float_functions/pair_loop.h"

namespace ofl::ops::float_functions {

namespace {

using V = Lanes256;
constexpr FloatLoops kLoops = {{loop<Blocks<V, Exp<V>>>,
                                loop<Blocks<V, Log<V>>>,
                                loop<Tanh256>,
                                loop<Blocks<V, Sine<V, false>>>,
                                loop<Blocks<V, Sine<V, true>>>,
                                loop<DoubleBlocks<FloatExp2, float>>,
                                loop<DoubleBlocks<FloatLog2, float>>,
                                pair_loop<PowerBlock<FloatPow, float>>,
                                loop<FloatBlocks<FloatExpm1>>,
                                loop<FloatBlocks<FloatLog1p>>,
                                loop<FloatBlocks<FloatAtan>>,
                                loop<FloatBlocks<FloatCbrt>>,
                                loop<FloatBlocks<FloatSinh>>,
                                loop<FloatBlocks<FloatAtanh>>,
                                loop<DoubleBlocks<FloatLog10, float>>,
                                loop<FloatBlocks<FloatCosh>>,
                                loop<FloatBlocks<FloatTan>>,
                                loop<FloatBlocks<FloatAsin>>,
                                loop<FloatBlocks<FloatAcos>>,
                                loop<FloatBlocks<FloatAsinh>>,
                                loop<FloatBlocks<FloatAcosh>>},
                               {loop<DoubleBlocks<DoubleExp>>,
                                loop<DoubleBlocks<DoubleLog>>,
                                nullptr,
                                loop<DoubleBlocks<DoubleSine<false>>>,
                                loop<DoubleBlocks<DoubleSine<true>>>,
                                loop<DoubleBlocks<DoubleExp2>>,
                                loop<DoubleBlocks<DoubleLog2>>,
                                pair_loop<PowerBlock<DoublePow, double>>,
                                loop<FloatBlocks<DoubleExpm1, double>>,
                                loop<FloatBlocks<DoubleLog1p, double>>,
                                nullptr,
                                loop<FloatBlocks<DoubleCbrt, double>>,
                                loop<FloatBlocks<DoubleSinh, double>>,
                                loop<FloatBlocks<DoubleAtanh, double>>,
                                loop<DoubleBlocks<DoubleLog10>>,
                                loop<FloatBlocks<DoubleCosh, double>>,
                                nullptr,
                                nullptr,
                                nullptr,
                                loop<FloatBlocks<DoubleAsinh, double>>,
                                loop<FloatBlocks<DoubleAcosh, double>>}};

}  // namespace

}  // namespace ofl::ops::float_functions
OFL_END_REGION

const ofl::ops::FloatLoops* const ofl::ops::kFloatLoops256 = &ofl::ops::float_functions::kLoops;
#else
const ofl::ops::FloatLoops* const ofl::ops::kFloatLoops256 = nullptr;
#endif
