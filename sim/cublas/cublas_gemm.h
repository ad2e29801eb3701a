// The product of the simulated cuBLAS.
#pragma once

#include <cstdint>

namespace simcublas {

enum ElementType : int {
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kC32F = 4,
  kC64F = 5,
  kR32I = 10,
  kR16BF = 14
};

struct Matrix {
  const void* data;  // of the host
  int64_t lead;
  int64_t stride;  // between matrices of a batch
  int operation;   // 0 as it is, 1 transposed, 2 conjugated and transposed
};

/// C = alpha * op(A) op(B) + beta * C, column-major, `count` times.
struct Gemm {
  int64_t m, n, k;
  Matrix a, b;
  void* c;
  int64_t c_lead, c_stride;
  int64_t count;
  const void* alpha;  // of the scale's type
  const void* beta;
};

using GemmFunction = void (*)(const Gemm&);

/// The product for these types; nullptr if cuBLAS has none. `*scale_bytes` is the size of alpha and
/// beta.
GemmFunction find_gemm(int a_type, int b_type, int c_type, int compute_type, int* scale_bytes);
/// Bytes of an element; 0 for a type that is not known.
int element_bytes(int type);

}  // namespace simcublas
