// Partner: a thread whose instructions end only when other threads of the process have issued
// theirs: ranks that are threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace ofl::vm {

class Partner {
 public:
  /// While it lives, the calling thread is one. `joined` counts its instructions in flight in which
  /// others take part.
  explicit Partner(const std::atomic<int64_t>& joined) : outer_(joined_) {
    count_.fetch_add(1, std::memory_order_relaxed);
    joined_ = &joined;
  }
  ~Partner() {
    joined_ = outer_;
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
  Partner(const Partner&) = delete;

  /// Of the calling thread; null: it is none. While there is none at all, no variable of the thread
  /// is looked at, which in a shared library is a call.
  static const std::atomic<int64_t>* joined() {
    return count_.load(std::memory_order_relaxed) ? joined_ : nullptr;
  }

 private:
  static inline std::atomic<int> count_{0};
  static inline thread_local const std::atomic<int64_t>* joined_ = nullptr;
  const std::atomic<int64_t>* const outer_;
};

}  // namespace ofl::vm
