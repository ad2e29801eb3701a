// Pending: the end of a function that completes later than it returns.
//
//   called ──► returned ──► ended        it returns first: the thread that completes it retires it
//      └─────► completed ──► ended       it completes first: the thread of its pool retires it
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"

namespace ofl::vm {

/// Any thread.
class Pending {
 public:
  using Retire = std::function<void(const std::optional<Error>&)>;

  /// The function has completed, or failed with `error`. False: it had completed before. If it has
  /// returned, `run(retire)` is called, which calls `retire()`.
  template <typename Run>
  bool complete(std::optional<Error> error, const Run& run) {
    Retire retire;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (is_completed_) return false;
      is_completed_ = true;
      error_ = std::move(error);
      retire = std::exchange(retire_, nullptr);
    }
    if (retire) run([&] { retire(error_); });
    return true;
  }
  bool complete(std::optional<Error> error) {
    return complete(std::move(error), [](const auto& retire) { retire(); });
  }

  /// By its pool, once the function has returned: true if it has completed; else `retire` is called
  /// when it does, and `note` is called before that can be.
  template <typename Note>
  bool returned(Retire retire, const Note& note) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_completed_) return true;
    note();
    retire_ = std::move(retire);
    return false;
  }
  /// The error that it has completed with, or none. Only after its completion.
  const std::optional<Error>& error() const { return error_; }

 private:
  std::mutex mutex_;  // guards the rest, until it is completed
  bool is_completed_ = false;
  std::optional<Error> error_;
  Retire retire_;
};

}  // namespace ofl::vm
