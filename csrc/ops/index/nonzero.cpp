// Where elements are not zero, and how many.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "base/vectors.h"
#include "ops/index/places.h"
#include "ops/lanes.h"
#include "ops/loop_args.h"
#include "ops/pieces.h"
#include "ops/truth_words.h"

namespace ofl::ops {

namespace {

/// Counts of so many neighbours at a time, each in as many bits as a word.
constexpr int64_t kCountedBytes = 256;

/// Of n neighbours.
template <typename Words>
int64_t count_words(const char* from, int64_t n) {
  using Word = typename Words::Word;
  constexpr int64_t kLanes = kCountedBytes / sizeof(Word);
  constexpr int64_t kMost = sizeof(Word) == 1 ? 255 : 4096;  // what a word can add up
  int64_t count = 0, i = 0;
  while (n - i >= kLanes) {
    const int64_t rounds = std::min((n - i) / kLanes, kMost);
    Word sums[kLanes] = {};
    for (int64_t round = 0; round < rounds; ++round, i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += Words::at(from + (i + lane) * Words::kSize) != 0 ? 1 : 0;
      }
    }
    for (const Word sum : sums) count += static_cast<int64_t>(sum);
  }
  for (; i < n; ++i) count += Words::at(from + i * Words::kSize) != 0;
  return count;
}

using CountFn = int64_t (*)(const char* from, int64_t n);

// The same code for the vectors of each processor.
template <typename Words>
OFL_AVX2 OFL_FLAT int64_t count_256(const char* from, int64_t n) {
  return count_words<Words>(from, n);
}
template <typename Words>
OFL_AVX512 OFL_FLAT int64_t count_512(const char* from, int64_t n) {
  return count_words<Words>(from, n);
}

CountFn count_function(DType dtype) {
  return visit_truth_words(dtype, [](auto words) {
    using Words = decltype(words);
    static const auto chosen = choose_by_isa<CountFn>("count_nonzero", count_words<Words>,
                                                      count_256<Words>, count_512<Words>);
    return chosen;
  });
}

/// Calls body(bytes that are 0 or not, n, index of the first along the last dimension, index of the
/// row) for pieces of rows, of at most `longest` elements.
template <typename Body>
void for_each_piece(const ArrayView& x, int64_t longest, Body&& body) {
  if (element_count(x.shape) == 0) return;
  const int last = x.shape.size() - 1;
  const bool as_it_is = x.dtype == DType::b1 && x.strides[last] == 1;
  const int64_t length = as_it_is ? longest : kPlaces;
  const CastFn test = cast_function(x.dtype, DType::b1);
  char truth[kPlaces];
  Dims index(x.shape.size(), 0);
  const char* row = x.data;
  for (;;) {
    for (int64_t start = 0; start < x.shape[last]; start += length) {
      const int64_t n = std::min(length, x.shape[last] - start);
      const char* from = row + start * x.strides[last];
      if (!as_it_is) test(from, x.strides[last], truth, 1, n);
      body(as_it_is ? from : truth, n, start, index);
    }
    int d = last - 1;
    for (; d >= 0; --d) {
      const bool more = ++index[d] < x.shape[d];
      row += (more ? 1 : 1 - x.shape[d]) * x.strides[d];
      if (more) break;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

void copy_numbers(const int64_t* from, char* to, int64_t stride, int64_t n) {
  if (stride == sizeof(int64_t)) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(int64_t));
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride, from + i, sizeof(int64_t));
}

void fill_numbers(int64_t number, char* to, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride, &number, sizeof number);
}

/// Of rows that are one piece of memory each.
int64_t count_rows(const ArrayView& x) {
  const CountFn count_row = count_function(x.dtype);
  int64_t count = 0;
  for_each_lane({&x}, x.shape.size() - 1,
                [&](char* const* row) { count += count_row(row[0], x.shape.back()); });
  return count;
}

/// The same elements, in the order of memory as far as that goes.
ArrayView in_memory_order(const ArrayView& x) {
  ArrayView sorted = x;
  const auto is_wider = [&sorted](int a, int b) {  // so are steps of 0, which repeat what is there
    const int64_t step = std::abs(sorted.strides[a]), other = std::abs(sorted.strides[b]);
    return other != 0 && (step == 0 || step > other);
  };
  for (int d = 1; d < x.shape.size(); ++d) {  // the widest steps first
    for (int k = d; k > 0 && is_wider(k, k - 1); --k) {
      std::swap(sorted.strides[k], sorted.strides[k - 1]);
      std::swap(sorted.shape[k], sorted.shape[k - 1]);
    }
  }
  for (int d = 0; d < x.shape.size(); ++d) {
    if (sorted.strides[d] >= 0 || sorted.shape[d] == 0) continue;
    sorted.data += (sorted.shape[d] - 1) * sorted.strides[d];
    sorted.strides[d] = -sorted.strides[d];
  }
  std::vector<Dims> strides{sorted.strides};
  merge_dims(&sorted.shape, &strides);
  sorted.strides = strides[0];
  return sorted;
}

}  // namespace

