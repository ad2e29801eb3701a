#include "ops/cuda/nest.h"

#include <algorithm>
#include <cstring>

namespace ofl::ops::cuda {

namespace {

/// Whether two neighbouring rows are one to everything that is walked.
bool is_even(const NestRow& outer, const NestRow& inner) {
  const auto even = [&](int64_t wide, int64_t near) { return wide == near * inner.dim; };
  for (size_t k = 0; k < outer.indices.size(); ++k) {
    if (!even(outer.indices[k], inner.indices[k])) return false;
  }
  return even(outer.placed, inner.placed) && even(outer.lined, inner.lined) &&
         even(outer.number, inner.number);
}

}  // namespace

void Nest::sort(size_t first) {
  std::stable_sort(rows_.begin() + static_cast<std::ptrdiff_t>(first), rows_.end(),
                   [](const NestRow& a, const NestRow& b) { return a.rank > b.rank; });
}

void Nest::merge() {
  size_t kept = 0;
  for (size_t i = 1; i < rows_.size(); ++i) {
    NestRow& last = rows_[kept];
    if (is_even(last, rows_[i])) {
      const int64_t dim = last.dim;
      last = rows_[i];
      last.dim *= dim;
    } else {
      rows_[++kept] = rows_[i];
    }
  }
  if (!rows_.empty()) rows_.resize(kept + 1);
}

int64_t Nest::into_words(int64_t itemsize, uint64_t bits, bool scalar) {
  constexpr int64_t kLargest = 16;
  NestRow element;
  element.dim = itemsize;
  element.placed = 1;
  element.lined = scalar ? 0 : 1;
  rows_.push_back(element);
  merge();
  NestRow& bytes = rows_.back();
  bits |= static_cast<uint64_t>(kLargest | bytes.dim);
  for (size_t d = 0; d + 1 < rows_.size(); ++d) {
    bits |= static_cast<uint64_t>(rows_[d].placed | rows_[d].lined);
  }
  const auto word = static_cast<int64_t>(bits & (~bits + 1));
  bytes.dim /= word;
  bytes.placed *= word;
  bytes.lined *= word;
  if (bytes.dim == 1) rows_.pop_back();
  return word;
}

int64_t Nest::count() const {
  int64_t count = 1;
  for (const NestRow& row : rows_) count *= row.dim;
  return count;
}

void Nest::store(Indexing* out) const {
  out->ndim = static_cast<int32_t>(rows_.size());
  for (size_t d = 0; d < rows_.size(); ++d) {
    out->dims[d] = rows_[d].dim;
    out->placed[d] = rows_[d].placed;
    out->lined[d] = rows_[d].lined;
    out->number[d] = rows_[d].number;
    for (int k = 0; k < kIndexArrays; ++k) out->indices[k].strides[d] = rows_[d].indices[k];
  }
}

bool describe_indices(const ArrayView& indices, int64_t size, int64_t step,
                      layout::IndexArray* out) {
  const size_t bytes = size_of(indices.dtype);
  uint64_t bits = bits_of(indices.data);
  for (int d = 0; d < indices.shape.size(); ++d) {
    if (indices.shape[d] > 1) bits |= bits_of(indices.strides[d]);
  }
  if (bits % bytes != 0) return false;
  out->data = indices.data;
  out->size = size;
  out->step = step;
  out->kind = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  // Indices of 8 bytes are taken as signed, as the host's kernels cast them.
  if (info(indices.dtype).kind == DTypeKind::unsigned_int && bytes < 8)
    out->kind += layout::kUnsignedIndex;
  return true;
}

void add_places(const ArrayView* indices, int arrays, const Dims& lined, const Dims* placed,
                Nest* nest) {
  const Dims& shape = indices[0].shape;
  int64_t number = element_count(shape);
  for (int d = 0; d < shape.size(); ++d) {
    NestRow row;
    row.dim = shape[d];
    row.lined = lined[d];
    row.placed = placed ? (*placed)[d] : 0;
    number /= std::max<int64_t>(shape[d], 1);
    row.number = number;
    for (int k = 0; k < arrays; ++k) row.indices[static_cast<size_t>(k)] = indices[k].strides[d];
    row.rank = std::abs(row.lined);
    nest->add(row);
  }
}

void add_block(const ArrayView& placed, int placed_dims, const ArrayView* lined, int lined_dims,
               Nest* nest) {
  for (int d = placed_dims; d < placed.shape.size(); ++d) {
    NestRow row;
    row.dim = placed.shape[d];
    row.placed = placed.strides[d];
    row.lined = lined ? lined->strides[lined_dims + d - placed_dims] : 0;
    row.rank = std::abs(row.lined);
    nest->add(row);
  }
}

bool is_wide(const ArrayView& view) {
  const Extent extent = view.extent();
  return extent.high - extent.low >= kNarrow;
}

layout::int64* report_indices(Launching& launching, const std::vector<int64_t>& sizes,
                              const std::vector<int64_t>& numbers, ErrorKind error) {
  const char* name = launching.name();
  auto describe = [name, sizes, numbers, error](int word, int64_t value) {
    const auto k = static_cast<size_t>(word);
    return Error(error, concat("[", name, "] index ", value ^ INT64_MIN,
                               " is out of bounds for axis ", numbers[k], " with size ", sizes[k]));
  };
  return launching.report(static_cast<int>(sizes.size()), describe);
}

void repeat_scalar(const int64_t* words, int64_t itemsize, unsigned char* out) {
  for (int64_t at = 0; at < 16; at += itemsize) {
    std::memcpy(out + at, words, static_cast<size_t>(itemsize));
  }
}

}  // namespace ofl::ops::cuda
