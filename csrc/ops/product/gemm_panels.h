// Large products of float32 and float64 matrices by loops of our own, on cores with AVX-512: one
// factor is packed once, in huge pages, for all threads.
#pragma once

#include "ops/product/gemm_plan.h"

namespace ofl::ops {

/// This machine's cores have what the loops want.
bool has_panel_loops();

/// Computes the product, if it is one for these loops; false, and nothing done, if it is too small
/// or lies otherwise. T is float or double. The bits depend on neither the helpers nor the way the
/// operands lie.
template <typename T>
bool panel_product(const Product& p, ep::HelperPool* helpers);

extern template bool panel_product<float>(const Product& p, ep::HelperPool* helpers);
extern template bool panel_product<double>(const Product& p, ep::HelperPool* helpers);

}  // namespace ofl::ops
