#include "ops/convolution/weight_sums.h"

namespace ofl::ops {

namespace {

/// A block of the result by columns: slivers of channels, panels of columns.
constexpr int64_t kSliversAtATime = 5, kPanelsAtATime = 4;
/// Pieces of work for each thread.
constexpr int64_t kPiecesPerThread = 4;
/// Of a gradient that is packed at a time.
constexpr int64_t kPackedBytes = int64_t{8} << 20;

MemoryPool& block_memory() {
  static MemoryPool* pool = new MemoryPool;
  return *pool;
}

MemoryPool& gradient_memory() {
  static MemoryPool* pool = new MemoryPool;
  return *pool;
}

int64_t divided(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// How the long sum over images and positions is cut, the same for all ways to make it: into parts
/// of some whole images, or of some positions of one.
struct SumParts {
  explicit SumParts(int64_t positions)
      : together(std::max<int64_t>(1, kMostTerms / positions)), of_image(positions) {}
  int64_t most_terms() const { return together * of_image.depth; }

  int64_t together;  // images of a part
  Parts of_image;
};

/// Tiles of channels x columns: both factors are packed. Where there are few channels, or many
/// columns for each.
template <typename T>
class ByColumns {
 public:
  ByColumns(const WeightSums& sums, T* out)
      : sums_(sums), out_(out), loops_(tile_loops<T>()), parts_(sums.positions) {
    for (int64_t r = 0; r < sums.channels; ++r) rows_.push_back(r * sums.columns);
    for (int64_t j = 0; j < sums.columns; ++j) columns_.push_back(j);
    vectors_.assign(static_cast<size_t>(divided(sums.columns, loops_.lanes)), 1);
    for (int64_t part = 0; part < parts_.of_image.count; ++part) {
      const int64_t first = parts_.of_image.first(part), depth = parts_.of_image.length(part);
      gradient_runs_.push_back(runs_of(sums.gradient_positions.data() + first, depth));
      image_runs_.push_back(runs_of(sums.image_positions.data() + first, depth));
    }
    row_blocks_ = divided(sums.channels, kSliversAtATime * loops_.rows);
    column_blocks_ = divided(sums.columns, kPanelsAtATime * loops_.width);
  }

  /// Images that are prepared together are a multiple of those of a part.
  int64_t at_a_time(int64_t most) const {
    return std::max<int64_t>(1, most / parts_.together) * parts_.together;
  }

  /// Adds those of images that are prepared; `is_first`: to nothing.
  void run(const Images<T>& gradient, const Images<T>& images, int64_t count, bool is_first,
           ep::HelperPool* helpers) const {
    const int64_t blocks = row_blocks_ * column_blocks_;
    share(helpers, sums_.groups * blocks, sums_.work(count), [&](int64_t i) {
      const int64_t group = i / blocks, block = i % blocks;
      for (int64_t image = 0; image < count; image += parts_.together) {
        add_block(gradient, images, image, std::min(parts_.together, count - image), group, block,
                  is_first && image == 0);
      }
    });
  }

 private:
  void add_block(const Images<T>& gradient, const Images<T>& images, int64_t first, int64_t count,
                 int64_t group, int64_t block, bool is_first) const;
  void multiply(int64_t group, int64_t row, int64_t rows, int64_t column, int64_t columns,
                Tile<T> tile, const T* slivers, const T* panels) const;

  const WeightSums& sums_;
  T* const out_;
  const TileLoops<T>& loops_;
  const SumParts parts_;
  Offsets rows_, columns_;  // of the result of a group
  std::vector<uint8_t> vectors_;
  std::vector<std::vector<Run>> gradient_runs_, image_runs_;  // by part of an image
  int64_t row_blocks_, column_blocks_;
};

template <typename T>
void ByColumns<T>::add_block(const Images<T>& gradient, const Images<T>& images, int64_t first,
                             int64_t count, int64_t group, int64_t block, bool is_first) const {
  const int64_t row_step = kSliversAtATime * loops_.rows;
  const int64_t column_step = kPanelsAtATime * loops_.width;
  const int64_t row = block / column_blocks_ * row_step;
  const int64_t column = block % column_blocks_ * column_step;
  const int64_t rows = std::min(row_step, sums_.channels - row);
  const int64_t columns = std::min(column_step, sums_.columns - column);
  const LeasedMemory memory(
      block_memory(),
      static_cast<size_t>((row_step + column_step) * parts_.most_terms()) * sizeof(T));
  T* const panels = reinterpret_cast<T*>(memory.data());
  T* const slivers = panels + column_step * parts_.most_terms();
  const int64_t* const channel_offsets =
      sums_.gradient_channels.data() + group * sums_.channels + row;
  const int64_t* const column_offsets = sums_.image_columns.data() + group * sums_.columns + column;
  for (int64_t part = 0; part < parts_.of_image.count; ++part) {
    const int64_t length = parts_.of_image.length(part);
    Tile<T> tile{};
    tile.depth = length * count;
    tile.adds = part > 0 || !is_first;
    for (int64_t i = 0; i < count; ++i) {
      const T* const from = gradient.data() + (first + i) * gradient.steps().image;
      const T* const image = images.data() + (first + i) * images.steps().image;
      for (int64_t r = 0; r < rows; r += loops_.rows) {
        const int64_t some = std::min<int64_t>(loops_.rows, rows - r);
        pack_by_columns(from, gradient_runs_[part], channel_offsets + r, some, some,
                        slivers + r * tile.depth + i * length * some);
      }
      for (int64_t j = 0; j < columns; j += loops_.width) {
        pack_by_columns(image, image_runs_[part], column_offsets + j,
                        std::min<int64_t>(loops_.width, columns - j), loops_.width,
                        panels + j * tile.depth + i * length * loops_.width);
      }
    }
    multiply(group, row, rows, column, columns, tile, slivers, panels);
  }
}

template <typename T>
void ByColumns<T>::multiply(int64_t group, int64_t row, int64_t rows, int64_t column,
                            int64_t columns, Tile<T> tile, const T* slivers,
                            const T* panels) const {
  tile.out = out_ + group * sums_.channels * sums_.columns;
  for (int64_t r = 0; r < rows; r += loops_.rows) {
    tile.a = slivers + r * tile.depth;
    tile.rows = static_cast<int>(std::min<int64_t>(loops_.rows, rows - r));
    tile.out_rows = rows_.data() + row + r;
    for (int64_t j = 0; j < columns; j += loops_.width) {
      tile.panel = panels + j * tile.depth;
      tile.columns = static_cast<int>(std::min<int64_t>(loops_.width, columns - j));
      tile.out_columns = columns_.data() + column + j;
      tile.are_contiguous = vectors_.data() + (column + j) / loops_.lanes;
      loops_.multiply(tile);
    }
  }
}

/// Tiles of columns x channels: only the gradient is packed, once, and images are read as they lie.
template <typename T>
class ByChannels {
 public:
  ByChannels(const WeightSums& sums, const ImageSteps& images, T* out)
      : sums_(sums),
        out_(out),
        loops_(tile_loops<T>()),
        parts_(sums.positions),
        gradient_runs_(runs_of(sums.gradient_positions.data(), sums.positions)),
        slices_(divided(sums.channels, loops_.width)),
        strips_(divided(sums.columns, loops_.rows)) {
    for (int64_t r = 0; r < sums.channels; ++r) channels_.push_back(r * sums.columns);
    for (int64_t j = 0; j < sums.columns; ++j) columns_.push_back(j);
    vectors_ = contiguous_vectors(channels_, loops_.lanes);
    for (int64_t i = 0; i < parts_.together; ++i) {
      for (int64_t position : sums.image_positions) terms_.push_back(i * images.image + position);
    }
  }

  int64_t at_a_time(int64_t most) const {
    const int64_t bytes = packed(1) * static_cast<int64_t>(sizeof(T));
    most = std::min(most, kPackedBytes / bytes);
    return std::max<int64_t>(1, most / parts_.together) * parts_.together;
  }

  void run(const Images<T>& gradient, const Images<T>& images, int64_t count, bool is_first,
           ep::HelperPool* helpers) const {
    const LeasedMemory memory(gradient_memory(), static_cast<size_t>(packed(count)) * sizeof(T));
    T* const panels = reinterpret_cast<T*>(memory.data());
    const int64_t slices = sums_.groups * slices_;
    share(helpers, slices * count, static_cast<double>(packed(count)), [&](int64_t i) {
      pack(gradient.data() + i % count * gradient.steps().image, i / count,
           panels + i * sums_.positions * loops_.width);
    });
    const int64_t wanted = helpers ? helpers->threads() * kPiecesPerThread : 1;
    const int64_t pieces = std::clamp<int64_t>(divided(wanted, slices), 1, strips_);
    share(helpers, slices * pieces, sums_.work(count), [&](int64_t i) {
      const int64_t slice = i / pieces, piece = i % pieces;
      multiply(images, count, slice, piece * strips_ / pieces, (piece + 1) * strips_ / pieces,
               panels + slice * count * sums_.positions * loops_.width, is_first);
    });
  }

 private:
  /// Elements of the panels of so many images: by slice, image and position.
  int64_t packed(int64_t images) const {
    return sums_.groups * slices_ * loops_.width * sums_.positions * images;
  }
  void pack(const T* from, int64_t slice, T* to) const;
  void multiply(const Images<T>& images, int64_t count, int64_t slice, int64_t first_strip,
                int64_t end_strip, const T* panels, bool is_first) const;

  const WeightSums& sums_;
  T* const out_;
  const TileLoops<T>& loops_;
  const SumParts parts_;
  const std::vector<Run> gradient_runs_;
  const int64_t slices_, strips_;  // of the channels of a group, and of its columns
  Offsets channels_, columns_;     // of the result of a group
  Offsets terms_;                  // of the images of a part
  std::vector<uint8_t> vectors_;
};

template <typename T>
void ByChannels<T>::pack(const T* from, int64_t slice, T* to) const {
  const int64_t first = slice % slices_ * loops_.width;
  pack_channels(from, gradient_runs_,
                sums_.gradient_channels.data() + slice / slices_ * sums_.channels + first,
                std::min<int64_t>(loops_.width, sums_.channels - first), loops_.width, loops_.lanes,
                to);
}

template <typename T>
void ByChannels<T>::multiply(const Images<T>& images, int64_t count, int64_t slice,
                             int64_t first_strip, int64_t end_strip, const T* panels,
                             bool is_first) const {
  const int64_t group = slice / slices_, channel = slice % slices_ * loops_.width;
  const int64_t parts = parts_.of_image.count;
  Tile<T> tile{};
  tile.out = out_ + group * sums_.channels * sums_.columns;
  tile.columns = static_cast<int>(std::min<int64_t>(loops_.width, sums_.channels - channel));
  tile.out_columns = channels_.data() + channel;
  tile.are_contiguous = vectors_.data() + channel / loops_.lanes;
  for (int64_t i = 0; i < divided(count, parts_.together) * parts; ++i) {
    const int64_t first = i / parts * parts_.together, part = i % parts;
    const int64_t place = parts_.of_image.first(part);
    const T* const image = images.data() + first * images.steps().image;
    tile.terms = terms_.data() + place;
    tile.depth = parts_.of_image.length(part) * std::min(parts_.together, count - first);
    tile.panel = panels + (first * sums_.positions + place) * loops_.width;
    tile.adds = i > 0 || !is_first;
    for (int64_t strip = first_strip; strip < end_strip; ++strip) {
      const int64_t begin = strip * sums_.columns / strips_;
      tile.rows = static_cast<int>((strip + 1) * sums_.columns / strips_ - begin);
      const int64_t* const columns = sums_.image_columns.data() + group * sums_.columns + begin;
      place_rows(image, columns, runs_of(columns, tile.rows), &tile);
      tile.out_rows = columns_.data() + begin;
      loops_.multiply(tile);
    }
  }
}

/// By what a term takes: its multiplications, the elements that are packed for it, and its share of
/// the results, which are written for each part, by channels one by one and far apart.
template <typename T>
bool is_faster_by_channels(const WeightSums& sums, int64_t images) {
  constexpr double kFarWrite = 2, kVectorWrite = 2;
  const TileLoops<T>& loops = tile_loops<T>();
  const SumParts parts(sums.positions);
  const int64_t blocks = divided(sums.columns, kPanelsAtATime * loops.width);
  const double results =
      static_cast<double>(sums.channels * sums.columns) /
      static_cast<double>(parts.of_image.depth * std::min(parts.together, images));
  const double by_columns = cycles_of_tiles(sums.channels, sums.columns, loops) +
                            static_cast<double>(sums.columns + blocks * sums.channels) +
                            results * kVectorWrite / loops.lanes;
  const double by_channels = cycles_of_tiles(sums.columns, sums.channels, loops) +
                             static_cast<double>(sums.channels) + results * kFarWrite;
  return by_channels < by_columns;
}

template <typename T, typename Runner>
void run_all(const Runner& runner, Images<T>& gradient, Images<T>& images, int64_t count,
             ep::HelperPool* helpers) {
  const int64_t at_a_time = runner.at_a_time(std::min(gradient.at_a_time(), images.at_a_time()));
  for (int64_t first = 0; first < count; first += at_a_time) {
    const int64_t some = std::min(at_a_time, count - first);
    gradient.prepare(first, some, helpers);
    images.prepare(first, some, helpers);
    runner.run(gradient, images, some, first == 0, helpers);
  }
}

}  // namespace

template <typename T>
void run_weight_sums(const WeightSums& sums, Images<T>& gradient, Images<T>& images, int64_t count,
                     T* out, ep::HelperPool* helpers) {
  if (is_faster_by_channels<T>(sums, count)) {
    return run_all(ByChannels<T>(sums, images.steps(), out), gradient, images, count, helpers);
  }
  run_all(ByColumns<T>(sums, out), gradient, images, count, helpers);
}

template void run_weight_sums<float>(const WeightSums&, Images<float>&, Images<float>&, int64_t,
                                     float*, ep::HelperPool*);
template void run_weight_sums<double>(const WeightSums&, Images<double>&, Images<double>&, int64_t,
                                      double*, ep::HelperPool*);

}  // namespace ofl::ops
