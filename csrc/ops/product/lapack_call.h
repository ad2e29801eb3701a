// The data of a loop over LAPACK's routines.
#pragma once

#include "ep/threads/helper_pool.h"
#include "ops/product/blas.h"

namespace ofl::ops {

struct LapackCall {
  const Blas* blas;
  ep::HelperPool* helpers;  // nullptr: none

  template <typename T>
  const LapackRoutines<T>& routines() const {
    return std::get<LapackRoutines<T>>(blas->lapack);
  }
};

}  // namespace ofl::ops
