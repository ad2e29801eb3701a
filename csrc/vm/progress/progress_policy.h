// ProgressPolicy: a stream of the host whose instructions end when others have done their part: the
// collectives of ranks. Each is posted when its operands are done and its line (joining.h) has come
// to it; then several are in flight, and each poll looks at all of them.
//
//   ready ──► its turn? ─ no ──► held ──► posted ──► others are late ──► all are there ──► retired
//                └─ yes ──────────────────►┘            (pending)          (launched)
//
// All ranks have the same lines, and an instruction never waits for a later one of its line. So the
// first one that not all have posted is held up by nothing but its operands, on every rank, and
// whatever they wait for was issued before it: no order of lines makes ranks wait for each other in
// a circle.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "vm/progress/joining.h"
#include "vm/stream.h"

namespace ofl::vm {

class ProgressPolicy final : public StreamPolicy {
 public:
  explicit ProgressPolicy(Stream& stream) : stream_(stream) {}

  bool run_next(const Turn& turn) override;
  /// Posts it if its line has come to it, and those behind it that are held.
  void run(Slot* slot) override;
  bool poll(bool close) override;
  bool busy() const override { return !in_flight_.empty(); }
  bool moves() const override;
  void drain() override;
  void abandon_pending(const Error& error) override;
  void end_lost(Slot*) override {}  // it runs no code of the user
  Counters counters() const override { return {}; }

 private:
  struct InFlight {
    Slot* slot;
    std::unique_ptr<ep::Work> work;
    FailurePtr own;  // of an operand
    int64_t since;
    bool has_told = false;     // that it waits
    int64_t asked_at = 0;      // where all ranks are; 0: it has not
    bool is_reported = false;  // by this rank, or by another one
  };

  void post(Slot* slot);
  void watch_for_hang(InFlight& waiting) const;
  void watch_time(InFlight& waiting) const;
  void end(const InFlight& ended, FailurePtr failure);
  FailurePtr outcome(const InFlight& ended) const;
  std::function<std::string()> text_of(const Slot* slot, const FailurePtr& failure) const;

  Stream& stream_;
  // With the baton.
  std::map<std::pair<Line*, uint64_t>, Slot*> held_;
  std::vector<InFlight> in_flight_;  // in the order in which they were posted
  int64_t ended_at_ = 0;             // the one that ended last
};

}  // namespace ofl::vm
