// Writes by index arrays on a device. How the last of several writes to one position wins is said
// in oneflow_lite/cuda/kernels/index/scatter.cuh.
#include <algorithm>
#include <cstdlib>

#include "ops/cuda/nest.h"

namespace ofl::ops::cuda {

namespace {

// What bounds the scratch memory: places that claim positions together, in one table. 150 MiB.
constexpr int64_t kTogether = int64_t{1} << layout::kNumberBits;
// An entry of the table has no room for more.
constexpr int64_t kPositions = int64_t{1} << (63 - layout::kNumberBits);

using layout::ClearArgs;
using ClaimArgs = layout::ClaimArgs<kIndexArrays>;
using ScatterArgs = layout::ScatterArgs<kIndexArrays>;

enum class Step : int32_t { clear, claim, write };

void* scatter_program(Launching& launching, Step step, int64_t word, int arrays, bool wide) {
  static Programs<IndexingKey>& programs = *new Programs<IndexingKey>;
  const IndexingKey key{
      static_cast<int32_t>(step), static_cast<int32_t>(word), arrays, 0, 0, wide, 0};
  return programs.get(launching, key, [&] {
    constexpr const char* kSteps[] = {"clear", "claim", "write"};
    KernelRequest request;
    request.kind = "scatter";
    request.op = kSteps[static_cast<int>(step)];
    request.wide = wide;
    if (step == Step::write) request.options.push_back(word);
    if (step != Step::clear) request.options.push_back(arrays);
    request.args_bytes = step == Step::clear   ? sizeof(ClearArgs)
                         : step == Step::claim ? args_bytes<layout::ClaimArgs>(arrays)
                                               : args_bytes<layout::ScatterArgs>(arrays);
    return request;
  });
}

/// One call, taken apart.
class Scatter {
 public:
  Scatter(Launching& launching, const ArrayArgs& args)
      : launching_(launching),
        call_(args),
        x_(args.output(0)),
        indices_(&args.operands[0]),
        arrays_(static_cast<int>(args.attr[1])),
        value_(args.inputs > arrays_ ? &args.operands[static_cast<size_t>(arrays_)] : nullptr) {}

  bool run() {
    if (!describe_arrays() || !describe_nest()) return false;
    if (write_.count == 0) return true;
    return differs_ ? run_claimed() : run_once();
  }

 private:
  int64_t axis(int k) const { return call_.attr[2 + static_cast<size_t>(k)]; }

  bool describe_arrays() {
    wide_ = is_wide(x_) || (value_ && is_wide(*value_));
    for (int k = 0; k < arrays_; ++k) {
      if (!describe_indices(indices_[k], x_.shape[k], x_.strides[k], &write_.nest.indices[k])) {
        return false;
      }
      wide_ = wide_ || is_wide(indices_[k]);
    }
    write_.nest.mode = mode_of(static_cast<OutOfRange>(call_.attr[0]));
    return true;
  }

  /// The order of the dimensions is that of memory, but for more places than claim together: then
  /// that of the places comes first.
  bool describe_nest() {
    const int picked = indices_[0].shape.size();
    add_places(indices_, arrays_, value_ ? value_->strides : Dims(picked, 0), nullptr, &nest_);
    const size_t place_rows = nest_.rows().size();
    add_block(x_, arrays_, value_, picked, &nest_);
    places_ = element_count(indices_[0].shape);
    for (size_t d = 0; d < place_rows; ++d) differs_ = differs_ || nest_.rows()[d].lined != 0;
    rank_rows(place_rows);
    nest_.sort(differs_ && places_ > kTogether ? place_rows : 0);
    uint64_t bits = bits_of(x_.data) | (value_ ? bits_of(value_->data) : 0);
    for (int k = 0; k < arrays_; ++k) bits |= bits_of(x_.strides[k]);
    const auto itemsize = static_cast<int64_t>(size_of(x_.dtype));
    word_ = nest_.into_words(itemsize, bits, !value_);
    if (!nest_.fits() || (!value_ && word_ < itemsize)) return false;
    nest_.store(&write_.nest);
    write_.placed = x_.data;
    if (value_) {
      write_.lined = value_->data;
    } else {
      repeat_scalar(&call_.attr[2 + static_cast<size_t>(arrays_)], itemsize, write_.scalar);
    }
    write_.count = nest_.count();
    wide_ = wide_ || write_.count >= kNarrow;
    return true;
  }

