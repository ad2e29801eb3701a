#include "ep/communicators/mpi/session.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace ofl::ep::mpi {

namespace {

/// Counts are of type int.
constexpr size_t kMostAtOnce = size_t{1} << 30;
/// The library gets on with large pieces only while it is called.
constexpr int kLooks = 100;

void require_size(const Transfer& wanted, uint64_t bytes) {
  if (bytes == wanted.bytes) return;
  fail(ErrorKind::runtime, "[mpi] a piece of ", bytes, " bytes, expected ", wanted.bytes);
}

}  // namespace

Envelope Session::envelope(Kind kind) const {
  Envelope made{};
  made.kind = static_cast<uint32_t>(kind);
  made.group = places_.key;
  made.number = number_;
  made.sender = places_.own;
  return made;
}

void Session::tell(int place, Envelope envelope, std::string_view text) {
  envelope.bytes = static_cast<uint32_t>(text.size());
  wire_.mailbox.send(places_.ranks[static_cast<size_t>(place)], envelope, text.data());
}

void Session::post(Collective collective) {
  collective_ = std::move(collective);
  is_posted_ = true;
  const int failed = collective_.has_failed ? places_.own : kNobody;
  known_ = {collective_.meaning, collective_.meaning, failed};
  if (places_.size() == 1 || is_over_) return;
  if (Meeting* const meeting = places_.meeting) {
    sent_bytes_ = meeting->totals(collective_.sends);
    received_bytes_ = meeting->totals(collective_.receives);
  }
  for (const Transfer& wanted : collective_.receives) {
    if (wanted.peer == places_.own || may_meet(wanted, received_bytes_)) continue;
    if (is_large(wanted)) receive_large(wanted);
  }
  if (places_.meeting) {
    meet();
  } else {
    tell_known();
  }
}

/// False: not yet.
bool Session::meet() {
  if (!has_met_) {
    has_met_ = places_.meeting->post(number_, collective_.meaning, collective_.has_failed,
                                     collective_.sends, sent_bytes_);
  }
  return has_met_;
}

void Session::tell_known() {
  Envelope message = envelope(Kind::check);
  message.values[0] = known_.least;
  message.values[1] = known_.largest;
  message.value = known_.first_failed;
  const int further = 1 << round_;
  message.round = round_;
  tell((places_.own + further) % places_.size(), message, "");
}

void Session::take(const Envelope& envelope, const char* follows) {
  switch (static_cast<Kind>(envelope.kind)) {
    case Kind::check:
      heard_[envelope.round] = {envelope.values[0], envelope.values[1], envelope.value};
      return;
    case Kind::text: texts_[envelope.sender] = std::string(follows, envelope.bytes); return;
    case Kind::waiting: waiting_.insert(envelope.sender); return;
    case Kind::here: answers_[envelope.sender] = std::string(follows, envelope.bytes); return;
    case Kind::ready:
      ready_[envelope.sender].push_back({envelope.values[0], envelope.value});
      return;
    case Kind::gone: return forget(envelope.sender, envelope.value);
    case Kind::piece: pieces_[envelope.sender].emplace_back(follows, envelope.bytes); return;
    case Kind::where:
    case Kind::group_end:
    case Kind::world_end:
    case Kind::abort: break;
  }
  fail(ErrorKind::runtime, "[mpi] a message of kind ", envelope.kind, " is of no collective");
}

void Session::advance() {
  if (!is_posted_ || is_over_) return;
  if (is_aborted_) return move();
  if (!is_decided_) {
    if (!hear()) return;
    decide();
  }
  if (verdict_ == Verdict::moved) return move();
  cancel_receives();
  if (has_all_received()) collect_texts();
}

/// Learns what all ranks mean; false: some have yet to say it.
bool Session::hear() {
  if (Meeting* const meeting = places_.meeting) {
    const auto found = meet() ? meeting->check(number_) : std::nullopt;
    if (!found) return false;
    known_ = {found->least, found->largest,
              found->first_failed < 0 ? kNobody : found->first_failed};
    return true;
  }
  while (1 << round_ < places_.size()) {
    const auto found = heard_.find(round_);
    if (found == heard_.end()) return false;
    known_.least = std::min(known_.least, found->second.least);
    known_.largest = std::max(known_.largest, found->second.largest);
    known_.first_failed = std::min(known_.first_failed, found->second.first_failed);
    if (1 << ++round_ < places_.size()) tell_known();
  }
  return true;
}

/// Where it throws, it is undecided, and is aborted.
void Session::decide() {
  if (known_.least != known_.largest) {
    verdict_ = Verdict::differs;
    tell_text();
  } else if (known_.first_failed != kNobody) {
    verdict_ = Verdict::failed;
    if (known_.first_failed == places_.own) tell_text();
  } else {
    begin_to_move();
  }
  if (places_.meeting) places_.meeting->note_read(number_);
  is_decided_ = true;
}

