#include "ops/product/lapack.h"

#include <cstring>

#include "ops/product/lapack_matrices.h"

namespace ofl::ops {

namespace {

/// NumPy's own library runs matrices of up to 24 rows in the calling thread, all of its routines,
/// and other versions and core types of a library have other bits.
constexpr int64_t kFewElements = 24 * 24;
/// The library counts in int, memory of several times a matrix included.
constexpr int64_t kMostElements = int64_t{1} << 28;

const LapackRow* find_row(const char* ufunc) {
  for (const LapackRows& rows : {solving_rows(), spectral_rows(), orthogonal_rows()}) {
    for (const LapackRow* row = rows.begin; row != rows.end; ++row) {
      if (std::strcmp(row->ufunc, ufunc) == 0) return row;
    }
  }
  return nullptr;
}

}  // namespace

LoopFn lapack_loop(const char* ufunc, DType dtype, int64_t elements) {
  if (elements <= kFewElements || elements > kMostElements) return nullptr;
  const LapackRow* const row = find_row(ufunc);
  if (!row) return nullptr;
  if (dtype == DType::f64) return row->real;
  if (dtype == DType::c128) return row->complex;
  return nullptr;
}

}  // namespace ofl::ops
