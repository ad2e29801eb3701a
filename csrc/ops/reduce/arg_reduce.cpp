#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/vectors.h"
#include "ops/loop_args.h"
#include "ops/loops.h"
#include "ops/pieces.h"
#include "ops/reduce/arg_reduce_search.h"

namespace ofl::ops {

namespace {

constexpr int kIn = 0;
constexpr int kOut = 1;

/// The rows of an argmax: the kept ones with both strides, the reduced ones of the input.
struct Rows {
  Iteration kept;
  Iteration reduced;
};

Rows split_rows(const Iteration& iteration) {
  Rows rows;
  rows.kept.operands = 2;
  rows.reduced.operands = 1;
  for (int d = 0; d < iteration.ndim; ++d) {
    const Iteration::Row& row = iteration.rows[d];
    if (row.dim == 1) continue;
    if (row.strides[kOut] != 0) {
      rows.kept.rows[rows.kept.ndim++] = row;
      continue;
    }
    Iteration& reduced = rows.reduced;
    Iteration::Row* last = reduced.ndim > 0 ? &reduced.rows[reduced.ndim - 1] : nullptr;
    if (last && last->strides[kIn] == row.strides[kIn] * row.dim) {
      last->dim *= row.dim;  // row-major order stays
      last->strides[kIn] = row.strides[kIn];
    } else {
      reduced.rows[reduced.ndim++] = row;
    }
  }
  return rows;
}

/// One output: true when it is known that no element could have been better.
template <typename T, bool Minimum, int bytes>
bool search_one(const Iteration& reduced, char* const* pointers) {
  const Iteration::Row& inner = inner_row(reduced);
  const int64_t stride = inner.dim == 1 ? int64_t(sizeof(T)) : inner.strides[kIn];
  const auto store = [&](int64_t index) { std::memcpy(pointers[kOut], &index, sizeof(index)); };
  if constexpr (kIsWide<T>) {
    const bool is_one_block = inner.dim >= bytes / int64_t(sizeof(T)) && inner.dim <= kProbe;
    if (reduced.ndim == 1 && stride == sizeof(T) && is_one_block) {
      const int64_t place = place_of_best<T, Minimum, bytes>(pointers[kIn], inner.dim);
      if (place >= 0) {
        store(place);
        return false;
      }
    }
  }
  Best<T, Minimum, bytes> best(0);
  int64_t position = 0;
  for_each_row(reduced, outer_rows(reduced), pointers, [&](char* const* from) {
    best.scan(from[0], stride, inner.dim, position);
    position += inner.dim;
  });
  store(best.index());
  return best.is_final();
}

/// Rows of fewer elements are searched side by side, too, one element of each after the other. A
/// search of each row of 3 elements took 20 to 60 ns, and takes 2 to 4 of many.
template <typename T>
constexpr int64_t kShortRow = kIsWide<T> ? 64 / int64_t(sizeof(T)) : 32;
constexpr int64_t kLeastBeside = 8;

/// `columns` neighbours of the innermost kept row.
template <typename T, bool Minimum>
void search_columns(const Iteration& reduced, const Iteration::Row& kept, char* const* pointers,
                    int64_t columns) {
  BestOfColumns<T, Minimum> best(columns);
  const Iteration::Row& inner = inner_row(reduced);
  int64_t position = 0;
  for_each_row(reduced, outer_rows(reduced), pointers, [&](char* const* from) {
    best.scan(from[0], inner.strides[kIn], kept.strides[kIn], inner.dim, position);
    position += inner.dim;
  });
  for (int64_t c = 0; c < columns; ++c) {
    const int64_t index = best.index(c);
    std::memcpy(pointers[kOut] + c * kept.strides[kOut], &index, sizeof(index));
  }
}

template <typename T, bool Minimum, int bytes>
bool search_as_fits(const Rows& rows, char* const* data) {
  const Iteration::Row& kept = inner_row(rows.kept);
  const int64_t stride = std::abs(inner_row(rows.reduced).strides[kIn]);
  const bool is_short = rows.reduced.ndim == 1 && inner_row(rows.reduced).dim < kShortRow<T>;
  const bool beside =
      std::abs(kept.strides[kIn]) < stride ? kept.dim > 1 : is_short && kept.dim >= kLeastBeside;
  bool final = true;
  for_each_row(rows.kept, outer_rows(rows.kept), data, [&](char* const* pointers) {
    const int64_t step = beside ? kColumns : 1;
    for (int64_t start = 0; start < kept.dim; start += step) {
      char* at[] = {pointers[kIn] + start * kept.strides[kIn],
                    pointers[kOut] + start * kept.strides[kOut]};
      if (beside) {
        search_columns<T, Minimum>(rows.reduced, kept, at, std::min(step, kept.dim - start));
      } else {
        final = search_one<T, Minimum, bytes>(rows.reduced, at);
      }
    }
  });
  return final;
}

/// Searches all outputs. Of one output: true when no element could have been better.
using SearchFn = bool (*)(const Rows&, char* const* data);

// The same code for the vectors of each CPU: all that they call is inlined into them. It names
// vectors of AVX2 for AVX-512, too: compilers keep wider ones, which the baseline lacks, in memory.
template <typename T, bool Minimum>
OFL_AVX512 OFL_FLAT bool search_512(const Rows& rows, char* const* data) {
  return search_as_fits<T, Minimum, 32>(rows, data);
}
template <typename T, bool Minimum>
OFL_AVX2 OFL_FLAT bool search_256(const Rows& rows, char* const* data) {
  return search_as_fits<T, Minimum, 32>(rows, data);
}

template <typename T, bool Minimum>
SearchFn choose_search() {
  return choose_by_isa<SearchFn>("arg_reduce", search_as_fits<T, Minimum, 16>,
                                 search_256<T, Minimum>, search_512<T, Minimum>);
}

SearchFn search_function(DType dtype, bool minimum) {
  return visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    static const SearchFn functions[] = {choose_search<T, false>(), choose_search<T, true>()};
    return functions[minimum];
  });
}

