// Truths as the bits of bytes, and bits as elements.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/vectors.h"
#include "ops/array_args.h"
#include "ops/lanes.h"
#include "ops/loop_args.h"

#ifdef OFL_X86_VECTORS
#include <immintrin.h>
#endif

namespace ofl::ops {

namespace {

constexpr int64_t kBits = 8;      // of a byte
constexpr int64_t kChunk = 1024;  // truths at a time, in the nearest cache; full bytes of them
constexpr int64_t kFewColumns = 16;

/// The place in its byte of the k-th of eight elements.
int place_of(int64_t k, bool is_little) { return static_cast<int>(is_little ? k : kBits - 1 - k); }

// --- elements to bits

/// The bits of n bytes that are zero or not; the last byte of bits is filled up with zeros.
void pack_plainly(const char* truths, int64_t n, bool is_little, char* to) {
  for (int64_t i = 0; i < n; i += kBits) {
    int byte = 0;
    for (int64_t k = 0; k < std::min(kBits, n - i); ++k) {
      byte |= (truths[i + k] != 0) << place_of(k, is_little);
    }
    *to++ = static_cast<char>(byte);
  }
}

#ifdef OFL_X86_VECTORS
OFL_AVX2 void pack_256(const char* truths, int64_t n, bool is_little, char* to) {
  const __m256i turned = _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7,
                                          6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
  int64_t i = 0;
  for (; n - i >= int64_t{sizeof turned}; i += int64_t{sizeof turned}) {
    __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(truths + i));
    if (!is_little) bytes = _mm256_shuffle_epi8(bytes, turned);
    const int zeros = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
    const int bits = ~zeros;
    std::memcpy(to + i / kBits, &bits, sizeof bits);
  }
  pack_plainly(truths + i, n - i, is_little, to + i / kBits);
}
#endif

using PackFn = void (*)(const char* truths, int64_t n, bool is_little, char* to);

PackFn pack_function() {
#ifdef OFL_X86_VECTORS
  static const auto chosen = choose_by_isa<PackFn>("packbits", pack_plainly, pack_256);
  return chosen;
#else
  return pack_plainly;
#endif
}

/// Elements as bytes that are zero or not.
class Truths {
 public:
  explicit Truths(DType dtype)
      : are_bytes_(size_of(dtype) == 1), cast_(cast_function(dtype, DType::b1)) {}

  /// Of at most kChunk elements.
  const char* of(const char* from, int64_t stride, int64_t n) {
    if (are_bytes_ && stride == 1) return from;
    cast_(from, stride, truths_, 1, n);
    return truths_;
  }

