#include <algorithm>
#include <complex>
#include <cstdlib>
#include <type_traits>

#include "ops/half.h"
#include "ops/kernel.h"
#include "ops/loops.h"

namespace ofl::ops {

namespace {

constexpr int kIn = 0;
constexpr int kOut = 1;

/// A value in the form in which it is compared: a bool as a byte, a half as a float.
template <typename T>
auto comparable(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return half_to_float(value);
  } else {
    return value;
  }
}

template <typename T>
auto load_comparable(const char* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<uint8_t>(*from != 0);
  } else {
    T value;
    std::memcpy(static_cast<void*>(&value), from, sizeof(T));
    return comparable(value);
  }
}

template <typename V>
bool is_nan(V value) {
  if constexpr (std::is_floating_point_v<V>) {
    return value != value;
  } else if constexpr (std::is_integral_v<V>) {
    return false;
  } else {
    return is_nan(value.real()) || is_nan(value.imag());
  }
}

/// True when `value` comes strictly before `best`; complex numbers in lexicographic order.
template <bool Minimum, typename V>
bool beats(V value, V best) {
  if constexpr (std::is_arithmetic_v<V>) {
    return Minimum ? value < best : value > best;
  } else {
    return beats<Minimum>(value.real(), best.real()) ||
           (value.real() == best.real() && beats<Minimum>(value.imag(), best.imag()));
  }
}

/// Elements that are tested together for a new best: most blocks have none.
constexpr int64_t kProbe = 512;

/// The best element so far of one output.
template <typename T, bool Minimum>
struct Best {
  using Value = decltype(load_comparable<T>(nullptr));
  Value value;
  int64_t index = -1;  // -1 before the first element
  bool nan = false;    // the best is a NaN: nothing beats it

  /// Looks at n elements, the first of which has index `first`.
  void scan(const char* from, int64_t stride, int64_t n, int64_t first) {
    if (index < 0) take(load_comparable<T>(from), first);
    for (int64_t i = 0; i < n && !nan;) {
      const int64_t end = std::min(n, i + kProbe);
      if (stride == sizeof(T) && n > 1 && !any_wins(from + i * stride, end - i)) {
        i = end;
        continue;
      }
      for (; i < end && !nan; ++i) {
        const Value candidate = load_comparable<T>(from + i * stride);
        if (wins(candidate)) take(candidate, first + i);
      }
    }
  }

 private:
  bool wins(Value candidate) const { return beats<Minimum>(candidate, value) | is_nan(candidate); }

  /// Free of branches and of changes of width, so that it vectorizes.
  bool any_wins(const char* from, int64_t n) const {
    using Flag = std::conditional_t<
        sizeof(Value) == 1, uint8_t,
        std::conditional_t<sizeof(Value) == 2, uint16_t,
                           std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t>>>;
    const Value best = value;
    Flag any = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Value candidate = load_comparable<T>(from + i * sizeof(T));
      if constexpr (std::is_arithmetic_v<Value>) {  // one comparison, that a NaN fails
        any |= (Minimum ? candidate >= best : candidate <= best) ? Flag{0} : Flag{1};
      } else {
        any |= beats<Minimum>(candidate, best) | is_nan(candidate) ? Flag{1} : Flag{0};
      }
    }
    return any != 0;
  }

  void take(Value candidate, int64_t position) {
    value = candidate;
    index = position;
    nan = is_nan(candidate);
  }
};

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

/// Outputs that are searched side by side, so that memory is read in its order.
constexpr int64_t kColumns = 64;

/// Searches `columns` neighbours of the innermost kept row.
template <typename T, bool Minimum>
void search_columns(const Iteration& reduced, const Iteration::Row& kept, char* const* pointers,
                    int64_t columns) {
  Best<T, Minimum> best[kColumns];
  const Iteration::Row& inner = inner_row(reduced);
  const int64_t stride = inner.strides[kIn];
  const int64_t kept_stride = kept.strides[kIn];
  const bool row_by_row = columns > 1 && std::abs(kept_stride) < std::abs(stride);
  int64_t position = 0;
  for_each_row(reduced, outer_rows(reduced), pointers, [&](char* const* from) {
    const int64_t steps = row_by_row ? inner.dim : 1;
    const int64_t run = row_by_row ? 1 : inner.dim;
    for (int64_t i = 0; i < steps; ++i) {
      const char* row = from[0] + i * stride;
      for (int64_t c = 0; c < columns; ++c) {
        best[c].scan(row + c * kept_stride, stride, run, position + i);
      }
    }
    position += inner.dim;
  });
  for (int64_t c = 0; c < columns; ++c) {
    std::memcpy(pointers[kOut] + c * kept.strides[kOut], &best[c].index, sizeof(int64_t));
  }
}

template <typename T, bool Minimum>
void search(const Rows& rows, char* const* data) {
  const Iteration::Row& kept = inner_row(rows.kept);
  for_each_row(rows.kept, outer_rows(rows.kept), data, [&](char* const* pointers) {
    for (int64_t start = 0; start < kept.dim; start += kColumns) {
      char* at[] = {pointers[kIn] + start * kept.strides[kIn],
                    pointers[kOut] + start * kept.strides[kOut]};
      search_columns<T, Minimum>(rows.reduced, kept, at, std::min(kColumns, kept.dim - start));
    }
  });
}

}  // namespace

void arg_reduce_kernel(const KernelArgs& args) {
  if (iteration_size(args.iteration) == 0) return;
  Rows rows = split_rows(args.iteration);
  coalesce(&rows.kept);
  visit_dtype(args.dtype[kIn], [&](auto sample) {
    using T = decltype(sample);
    if (args.attr[0] == 1) {
      search<T, true>(rows, args.data);
    } else {
      search<T, false>(rows, args.data);
    }
  });
}

}  // namespace ofl::ops
