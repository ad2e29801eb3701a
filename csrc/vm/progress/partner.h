// Partner: a thread whose instructions end only when other threads of the process have issued
// theirs: ranks that are threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace ofl::vm {

class Partner {
 public:
  /// While it lives, the calling thread is one. `joined` counts its instructions in flight in which
  /// others take part.
  explicit Partner(const std::atomic<int64_t>& joined) : outer_(joined_) {
    count_.fetch_add(1, std::memory_order_relaxed);
    joined_ = &joined;
    issued_.clear();
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
  /// The calling thread has issued an instruction of this number.
  static void note_issued(uint64_t seq) {
    if (joined()) issued_.push_back(seq);
  }
  /// The instructions that the calling thread has issued and of which `is_left` is true.
  template <typename IsLeft>
  static const std::vector<uint64_t>& issued(const IsLeft& is_left) {
    const auto is_gone = [&](uint64_t seq) { return !is_left(seq); };
    issued_.erase(std::remove_if(issued_.begin(), issued_.end(), is_gone), issued_.end());
    return issued_;
  }
  static size_t issued_count() { return issued_.size(); }

 private:
  static inline std::atomic<int> count_{0};
  static inline thread_local const std::atomic<int64_t>* joined_ = nullptr;
  static inline thread_local std::vector<uint64_t> issued_;  // of a partner
  const std::atomic<int64_t>* const outer_;
};

}  // namespace ofl::vm
