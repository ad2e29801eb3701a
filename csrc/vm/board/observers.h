// Observers: several observers as one, each told after the other.
#pragma once

#include <array>
#include <atomic>

#include "base/error.h"
#include "vm/board/observer.h"

namespace ofl::vm {

/// Threads may tell it of something while another adds or removes; only one at a time does that.
class Observers final : public Observer {
 public:
  /// The observer that stands for all of them; null: there is none.
  Observer* as_one() {
    Observer* first = nullptr;
    int count = 0;
    tell([&](Observer& observer) {
      if (count++ == 0) first = &observer;
    });
    return count > 1 ? this : first;
  }
  void add(Observer& observer) {
    if (!replace(nullptr, &observer)) fail(ErrorKind::runtime, "[observe] too many observers");
  }
  void remove(Observer& observer) { replace(&observer, nullptr); }

  void issued(const Instruction& instruction, Seq seq, const Description& description,
              int64_t begin_ns, int64_t end_ns) override {
    tell([&](Observer& o) { o.issued(instruction, seq, description, begin_ns, end_ns); });
  }
  void ran(const Instruction& instruction, Seq seq, const Description& description, bool on_stream,
           int64_t begin_ns, int64_t end_ns) override {
    tell([&](Observer& o) { o.ran(instruction, seq, description, on_stream, begin_ns, end_ns); });
  }
  void ran_parts(const Parts& parts) override {
    tell([&](Observer& o) { o.ran_parts(parts); });
  }
  void waited(const Stream& stream, Seq seq, const Stream& other, Seq other_seq) override {
    tell([&](Observer& o) { o.waited(stream, seq, other, other_seq); });
  }
  void synced(const char* reason, int64_t begin_ns, int64_t end_ns) override {
    tell([&](Observer& o) { o.synced(reason, begin_ns, end_ns); });
  }
  bool checks_results() const override {
    bool any = false;
    tell([&](Observer& o) { any = any || o.checks_results(); });
    return any;
  }

 private:
  template <typename Tell>
  void tell(const Tell& tell_one) const {
    for (const auto& place : places_) {
      if (Observer* observer = place.load(std::memory_order_acquire)) tell_one(*observer);
    }
  }
  /// The first place with `old`; false: there is none.
  bool replace(Observer* old, Observer* now) {
    for (auto& place : places_) {
      if (place.load(std::memory_order_relaxed) != old) continue;
      place.store(now, std::memory_order_release);
      return true;
    }
    return false;
  }

  static constexpr int kMost = 4;
  std::array<std::atomic<Observer*>, kMost> places_{};
};

}  // namespace ofl::vm