  /// By how far the target's elements lie apart.
  void rank_rows(size_t place_rows) {
    nest_.rank([&](size_t d, const NestRow& row) {
      if (d >= place_rows) return std::abs(row.placed);
      int64_t least = INT64_MAX;
      for (int k = 0; k < arrays_; ++k) {
        if (row.indices[static_cast<size_t>(k)]) least = std::min(least, std::abs(x_.strides[k]));
      }
      return least;
    });
  }

  void keep_faults(layout::int64** words) {
    if (static_cast<OutOfRange>(call_.attr[0]) != OutOfRange::raise) return;
    std::vector<int64_t> sizes, numbers;
    for (int k = 0; k < arrays_; ++k) {
      sizes.push_back(x_.shape[k]);
      numbers.push_back(axis(k));
    }
    *words = report_indices(launching_, sizes, numbers, ErrorKind::index);
  }

  void* program(Step step) {
    return scatter_program(launching_, step, step == Step::write ? word_ : 0,
                           step == Step::clear ? 0 : arrays_, step == Step::write && wide_);
  }

  /// All writes to a position are of one value.
  bool run_once() {
    void* write = program(Step::write);
    if (!write) return false;
    keep_faults(&write_.nest.faults);
    launching_.run(write, write_.count, write_);
    return true;
  }

  bool run_claimed() {
    int64_t positions = 1;
    for (int k = 0; k < arrays_; ++k) positions *= x_.shape[k];
    void* const clear = program(Step::clear);
    void* const claim = program(Step::claim);
    void* const write = program(Step::write);
    ClaimArgs claiming = claim_args(positions);
    if (!clear || !claim || !write || positions >= kPositions || !claim_fits_) return false;
    const int64_t together = std::min(places_, kTogether);
    claiming.table = launching_.scratch_of<layout::uint64>(claiming.slots);
    claiming.slot_of = launching_.scratch_of<layout::uint32>(together);
    write_.table = claiming.table;
    write_.slot_of = claiming.slot_of;
    keep_faults(&claiming.nest.faults);
    write_.nest.faults = claiming.nest.faults;
    const int64_t block = write_.count / places_;
    for (int64_t first = 0; first < places_; first += together) {
      claiming.first = write_.number = first;
      claiming.count = std::min(together, places_ - first);
      write_.first = first * block;
      write_.count = claiming.count * block;
      launching_.run(clear, claiming.slots, ClearArgs{claiming.slots, claiming.table});
      launching_.run(claim, claiming.count, claiming);
      launching_.run(write, write_.count, write_);
    }
    return true;
  }

  /// Places in their order; what indices add counts positions.
  ClaimArgs claim_args(int64_t positions) {
    ClaimArgs args;
    Nest places;
    add_places(indices_, arrays_, Dims(indices_[0].shape.size(), 0), nullptr, &places);
    places.merge();
    claim_fits_ = places.fits();
    if (!claim_fits_) return args;
    std::copy_n(write_.nest.indices, arrays_, args.nest.indices);
    places.store(&args.nest);
    int64_t step = 1;
    for (int k = arrays_ - 1; k >= 0; --k) {
      args.nest.indices[k].step = step;
      step *= x_.shape[k];
    }
    args.nest.mode = write_.nest.mode;
    const int64_t together = std::min(places_, kTogether);
    args.is_direct = positions <= 4 * together;
    args.slots = args.is_direct ? positions : 2 * together;
    return args;
  }

  Launching& launching_;
  const ArrayArgs& call_;
  const ArrayView& x_;
  const ArrayView* indices_;
  const int arrays_;
  const ArrayView* const value_;  // null: the scalar
  Nest nest_;
  int64_t places_ = 0, word_ = 0;
  bool differs_ = false;  // the value, from place to place
  bool wide_ = false, claim_fits_ = false;
  ScatterArgs write_;
};

}  // namespace

bool launch_scatter(Launching& launching, const ArrayArgs& args) {
  return Scatter(launching, args).run();
}

}  // namespace ofl::ops::cuda
