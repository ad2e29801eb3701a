#include "ops/index/indexed_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ofl::ops {

namespace {

/// Shorter rows are not worth a loop of their own at each place: of elements that lie together
/// where the places are, or of others that are brought together.
constexpr int64_t kShortRow = 4, kShortColumn = 16;
/// As many bytes of a row's places stay in the L1 cache, for the next place's turn.
constexpr int64_t kRowBytes = 8192, kFewTogether = 64;

struct Word16 {
  uint64_t halves[2];
};

template <typename Word, CopyDirection direction>
void copy_word(char* placed, char* lined) {
  if constexpr (direction == CopyDirection::gather) {
    std::memcpy(lined, placed, sizeof(Word));
  } else {
    std::memcpy(placed, lined, sizeof(Word));
  }
}

template <typename Word, CopyDirection direction>
void copy_places(char* placed, const int64_t* offsets, int64_t n, char* lined, int64_t step,
                 int64_t) {
  const auto copy = [&](int64_t i, int64_t to) {
    copy_word<Word, direction>(placed + offsets[i], lined + to);
  };
  constexpr int64_t kSize = sizeof(Word), kTogether = 8;
  int64_t i = 0;
  for (; step == kSize && i + kTogether <= n; i += kTogether) {
    for (int64_t k = 0; k < kTogether; ++k) copy(i + k, (i + k) * kSize);
  }
  for (; i < n; ++i) copy(i, i * step);
}

template <CopyDirection direction>
void copy_long_places(char* placed, const int64_t* offsets, int64_t n, char* lined, int64_t step,
                      int64_t bytes) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (direction == CopyDirection::gather) {
      std::memcpy(lined + i * step, placed + offsets[i], bytes);
    } else {
      std::memcpy(placed + offsets[i], lined + i * step, bytes);
    }
  }
}

/// One value over bytes that lie together: what is written is copied on, twice as much each time.
void fill_bytes(char* to, const char* value, int64_t size, int64_t bytes) {
  std::memcpy(to, value, size);
  for (int64_t done = size; done < bytes; done *= 2) {
    std::memcpy(to + done, to, std::min(done, bytes - done));
  }
}

template <typename Word, CopyDirection direction, typename Row>
void copy_row(char* placed, char* lined, const Row& row) {
  constexpr int64_t kSize = sizeof(Word);
  if (direction == CopyDirection::scatter && row.lined == 0 && row.placed == kSize) {
    return fill_bytes(placed, lined, kSize, row.dim * kSize);
  }
  const auto copy = [&](int64_t i, int64_t to) {
    copy_word<Word, direction>(placed + i * row.placed, lined + to);
  };
  constexpr int64_t kTogether = 8;
  int64_t i = 0;
  for (; row.lined == kSize && i + kTogether <= row.dim; i += kTogether) {
    for (int64_t k = 0; k < kTogether; ++k) copy(i + k, (i + k) * kSize);
  }
  for (; i < row.dim; ++i) copy(i, i * row.lined);
}

}  // namespace

IndexedCopy::IndexedCopy(CopyDirection direction, const ArrayView& placed, int placed_dims,
                         const ArrayView& lined, int lined_dims)
    : bytes_(static_cast<int64_t>(size_of(placed.dtype))) {
  for (int d = placed_dims; d < placed.shape.size(); ++d) {
    const int other = lined_dims + d - placed_dims;
    const Row row{placed.shape[d], placed.strides[d], lined.strides[other]};
    empty_ = empty_ || row.dim == 0;
    if (row.dim == 1) continue;
    int at = rows_.size();
    rows_.push_back(row);
    for (; at > 0 && std::abs(rows_[at - 1].placed) < std::abs(row.placed); --at) {
      rows_[at] = rows_[at - 1];
    }
    rows_[at] = row;
  }
  choose(direction);
}

/// Takes the rows that lie together out of the block, and the loops for what is left.
void IndexedCopy::choose(CopyDirection direction) {
  while (!rows_.empty() && rows_.back().placed == bytes_ && rows_.back().lined == bytes_) {
    bytes_ *= rows_.back().dim;
    rows_.pop_back();
  }
  switch (bytes_) {
    case 1: return use_words<uint8_t>(direction);
    case 2: return use_words<uint16_t>(direction);
    case 4: return use_words<uint32_t>(direction);
    case 8: return use_words<uint64_t>(direction);
    case 16: return use_words<Word16>(direction);
    default: break;
  }
  copy_places_ = direction == CopyDirection::gather ? copy_long_places<CopyDirection::gather>
                                                    : copy_long_places<CopyDirection::scatter>;
}

template <typename Word>
void IndexedCopy::use_words(CopyDirection direction) {
  if (!rows_.empty()) {
    const Row& row = rows_.back();
    const bool has_row = std::abs(row.placed) <= static_cast<int64_t>(sizeof(Word));
    const bool has_column = row.lined == static_cast<int64_t>(sizeof(Word));
    row_by_row_ = (has_row && row.dim >= kShortRow) || (has_column && row.dim >= kShortColumn);
  }
  if (direction == CopyDirection::gather) {
    copy_places_ = copy_places<Word, CopyDirection::gather>;
    copy_row_ = copy_row<Word, CopyDirection::gather, Row>;
  } else {
    copy_places_ = copy_places<Word, CopyDirection::scatter>;
    copy_row_ = copy_row<Word, CopyDirection::scatter, Row>;
  }
}

/// Calls body(offset in placed, offset in lined) for each index of the first `rows` rows.
template <typename Body>
void IndexedCopy::for_each_block_row(int rows, Body&& body) const {
  Dims index(rows, 0);
  int64_t placed = 0, lined = 0;
  for (;;) {
    body(placed, lined);
    int d = rows - 1;
    for (; d >= 0; --d) {
      const Row& row = rows_[d];
      const bool more = ++index[d] < row.dim;
      const int64_t steps = more ? 1 : 1 - row.dim;
      placed += steps * row.placed;
      lined += steps * row.lined;
      if (more) break;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

void IndexedCopy::run(char* placed, const int64_t* offsets, int64_t n, char* lined,
                      int64_t step) const {
  if (empty_) return;
  if (row_by_row_) {
    const Row& whole = rows_.back();
    const int64_t together =
        std::max(kRowBytes / std::max(std::abs(whole.placed), bytes_), kFewTogether);
    for_each_block_row(rows_.size() - 1, [&](int64_t from, int64_t to) {
      for (int64_t at = 0; at < whole.dim; at += together) {
        const Row row{std::min(whole.dim - at, together), whole.placed, whole.lined};
        char* const places = placed + from + at * row.placed;
        char* const line = lined + to + at * row.lined;
        for (int64_t i = 0; i < n; ++i) copy_row_(places + offsets[i], line + i * step, row);
      }
    });
    return;
  }
  for_each_block_row(rows_.size(), [&](int64_t from, int64_t to) {
    copy_places_(placed + from, offsets, n, lined + to, step, bytes_);
  });
}

}  // namespace ofl::ops
