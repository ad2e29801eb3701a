// Process: this process as a rank of a world, whom MPI's messages connect with the others.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ep/communicators/mpi/session.h"

namespace ofl::ep::mpi {

/// A group, and its collectives that are not over.
struct Group {
  Places places;
  uint64_t posted = 0;
  std::map<uint64_t, Session> sessions;  // also of messages that came before this rank posted
  std::map<int, uint64_t> ends;          // of places that post no collective from this number on
};

/// A thread that looks for messages while nobody else does, so that a rank that is idle answers,
/// too, whatever its program does.
struct Listener {
  std::thread thread;
  std::condition_variable ends;
};

/// This process in a world: its mailbox and its groups, under one mutex. No thread waits while it
/// has the mutex. The functions of a Collective are called with it.
class Process {
 public:
  /// `segment`: that of this host; nullptr: it has none.
  Process(const Library& library, std::unique_ptr<Segment> segment);
  Process(const Process&) = delete;
  /// A rank that has not left does so.
  ~Process();

  int rank() const { return library_.rank; }
  int size() const { return library_.size; }

  std::shared_ptr<Group> group(const std::vector<int32_t>& ranks);
  uint64_t post(Group& group, Collective collective);
  /// Gets on with all that has come, and with this collective. Never throws.
  bool advance(Group& group, uint64_t number, Verdict* verdict, std::string* reason);
  bool is_decided(const Group& group, uint64_t number);
  void tell_waiting(Group& group, uint64_t number);
  std::vector<int32_t> late(Group& group, uint64_t number);
  bool ask(Group& group, uint64_t number);
  std::vector<std::string> answers(Group& group, uint64_t number);
  void abort(const std::string& reason);
  std::optional<std::string> aborted();
  /// Ends what this rank has posted, whose memory nobody touches any more then.
  void drop(Group& group, uint64_t number);
  void leave(bool awaits_others);

 private:
  using Lock = std::lock_guard<std::mutex>;

  bool is_forked() const;
  void require_own() const;
  void poll();
  void deliver(const Envelope& envelope, const char* follows);
  void deliver_to(Group& group, const Envelope& envelope, const char* follows);
  void miss_ended(Group& group);
  Session& session(Group& group, uint64_t number);
  static bool is_past(const Group& group, uint64_t number);
  void advance_session(Group& group, uint64_t number, Session& session);
  void abort_all(const std::string& reason);
  void decide_known(Group& group);
  void fail_all(const Error& error);
  void tell_all(Envelope envelope, const std::string& text);
  void tell_ends();
  std::string whereabouts() const;
  void answer(const Envelope& question);
  void listen();
  void say_farewell(bool awaits_others);
  bool have_all_left() const;

  const int process_;  // its id
  const Library library_;
  std::mutex mutex_;  // guards the rest, and what is in groups
  Wire wire_;
  const std::unique_ptr<Segment> segment_;
  std::map<uint64_t, std::shared_ptr<Group>> groups_;  // by key
  /// Messages of groups that this rank has not asked for yet.
  std::map<uint64_t, std::vector<std::pair<Envelope, std::string>>> early_;
  std::vector<bool> has_left_;
  std::optional<std::string> aborted_;  // why
  bool has_failed_ = false;             // the library has
  bool is_gone_ = false;                // this rank has left
  int64_t polled_at_ = 0;
  std::function<std::string()> last_;  // the text of what was over last
  std::unique_ptr<Listener> listener_ = std::make_unique<Listener>();
};

}  // namespace ofl::ep::mpi
