// The blocks that an allocator keeps for reuse, by size: those of a size class, and those of whole
// pages that were made for one size (Fit::exact).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "ep/event_pool.h"
#include "ep/memory/size_classes.h"
#include "ep/queue_progress.h"

namespace ofl::ep {

/// A block that queues may still use.
struct PendingBlock {
  void* ptr;
  Stream* home;
  std::vector<EventLease> events;
  std::vector<QueueUse> uses;

  bool done() const;
};

/// The blocks of one size.
struct Bin {
  std::vector<void*> idle;            // newest last
  std::vector<PendingBlock> pending;  // oldest first
  uint64_t last_use = 0;              // value of the clock
};

/// What is asked for, and which kept blocks serve.
struct Request {
  size_t bytes;
  size_t size;   // of a new block
  int last_bin;  // of the largest class that serves
};

/// Used by one allocator, with its mutex.
class Bins {
 public:
  /// Of a size that a block has.
  Bin& of(size_t size) {
    return round_up_block(size) == size ? classes_[bin_of(size)] : exact_[size];
  }
  Bin& of_class(int bin) { return classes_[bin]; }
  /// An idle block, or one that `stream` may use at once; null: there is none.
  void* take(Bin& bin, Stream* stream);
  void touch(Bin& bin) { bin.last_use = ++clock_; }

  /// Calls f(bin, size) for those that serve a request, the closest size first among exact ones,
  /// then among classes, until it is true. Whether it was.
  template <typename F>
  bool any_serving(const Request& request, const F& f) {
    const size_t least = round_up_page(request.bytes), most = bin_size(request.last_bin);
    for (auto at = exact_.lower_bound(least); at != exact_.end() && at->first <= most; ++at) {
      if (f(at->second, at->first)) return true;
    }
    for (int bin = bin_of(round_up_block(request.bytes)); bin <= request.last_bin; ++bin) {
      if (f(classes_[bin], bin_size(bin))) return true;
    }
    return false;
  }

  /// Calls f(bin, size) for each; then those of exact sizes that have no blocks go.
  template <typename F>
  void for_each(const F& f) {
    for (int bin = 0; bin < kBinCount; ++bin) f(classes_[bin], bin_size(bin));
    for (auto at = exact_.begin(); at != exact_.end();) {
      f(at->second, at->first);
      const bool is_empty = at->second.idle.empty() && at->second.pending.empty();
      at = is_empty ? exact_.erase(at) : std::next(at);
    }
  }

  /// Pending blocks that are done become idle.
  void promote_done();

 private:
  Bin classes_[kBinCount];
  std::map<size_t, Bin> exact_;  // by size; some are empty
  uint64_t clock_ = 0;           // counts uses of bins
};

}  // namespace ofl::ep
