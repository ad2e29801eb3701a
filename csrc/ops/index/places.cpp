#include "ops/index/places.h"

#include <algorithm>
#include <cstring>

#include "base/vectors.h"
#include "ops/loop_args.h"

#ifdef OFL_X86_VECTORS
#include <immintrin.h>
#endif

namespace ofl::ops {

namespace {

/// Offsets of arrays while all but the last of the merged dimensions are walked.
class RowWalk {
 public:
  RowWalk(Dims shape, std::vector<Dims> strides)
      : shape_(std::move(shape)), strides_(std::move(strides)) {
    merge_dims(&shape_, &strides_);
    index_ = Dims(shape_.size(), 0);
    offsets_.assign(strides_.size(), 0);
  }

  bool empty() const { return element_count(shape_) == 0; }
  int64_t length() const { return shape_.back(); }
  int64_t offset(size_t k) const { return offsets_[k]; }
  int64_t step(size_t k) const { return strides_[k].back(); }

  /// False after the last row.
  bool next() {
    for (int d = shape_.size() - 2; d >= 0; --d) {
      const bool more = ++index_[d] < shape_[d];
      const int64_t steps = more ? 1 : 1 - shape_[d];
      for (size_t k = 0; k < strides_.size(); ++k) offsets_[k] += steps * strides_[k][d];
      if (more) return true;
      index_[d] = 0;
    }
    return false;
  }

