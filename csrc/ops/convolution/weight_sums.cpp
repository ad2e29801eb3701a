#include "ops/convolution/weight_sums.h"

namespace ofl::ops {

namespace {

/// A block of the result: slivers of channels, panels of columns.
constexpr int64_t kSliversAtATime = 5, kPanelsAtATime = 4;

MemoryPool& block_memory() {
  static MemoryPool* pool = new MemoryPool;
  return *pool;
}

int64_t divided(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// Of one part of the positions, as most columns of the other factor lie in runs of them.
template <typename T>
class SumRunner {
 public:
  SumRunner(const WeightSums& sums, T* out)
      : sums_(sums), out_(out), loops_(tile_loops<T>()), parts_(sums.positions) {
    for (int64_t r = 0; r < sums.channels; ++r) rows_.push_back(r * sums.columns);
    for (int64_t j = 0; j < sums.columns; ++j) columns_.push_back(j);
    vectors_.assign(static_cast<size_t>(divided(sums.columns, loops_.lanes)), 1);
    for (int64_t part = 0; part < parts_.count; ++part) {
      const int64_t first = parts_.first(part), depth = parts_.length(part);
      gradient_runs_.push_back(runs_of(sums.gradient_positions.data() + first, depth));
      image_runs_.push_back(runs_of(sums.image_positions.data() + first, depth));
    }
    row_blocks_ = divided(sums.channels, kSliversAtATime * loops_.rows);
    column_blocks_ = divided(sums.columns, kPanelsAtATime * loops_.width);
  }

  /// Adds those of images that are prepared; `is_first`: to nothing.
  void run(const Images<T>& gradient, const Images<T>& images, int64_t count, bool is_first,
           ep::HelperPool* helpers) const {
    const double work = 0.05 * static_cast<double>(sums_.groups * sums_.channels) *
                        static_cast<double>(sums_.columns) *
                        static_cast<double>(sums_.positions * count);
    const int64_t blocks = row_blocks_ * column_blocks_;
    share(helpers, sums_.groups * blocks, work, [&](int64_t i) {
      const int64_t group = i / blocks, block = i % blocks;
      for (int64_t image = 0; image < count; ++image) {
        add_block(gradient.data() + image * gradient.steps().image,
                  images.data() + image * images.steps().image, group, block,
                  is_first && image == 0);
      }
    });
  }

 private:
  void add_block(const T* gradient, const T* image, int64_t group, int64_t block,
                 bool is_first) const;
  void multiply(int64_t group, int64_t row, int64_t rows, int64_t column, int64_t columns,
                Tile<T> tile, const T* slivers, const T* panels) const;

  const WeightSums& sums_;
  T* const out_;
  const TileLoops<T>& loops_;
  const Parts parts_;
  Offsets rows_, columns_;  // of the result of a group
  std::vector<uint8_t> vectors_;
  std::vector<std::vector<Run>> gradient_runs_, image_runs_;  // by part
  int64_t row_blocks_, column_blocks_;
};

template <typename T>
void SumRunner<T>::add_block(const T* gradient, const T* image, int64_t group, int64_t block,
                             bool is_first) const {
  const int64_t row_step = kSliversAtATime * loops_.rows;
  const int64_t column_step = kPanelsAtATime * loops_.width;
  const int64_t row = block / column_blocks_ * row_step;
  const int64_t column = block % column_blocks_ * column_step;
  const int64_t rows = std::min(row_step, sums_.channels - row);
  const int64_t columns = std::min(column_step, sums_.columns - column);
  const LeasedMemory memory(block_memory(), static_cast<size_t>((row_step + column_step) *
                                                                    parts_.depth) *
                                                sizeof(T));
  T* const panels = reinterpret_cast<T*>(memory.data());
  T* const slivers = panels + column_step * parts_.depth;
  const int64_t* const channel_offsets =
      sums_.gradient_channels.data() + group * sums_.channels + row;
  const int64_t* const column_offsets =
      sums_.image_columns.data() + group * sums_.columns + column;
  for (int64_t part = 0; part < parts_.count; ++part) {
    Tile<T> tile{};
    tile.depth = parts_.length(part);
    tile.adds = part > 0 || !is_first;
    for (int64_t r = 0; r < rows; r += loops_.rows) {
      const int64_t some = std::min<int64_t>(loops_.rows, rows - r);
      pack_by_columns(gradient, gradient_runs_[part], channel_offsets + r, some, some,
                      slivers + r * tile.depth);
    }
    for (int64_t j = 0; j < columns; j += loops_.width) {
      pack_by_columns(image, image_runs_[part], column_offsets + j,
                      std::min<int64_t>(loops_.width, columns - j), loops_.width,
                      panels + j * tile.depth);
    }
    multiply(group, row, rows, column, columns, tile, slivers, panels);
  }
}

template <typename T>
void SumRunner<T>::multiply(int64_t group, int64_t row, int64_t rows, int64_t column,
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

}  // namespace

template <typename T>
void run_weight_sums(const WeightSums& sums, Images<T>& gradient, Images<T>& images, int64_t count,
                     T* out, ep::HelperPool* helpers) {
  const SumRunner<T> runner(sums, out);
  const int64_t at_a_time = std::min(gradient.at_a_time(), images.at_a_time());
  for (int64_t first = 0; first < count; first += at_a_time) {
    const int64_t some = std::min(at_a_time, count - first);
    gradient.prepare(first, some, helpers);
    images.prepare(first, some, helpers);
    runner.run(gradient, images, some, first == 0, helpers);
  }
}

template void run_weight_sums<float>(const WeightSums&, Images<float>&, Images<float>&, int64_t,
                                     float*, ep::HelperPool*);
template void run_weight_sums<double>(const WeightSums&, Images<double>&, Images<double>&, int64_t,
                                      double*, ep::HelperPool*);

}  // namespace ofl::ops
