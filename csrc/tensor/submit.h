// From a planned kernel call to an instruction, or to work done here.
#pragma once

#include <new>

#include "ep/memory/caching_allocator.h"
#include "tensor/body.h"
#include "tensor/plan.h"

namespace ofl {

/// Issues it on the compute stream of the output's device, or runs it here. `stays_here`: it is
/// part of an operation that is to run in the calling thread.
void submit(const Issuer& issuer, LoopPlan& plan, bool stays_here = false);
/// The same; all operands are on one device (checked).
void submit(const Issuer& issuer, const ArrayPlan& plan);

/// Tells the issuer's sink of it.
void take_plan(const Issuer& issuer, const ArrayPlan& plan);

/// Throws unless every element of `target` is a place of its own.
void require_writable(const char* op, const Tensor& target);

/// In the place of a compute lane: that of whoever runs the program. What a recording thread begins
/// with; work that is issued to it goes to lane 0.
inline constexpr int kCallersLane = -1;
/// The compute lane that the calling thread issues to, from 0; a new thread begins with 0. Makes
/// `lane` the one, and returns the one before.
int exchange_lane(int lane);
/// That lane.
int current_lane();
/// A compute stream of the device: of that lane.
vm::Stream& compute_stream(vm::VirtualMachine& machine, vm::DeviceState& state);
/// Of this lane, or with kCallersLane of that one.
vm::Stream& compute_stream(vm::VirtualMachine& machine, vm::DeviceState& state, int lane);

/// The calling thread issues to this lane (kCallersLane: to the same as before) while it lives.
class LaneScope {
 public:
  explicit LaneScope(int lane) : is_other_(lane != kCallersLane) {
    if (is_other_) before_ = exchange_lane(lane);
  }
  LaneScope(const LaneScope&) = delete;
  ~LaneScope() {
    if (is_other_) exchange_lane(before_);
  }

 private:
  const bool is_other_;
  int before_ = 0;
};

/// What an instruction that runs here fails with becomes the value of what it writes.
void poison_outputs(const Issuer& issuer, const vm::Instruction& header,
                    const vm::Operand* operands, int count, const Error& error, vm::Seq seq);

/// Calls `run()` in this thread for small work of a host stream, when nothing stands before it;
/// false when something does. A failure poisons the outputs. `observer` (or null) is the machine's.
template <typename Run, typename Describe>
bool run_here(const Issuer& issuer, const vm::Instruction& header, const vm::Operand* operands,
              int count, const Run& run, const Describe& describe, vm::Observer* observer) {
  vm::VirtualMachine& machine = issuer.machine;
  const int64_t begin = observer ? now_ns() : 0;
  vm::InlineScope here(machine.window(), operands, count);
  if (!here) return false;
  try {
    run();
  } catch (const ep::CapacityError&) {
    here.decline();  // as an instruction it waits for what others give back
    return false;
  } catch (const Error& error) {
    poison_outputs(issuer, header, operands, count, error, here.take_seq());
  } catch (const std::bad_alloc&) {
    const Error error(ErrorKind::out_of_memory, "out of host memory");
    poison_outputs(issuer, header, operands, count, error, here.take_seq());
  }
  if (observer) {
    vm::Description description;
    describe(&description);
    observer->ran(header, 0, description, false, begin, now_ns());
  }
  return true;
}

}  // namespace ofl