 private:
  Dims shape_;
  std::vector<Dims> strides_;
  Dims index_;
  std::vector<int64_t> offsets_;
};

int64_t inside(int64_t value, int64_t size, OutOfRange mode) {
  if (mode == OutOfRange::clip) return std::clamp<int64_t>(value, 0, size - 1);
  const int64_t rest = value % size;
  return rest < 0 ? rest + size : rest;
}

}  // namespace

void merge_dims(Dims* shape, std::vector<Dims>* strides) {
  Dims merged;
  std::vector<Dims> steps(strides->size());
  for (int d = 0; d < shape->size(); ++d) {
    const int64_t dim = (*shape)[d];
    if (dim == 1) continue;
    bool even = !merged.empty();
    for (size_t k = 0; even && k < steps.size(); ++k) {
      even = steps[k].back() == (*strides)[k][d] * dim;
    }
    if (even) {
      merged.back() *= dim;
      for (size_t k = 0; k < steps.size(); ++k) steps[k].back() = (*strides)[k][d];
    } else {
      merged.push_back(dim);
      for (size_t k = 0; k < steps.size(); ++k) steps[k].push_back((*strides)[k][d]);
    }
  }
  if (merged.empty()) {
    merged.push_back(1);
    for (Dims& one : steps) one.push_back(0);
  }
  *shape = std::move(merged);
  *strides = std::move(steps);
}

namespace {

/// Sums and products are taken unsigned: those of values out of range may overflow. `times` takes
/// an index times the stride.
template <bool adds, typename Times>
bool find_by(const char* values, int64_t n, int64_t size, const int64_t* before, int64_t* offsets,
             const Times& times) {
  const auto count = static_cast<uint64_t>(size);
  uint64_t signs = 0;  // the highest bit: one was negative, of an index or of what is left behind
  for (int64_t i = 0; i < n; ++i) {
    int64_t value;
    std::memcpy(&value, values + i * int64_t{sizeof value}, sizeof value);
    const uint64_t index = static_cast<uint64_t>(value) + (value < 0 ? count : 0);
    signs |= index | (count - 1 - index);
    const uint64_t offset = times(index);
    offsets[i] = static_cast<int64_t>(adds ? static_cast<uint64_t>(before[i]) + offset : offset);
  }
  return signs >> 63 == 0;
}

/// AVX2 has no product of 64 bits, and most strides are powers of two.
template <bool adds>
bool find_plainly(const char* values, int64_t n, int64_t size, int64_t stride,
                  const int64_t* before, int64_t* offsets) {
  const auto step = static_cast<uint64_t>(stride);
  if (step != 0 && (step & (step - 1)) == 0) {
    const int bits = __builtin_ctzll(step);
    return find_by<adds>(values, n, size, before, offsets,
                         [bits](uint64_t index) { return index << bits; });
  }
  return find_by<adds>(values, n, size, before, offsets,
                       [step](uint64_t index) { return index * step; });
}

using FindFn = bool (*)(const char*, int64_t, int64_t, int64_t, const int64_t*, int64_t*);

// The same code for the vectors of each CPU: all that it calls is inlined into it.
template <bool adds>
OFL_AVX512 OFL_FLAT bool find_512(const char* values, int64_t n, int64_t size, int64_t stride,
                                  const int64_t* before, int64_t* offsets) {
  return find_plainly<adds>(values, n, size, stride, before, offsets);
}
template <bool adds>
OFL_AVX2 OFL_FLAT bool find_256(const char* values, int64_t n, int64_t size, int64_t stride,
                                const int64_t* before, int64_t* offsets) {
  return find_plainly<adds>(values, n, size, stride, before, offsets);
}

template <bool adds>
FindFn choose() {
  return choose_by_isa<FindFn>("places", find_plainly<adds>, find_256<adds>, find_512<adds>);
}

}  // namespace

bool find_offsets(const char* values, int64_t n, int64_t size, int64_t stride,
                  const int64_t* before, int64_t* offsets) {
  static const FindFn first = choose<false>(), next = choose<true>();
  return (before ? next : first)(values, n, size, stride, before, offsets);
}

void IndexedAxis::add_offsets(const int64_t* values, int64_t n, const int64_t* before,
                              int64_t* offsets) const {
  if (mode != OutOfRange::raise) {
    for (int64_t i = 0; i < n; ++i) {
      offsets[i] = (before ? before[i] : 0) + inside(values[i], size, mode) * stride;
    }
    return;
  }
  if (find_offsets(reinterpret_cast<const char*>(values), n, size, stride, before, offsets)) return;
  const int64_t wrong = *std::find_if(
      values, values + n, [&](int64_t value) { return value < -size || value >= size; });
  fail(error, "[", op, "] index ", wrong, " is out of bounds for axis ", number, " with size ",
       size);
}

namespace {

/// n values of an index array as int64, in place where they are, else in `values`.
const int64_t* load_indices(DType dtype, const char* from, int64_t step, int64_t n,
                            int64_t* values) {
  constexpr int64_t kSize = sizeof(int64_t);
  const bool aligned = reinterpret_cast<uintptr_t>(from) % alignof(int64_t) == 0;
  if (dtype == DType::i64 && step == kSize && aligned) {
    return reinterpret_cast<const int64_t*>(from);
  }
  const int64_t distinct = step == 0 ? 1 : n;
  cast_function(dtype, DType::i64)(from, step, reinterpret_cast<char*>(values), kSize, distinct);
  std::fill(values + distinct, values + n, values[0]);
  return values;
}

}  // namespace

void for_each_place(const std::vector<IndexedAxis>& axes, const ArrayView* indices,
                    const Dims& lined, const Dims* own, const PlacesBody& body) {
  const Dims& shape = indices[0].shape;
  const size_t count = axes.size(), kLined = count, kOwn = count + 1;
  std::vector<Dims> strides;
  for (size_t k = 0; k < count; ++k) strides.push_back(indices[k].strides);
  strides.resize(count + 2, Dims(shape.size(), 0));
  std::copy_n(lined.begin(), shape.size(), strides[kLined].begin());
  if (own) std::copy_n(own->begin(), shape.size(), strides[kOwn].begin());
  RowWalk walk(shape, std::move(strides));
  if (walk.empty()) return;
  int64_t values[kPlaces], offsets[kPlaces];
  do {
    for (int64_t start = 0; start < walk.length(); start += kPlaces) {
      const int64_t n = std::min(kPlaces, walk.length() - start);
      for (int64_t i = 0; own && i < n; ++i) {
        offsets[i] = walk.offset(kOwn) + (start + i) * walk.step(kOwn);
      }
      for (size_t k = 0; k < count; ++k) {
        const char* from = indices[k].data + walk.offset(k) + start * walk.step(k);
        const int64_t* loaded = load_indices(indices[k].dtype, from, walk.step(k), n, values);
        axes[k].add_offsets(loaded, n, own || k > 0 ? offsets : nullptr, offsets);
      }
      body({offsets, n, walk.offset(kLined) + start * walk.step(kLined), walk.step(kLined)});
    }
  } while (walk.next());
}

void for_each_true(const ArrayView& mask, const ArrayView& x, int64_t step,
                   const PlacesBody& body) {
  Dims x_strides;
  for (int d = 0; d < mask.shape.size(); ++d) x_strides.push_back(x.strides[d]);
  RowWalk walk(mask.shape, {mask.strides, x_strides});
  if (walk.empty()) return;
  int64_t offsets[2 * kPlaces];
  int64_t waiting = 0, done = 0;
  const auto flush = [&] {
    if (waiting > 0) body({offsets, waiting, done * step, step});
    done += waiting;
    waiting = 0;
  };
  do {
    for (int64_t start = 0; start < walk.length(); start += kPlaces) {
      const int64_t n = std::min(kPlaces, walk.length() - start);
      const int64_t base = walk.offset(1) + start * walk.step(1);
      waiting += find_true(mask.data + walk.offset(0) + start * walk.step(0), walk.step(0), n, base,
                           walk.step(1), offsets + waiting);
      if (waiting >= kPlaces) flush();
    }
  } while (walk.next());
  flush();
}

#ifdef OFL_X86_VECTORS

namespace {

/// Of each byte, the places of its bits that are set, a byte for each.
struct BitPlaces {
  BitPlaces() {
    for (unsigned bits = 0; bits < 256; ++bits) {
      int found = 0;
      for (unsigned place = 0; place < 8; ++place) {
        if (bits >> place & 1) of[bits][found++] = static_cast<uint8_t>(place);
      }
    }
  }
  alignas(64) uint8_t of[256][8] = {};
};

/// Neighbours, eight at a time; `out` gets eight places each time, the last of which are
/// overwritten. Returns how many are found of the first n - n % 8.
OFL_AVX2 int64_t find_true_neighbours(const char* mask, int64_t n, int64_t base, int64_t step,
                                      int64_t* out) {
  static const BitPlaces places;
  const __m256i steps = _mm256_set1_epi64x(step);
  int64_t found = 0;
  for (int64_t i = 0; i + 8 <= n; i += 8) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(mask + i));
    const __m128i is_false = _mm_cmpeq_epi8(eight, _mm_setzero_si128());
    const unsigned bits = ~static_cast<unsigned>(_mm_movemask_epi8(is_false)) & 0xff;
    if (bits == 0) continue;
    const __m128i at = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places.of[bits]));
    const __m256i from = _mm256_set1_epi64x(base + i * step);
    const __m256i low = _mm256_mul_epi32(_mm256_cvtepu8_epi64(at), steps);
    const __m256i high = _mm256_mul_epi32(_mm256_cvtepu8_epi64(_mm_srli_si128(at, 4)), steps);
    auto* const to = reinterpret_cast<__m256i*>(out + found);
    _mm256_storeu_si256(to, _mm256_add_epi64(from, low));
    _mm256_storeu_si256(to + 1, _mm256_add_epi64(from, high));
    found += __builtin_popcount(bits);
  }
  return found;
}

}  // namespace

#endif

// Without branches on the elements; eight false ones in a row are passed over.
int64_t find_true(const char* mask, int64_t stride, int64_t n, int64_t base, int64_t step,
                  int64_t* out) {
  int64_t found = 0, i = 0;
#ifdef OFL_X86_VECTORS
  static const bool is_able = choose_by_isa("find_true", false, true);
  if (is_able && stride == 1 && step == static_cast<int32_t>(step)) {
    found = find_true_neighbours(mask, n, base, step, out);
    i = n - n % 8;
  }
#endif
  if (stride == 1) {
    for (; i + 8 <= n; i += 8) {
      uint64_t eight;
      std::memcpy(&eight, mask + i, sizeof eight);
      if (eight == 0) continue;
      for (int64_t j = i; j < i + 8; ++j) {
        out[found] = base + j * step;
        found += mask[j] != 0;
      }
    }
  }
  for (; i < n; ++i) {
    out[found] = base + i * step;
    found += mask[i * stride] != 0;
  }
  return found;
}

}  // namespace ofl::ops