void Session::tell_text() {
  const std::string text = fitting(own_text());
  texts_[places_.own] = text;
  for (int place = 0; place < places_.size(); ++place) {
    if (place != places_.own) tell(place, envelope(Kind::text), text);
  }
}

bool Session::ask() {
  if (is_asked_) return false;
  if (std::exchange(has_asked_, true)) return true;
  Envelope question = envelope(Kind::where);
  question.sender = wire_.library.rank;
  for (int rank = 0; rank < wire_.library.size; ++rank) {
    if (rank != wire_.library.rank) wire_.mailbox.send(rank, question, nullptr);
  }
  return true;
}

void Session::note_asked(int32_t rank) {
  if (!has_asked_ || rank < wire_.library.rank) is_asked_ = true;
}

void Session::tell_waiting() {
  for (int place = 0; place < places_.size(); ++place) {
    if (place != places_.own) tell(place, envelope(Kind::waiting), "");
  }
}

std::vector<int32_t> Session::late() const {
  std::vector<int32_t> found;
  for (int place = 0; place < places_.size(); ++place) {
    if (place == places_.own || waiting_.count(place)) continue;
    found.push_back(places_.ranks[static_cast<size_t>(place)]);
  }
  return found;
}

void Session::collect_texts() {
  const auto named = [&](int place) {
    return concat("rank ", places_.ranks[static_cast<size_t>(place)], ": ", texts_[place]);
  };
  if (verdict_ == Verdict::failed) {
    if (!texts_.count(known_.first_failed)) return;
    reason_ = named(known_.first_failed);
    return end();
  }
  if (static_cast<int>(texts_.size()) < places_.size()) return;
  for (int place = 0; place < places_.size(); ++place) {
    reason_ += concat(place ? "; " : "", named(place));
  }
  end();
}

void Session::begin_to_move() {
  std::deque<Transfer> to_itself;
  for (const Transfer& transfer : collective_.sends) {
    if (transfer.peer == places_.own) {
      to_itself.push_back(transfer);
      continue;
    }
    if (is_in_segment(transfer, sent_bytes_, places_.own)) continue;
    if (is_large(transfer)) {
      unsent_[transfer.peer].push_back(transfer);
    } else {
      send_small(transfer);
    }
  }
  if (places_.meeting) places_.meeting->receive(number_, collective_.receives, received_bytes_);
  for (const Transfer& wanted : collective_.receives) {
    if (wanted.peer != places_.own) {
      if (is_in_segment(wanted, received_bytes_, wanted.peer)) continue;
      if (!is_large(wanted)) {
        wanted_.push_back(wanted);
      } else if (may_meet(wanted, received_bytes_)) {
        receive_large(wanted);
      }
      continue;
    }
    const size_t given = to_itself.empty() ? 0 : to_itself.front().bytes;
    require_size(wanted, given);
    if (given) std::memcpy(wanted.data, to_itself.front().data, given);
    if (!to_itself.empty()) to_itself.pop_front();
  }
}

/// Asks the library for it, in as many calls as it takes.
template <typename Call>
void Session::request(size_t bytes, const char* function, Requests* requests, const Call& call) {
  for (size_t at = 0; at < bytes; at += kMostAtOnce) {
    requests->handles.emplace_back();
    const int count = static_cast<int>(std::min(kMostAtOnce, bytes - at));
    require_success(wire_.library, call(at, count, &requests->handles.back()), function);
  }
}

bool Session::is_large(const Transfer& transfer) { return transfer.bytes > Mailbox::kMostBytes; }

/// It is among what travels where the ranks meet, if there is room.
bool Session::may_meet(const Transfer& transfer, const Meeting::Totals& totals) const {
  return places_.meeting && places_.meeting->takes(totals[static_cast<size_t>(transfer.peer)]);
}

/// Once the check is through.
bool Session::is_in_segment(const Transfer& transfer, const Meeting::Totals& totals,
                            int sender) const {
  return may_meet(transfer, totals) && places_.meeting->has_pieces(number_, sender);
}

void Session::receive_large(const Transfer& wanted) {
  const Library& mpi = wire_.library;
  const int tag = wire_.draw_tag();
  const int rank = places_.ranks[static_cast<size_t>(wanted.peer)];
  Requests& requests = receiving_[{wanted.peer, tag}];
  request(wanted.bytes, "MPI_Irecv", &requests, [&](size_t at, int count, Handle* made) {
    return mpi.irecv(wanted.data + at, count, mpi.byte, rank, tag, mpi.communicator, made);
  });
  Envelope message = envelope(Kind::ready);
  message.values[0] = wanted.bytes;
  message.value = tag;
  tell(wanted.peer, message, "");
}