 private:
  bool are_bytes_;
  CastFn cast_;
  char truths_[kChunk];
};

/// Elements along the axis.
void pack_lane(Truths* truths, const char* from, int64_t stride, int64_t n, bool is_little,
               char* to, int64_t step) {
  const PackFn pack = pack_function();
  char bytes[kChunk / kBits];
  for (int64_t i = 0; i < n; i += kChunk, from += kChunk * stride) {
    const int64_t count = std::min(kChunk, n - i);
    char* const here = to + i / kBits * step;
    pack(truths->of(from, stride, count), count, is_little, step == 1 ? here : bytes);
    for (int64_t k = 0; step != 1 && k < (count + kBits - 1) / kBits; ++k)
      here[k * step] = bytes[k];
  }
}

/// `columns` neighbours at each of n places along the axis.
void pack_columns(Truths* truths, const char* from, int64_t stride, int64_t n, int64_t item_size,
                  int64_t columns, bool is_little, char* to, int64_t step) {
  for (int64_t i = 0; i < n; i += kBits, to += step) {
    for (int64_t column = 0; column < columns; column += kChunk) {
      const int64_t count = std::min(kChunk, columns - column);
      char bytes[kChunk] = {};
      for (int64_t k = 0; k < std::min(kBits, n - i); ++k) {
        const char* const row = from + (i + k) * stride + column * item_size;
        const char* const ones = truths->of(row, item_size, count);
        const int place = place_of(k, is_little);
        for (int64_t j = 0; j < count; ++j) {
          bytes[j] = static_cast<char>(bytes[j] | ((ones[j] != 0) << place));
        }
      }
      std::memcpy(to + column, bytes, static_cast<size_t>(count));
    }
  }
}

// --- bits to elements

using Elements = std::array<char, kBits>;

/// The elements of each byte.
std::array<Elements, 256> elements_of_bytes(bool is_little) {
  std::array<Elements, 256> all;
  for (int byte = 0; byte < 256; ++byte) {
    for (int64_t k = 0; k < kBits; ++k) {
      all[byte][k] = static_cast<char>(byte >> place_of(k, is_little) & 1);
    }
  }
  return all;
}

/// Bytes along the axis to n elements; `bytes` of them have some. The others are zeros.
void unpack_lane(const char* from, int64_t stride, int64_t bytes, bool is_little, char* to,
                 int64_t step, int64_t n) {
  static const std::array<Elements, 256> tables[] = {elements_of_bytes(false),
                                                     elements_of_bytes(true)};
  const std::array<Elements, 256>& table = tables[is_little ? 1 : 0];
  const int64_t whole = step == 1 ? std::min(bytes, n / kBits) : 0;
  for (int64_t i = 0; i < whole; ++i) {
    const Elements& elements = table[static_cast<uint8_t>(from[i * stride])];
    std::memcpy(to + i * kBits, elements.data(), kBits);
  }
  int64_t done = whole * kBits;
  for (int64_t i = whole; i < bytes && done < n; ++i) {
    const Elements& elements = table[static_cast<uint8_t>(from[i * stride])];
    for (int64_t k = 0; k < kBits && done < n; ++k, ++done) to[done * step] = elements[k];
  }
  for (; done < n; ++done) to[done * step] = 0;
}

/// The same for `columns` neighbours at each place along the axis.
void unpack_columns(const char* from, int64_t stride, int64_t bytes, int64_t columns,
                    bool is_little, char* to, int64_t step, int64_t n) {
  const auto size = static_cast<size_t>(columns);
  for (int64_t done = 0; done < n; ++done, to += step) {
    if (done / kBits >= bytes) {
      std::memset(to, 0, size);
      continue;
    }
    const char* const row = from + done / kBits * stride;
    const int place = place_of(done % kBits, is_little);
    for (size_t j = 0; j < size; ++j) to[j] = static_cast<char>(row[j] >> place & 1);
  }
}

// --- the kernels

/// A dimension other than the axis along which the elements of both arrays are neighbours, where
/// those along the axis of the wider array are none; -1: there is none that is long.
int columns_dimension(const ArrayView& elements, const ArrayView& bytes, int axis) {
  const auto item_size = static_cast<int64_t>(size_of(elements.dtype));
  if (elements.strides[axis] == item_size) return -1;
  for (int d = 0; d < elements.shape.size(); ++d) {
    const bool are_neighbours = elements.strides[d] == item_size && bytes.strides[d] == 1;
    if (d != axis && are_neighbours && elements.shape[d] >= kFewColumns) return d;
  }
  return -1;
}

}  // namespace

void pack_bits_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  const bool is_little = args.attr[1] != 0;
  const int64_t n = x.shape[axis], stride = x.strides[axis], step = out.strides[axis];
  const int along = columns_dimension(x, out, axis);
  Truths truths(x.dtype);
  if (along < 0) {
    for_each_lane({&x, &out}, axis, [&](char* const* lane) {
      pack_lane(&truths, lane[0], stride, n, is_little, lane[1], step);
    });
    return;
  }
  ArrayView from = x, to = out;
  from.shape[along] = to.shape[along] = 1;
  for_each_lane({&from, &to}, axis, [&](char* const* lane) {
    pack_columns(&truths, lane[0], stride, n, x.strides[along], x.shape[along], is_little, lane[1],
                 step);
  });
}

void unpack_bits_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  const bool is_little = args.attr[1] != 0;
  const int64_t bytes = x.shape[axis], stride = x.strides[axis];
  const int64_t n = out.shape[axis], step = out.strides[axis];
  const int along = columns_dimension(out, x, axis);
  if (along < 0) {
    for_each_lane({&x, &out}, axis, [&](char* const* lane) {
      unpack_lane(lane[0], stride, bytes, is_little, lane[1], step, n);
    });
    return;
  }
  ArrayView from = x, to = out;
  from.shape[along] = to.shape[along] = 1;
  for_each_lane({&from, &to}, axis, [&](char* const* lane) {
    unpack_columns(lane[0], stride, bytes, x.shape[along], is_little, lane[1], step, n);
  });
}

}  // namespace ofl::ops
