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
  explicit Partner(const std::atomic<int64_t>& joined) : outer_(joined_) { joined_ = &joined; }
  ~Partner() { joined_ = outer_; }
  Partner(const Partner&) = delete;

  /// Of the calling thread; null: it is none.
  static const std::atomic<int64_t>* joined() { return joined_; }

 private:
  static inline thread_local const std::atomic<int64_t>* joined_ = nullptr;
  const std::atomic<int64_t>* const outer_;
};

}  // namespace ofl::vm
