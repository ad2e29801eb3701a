#include "ep/communicators/mpi/process.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/error.h"
#include "base/fingerprint.h"

namespace ofl::ep::mpi {

namespace {

/// A look at a meeting costs less than one for messages, of which only bad news concern it.
constexpr int64_t kPollNs = 20'000;

}  // namespace

Process::Process(const Library& library, std::unique_ptr<Segment> segment)
    : process_(getpid()),
      library_(library),
      wire_(library_),
      segment_(std::move(segment)),
      has_left_(static_cast<size_t>(library.size)) {
  listener_->thread = std::thread([this] { listen(); });
}

/// A forked child has the memory of the listener, and no such thread.
Process::~Process() {
  leave(false);
  if (is_forked()) static_cast<void>(listener_.release());
}

bool Process::is_forked() const { return getpid() != process_; }

void Process::require_own() const {
  if (!is_forked()) return;
  fail(ErrorKind::runtime, "[distributed] this process was forked from rank ", rank(),
       ", and is no rank");
}

std::shared_ptr<Group> Process::group(const std::vector<int32_t>& ranks) {
  require_own();
  const auto mine = std::find(ranks.begin(), ranks.end(), rank());
  if (mine == ranks.end()) {
    fail(ErrorKind::value, "[communicator] rank ", rank(), " is not in the group");
  }
  Fingerprint key;
  key.add_all(ranks);
  const Lock lock(mutex_);
  std::shared_ptr<Group>& group = groups_[key.value()];
  if (group && group->places.ranks != ranks) {
    fail(ErrorKind::runtime, "[communicator] two groups of ranks have one fingerprint");
  }
  if (group) return group;
  group = std::make_shared<Group>();
  Meeting* const meeting = segment_ ? segment_->meeting(key.value(), ranks) : nullptr;
  group->places = {key.value(), ranks, static_cast<int>(mine - ranks.begin()), meeting};
  for (int place = 0; place < group->places.size(); ++place) {
    if (has_left_[static_cast<size_t>(ranks[static_cast<size_t>(place)])]) group->ends[place] = 0;
  }
  for (const auto& [envelope, follows] : early_[key.value()]) {
    deliver_to(*group, envelope, follows.data());
  }
  early_.erase(key.value());
  return group;
}

Session& Process::session(Group& group, uint64_t number) {
  return group.sessions.try_emplace(number, wire_, group.places, number).first->second;
}

bool Process::is_past(const Group& group, uint64_t number) {
  return number < group.posted && !group.sessions.count(number);
}

uint64_t Process::post(Group& group, Collective collective) {
  require_own();
  for (const auto* transfers : {&collective.sends, &collective.receives}) {
    for (const Transfer& one : *transfers) {
      if (one.peer >= 0 && one.peer < group.places.size()) continue;
      fail(ErrorKind::value, "[communicator] no rank ", one.peer, " in a group of ",
           group.places.size());
    }
  }
  const Lock lock(mutex_);
  const uint64_t number = group.posted++;
  Session& own = session(group, number);
  try {
    if (aborted_) own.abort(Verdict::aborted, *aborted_);
    own.post(std::move(collective));
    if (group.places.size() == 1) own.advance();  // it awaits nobody
  } catch (const Error& error) {
    fail_all(error);
  }
  return number;
}

void Process::poll() {
  polled_at_ = now_ns();
  wire_.mailbox.poll(
      [this](const Envelope& envelope, const char* follows) { deliver(envelope, follows); });
}

void Process::deliver(const Envelope& envelope, const char* follows) {
  const Kind kind = static_cast<Kind>(envelope.kind);
  if (kind == Kind::where) return answer(envelope);
  const auto found = groups_.find(envelope.group);
  if (kind == Kind::abort) {
    const std::string text(follows, envelope.bytes);
    // Also if this rank has yet to come to it.
    if (found != groups_.end() && !is_past(*found->second, envelope.number)) {
      session(*found->second, envelope.number).abort(Verdict::differs, text);
    }
    return abort_all(text);
  }
  if (kind == Kind::world_end) {
    has_left_[static_cast<size_t>(envelope.sender)] = true;
    for (const auto& [key, group] : groups_) {
      const std::vector<int32_t>& ranks = group->places.ranks;
      const auto place = std::find(ranks.begin(), ranks.end(), envelope.sender);
      if (place != ranks.end()) group->ends.try_emplace(static_cast<int>(place - ranks.begin()), 0);
    }
    return;
  }
  if (found == groups_.end()) {
    early_[envelope.group].emplace_back(envelope, std::string(follows, envelope.bytes));
  } else {
    deliver_to(*found->second, envelope, follows);
  }
}

void Process::deliver_to(Group& group, const Envelope& envelope, const char* follows) {
  if (static_cast<Kind>(envelope.kind) == Kind::group_end) {
    group.ends[envelope.sender] = envelope.number;
    return;
  }
  if (!is_past(group, envelope.number)) session(group, envelope.number).take(envelope, follows);
}

/// A collective differs on its ranks where one of them has left before it.
void Process::miss_ended(Group& group) {
  for (auto& [number, one] : group.sessions) {
    if (!one.is_posted() || one.is_decided()) continue;
    for (const auto& [place, end] : group.ends) {
      if (number < end) continue;
      const std::string reason = concat("rank ", group.places.ranks[static_cast<size_t>(place)],
                                        " has ended; rank ", rank(), ": ", one.own_text());
      one.abort(Verdict::differs, reason);
      break;
    }
  }
}

/// Where ranks of a group differ, nobody in the world knows any more what belongs to what.
void Process::advance_session(Group& group, uint64_t number, Session& session) {
  session.advance();
  if (!session.is_over() || session.verdict() != Verdict::differs || aborted_) return;
  Envelope envelope{};
  envelope.kind = static_cast<uint32_t>(Kind::abort);
  envelope.group = group.places.key;
  envelope.number = number;
  envelope.sender = rank();
  const std::string reason = session.reason();
  tell_all(envelope, reason);
  abort_all(reason);
}

bool Process::advance(Group& group, uint64_t number, Verdict* verdict, std::string* reason) {
  const Lock lock(mutex_);
  Session& own = session(group, number);
  try {
    if (!own.is_at_meeting() || now_ns() - polled_at_ > kPollNs) poll();
    miss_ended(group);
    // In order: no bytes move while an earlier collective may differ.
    for (auto& [earlier, session] : group.sessions) {
      if (!session.is_posted() || earlier > number) break;
      advance_session(group, earlier, session);
      const bool may_differ = !session.is_decided() || session.verdict() == Verdict::differs;
      if (may_differ && !aborted_) break;
    }
  } catch (const Error& error) {
    fail_all(error);
  }
  if (!own.is_over()) return false;
  *verdict = own.verdict();
  *reason = own.reason();
  last_ = own.take_text();
  group.sessions.erase(number);
  return true;
}

bool Process::is_decided(const Group& group, uint64_t number) {
  const Lock lock(mutex_);
  const auto found = group.sessions.find(number);
  return found == group.sessions.end() || found->second.is_decided();
}

/// Never throws: what is wrong with the library, the next advance() finds out.
void Process::tell_waiting(Group& group, uint64_t number) {
  const Lock lock(mutex_);
  if (aborted_) return;
  try {
    session(group, number).tell_waiting();
  } catch (const Error& error) {
    fail_all(error);
  }
}

std::vector<int32_t> Process::late(Group& group, uint64_t number) {
  const Lock lock(mutex_);
  return session(group, number).late();
}

/// Never throws, as tell_waiting().
bool Process::ask(Group& group, uint64_t number) {
  const Lock lock(mutex_);
  if (aborted_) return false;
  try {
    return session(group, number).ask();
  } catch (const Error& error) {
    fail_all(error);
    return false;
  }
}

std::vector<std::string> Process::answers(Group& group, uint64_t number) {
  const Lock lock(mutex_);
  const std::map<int32_t, std::string>& given = session(group, number).answers();
  std::vector<std::string> all(static_cast<size_t>(size()));
  for (int32_t one = 0; one < size(); ++one) {
    std::string& text = all[static_cast<size_t>(one)];
    if (one == rank()) {
      text = fitting(whereabouts());
    } else if (has_left_[static_cast<size_t>(one)]) {
      text = "has ended";
    } else if (const auto found = given.find(one); found != given.end()) {
      text = found->second;
    }
  }
  return all;
}

/// With the mutex. Of each group the oldest collective counts: the others wait for it.
std::string Process::whereabouts() const {
  std::string all;
  for (const auto& entry : groups_) {
    for (const auto& [number, session] : entry.second->sessions) {
      if (!session.is_posted() || session.is_over()) continue;
      all += concat(all.empty() ? "" : "; ", in_text(session.own_text()));
      break;
    }
  }
  return all.empty() ? idle_text(last_ ? last_() : "") : all;
}

/// Also where the group is unknown here.
void Process::answer(const Envelope& question) {
  const auto group = groups_.find(question.group);
  if (group != groups_.end()) {
    const auto asked = group->second->sessions.find(question.number);
    if (asked != group->second->sessions.end()) asked->second.note_asked(question.sender);
  }
  const std::string text = fitting(whereabouts());
  Envelope envelope = question;
  envelope.kind = static_cast<uint32_t>(Kind::here);
  envelope.bytes = static_cast<uint32_t>(text.size());
  envelope.sender = rank();
  wire_.mailbox.send(question.sender, envelope, text.data());
}

void Process::listen() {
  constexpr std::chrono::seconds kPause{1};
  pthread_setname_np(pthread_self(), "mpi listener");
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_gone_) {
    listener_->ends.wait_for(lock, kPause, [this] { return is_gone_; });
    if (is_gone_ || now_ns() - polled_at_ < std::chrono::nanoseconds(kPause).count()) continue;
    try {
      poll();
    } catch (const Error& error) {
      fail_all(error);
    }
  }
}