void Session::send_small(const Transfer& transfer) {
  tell(transfer.peer, envelope(Kind::piece), std::string_view(transfer.data, transfer.bytes));
}

void Session::send_large(const Transfer& transfer, const Ready& ready) {
  require_size(transfer, ready.bytes);
  const Library& mpi = wire_.library;
  const int rank = places_.ranks[static_cast<size_t>(transfer.peer)];
  Requests& requests = sending_[{transfer.peer, ready.tag}];
  request(transfer.bytes, "MPI_Isend", &requests, [&](size_t at, int count, Handle* made) {
    return mpi.isend(transfer.data + at, count, mpi.byte, rank, ready.tag, mpi.communicator, made);
  });
}

/// A peer receives with this tag no more.
void Session::forget(int place, int tag) {
  sending_.erase({place, tag});
  std::deque<Ready>& ready = ready_[place];
  const auto has_tag = [tag](const Ready& one) { return one.tag == tag; };
  ready.erase(std::remove_if(ready.begin(), ready.end(), has_tag), ready.end());
}

/// Both sides list the large pieces from one rank to another in the same order.
void Session::send_where_ready() {
  for (auto one = unsent_.begin(); one != unsent_.end();) {
    std::deque<Transfer>& unsent = one->second;
    std::deque<Ready>& ready = ready_[one->first];
    for (; !unsent.empty() && !ready.empty(); unsent.pop_front(), ready.pop_front()) {
      send_large(unsent.front(), ready.front());
    }
    one = unsent.empty() ? unsent_.erase(one) : std::next(one);
  }
}

/// The pieces of a peer come in the order in which they are wanted.
void Session::receive_small() {
  std::deque<Transfer> later;
  for (const Transfer& wanted : wanted_) {
    std::deque<std::string>& come = pieces_[wanted.peer];
    if (come.empty()) {
      later.push_back(wanted);
      continue;
    }
    require_size(wanted, come.front().size());
    if (wanted.bytes) std::memcpy(wanted.data, come.front().data(), wanted.bytes);
    come.pop_front();
  }
  wanted_.swap(later);
}

// A session that is aborted begins nothing new, and waits for the pieces that the library may still
// write or read.
void Session::move() {
  if (!is_aborted_) {
    receive_small();
    send_where_ready();
  }
  const bool awaits_messages = !wanted_.empty() || !unsent_.empty();
  const int most = awaits_messages ? 1 : kLooks;
  bool is_done = false;
  for (int look = 0; look < most && !is_done; ++look) {
    const bool has_received = has_all_received();
    is_done = has_all_sent() && has_received;
    if (sending_.empty() && receiving_.empty()) break;
  }
  if (is_done && (is_aborted_ || !awaits_messages)) end();
}

bool Session::has_all_sent() {
  for (auto one = sending_.begin(); one != sending_.end();) {
    one = are_done(&one->second) ? sending_.erase(one) : std::next(one);
  }
  return sending_.empty();
}

bool Session::has_all_received() {
  for (auto one = receiving_.begin(); one != receiving_.end();) {
    const auto& [place, tag] = one->first;
    if (!are_done(&one->second)) {
      ++one;
      continue;
    }
    Envelope message = envelope(Kind::gone);
    message.value = tag;
    if (one->second.is_cancelled && is_aborted_) tell(place, message, "");
    one = receiving_.erase(one);
  }
  return receiving_.empty();
}

void Session::cancel_receives() {
  if (std::exchange(has_cancelled_, true)) return;
  for (auto& one : receiving_) {
    for (Handle& request : one.second.handles) {
      require_success(wire_.library, wire_.library.cancel(&request), "MPI_Cancel");
    }
  }
}

bool Session::are_done(Requests* requests) {
  const Library& mpi = wire_.library;
  const auto is_done = [&](Handle& request) {
    alignas(16) char status[64];  // larger than any library's MPI_Status
    int done = 0, cancelled = 0;
    require_success(mpi, mpi.test(&request, &done, status), "MPI_Test");
    if (!done) return false;
    require_success(mpi, mpi.test_cancelled(status, &cancelled), "MPI_Test_cancelled");
    requests->is_cancelled = requests->is_cancelled || cancelled;
    return true;
  };
  std::vector<Handle>& handles = requests->handles;
  handles.erase(std::remove_if(handles.begin(), handles.end(), is_done), handles.end());
  return handles.empty();
}

void Session::abort(Verdict verdict, const std::string& reason) {
  if (is_over_ || is_aborted_) return;
  if (is_decided_ && verdict_ == Verdict::moved) move();
  if (is_over_) return;
  if (!is_decided_ || verdict_ != Verdict::differs) verdict_ = verdict;
  is_aborted_ = is_decided_ = true;
  reason_ = reason;
  unsent_.clear();
  cancel_receives();
  move();
}

}  // namespace ofl::ep::mpi
