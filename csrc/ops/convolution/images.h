// Images as the loops of convolutions read them: with elements of one type at steps of whole
// elements, and with a border of zeros.
#pragma once

#include <algorithm>
#include <cstring>

#include "ops/convolution/geometry.h"
#include "ops/leased_memory.h"
#include "ops/product/gemm_plan.h"

namespace ofl::ops {

/// Where the elements of images lie: steps in elements. Channel c is lane c % lanes of plane
/// c / lanes.
struct ImageSteps {
  int64_t lanes = 1;
  int64_t image = 0, plane = 0, row = 0, column = 0, lane = 0;

  int64_t channel(int64_t c) const { return c / lanes * plane + c % lanes * lane; }
  int64_t at(int64_t y, int64_t x) const { return y * row + x * column; }
};

/// Zeros around each image.
struct Border {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool is_empty() const { return top + bottom + left + right == 0; }
};

/// Images, some at a time: as they lie where that is possible, else as copies. Weights, too, are
/// images, one for each output channel.
template <typename T>
class Images {
 public:
  Images(const ArrayView& given, const Border& border);

  const ImageSteps& steps() const { return steps_; }
  bool are_copied() const { return copies_; }
  /// Images that are prepared together, where they are copied.
  int64_t at_a_time() const { return at_a_time_; }
  /// Prepares the images [first, first + count), if they are not.
  void prepare(int64_t first, int64_t count, ep::HelperPool* helpers);
  /// The first one that is prepared; offset 0 is the first element of its border.
  const T* data() const { return data_; }
  /// Behind the last element that may be read.
  const T* end() const { return end_; }

 private:
  static constexpr int64_t kBytesAtATime = int64_t{8} << 20, kLeastAtATime = 4;
  static constexpr int64_t kSmallPlane = 2048;  // bytes that are zeroed as a whole
  static MemoryPool& pool() {
    static MemoryPool* the_pool = new MemoryPool;
    return *the_pool;
  }
  static void zero(T* to, int64_t count) {
    std::memset(to, 0, static_cast<size_t>(count) * sizeof(T));
  }
  void copy_plane(const char* from, T* to) const;
  void copy_row(const char* from, T* to) const;
  int64_t rows() const { return border_.top + given_.shape[2] + border_.bottom; }
  int64_t columns() const { return border_.left + given_.shape[3] + border_.right; }
  int64_t byte_step(int d) const { return d < given_.strides.size() ? given_.strides[d] : 0; }

  const ArrayView given_;
  const Border border_;
  ImageSteps steps_;
  bool copies_ = false;
  int64_t at_a_time_ = 0, elements_ = 0;  // elements: that there is memory for
  int64_t first_ = 0, count_ = 0;         // that are prepared
  std::unique_ptr<LeasedMemory> memory_;
  const T* data_ = nullptr;
  const T* end_ = nullptr;
};

template <typename T>
Images<T>::Images(const ArrayView& given, const Border& border) : given_(given), border_(border) {
  constexpr int64_t kItem = sizeof(T);
  steps_.lanes = given.shape.size() == 5 ? given.shape[4] : 1;
  copies_ = !border.is_empty() || reinterpret_cast<uintptr_t>(given.data) % alignof(T) != 0;
  for (int64_t step : given.strides) copies_ = copies_ || step % kItem != 0;
  at_a_time_ = given.shape[0];
  if (!copies_) {
    steps_.image = byte_step(0) / kItem;
    steps_.plane = byte_step(1) / kItem;
    steps_.row = byte_step(2) / kItem;
    steps_.column = byte_step(3) / kItem;
    steps_.lane = byte_step(4) / kItem;
    return;
  }
  steps_.lane = 1;
  steps_.column = steps_.lanes;
  steps_.row = columns() * steps_.column;
  steps_.plane = rows() * steps_.row;
  steps_.image = given.shape[1] * steps_.plane;
  const int64_t bytes = std::max<int64_t>(steps_.image * kItem, 1);
  at_a_time_ = std::min(at_a_time_, std::max(kBytesAtATime / bytes, kLeastAtATime));
}

template <typename T>
void Images<T>::prepare(int64_t first, int64_t count, ep::HelperPool* helpers) {
  if (first == first_ && count == count_) return;
  first_ = first;
  count_ = count;
  const char* from = given_.data + first * given_.strides[0];
  if (!copies_) {
    data_ = reinterpret_cast<const T*>(from);
    end_ = reinterpret_cast<const T*>(given_.data + given_.extent().high);
    return;
  }
  const int64_t elements = count * steps_.image, planes = given_.shape[1];
  if (!memory_ || elements > elements_) {
    memory_.reset();
    memory_ = std::make_unique<LeasedMemory>(pool(), static_cast<size_t>(elements) * sizeof(T));
    elements_ = elements;
  }
  T* const to = reinterpret_cast<T*>(memory_->data());
  data_ = to;
  end_ = to + elements;
  share(helpers, count * planes, static_cast<double>(count * steps_.image), [&](int64_t i) {
    const int64_t image = i / planes, plane = i % planes;
    copy_plane(from + image * given_.strides[0] + plane * given_.strides[1],
               to + image * steps_.image + plane * steps_.plane);
  });
}

/// Few elements, without a call.
template <typename T>
inline void copy_short(const char* from, int64_t count, T* to) {
  constexpr int64_t kChunk = 32 / sizeof(T), kMostChunks = 4;
  if (count > kMostChunks * kChunk) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  int64_t j = 0;
  for (; j + kChunk <= count; j += kChunk) {
    std::memcpy(to + j, from + j * static_cast<int64_t>(sizeof(T)), 32);
  }
  for (; j < count; ++j) std::memcpy(to + j, from + j * static_cast<int64_t>(sizeof(T)), sizeof(T));
}

template <typename T>
void Images<T>::copy_row(const char* from, T* to) const {
  const int64_t width = given_.shape[3], lanes = steps_.lanes;
  const int64_t column_bytes = given_.strides[3], lane_bytes = byte_step(4);
  constexpr auto kItem = static_cast<int64_t>(sizeof(T));
  if (column_bytes == kItem * lanes && (lanes == 1 || lane_bytes == kItem)) {
    return copy_short(from, width * lanes, to);
  }
  for (int64_t x = 0; x < width; ++x) {
    for (int64_t lane = 0; lane < lanes; ++lane, ++to) {
      std::memcpy(to, from + x * column_bytes + lane * lane_bytes, sizeof(T));
    }
  }
}

template <typename T>
void Images<T>::copy_plane(const char* from, T* to) const {
  const int64_t left = border_.left * steps_.lanes, right = border_.right * steps_.lanes;
  const bool is_small = steps_.plane * static_cast<int64_t>(sizeof(T)) <= kSmallPlane;
  if (is_small && !border_.is_empty()) zero(to, steps_.plane);
  if (!is_small) zero(to, border_.top * steps_.row);
  to += border_.top * steps_.row;
  for (int64_t y = 0; y < given_.shape[2]; ++y, from += given_.strides[2], to += steps_.row) {
    copy_row(from, to + left);
    if (is_small) continue;
    std::fill_n(to, left, T(0));
    std::fill_n(to + steps_.row - right, right, T(0));
  }
  if (!is_small) zero(to, border_.bottom * steps_.row);
}

}  // namespace ofl::ops
