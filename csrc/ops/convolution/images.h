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
  /// Prepares the images [first, first + count).
  void prepare(int64_t first, int64_t count, ep::HelperPool* helpers);
  /// The first one that is prepared; offset 0 is the first element of its border.
  const T* data() const { return data_; }
  /// Behind the last element that may be read.
  const T* end() const { return end_; }

 private:
  static constexpr int64_t kBytesAtATime = int64_t{8} << 20, kLeastAtATime = 4;
  static MemoryPool& pool() {
    static MemoryPool* the_pool = new MemoryPool;
    return *the_pool;
  }
  void copy_plane(const char* from, T* to) const;
  int64_t rows() const { return border_.top + given_.shape[2] + border_.bottom; }
  int64_t columns() const { return border_.left + given_.shape[3] + border_.right; }
  int64_t byte_step(int d) const { return d < given_.strides.size() ? given_.strides[d] : 0; }

  const ArrayView given_;
  const Border border_;
  ImageSteps steps_;
  bool copies_ = false;
  int64_t at_a_time_ = 0, elements_ = 0;  // elements: that there is memory for
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

template <typename T>
void Images<T>::copy_plane(const char* from, T* to) const {
  const int64_t width = given_.shape[3], lanes = steps_.lanes;
  const int64_t column_bytes = given_.strides[3], lane_bytes = byte_step(4);
  const bool is_row = column_bytes == static_cast<int64_t>(sizeof(T)) * lanes &&
                      (lanes == 1 || lane_bytes == static_cast<int64_t>(sizeof(T)));
  to = std::fill_n(to, border_.top * steps_.row, T(0));
  for (int64_t y = 0; y < given_.shape[2]; ++y, from += given_.strides[2]) {
    to = std::fill_n(to, border_.left * lanes, T(0));
    if (is_row) {
      std::memcpy(to, from, static_cast<size_t>(width * lanes) * sizeof(T));
      to += width * lanes;
    }
    for (int64_t x = 0; !is_row && x < width; ++x) {
      for (int64_t lane = 0; lane < lanes; ++lane, ++to) {
        std::memcpy(to, from + x * column_bytes + lane * lane_bytes, sizeof(T));
      }
    }
    to = std::fill_n(to, border_.right * lanes, T(0));
  }
  std::fill_n(to, border_.bottom * steps_.row, T(0));
}

}  // namespace ofl::ops
