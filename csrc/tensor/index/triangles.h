// Matrices of diagonals and triangles, in the thread that asks for them. Each function is false,
// without any effect, where it would take long, an operand is not at_hand(), the device is at work,
// or there is no memory at once.
#pragma once

#include "tensor/issue.h"

namespace ofl {

/// Which places of a matrix: on the k-th diagonal, or on it and below or above it.
enum class Places : uint8_t { diagonal, below, above };

/// x with zeros elsewhere in its last two dimensions. `places`: below or above.
bool triangle_here(const Issuer& issuer, const Tensor& x, Places places, int64_t k, Tensor* out);

/// A matrix with `one` in the places (diagonal or below), and zeros elsewhere.
bool matrix_here(const Issuer& issuer, Device device, DType dtype, const Dims& shape, Places places,
                 int64_t k, const Scalar& one, Tensor* out);

/// The square matrix with the elements of x, of one dimension, on its k-th diagonal.
bool diagonal_here(const Issuer& issuer, const Tensor& x, int64_t k, Tensor* out);

/// The int64 rows and columns of the places (below or above).
bool triangle_indices_here(const Issuer& issuer, Device device, const Dims& shape, Places places,
                           int64_t k, Tensor* rows, Tensor* columns);

}  // namespace ofl
