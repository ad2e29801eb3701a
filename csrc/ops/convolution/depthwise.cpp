#include "ops/convolution/depthwise.h"

#include "ops/convolution/rows.h"

namespace ofl::ops {

namespace {

constexpr int64_t kMostChannels = 3;
/// Of a term of a sum, in float32 additions.
constexpr double kTermWork = 0.2;

bool are_rows(const Offsets& offsets, int64_t row, int64_t step) {
  for (size_t i = 1; i < offsets.size(); ++i) {
    const bool is_first = static_cast<int64_t>(i) % row == 0;
    if (!is_first && offsets[i] - offsets[i - 1] != step) return false;
  }
  return true;
}

/// Channels of each block follow each other, in images and results.
bool are_blocks_of_groups(const WindowSums& sums) {
  if (sums.channels != 1 || sums.groups % kChannelBlock != 0) return false;
  for (int64_t g = 0; g < sums.groups; ++g) {
    const int64_t lane = g % kChannelBlock, first = g - lane;
    if (sums.out_channels[g] != sums.out_channels[first] + lane) return false;
    for (int64_t l = 0; l < sums.terms; ++l) {
      const int64_t of_first = sums.image_terms[first * sums.terms + l];
      if (sums.image_terms[g * sums.terms + l] != of_first + lane) return false;
    }
  }
  return true;
}

template <typename T>
class RowRunner {
 public:
  RowRunner(const WindowSums& sums, const T* weights, bool is_blocked)
      : sums_(sums),
        is_blocked_(is_blocked),
        together_(is_blocked ? kChannelBlock : sums.channels),
        loops_(row_loops<T>()) {
    const int64_t count = sums.groups * sums.channels;
    packed_.reserve(static_cast<size_t>(count * sums.terms));
    for (int64_t first = 0; first < count; first += together_) {
      is_blocked ? pack_block(weights, first) : pack_group(weights, first / sums.channels);
    }
  }

  /// Pieces of work of an image: groups, or blocks of them.
  int64_t pieces() const { return sums_.groups * sums_.channels / together_; }

  void run(const T* image, T* out, int64_t piece) const {
    const T* const weights = packed_.data() + piece * together_ * sums_.terms;
    if (!is_blocked_) {
      for (int64_t c = 0; c < sums_.channels; ++c) {
        run_channel(image, out, piece, c, weights + c * sums_.terms);
      }
      return;
    }
    for (int64_t lane = 0; lane < kChannelBlock; lane += loops_.lanes) {
      run_lanes(image, out, piece * kChannelBlock + lane, weights + lane);
    }
  }

 private:
  /// Channel after channel.
  void pack_group(const T* weights, int64_t group) {
    for (int64_t c = 0; c < sums_.channels; ++c) {
      const T* const from = weights + sums_.weight_groups[group] + sums_.weight_channels[c];
      for (int64_t term : sums_.weight_terms) packed_.push_back(from[term]);
    }
  }
  /// Term after term.
  void pack_block(const T* weights, int64_t first) {
    for (int64_t term : sums_.weight_terms) {
      for (int64_t g = first; g < first + kChannelBlock; ++g) {
        packed_.push_back(weights[sums_.weight_groups[g] + sums_.weight_channels[0] + term]);
      }
    }
  }

  Row<T> row_of(int64_t group, const T* weights) const {
    Row<T> row{};
    row.depth = sums_.terms;
    row.weights = weights;
    row.terms = sums_.image_terms.data() + group * sums_.terms;
    return row;
  }

  void run_channel(const T* image, T* out, int64_t group, int64_t channel, const T* weights) const {
    Row<T> row = row_of(group, weights);
    row.step = row.out_step = loops_.lanes;
    row.count = sums_.row / loops_.lanes;
    row.tail = sums_.row % loops_.lanes;
    for (int64_t first = 0; first < sums_.positions; first += sums_.row) {
      row.image = image + sums_.image_positions[first];
      row.out =
          out + sums_.out_channels[group * sums_.channels + channel] + sums_.out_positions[first];
      loops_.sum(row);
    }
  }

  void run_lanes(const T* image, T* out, int64_t group, const T* weights) const {
    Row<T> row = row_of(group, weights);
    row.weight_step = kChannelBlock;
    row.count = sums_.row;
    if (sums_.row > 1) {
      row.step = sums_.image_positions[1] - sums_.image_positions[0];
      row.out_step = sums_.out_positions[1] - sums_.out_positions[0];
    }
    for (int64_t first = 0; first < sums_.positions; first += sums_.row) {
      row.image = image + sums_.image_positions[first];
      row.out = out + sums_.out_channels[group] + sums_.out_positions[first];
      loops_.sum(row);
    }
  }

  const WindowSums& sums_;
  const bool is_blocked_;
  const int64_t together_;  // channels
  const RowLoops<T>& loops_;
  std::vector<T> packed_;
};

}  // namespace

bool has_row_sums(const WindowSums& sums, bool is_blocked) {
  if (sums.terms > kMostTerms || sums.channels > kMostChannels) return false;
  if (is_blocked) return are_blocks_of_groups(sums);
  return are_rows(sums.image_positions, sums.row, 1) && are_rows(sums.out_positions, sums.row, 1);
}

template <typename T>
void run_row_sums(const WindowSums& sums, const T* weights, Images<T>& images, int64_t count,
                  const Results<T>& out, ep::HelperPool* helpers) {
  const RowRunner<T> runner(sums, weights, images.steps().lanes > 1);
  const int64_t pieces = runner.pieces();
  for (int64_t first = 0; first < count; first += images.at_a_time()) {
    const int64_t some = std::min(images.at_a_time(), count - first);
    images.prepare(first, some, helpers);
    const double work = kTermWork * sums.work() * static_cast<double>(some);
    share(helpers, some * pieces, work, [&](int64_t i) {
      const int64_t image = i / pieces;
      runner.run(images.data() + image * images.steps().image,
                 out.data + (first + image) * out.image, i % pieces);
    });
  }
}

template void run_row_sums<float>(const WindowSums&, const float*, Images<float>&, int64_t,
                                  const Results<float>&, ep::HelperPool*);
template void run_row_sums<double>(const WindowSums&, const double*, Images<double>&, int64_t,
                                   const Results<double>&, ep::HelperPool*);

}  // namespace ofl::ops
