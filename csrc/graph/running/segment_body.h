// SegmentBody: a segment of a run as an instruction. It judges failed operands itself: a step that
// needs one is skipped, and what it writes fails; the others run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/running/segment_failures.h"
#include "graph/running/steps/step_check.h"
#include "graph/running/steps/step_records.h"
#include "tensor/submit.h"

namespace ofl::graph {

class SegmentBody {
 public:
  /// `memories`: the storages of the segment, in its order.
  SegmentBody(std::shared_ptr<Frame> frame, const Segment& segment,
              const std::vector<TensorStorage*>& memories);
  SegmentBody(SegmentBody&&) noexcept = default;

  /// Does the work in the calling thread; CapacityError says that nothing has happened.
  void run_here(vm::VirtualMachine& machine, vm::InlineScope& here);

  /// It has strands, and more work than it takes to wake a thread.
  static bool is_worth_sharing(const Segment& segment);

  /// Of instructions with such a body, on the compute stream of a device.
  static const vm::InstructionType& type(Release release);

 private:
  using Failures = SegmentFailures;
  class Scratch;
  using Surroundings = SegmentSurroundings;
  /// The check of what a step on a device's queue has made.
  struct QueuedCheck {
    StepCheck check;
    std::optional<Error> error;
  };
  /// Of a call on a device's queue.
  struct Queued {
    std::optional<Error> async_error;
    vm::FailurePtr failure;  // it was not launched
    std::shared_ptr<ops::InFlight> in_flight;
    std::unique_ptr<QueuedCheck> check;  // or null
    ep::EventLease ended;                // of a piece, at its first call; only while observed
  };

  static vm::InstructionType make_type();
  void launch(vm::LaunchContext& context);
  void settle(const vm::Slot& slot);
  vm::FailurePtr settled(const Step& step, Queued* queued, const vm::Slot& slot) const;
  void fail_all(const vm::FailurePtr& failure) const;

  void run(const Surroundings& here);
  void materialize(const Surroundings& here, Failures* failures);
  const Step& first_writer(int memory) const;
  void poison(TensorStorage& storage, const Surroundings& here) const;
  bool run_captured(const Surroundings& here, Failures* failures);
  bool launch_into(ep::Stream& queue, size_t number, const Surroundings& here);
  void run_strands(const Surroundings& here, Failures* failures);
  template <typename Numbers>
  void run_pieces(const Numbers& numbers, size_t count, const Surroundings& here,
                  Failures* failures);
  void run_watched(size_t number, const Surroundings& here, Failures* failures,
                   StepRecords* records);
  void run_piece(size_t number, const Surroundings& here, Failures* failures);
  bool run_group(const Piece& piece, const Surroundings& here, int* failed) const;
  bool launch_group(const Piece& piece, char* const* bases, const Surroundings& here) const;
  void run_one_by_one(const Piece& piece, const Surroundings& here, Failures* failures,
                      StepRecords* records);
  void run_call(const Call& call, const Surroundings& here, Queued* queued) const;
  size_t number_of(const Piece& piece) const {
    return static_cast<size_t>(&piece - segment_->pieces.data());
  }
  /// Of call `i` of the piece; null: it runs on the host.
  Queued* queued(const Piece& piece, size_t i) {
    return queued_.empty() ? nullptr : &queued_[static_cast<size_t>(piece.first_call) + i];
  }
  void run_checked(const Call& call, const Surroundings& here) const;
  void run_on_queue(size_t number, const Surroundings& here, Failures* failures);
  StepCheck check_of(const Call& call) const;
  /// Something that it uses has failed.
  static bool is_hit(const Piece& piece, const Failures& failures);
  ep::EventLease moment(const Surroundings& here) const;
  void tell_of_queue(vm::Observer& observer, const vm::Slot& slot) const;
  vm::FailurePtr failure_of(const Step& step, const Error& error, const Surroundings& here) const;

  std::shared_ptr<Frame> frame_;
  const Segment* segment_;
  HeldStorages held_;
  std::vector<char*> addresses_;  // of the segment's bases, while it launches
  std::vector<Queued> queued_;    // of each call, on a queue
  ep::EventLease started_;        // there, while observed
};

}  // namespace ofl::graph
