// Equations by the factors L and U. They may be solved in blocks: a small triangle by the library,
// and all that is beside it as one product. With AVX-512, the library's loops for triangles take up
// to twice as long as that.
#pragma once

#include "ops/product/lapack_matrices.h"

namespace ofl::ops {

/// Rows of a triangle that the library solves at once; a multiple of those in its loops, so that
/// zeros before a multiple of it can be left out without a change of bits.
inline constexpr int kTriangleRows = 24;

/// c -= a @ b, or a @ conj(b).T, of matrices column after column with `lead` elements in each.
template <typename T>
void subtract_product(const LapackCall& call, int m, int n, int k, const T* a, const T* b,
                      bool adjoint, T* c, int lead) {
  using Routines = BlasRoutines<T>;
  if (m <= 0 || n <= 0) return;
  call.blas->of<T>().gemm(kColumnMajor, kNoTrans, adjoint ? kConjTrans : kNoTrans, m, n, k,
                          Routines::factor(T(-1)), a, lead, b, lead, Routines::factor(T(1)), c,
                          lead);
}

/// Factors of n rows, in one matrix: L, whose diagonal is 1, below U.
template <typename T>
struct Triangles {
  const LapackCall& call;
  const Columns<T>& factors;
  int n;
  int at_once;  // rows: kTriangleRows, or n

  /// The solutions replace `columns` right sides of n rows, of which those before `first` are 0.
  void solve(int columns, int first, T* sides) const {
    for (int i = first / kTriangleRows * kTriangleRows; i < n; i += at_once) {
      const int rows = std::min(at_once, n - i), next = i + rows;
      solve_block("L", "U", i, rows, columns, sides);
      subtract(next, n - next, i, rows, columns, sides);
    }
    for (int end = n; end > 0; end = (end - 1) / at_once * at_once) {
      const int i = (end - 1) / at_once * at_once;
      solve_block("U", "N", i, end - i, columns, sides);
      subtract(0, i, i, end - i, columns, sides);
    }
  }

 private:
  void solve_block(const char* triangle, const char* unit_diagonal, int first, int rows,
                   int columns, T* sides) const {
    const T one(1);
    call.routines<T>().trsm("L", triangle, "N", unit_diagonal, &rows, &columns, &one,
                            &factors.at(first, first), &n, sides + first, &n, 1, 1, 1, 1);
  }
  /// From `count` rows: what the solutions of some others are in them.
  void subtract(int from, int count, int solved, int rows, int columns, T* sides) const {
    subtract_product(call, count, columns, rows, &factors.at(from, solved), sides + solved, false,
                     sides + from, n);
  }
};

}  // namespace ofl::ops