int64_t count_nonzero(const ArrayView& x) {
  const ArrayView merged = in_memory_order(x);
  if (merged.strides.back() == static_cast<int64_t>(size_of(x.dtype))) {
    return count_rows(merged);
  }
  const CountFn count_truth = count_function(DType::b1);
  int64_t count = 0;
  for_each_piece(
      merged, merged.shape.back(),
      [&](const char* truth, int64_t n, int64_t, const Dims&) { count += count_truth(truth, n); });
  return count;
}

int64_t find_nonzero(const char* elements, DType dtype, int64_t n, int64_t* positions) {
  if (dtype == DType::b1) return find_true(elements, 1, n, 0, 1, positions);
  char truth[kPlaces];
  cast_function(dtype, DType::b1)(elements, static_cast<int64_t>(size_of(dtype)), truth, 1, n);
  return find_true(truth, 1, n, 0, 1, positions);
}

void count_nonzero_kernel(const ArrayArgs& args) {
  const int64_t count = count_nonzero(args.input(0));
  std::memcpy(args.output(0).data, &count, sizeof count);
}

namespace {

/// A part of an array along its first dimension, and the columns of the coordinates that are its.
struct Part {
  ArrayView x;
  int64_t first;  // of its indices along that dimension
  int64_t begin, end;
};

/// Writes the coordinates of what is not zero. False: there are more or fewer than columns.
bool write_coordinates(const Part& part, const ArrayView& out) {
  const int last = part.x.shape.size() - 1;
  const int64_t stride = out.strides[1];
  char* const of_last = out.data + last * out.strides[0];
  int64_t found = part.begin;
  for_each_piece(
      part.x, kPlaces, [&](const char* truth, int64_t n, int64_t start, const Dims& index) {
        if (found > part.end) return;
        int64_t positions[kPlaces];
        const int64_t base = last == 0 ? part.first + start : start;
        // Up to n are written, also where fewer are found.
        const bool has_room = stride == sizeof(int64_t) && part.end - found >= n;
        auto* const to =
            has_room ? reinterpret_cast<int64_t*>(of_last + found * stride) : positions;
        const int64_t here = find_true(truth, 1, n, base, 1, to);
        if (found + here <= part.end) {
          for (int d = 0; d < last; ++d) {
            const int64_t number = index[d] + (d == 0 ? part.first : 0);
            fill_numbers(number, out.data + d * out.strides[0] + found * stride, stride, here);
          }
          if (!has_room) copy_numbers(positions, of_last + found * stride, stride, here);
        }
        found += here;
      });
  return found == part.end;
}

/// The same by several threads, each of which has its own columns, as all parts are counted before.
bool write_divided(const ArrayArgs& args, const ArrayView& x, const ArrayView& out) {
  const int64_t rows = x.shape[0], most = steps_in_piece(rows, args.work, 1);
  std::vector<Part> parts((rows + most - 1) / most);
  const auto count = static_cast<int64_t>(parts.size());
  args.helpers->parallel_for(count, [&](int64_t i) {
    Part& part = parts[i];
    part = {x, i * most, 0, 0};
    part.x.data += part.first * x.strides[0];
    part.x.shape[0] = std::min(most, rows - part.first);
    part.end = count_nonzero(part.x);
  });
  int64_t found = 0;
  for (Part& part : parts) {
    part.begin = std::exchange(found, found + part.end);
    part.end = found;
  }
  if (found != out.shape[1]) return false;
  std::atomic<bool> is_right{true};
  args.helpers->parallel_for(count, [&](int64_t i) {
    if (!write_coordinates(parts[i], out)) is_right.store(false, std::memory_order_relaxed);
  });
  return is_right;
}

/// Counting passes over it in a fraction of the time that finding takes.
bool is_counted_quickly(const ArrayView& x) {
  return x.strides.back() == static_cast<int64_t>(size_of(x.dtype));
}

}  // namespace

void nonzero_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  const bool is_divided = is_divisible(args.helpers, args.work) && is_counted_quickly(x) &&
                          x.shape[0] >= 8 * args.helpers->threads();
  if (is_divided ? write_divided(args, x, out) : write_coordinates({x, 0, 0, out.shape[1]}, out)) {
    return;
  }
  fail(ErrorKind::runtime, "[", args.name, "] expected ", out.shape[1],
       " elements, got another number: another thread wrote to the tensor");
}

}  // namespace ofl::ops