/// The library has failed. All that is in flight ends with its report, or with the dead ranks.
void Process::fail_all(const Error& error) {
  has_failed_ = true;
  const std::string dead = dead_ranks(library_);
  abort_all(dead.empty() ? error.what() : concat(dead, " has died"));
}

void Process::abort_all(const std::string& reason) {
  if (aborted_) return;
  aborted_ = reason;
  for (const auto& entry : groups_) {
    if (!has_failed_) decide_known(*entry.second);
    for (auto& [number, one] : entry.second->sessions) one.abort(Verdict::aborted, reason);
  }
}

/// Before an abort: decides the collectives that all ranks have posted. Another rank may have seen
/// such a one end, and it ends alike on all ranks.
void Process::decide_known(Group& group) {
  try {
    for (auto& [number, one] : group.sessions) {
      if (!one.is_posted()) return;
      one.advance();
      if (!one.is_decided() || one.verdict() == Verdict::differs) return;
    }
  } catch (const Error&) {
    has_failed_ = true;  // all that is in flight is aborted next
  }
}

/// Where the library fails, nobody learns anything from this rank any more: its end is theirs.
void Process::tell_all(Envelope envelope, const std::string& text) {
  const std::string told = fitting(text);
  envelope.bytes = static_cast<uint32_t>(told.size());
  try {
    for (int other = 0; other < size(); ++other) {
      if (other != rank()) wire_.mailbox.send(other, envelope, told.data());
    }
  } catch (const Error& error) {
    fail_all(error);
  }
}

