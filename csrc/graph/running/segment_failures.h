// The state of a SegmentBody while it runs: the thread or queue that runs it, and its lost values.
#pragma once

#include <utility>
#include <vector>

#include "graph/running/frame.h"
#include "tensor/submit.h"

namespace ofl::graph {

/// The thread that runs it: that of a stream, or the calling one.
struct SegmentSurroundings {
  vm::LaunchContext* context;  // or:
  vm::VirtualMachine* machine;
  vm::InlineScope* here;
  ep::HelperPool* helpers;  // of kernels
  vm::Observer* observer;   // or null
  vm::Stream* lane;         // that the steps are shown on; null: the calling thread
  void materialize(TensorStorage& storage) const {
    if (context) return storage.materialize(*context);
    storage.materialize_on_host();
  }
  /// The number that a failure carries.
  vm::Seq seq() const { return context ? context->slot.name() : here->take_seq(); }
  /// With an observer.
  bool checks() const { return observer->checks_results(); }
  /// Instructions that were issued before this one may have failed.
  vm::Seq reader() const { return context ? context->slot.name() : ~vm::Seq{0}; }
  void note(const vm::FailurePtr& failure) const {
    if (context) return context->stream.board().failures.note(failure);
    machine->note_failure(failure);
  }
};

/// Which of the segment's bases hold no value because something failed.
class SegmentFailures {
 public:
  SegmentFailures(Frame& frame, const Segment& segment, const HeldStorages& held, vm::Seq reader)
      : frame_(frame), segment_(segment), held_(held) {
    if (!frame.has_failed() && !vm::Dependence::any_poisoned()) return;
    for (size_t b = 0; b < segment.bases.size(); ++b) {
      if (vm::FailurePtr failure = before(segment.bases[b], reader)) {
        set(b, std::move(failure));
      }
    }
  }

  bool any() const { return !failed_.empty(); }
  /// There is no memory for what is in this one.
  void lose(int memory, const vm::FailurePtr& failure) {
    for (size_t b = 0; b < segment_.bases.size(); ++b) {
      if (segment_.bases[b].memory == memory) set(b, failure);
    }
  }
  /// Several threads may ask and tell, of bases of their own.
  void share() { failed_.resize(segment_.bases.size()); }
  /// Of something that the step uses; null: it can run.
  vm::FailurePtr of(const Call& call) const {
    if (!any()) return nullptr;
    vm::FailurePtr earliest;
    for (const int32_t base : call.bases) {
      if (base < 0 || !failed_[base]) continue;
      if (!earliest || issued_before(*failed_[base], *earliest)) earliest = failed_[base];
    }
    return earliest;
  }
  /// All values that the step writes are lost.
  void fail(const Call& call, const vm::FailurePtr& failure, vm::Seq since) {
    for (size_t k = 0; k < call.bases.size(); ++k) {
      if (call.bases[k] < 0 || !call.step->writes[k]) continue;
      const Segment::Local& local = segment_.bases[call.bases[k]];
      set(call.bases[k], failure);
      frame_.fail(local.base, failure, since);
      const bool is_visible = frame_.lowered().is_input(local.base) ||
                              frame_.lowered().bases[local.base].is_result ||
                              frame_.layout().is_crossing[local.base];
      if (is_visible && local.memory >= 0) {
        held_[local.memory]->dependence().poison(failure, since);
      }
    }
  }

 private:
  vm::FailurePtr before(const Segment::Local& local, vm::Seq reader) const {
    if (vm::FailurePtr failure = frame_.failure_of(local.base, reader)) return failure;
    if (local.memory < 0) return nullptr;
    const int64_t memory = segment_.memories[local.memory].memory;
    const bool is_alone = !frame_.layout().memories[memory].is_shared;
    return is_alone ? held_[local.memory]->dependence().failure(reader) : nullptr;
  }
  void set(size_t base, vm::FailurePtr failure) {
    failed_.resize(segment_.bases.size());
    failed_[base] = std::move(failure);
  }

  Frame& frame_;
  const Segment& segment_;
  const HeldStorages& held_;
  std::vector<vm::FailurePtr> failed_;  // of each base; empty: none
};

}  // namespace ofl::graph
