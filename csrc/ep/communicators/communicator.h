// Communicator: a group of ranks, and what they do together. Memory and bytes; no tensor, no dtype.
//
// A collective is posted by each rank. First the ranks check that all mean the same, and that none
// has failed; then bytes move. So a rank that does something else, or whose operand has failed,
// never gets numbers that mean nothing, and gives none.
//
//   posted ──► all are there: the verdict ──► moving ──► over: moved
//                        └────────────────────────────► over: failed, differs or aborted
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ofl::ep {

/// Bytes that go to another rank of the group, or come from it.
struct Transfer {
  int peer;
  char* data;
  size_t bytes;
};

/// The place of an exchange between devices among those of its device. Any thread.
class Turn {
 public:
  virtual ~Turn() = default;
  /// All before it have passed.
  virtual bool has_come() = 0;
  /// It is enqueued, or over; its end does it, too.
  virtual void pass() = 0;
};

/// One rank's part in a collective. Peers are places in the group. Both ends list the transfers
/// from one rank to another in the same order. Memory stays as it is until the work is over.
struct Collective {
  uint64_t meaning = 0;     // a hash of what it is; the same on all ranks
  bool has_failed = false;  // an operand has
  /// What it is, with its line, or why it has failed: for the errors of others. Any thread, as
  /// long as the world lives.
  std::function<std::string()> text;
  std::vector<Transfer> sends, receives;
  std::shared_ptr<Turn> turn;  // where they are memory of a device
};

/// The answers of a rank that is asked where it is, made of the texts of its collectives.
inline std::string in_text(const std::string& present) { return "in " + present; }
inline std::string idle_text(const std::string& last) {
  return last.empty() ? "has come to no collective" : "idle since " + last;
}

enum class Verdict : uint8_t { moved, failed, differs, aborted };

/// A collective in flight, on one rank. One thread at a time calls it.
class Work {
 public:
  virtual ~Work() = default;
  /// Gets on with it, without waiting; true: it is over.
  virtual bool test() = 0;
  /// Other ranks are still to come; from then on only bytes move.
  virtual bool awaits_others() const = 0;
  /// Bytes move, and others may hold that up for good; abort() ends it.
  virtual bool can_stall() const { return false; }
  /// While it awaits others: lets them know that this rank is waiting. They need not do anything.
  virtual void tell_waiting() = 0;
  /// The ranks of the world that have not come. One that has come may be among them unless, some
  /// time ago, all called tell_waiting().
  virtual std::vector<int32_t> late() const = 0;
  /// While it awaits others: asks all ranks of the world where they are, the first time. False:
  /// another rank of the group does.
  virtual bool ask() = 0;
  /// Once it has asked: what each rank of the world has said; empty: nothing yet.
  virtual std::vector<std::string> answers() const = 0;
  /// Its place in the group, over the size of the group: for ranks that take turns.
  virtual double turn() const = 0;
  /// Aborts all collectives of the world, on all ranks: those in flight and those to come.
  virtual void abort(const std::string& reason) = 0;
  /// Once it is over.
  virtual Verdict verdict() const = 0;
  /// The first rank that has failed; the text of each rank where they differ; why it was aborted.
  virtual std::string reason() const = 0;
};

/// One rank's end. Collectives are posted by one thread, in the same order on all ranks; several
/// may be in flight.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Error(value) for a peer that is not in the group.
  virtual std::unique_ptr<Work> post(Collective collective) = 0;
  /// Any thread: what is in flight, and what is posted from now on, ends aborted on all ranks.
  virtual void abort(const std::string& reason) = 0;
  /// Any thread: why all is aborted; nullopt: it is not.
  virtual std::optional<std::string> aborted() = 0;
};

/// One rank's end of all ranks that run the program together. Where ranks of a group have differed,
/// all groups are aborted: from then on nobody knows what belongs to what.
class World {
 public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Of these ranks, which are different, and this one among them; they are its places, in their
  /// order. All of them ask for it, once, and for several groups in the same order.
  virtual std::unique_ptr<Communicator> group(const std::vector<int32_t>& ranks) = 0;
  /// Any thread: what is in flight, and what is posted from now on, ends aborted, in all groups.
  virtual void abort(const std::string& reason) = 0;
  /// This rank posts nothing any more. What others post that it would have to take part in ends:
  /// ranks differ.
  virtual void leave() = 0;
  /// Leaves; a rank that is a process then waits until all others leave. The end of the library
  /// would wait for them, too, but it takes a core for that, and what has started the ranks may
  /// crash or hang where one of them aborts while another is in there (Open MPI 5.0.11).
  virtual void leave_together() { leave(); }
};

}  // namespace ofl::ep