void Process::tell_ends() {
  for (const auto& [key, group] : groups_) {
    Envelope envelope{};
    envelope.kind = static_cast<uint32_t>(Kind::group_end);
    envelope.group = key;
    envelope.number = group->posted;
    envelope.sender = group->places.own;
    for (const int32_t other : group->places.ranks) {
      if (other != rank()) wire_.mailbox.send(other, envelope, nullptr);
    }
  }
  Envelope envelope{};
  envelope.kind = static_cast<uint32_t>(Kind::world_end);
  envelope.sender = rank();
  tell_all(envelope, "");
}

void Process::abort(const std::string& reason) {
  if (is_forked()) return;
  const Lock lock(mutex_);
  if (aborted_ || is_gone_) return;
  Envelope envelope{};
  envelope.kind = static_cast<uint32_t>(Kind::abort);
  envelope.sender = rank();
  tell_all(envelope, reason);
  abort_all(reason);
}

std::optional<std::string> Process::aborted() {
  const Lock lock(mutex_);
  return aborted_;
}

void Process::drop(Group& group, uint64_t number) {
  if (is_forked()) return;
  abort(concat("rank ", rank(), " left a collective in flight"));
  Verdict verdict;
  std::string reason;
  while (!advance(group, number, &verdict, &reason)) std::this_thread::yield();
}

void Process::leave(bool awaits_others) {
  if (is_forked()) return;
  say_farewell(awaits_others);
  listener_->ends.notify_all();
  if (listener_->thread.joinable()) listener_->thread.join();
}

// The others are awaited with pauses, and until they end: a rank that fails ends this one, too. A
// message has left its memory soon, whether or not its receiver looks; after an abort, and where
// all have left, nobody may receive it any more.
void Process::say_farewell(bool awaits_others) {
  constexpr std::chrono::microseconds kPause{200};
  constexpr int64_t kLongestNs = 10'000'000'000, kLongestAloneNs = 1'000'000'000;
  int64_t begin = now_ns();
  for (bool has_told = false;; std::this_thread::sleep_for(kPause)) {
    const Lock lock(mutex_);
    if (is_gone_) return;
    try {
      if (!std::exchange(has_told, true)) tell_ends();
      poll();
      if (awaits_others && !has_failed_ && !have_all_left()) {
        begin = now_ns();
        continue;
      }
      const int64_t longest = awaits_others || aborted_ ? kLongestAloneNs : kLongestNs;
      const bool waits = !has_failed_ && now_ns() - begin < longest;
      if (!wire_.mailbox.has_sent_all() && waits) continue;
      is_gone_ = true;
      abort_all(concat("rank ", rank(), " has left"));
      return wire_.mailbox.close();
    } catch (const Error& error) {
      is_gone_ = true;
      return fail_all(error);
    }
  }
}

bool Process::have_all_left() const {
  for (int32_t one = 0; one < size(); ++one) {
    if (one != rank() && !has_left_[static_cast<size_t>(one)]) return false;
  }
  return true;
}

}  // namespace ofl::ep::mpi
