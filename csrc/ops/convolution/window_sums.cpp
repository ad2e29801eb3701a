// by positions: weights ─► slivers, once ─────┐      (or as they lie, for few positions)
//               images ──► panels, by pieces ─┴─► tiles of channels x positions
//                          (or as they lie, where positions follow each other)
// by channels:  weights ─► panels, once ─┐
//               images as they lie ──────┴─► tiles of positions x channels
#include "ops/convolution/window_sums.h"

#include <optional>

#include "ops/convolution/weight_panels.h"

namespace ofl::ops {

namespace {

/// Panels of positions that are packed together: with a sliver they stay in the L2 cache.
constexpr int64_t kPanelsAtATime = 4;
/// Positions of a piece of work where tiles are by channels.
constexpr int64_t kPositionsAtATime = 196;
/// Weights are packed when so many panels meet them; tiles of fewer read them as they lie.
constexpr int64_t kPanelsToPackFor = 16;
/// Multiplications for which it is worth a look whether panels can be read as they lie.
constexpr double kLargeWork = 1 << 22;
/// Larger vectors are packed: almost every one of 64 bytes would lie in two lines of the cache.
/// Such vectors were not measured.
constexpr int64_t kMostBytesAsItLies = 32;
/// Pieces for each thread, where there are few images.
constexpr int64_t kPiecesPerThread = 4;

MemoryPool& weight_memory() {
  static MemoryPool* pool = new MemoryPool;
  return *pool;
}

MemoryPool& panel_memory() {
  static MemoryPool* pool = new MemoryPool;
  return *pool;
}

int64_t divided(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// The largest of as few parts as there can be, none of more than `most`, and of about one size.
int64_t equal_parts(int64_t count, int64_t most) { return divided(count, divided(count, most)); }

/// Whether one piece of work takes all positions of some channels, where tiles are by channels.
bool is_one_piece(const WindowSums& sums, int64_t images) {
  return images == 1 && sums.positions <= kPositionsAtATime;
}

/// Whether weights are read as they lie, where tiles are by positions.
bool are_few_panels(const WindowSums& sums, int64_t images, int64_t width) {
  return images * divided(sums.positions, width) < kPanelsToPackFor;
}

/// By positions all cycles are of tiles and of the packing of images, by channels of tiles, of the
/// packing of weights, and of results that do not follow each other. Tiles are slower where the
/// weights are read as they lie, and those of a sum's terms do not follow each other.
template <typename T>
bool is_faster_by_channels(const WindowSums& sums, const std::vector<std::vector<Run>>& panels,
                           int64_t images, const TileLoops<T>& loops) {
  constexpr double kRun = 2, kScattered = 1.15;
  const bool packs_by_piece = is_one_piece(sums, images);
  const double packed_weight = packs_by_piece ? 1 : 2, clearly = packs_by_piece ? 1 : 0.85;
  double packing = 0;  // for one term
  for (const std::vector<Run>& runs : panels) {
    packing += static_cast<double>(loops.width) / loops.lanes;
    for (const Run& run : runs) packing += run.step == 1 ? kRun : static_cast<double>(run.count);
  }
  const auto terms = static_cast<double>(sums.terms), channels = static_cast<double>(sums.channels);
  const bool are_scattered = are_few_panels(sums, images, loops.width) && sums.terms > 1 &&
                             sums.weight_terms[1] - sums.weight_terms[0] != 1;
  const double by_positions = terms * (cycles_of_tiles(sums.channels, sums.positions, loops) *
                                           (are_scattered ? kScattered : 1) +
                                       packing);
  const double by_channels =
      terms * cycles_of_tiles(sums.positions, sums.channels, loops) +
      channels * static_cast<double>(sums.positions * Parts(sums.terms).count) +
      channels * terms * packed_weight / static_cast<double>(images);
  return by_channels < clearly * by_positions;
}

/// The runs of positions of each panel.
std::vector<std::vector<Run>> runs_of_panels(const WindowSums& sums, int64_t width) {
  std::vector<std::vector<Run>> panels;
  for (int64_t first = 0; first < sums.positions; first += width) {
    panels.push_back(
        runs_of(sums.image_positions.data() + first, std::min(width, sums.positions - first)));
  }
  return panels;
}

/// Whether the lines that a panel reads stay in the L1 cache while all slivers pass. A cache of
/// 32 KiB has 64 sets of 8 lines, of which slivers take some. Lines that are 4 KiB apart are in one
/// set. The first cache of page addresses has about 64 of them.
bool stays_in_cache(const int64_t* terms, int64_t depth, const int64_t* vectors, int count,
                    int64_t vector_bytes, int64_t item) {
  constexpr int kSets = 64, kMostLines = 5, kMostPages = 64;
  constexpr int64_t kLine = 64, kPage = 4096;
  int64_t lines[kSets][kMostLines];
  int used[kSets] = {};
  std::vector<int64_t> pages;
  for (int64_t l = 0; l < depth; ++l) {
    for (int v = 0; v < count; ++v) {
      const int64_t begin = (terms[l] + vectors[v]) * item, end = begin + vector_bytes - 1;
      for (int64_t line = begin / kLine; line <= end / kLine; ++line) {
        const auto set = static_cast<size_t>(line) % kSets;
        int64_t* const first = lines[set];
        if (std::find(first, first + used[set], line) != first + used[set]) continue;
        if (used[set] == kMostLines) return false;
        first[used[set]++] = line;
        const int64_t page = line * kLine / kPage;
        if (std::find(pages.begin(), pages.end(), page) == pages.end()) pages.push_back(page);
      }
    }
  }
  return pages.size() <= kMostPages;
}

/// Some positions that one tile takes.
struct Strip {
  int64_t first, count;
  std::vector<Run> runs;
};

/// Where weights are read from: packed before all work, or as panels by the only piece of work that
/// needs them, or as they lie.
enum class Weights { packed, packed_by_piece, in_place };

template <typename T>
class SumRunner {
 public:
  SumRunner(const WindowSums& sums, const T* weights, int64_t images, bool is_blocked,
            ep::HelperPool* helpers)
      : sums_(sums),
        weights_(weights),
        helpers_(helpers),
        loops_(tile_loops<T>()),
        panels_(is_blocked ? std::vector<std::vector<Run>>() : runs_of_panels(sums, loops_.width)),
        by_channels_(is_blocked || is_faster_by_channels(sums, panels_, images, loops_)),
        parts_(sums.terms),
        slice_(by_channels_ ? loops_.width : equal_parts(sums.channels, loops_.rows)),
        slices_(divided(sums.channels, slice_)),
        group_elements_(by_channels_ ? slices_ * slice_ * sums.terms : sums.channels * sums.terms),
        weights_are_(place_of_weights(images)),
        packed_(weight_memory(),
                weights_are_ == Weights::packed
                    ? static_cast<size_t>(sums.groups * group_elements_ + kSlack) * sizeof(T)
                    : 0) {
    if (by_channels_) weight_panels_.emplace(sums.weight_terms, sums.weight_channels);
    if (weights_are_ == Weights::packed) pack_weights();
    if (by_channels_) {
      cut_strips();
      channel_vectors_.reserve(static_cast<size_t>(sums.groups));
      for (int64_t g = 0; g < sums.groups; ++g) {
        channel_vectors_.push_back(contiguous_vectors(out_channels_of(g), loops_.lanes));
      }
    } else {
      position_vectors_ = contiguous_vectors(sums.out_positions, loops_.lanes);
      find_panels_as_they_lie(images);
    }
  }

  /// For images that are prepared.
  void run(const Images<T>& images, int64_t count, T* out, int64_t out_step) const;

 private:
  T* weights() const { return reinterpret_cast<T*>(packed_.data()); }
  /// A panel of a group: [term][its channels].
  T* panel(int64_t group, int64_t number) const {
    return weights() + group * group_elements_ + number * slice_ * sums_.terms;
  }
  /// A sliver of a group, [term][its channels]: those of a part follow each other.
  T* sliver(int64_t group, int64_t part, int64_t number) const {
    return weights() + group * group_elements_ + parts_.first(part) * sums_.channels +
           number * slice_ * parts_.length(part);
  }
  int64_t channels_of(int64_t number) const {
    return std::min(slice_, sums_.channels - number * slice_);
  }
  Offsets out_channels_of(int64_t group) const {
    const auto first = sums_.out_channels.begin() + group * sums_.channels;
    return Offsets(first, first + sums_.channels);
  }
  Weights place_of_weights(int64_t images) const;
  void pack_weights() const;
  void pack_panel(int64_t group, int64_t number, T* to) const;
  void pack_slivers(int64_t group, int64_t number) const;
  void cut_strips();
  void find_panels_as_they_lie(int64_t images);
  void multiply_positions(const Source<T>& image, int64_t group, int64_t first_panel,
                          int64_t panels, int64_t first_slice, int64_t end_slice, T* out) const;
  void multiply_panels(const T* image, int64_t group, int64_t part, int64_t first_panel,
                       int64_t panels, int64_t first_slice, int64_t end_slice, const T* packed,
                       T* out) const;
  const int64_t* terms_of(int64_t group, int64_t part) const {
    return sums_.image_terms.data() + group * sums_.terms + parts_.first(part);
  }
  void set_weights(int64_t group, int64_t part, int64_t number, Tile<T>* tile) const;
  void set_slice(int64_t group, int64_t part, int64_t number, Tile<T>* tile) const;
  void set_columns(int64_t panel, Tile<T>* tile) const;
  void multiply_strips(const T* image, int64_t group, int64_t first, int64_t end,
                       int64_t first_slice, int64_t end_slice, T* out) const;
  void multiply_panel(const T* image, int64_t group, int64_t part, int64_t number, const T* packed,
                      int64_t first, int64_t end, T* out) const;

  const WindowSums& sums_;
  const T* const weights_;
  ep::HelperPool* const helpers_;
  const TileLoops<T>& loops_;
  const std::vector<std::vector<Run>> panels_;
  const bool by_channels_;
  const Parts parts_;
  const int64_t slice_, slices_;  // channels of a slice of the weights; how many there are
  const int64_t group_elements_;
  const Weights weights_are_;
  const LeasedMemory packed_;
  std::optional<WeightPanels<T>> weight_panels_;  // by channels
  std::vector<Strip> strips_;
  std::vector<std::vector<uint8_t>> channel_vectors_;
  std::vector<uint8_t> position_vectors_;
  std::vector<uint8_t> lies_;  // for each panel: it is read as it lies
};

template <typename T>
Weights SumRunner<T>::place_of_weights(int64_t images) const {
  if (by_channels_) return is_one_piece(sums_, images) ? Weights::packed_by_piece : Weights::packed;
  return are_few_panels(sums_, images, loops_.width) ? Weights::in_place : Weights::packed;
}

template <typename T>
void SumRunner<T>::pack_weights() const {
  const double elements =
      static_cast<double>(sums_.groups * sums_.channels) * static_cast<double>(sums_.terms);
  share(helpers_, sums_.groups * slices_, 4 * elements, [&](int64_t i) {
    const int64_t group = i / slices_, number = i % slices_;
    by_channels_ ? pack_panel(group, number, panel(group, number)) : pack_slivers(group, number);
  });
}

template <typename T>
void SumRunner<T>::pack_panel(int64_t group, int64_t number, T* to) const {
  weight_panels_->pack(weights_ + sums_.weight_groups[group], number * slice_, channels_of(number),
                       slice_, loops_.lanes, to);
}

template <typename T>
void SumRunner<T>::pack_slivers(int64_t group, int64_t number) const {
  for (int64_t part = 0; part < parts_.count; ++part) {
    pack_sliver(
        weights_ + sums_.weight_groups[group], sums_.weight_channels.data() + number * slice_,
        static_cast<int>(channels_of(number)), sums_.weight_terms.data() + parts_.first(part),
        parts_.length(part), sliver(group, part, number));
  }
}

/// Tiles of positions, of about one length.
template <typename T>
void SumRunner<T>::cut_strips() {
  const int64_t strips = divided(sums_.positions, loops_.rows);
  for (int64_t i = 0; i < strips; ++i) {
    const int64_t begin = i * sums_.positions / strips, end = (i + 1) * sums_.positions / strips;
    strips_.push_back(
        {begin, end - begin, runs_of(sums_.image_positions.data() + begin, end - begin)});
  }
}

/// Those whose vectors are positions that follow each other, of images that are large enough.
template <typename T>
void SumRunner<T>::find_panels_as_they_lie(int64_t images) {
  lies_.assign(panels_.size(), 0);
  constexpr auto kItem = static_cast<int64_t>(sizeof(T));
  const int64_t width = loops_.width, lanes = loops_.lanes, vectors = width / lanes;
  const bool is_large = sums_.work() * static_cast<double>(images) >= kLargeWork;
  if (weights_are_ == Weights::in_place || !is_large || lanes * kItem > kMostBytesAsItLies) return;
  const std::vector<uint8_t> follow = contiguous_vectors(sums_.image_positions, loops_.lanes);
  bool is_first = true;
  for (int64_t p = 0; p < sums_.positions / width; ++p) {  // whole ones only
    bool lies = true;
    int64_t places[2] = {};
    for (int64_t v = 0; v < vectors; ++v) {
      lies = lies && follow[p * vectors + v];
      places[v] = sums_.image_positions[p * width + v * lanes];
    }
    if (!lies) continue;
    // The lines of the others lie alike.
    if (is_first && !stays_in_cache(terms_of(0, 0), parts_.length(0), places,
                                    static_cast<int>(vectors), lanes * kItem, kItem)) {
      return;
    }
    is_first = false;
    lies_[p] = 1;
  }
}

/// How the work for some images is cut: pieces of positions and, where these are few, of channels.
struct Pieces {
  int64_t positions, channels;
};

Pieces pieces_of(int64_t images, int64_t groups, int64_t positions, int64_t slices,
                 const ep::HelperPool* helpers) {
  const int64_t wanted = helpers ? helpers->threads() * kPiecesPerThread : 1;
  const int64_t there = std::max<int64_t>(images * groups * positions, 1);
  return {positions, std::clamp<int64_t>(divided(wanted, there), 1, std::max<int64_t>(slices, 1))};
}

template <typename T>
void SumRunner<T>::run(const Images<T>& images, int64_t count, T* out, int64_t out_step) const {
  const int64_t units =
      by_channels_ ? static_cast<int64_t>(strips_.size()) : divided(sums_.positions, loops_.width);
  const int64_t at_a_time = by_channels_ ? divided(kPositionsAtATime, loops_.rows) : kPanelsAtATime;
  const Pieces pieces =
      pieces_of(count, sums_.groups, divided(units, at_a_time), slices_, helpers_);
  const int64_t per_group = pieces.positions * pieces.channels;
  const double work =
      product_work(1, 1, 1, DType::f32) + 0.05 * sums_.work() * static_cast<double>(count);
  share(helpers_, count * sums_.groups * per_group, work, [&](int64_t i) {
    const int64_t image = i / (sums_.groups * per_group), rest = i % (sums_.groups * per_group);
    const int64_t group = rest / per_group, piece = rest % per_group;
    const int64_t first = piece / pieces.channels * units / pieces.positions;
    const int64_t end = (piece / pieces.channels + 1) * units / pieces.positions;
    const int64_t channel = piece % pieces.channels;
    const int64_t first_slice = channel * slices_ / pieces.channels;
    const int64_t end_slice = (channel + 1) * slices_ / pieces.channels;
    const T* const data = images.data() + image * images.steps().image;
    T* const to = out + image * out_step;
    if (by_channels_) return multiply_strips(data, group, first, end, first_slice, end_slice, to);
    multiply_positions({data, images.end()}, group, first, end - first, first_slice, end_slice, to);
  });
}

template <typename T>
void SumRunner<T>::multiply_positions(const Source<T>& image, int64_t group, int64_t first_panel,
                                      int64_t panels, int64_t first_slice, int64_t end_slice,
                                      T* out) const {
  const int64_t width = loops_.width;
  const LeasedMemory memory(
      panel_memory(),
      static_cast<size_t>(kPanelsAtATime * width * parts_.depth + kSlack) * sizeof(T));
  T* const packed = reinterpret_cast<T*>(memory.data());
  for (int64_t part = 0; part < parts_.count; ++part) {
    const int64_t depth = parts_.length(part);
    for (int64_t p = 0; p < panels; ++p) {
      if (lies_[first_panel + p]) continue;
      pack_by_rows(image, terms_of(group, part), depth, panels_[first_panel + p], width,
                   loops_.lanes, packed + p * width * depth);
    }
    multiply_panels(image.data, group, part, first_panel, panels, first_slice, end_slice, packed,
                    out);
  }
}

/// The left factor of a tile: a sliver, or its rows as they lie.
template <typename T>
void SumRunner<T>::set_weights(int64_t group, int64_t part, int64_t number, Tile<T>* tile) const {
  if (weights_are_ == Weights::packed) {
    tile->a = sliver(group, part, number);
    return;
  }
  const int64_t* const channels = sums_.weight_channels.data() + number * slice_;
  const int64_t count = channels_of(number);
  tile->terms = sums_.weight_terms.data() + parts_.first(part);
  place_rows(weights_ + sums_.weight_groups[group], channels, runs_of(channels, count), tile);
}

template <typename T>
void SumRunner<T>::set_slice(int64_t group, int64_t part, int64_t number, Tile<T>* tile) const {
  set_weights(group, part, number, tile);
  tile->rows = static_cast<int>(channels_of(number));
  tile->out_rows = sums_.out_channels.data() + group * sums_.channels + number * slice_;
}

template <typename T>
void SumRunner<T>::set_columns(int64_t panel, Tile<T>* tile) const {
  const int64_t first = panel * loops_.width;
  tile->columns = static_cast<int>(std::min<int64_t>(loops_.width, sums_.positions - first));
  tile->out_columns = sums_.out_positions.data() + first;
  tile->are_contiguous = position_vectors_.data() + first / loops_.lanes;
}

/// A sliver stays in the L1 cache while the packed panels pass. A panel that is read as it lies
/// stays there while the slivers pass: the hardware fetches them ahead.
template <typename T>
void SumRunner<T>::multiply_panels(const T* image, int64_t group, int64_t part, int64_t first_panel,
                                   int64_t panels, int64_t first_slice, int64_t end_slice,
                                   const T* packed, T* out) const {
  Tile<T> tile{};
  tile.depth = parts_.length(part);
  tile.out = out;
  tile.adds = part > 0;
  for (int64_t number = first_slice; number < end_slice; ++number) {
    set_slice(group, part, number, &tile);
    for (int64_t p = 0; p < panels; ++p) {
      if (lies_[first_panel + p]) continue;
      tile.panel = packed + p * loops_.width * tile.depth;
      set_columns(first_panel + p, &tile);
      loops_.multiply(tile);
    }
  }
  tile.panel_terms = terms_of(group, part);
  for (int64_t p = first_panel; p < first_panel + panels; ++p) {
    if (!lies_[p]) continue;
    set_columns(p, &tile);
    for (int64_t v = 0; v < loops_.width / loops_.lanes; ++v) {
      tile.vectors[v] = image + sums_.image_positions[p * loops_.width + v * loops_.lanes];
    }
    for (int64_t number = first_slice; number < end_slice; ++number) {
      set_slice(group, part, number, &tile);
      loops_.multiply(tile);
    }
  }
}

/// A panel of weights stays in the cache while the strips pass.
template <typename T>
void SumRunner<T>::multiply_strips(const T* image, int64_t group, int64_t first, int64_t end,
                                   int64_t first_slice, int64_t end_slice, T* out) const {
  if (weights_are_ == Weights::packed) {
    for (int64_t part = 0; part < parts_.count; ++part) {
      for (int64_t number = first_slice; number < end_slice; ++number) {
        multiply_panel(image, group, part, number, panel(group, number), first, end, out);
      }
    }
    return;
  }
  const LeasedMemory memory(panel_memory(),
                            static_cast<size_t>(slice_ * sums_.terms + kSlack) * sizeof(T));
  T* const packed = reinterpret_cast<T*>(memory.data());
  for (int64_t number = first_slice; number < end_slice; ++number) {
    pack_panel(group, number, packed);
    for (int64_t part = 0; part < parts_.count; ++part) {
      multiply_panel(image, group, part, number, packed, first, end, out);
    }
  }
}

/// A part of the sums of a panel's channels.
template <typename T>
void SumRunner<T>::multiply_panel(const T* image, int64_t group, int64_t part, int64_t number,
                                  const T* packed, int64_t first, int64_t end, T* out) const {
  const int64_t channel = number * slice_;
  Tile<T> tile{};
  tile.out = out;
  tile.depth = parts_.length(part);
  tile.terms = terms_of(group, part);
  tile.adds = part > 0;
  tile.panel = packed + parts_.first(part) * slice_;
  tile.columns = static_cast<int>(channels_of(number));
  tile.out_columns = sums_.out_channels.data() + group * sums_.channels + channel;
  tile.are_contiguous = channel_vectors_[group].data() + channel / loops_.lanes;
  for (int64_t i = first; i < end; ++i) {
    const Strip& strip = strips_[i];
    place_rows(image, sums_.image_positions.data() + strip.first, strip.runs, &tile);
    tile.rows = static_cast<int>(strip.count);
    tile.out_rows = sums_.out_positions.data() + strip.first;
    loops_.multiply(tile);
  }
}

}  // namespace

template <typename T>
void run_window_sums(const WindowSums& sums, const T* weights, Images<T>& images, int64_t count,
                     const Results<T>& out, ep::HelperPool* helpers) {
  const SumRunner<T> runner(sums, weights, count, images.steps().lanes > 1, helpers);
  for (int64_t first = 0; first < count; first += images.at_a_time()) {
    const int64_t some = std::min(images.at_a_time(), count - first);
    images.prepare(first, some, helpers);
    runner.run(images, some, out.data + first * out.image, out.image);
  }
}

template void run_window_sums<float>(const WindowSums&, const float*, Images<float>&, int64_t,
                                     const Results<float>&, ep::HelperPool*);
template void run_window_sums<double>(const WindowSums&, const double*, Images<double>&, int64_t,
                                      const Results<double>&, ep::HelperPool*);

}  // namespace ofl::ops
