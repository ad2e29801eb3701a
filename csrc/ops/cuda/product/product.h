// Products on a device: by a library of the device's maker, or by kernels of our own.
#pragma once

#include "ops/cuda/launching.h"
#include "ops/product/gemm_plan.h"

namespace ofl::ops::cuda {

/// By the library. False, and nothing is enqueued, where there is none or it has no routine for it.
/// Operands that it cannot take as they lie are copied.
bool library_product(Launching& launching, const BatchedProduct& plan);

/// By kernels of our own: any dtype, any strides.
bool own_product(Launching& launching, const BatchedProduct& plan);

}  // namespace ofl::ops::cuda
