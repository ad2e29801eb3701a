// Panels of channels from weights: blocks of terms x channels are transposed.
//
//   weights, [channel][terms, which follow each other] ─► blocks ─► [term, in its order][channel]
#pragma once

#include <algorithm>
#include <vector>

#include "ops/convolution/packing.h"
#include "ops/elementwise/block_transpose.h"

namespace ofl::ops {

/// Packs weights whose offsets are those of a channel plus those of a term. It is found once which
/// terms follow each other in memory; the order of a sum is another one. Terms may share a place.
template <typename T>
class WeightPanels {
 public:
  /// The tables must outlive it.
  WeightPanels(const Offsets& terms, const Offsets& channels)
      : terms_(terms), channels_(channels), block_(block_transpose(sizeof(T))) {
    step_ = channels.size() > 1 ? channels[1] - channels[0] : 0;
    bool is_regular = block_.side > 0 && channels.size() > 1 && !terms.empty();
    for (size_t c = 1; c < channels.size(); ++c) {
      is_regular = is_regular && channels[c] - channels[c - 1] == step_;
    }
    if (is_regular) find_blocks();
    if (blocks_.empty()) {
      rest_.resize(terms.size());
      for (size_t l = 0; l < terms.size(); ++l) rest_[l] = static_cast<int64_t>(l);
    }
  }

  /// to[l][c] = from[channels[first + c] + terms[l]], for `count` channels; beyond them are zeros,
  /// up to the end of the vector.
  void pack(const T* from, int64_t first, int64_t count, int64_t width, int64_t lanes,
            T* to) const {
    const int64_t across = blocks_.empty() ? 0 : count / block_.side * block_.side;
    for (size_t b = 0; b < blocks_.size(); b += static_cast<size_t>(block_.side)) {
      char* places[kMostSide];
      for (int64_t k = 0; k < block_.side; ++k) {
        places[k] = reinterpret_cast<char*>(to + blocks_[b + static_cast<size_t>(k)] * width);
      }
      const T* const begin = from + channels_[first] + terms_[blocks_[b]];
      for (int64_t c = 0; c < across; ++c) __builtin_prefetch(begin + c * step_ + kAhead);
      for (int64_t c = 0; c < across; c += block_.side) {
        block_.run(reinterpret_cast<const char*>(begin + c * step_), step_ * kItem, places,
                   c * kItem);
      }
    }
    const int64_t end = read_by_tiles(count, lanes);
    const auto pack_term = [&](int64_t l, int64_t begin) {
      T* const line = to + l * width;
      for (int64_t c = begin; c < count; ++c) line[c] = from[channels_[first + c] + terms_[l]];
      std::fill(line + count, line + end, T(0));
    };
    if (across < end) {
      for (const int64_t l : blocks_) pack_term(l, across);
    }
    for (const int64_t l : rest_) pack_term(l, 0);
  }

 private:
  static constexpr auto kItem = static_cast<int64_t>(sizeof(T));
  /// Weights that are fetched ahead: a processor follows fewer rows than are packed together.
  static constexpr int64_t kAhead = 256 / kItem;
  /// No table of places is made where there are more places than so many times the terms.
  static constexpr int64_t kSpread = 16;

  void find_blocks() {
    const auto count = static_cast<int64_t>(terms_.size());
    const auto [low, high] = std::minmax_element(terms_.begin(), terms_.end());
    const int64_t places = *high - *low + 1;
    if (places > kSpread * count) return;
    std::vector<int64_t> term_at(static_cast<size_t>(places), -1);
    for (int64_t l = 0; l < count; ++l) {
      int64_t& first = term_at[terms_[l] - *low];
      if (first < 0) {
        first = l;
      } else {
        rest_.push_back(l);  // it shares the place of an earlier term
      }
    }
    for (int64_t place = 0; place < places;) {
      int64_t end = place;
      while (end < places && end - place < block_.side && term_at[end] >= 0) ++end;
      std::vector<int64_t>& found = end - place == block_.side ? blocks_ : rest_;
      found.insert(found.end(), term_at.begin() + place, term_at.begin() + end);
      place = std::max(end, place + 1);
    }
  }

  const Offsets& terms_;
  const Offsets& channels_;
  const BlockTranspose block_;
  int64_t step_;
  std::vector<int64_t> blocks_;  // terms; each `side` of them follow each other in memory
  std::vector<int64_t> rest_;    // other terms
};

}  // namespace ofl::ops
