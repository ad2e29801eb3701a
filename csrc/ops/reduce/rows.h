// Sums and truths of rows: of many short ones, as a call of NumPy's loop takes longer than such a
// row; and sums of floats in rows of any length, as the loop waits for one addition after another.
#pragma once

#include <cstdint>

#include "ops/loop_args.h"

namespace ofl::ops {

/// Where rows of elements beside each other lie, and their outputs. Steps are in bytes.
struct ShortRows {
  const char* in;
  char* out;
  int64_t count, length;
  int64_t in_step, out_step;  // from one row to the next
};

/// Joins the elements of each row to its output, with the bits of the resolution's loop, NumPy's.
using ReduceRowsFn = void (*)(const ShortRows& rows, const Resolution& resolution);

/// For rows of so many elements; nullptr where NumPy's loop is to be called.
ReduceRowsFn sum_rows_function(DType dtype, int64_t length);
/// The same for a loop of truths that says whether both are true, or one of them.
ReduceRowsFn truth_rows_function(const Resolution& resolution, int64_t length);

}  // namespace ofl::ops
