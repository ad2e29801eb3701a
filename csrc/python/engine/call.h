// Call: one function in flight, or its outcome.
//
//   queued ──► running ──► returned | failed
//      └─────────────────► cancelled
#pragma once

#include <atomic>
#include <memory>

#include "python/numpy_api.h"
#include "tensor/tensor.h"
#include "vm/pool/pending.h"
#include "vm/virtual_machine.h"

namespace ofl::python {

enum class Phase : uint8_t { queued, running, returned, failed, cancelled };

struct Call {
  vm::Dependence done;           // which the function writes
  std::shared_ptr<void> result;  // a Python object or null; written before `done`'s writer retires
  /// Leaves `queued` by compare-and-swap: the thread that runs it and those that cancel it compete,
  /// and one of them wins. Release-stored once the rest is there.
  std::atomic<Phase> phase{Phase::queued};
  std::atomic<bool> is_given{false};  // of one that completes later: its result or its error

  bool is_over() const { return phase.load(std::memory_order_acquire) > Phase::running; }
  /// False: it has begun, or is over.
  bool leave_queue(Phase to) {
    Phase expected = Phase::queued;
    return phase.compare_exchange_strong(expected, to, std::memory_order_acq_rel);
  }
  /// By its retirement.
  void end(const vm::FailurePtr& failure) {
    const Phase to = failure ? Phase::failed : Phase::returned;
    if (leave_queue(to)) return;  // it has not run; no thread can cancel it any more
    if (phase.load(std::memory_order_acquire) == Phase::cancelled) return;
    phase.store(to, std::memory_order_release);
  }
};

/// A new Completion.
PyObject* completion_of(std::shared_ptr<Call> call);

/// A new Completion that is over when the tensor's last write is, and fails with it.
PyObject* ready_of(const Tensor& x);

}  // namespace ofl::python