/// Where the element with this index lies.
const char* element_at(const Iteration& reduced, const char* data, int64_t index) {
  for (int d = reduced.ndim - 1; d >= 0; --d) {
    data += index % reduced.rows[d].dim * reduced.rows[d].strides[kIn];
    index /= reduced.rows[d].dim;
  }
  return data;
}

/// Outputs in pieces.
void search_pieces(const LoopArgs& args, const Rows& rows, double work, SearchFn search) {
  const int row = row_to_divide(rows.kept, rows.kept.ndim, args.helpers->threads());
  const int64_t dim = rows.kept.rows[row].dim;
  const int64_t steps = steps_in_piece(dim, work, row == rows.kept.ndim - 1 ? kGroup : 1);
  args.helpers->parallel_for((dim + steps - 1) / steps, [&](int64_t i) {
    Rows piece = rows;
    Iteration::Row& part = piece.kept.rows[row];
    part.dim = std::min(steps, dim - i * steps);
    char* data[] = {args.data[kIn] + i * steps * part.strides[kIn],
                    args.data[kOut] + i * steps * part.strides[kOut]};
    search(piece, data);
  });
}

/// One output from pieces of its elements: the best of the best ones.
void search_parts(const LoopArgs& args, const Rows& rows, double work, SearchFn search) {
  const Iteration::Row& outermost = rows.reduced.rows[0];
  const auto size = static_cast<int64_t>(size_of(args.dtype[kIn]));
  const int64_t steps = steps_in_piece(outermost.dim, work, 1);
  const int64_t pieces = (outermost.dim + steps - 1) / steps;
  const int64_t length = iteration_size(rows.reduced) / outermost.dim * steps;
  std::vector<int64_t> indices(pieces);
  std::vector<char> candidates(pieces * size);
  std::atomic<int64_t> last{pieces};  // later pieces cannot win
  const auto search_piece = [&](int64_t i) {
    if (i > last.load(std::memory_order_relaxed)) return;
    Rows piece = rows;
    piece.reduced.rows[0].dim = std::min(steps, outermost.dim - i * steps);
    char* from = args.data[kIn] + i * steps * outermost.strides[kIn];
    char* data[] = {from, reinterpret_cast<char*>(&indices[i])};
    if (search(piece, data)) {
      int64_t seen = last.load(std::memory_order_relaxed);
      while (i < seen && !last.compare_exchange_weak(seen, i, std::memory_order_relaxed)) {
      }
    }
    std::memcpy(&candidates[i * size], element_at(piece.reduced, from, indices[i]), size);
  };
  search_piece(0);
  if (last.load() > 0) {  // else no helper is needed
    args.helpers->parallel_for(pieces - 1, [&](int64_t i) { search_piece(i + 1); });
  }
  Rows best;
  best.kept.operands = 2;
  best.reduced.operands = best.reduced.ndim = 1;
  best.reduced.rows[0] = {std::min(pieces, last.load() + 1), {size}};
  int64_t winner;
  char* data[] = {candidates.data(), reinterpret_cast<char*>(&winner)};
  search(best, data);
  const int64_t index = winner * length + indices[winner];
  std::memcpy(args.data[kOut], &index, sizeof(index));
}

}  // namespace

void arg_reduce_kernel(const LoopArgs& args) {
  const int64_t elements = iteration_size(args.iteration);
  if (elements == 0) return;
  Rows rows = split_rows(args.iteration);
  coalesce(&rows.kept);
  const SearchFn search = search_function(args.dtype[kIn], args.attr[0] == 1);
  const double work = static_cast<double>(elements * size_of(args.dtype[kIn])) / sizeof(float);
  if (!is_divisible(args.helpers, work)) {
    search(rows, args.data);
  } else if (iteration_size(rows.kept) > 1) {
    search_pieces(args, rows, work, search);
  } else {
    search_parts(args, rows, work, search);
  }
}

}  // namespace ofl::ops
