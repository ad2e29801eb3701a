// CUDA C++ for the host compiler: what kernels may use, so that their source compiles unchanged.
// Includes no header of the C++ library, which would take longer to compile than most kernels, and
// declares no name that CUDA C++ leaves to the program.
#ifndef SIM_CUDA_H_
#define SIM_CUDA_H_

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

#define __global__
#define __device__ __attribute__((visibility("default")))  // so that variables are found by name
#define __constant__ __attribute__((visibility("default")))
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static thread_local  // one thread of the host runs one block at a time

extern "C" int printf(const char* format, ...);

#ifndef SIM_UNORDERED  // set by compiler.py
#define SIM_UNORDERED false
#endif

#include "sim_vectors.h"

#include "sim_image.h"
#include "sim_order.h"
#ifdef SIM_FIBERS
#include "sim_fibers.h"
#include "sim_warp.h"
#else
#include "sim_loops.h"
#endif

#define warpSize 32

#include "sim_alignment.h"
#include "sim_atomics.h"
#include "sim_intrinsics.h"
#include "sim_math.h"
#include "sim_register.h"

#endif
