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
  if (places_.size() > 1 && !is_over_) tell_known();
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
    case Kind::text:
      texts_[envelope.sender] = std::string(follows, envelope.bytes);
      return;
    case Kind::waiting: waiting_.insert(envelope.sender); return;
    case Kind::here:
      answers_[envelope.sender] = std::string(follows, envelope.bytes);
      return;
    case Kind::ready: return send_announced(envelope.sender, envelope.value);
    case Kind::gone: sending_.erase({envelope.sender, envelope.value}); return;
    case Kind::piece:
      pieces_[envelope.sender].push_back(
          {envelope.values[0], envelope.value, std::string(follows, envelope.bytes)});
      return;
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
  while (!is_decided_) {
    if (1 << round_ >= places_.size()) {
      decide();
      break;
    }
    const auto found = heard_.find(round_);
    if (found == heard_.end()) return;
    known_.least = std::min(known_.least, found->second.least);
    known_.largest = std::max(known_.largest, found->second.largest);
    known_.first_failed = std::min(known_.first_failed, found->second.first_failed);
    if (1 << ++round_ < places_.size()) tell_known();
  }
  if (verdict_ == Verdict::moved) return move();
  collect_texts();
}

void Session::decide() {
  is_decided_ = true;
  if (known_.least != known_.largest) {
    verdict_ = Verdict::differs;
    tell_text();
  } else if (known_.first_failed != kNobody) {
    verdict_ = Verdict::failed;
    if (known_.first_failed == places_.own) tell_text();
  } else {
    begin_to_move();
  }
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
    } else {
      send_piece(transfer);
    }
  }
  for (const Transfer& wanted : collective_.receives) {
    if (wanted.peer != places_.own) {
      wanted_.push_back(wanted);
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

void Session::send_piece(const Transfer& transfer) {
  Envelope message = envelope(Kind::piece);
  message.values[0] = transfer.bytes;
  if (transfer.bytes <= Mailbox::kMostBytes) {
    return tell(transfer.peer, message, std::string_view(transfer.data, transfer.bytes));
  }
  message.value = wire_.draw_tag();
  announced_[{transfer.peer, message.value}] = transfer;
  tell(transfer.peer, message, "");
}

void Session::send_announced(int place, int tag) {
  const auto found = announced_.find({place, tag});
  if (found == announced_.end()) return;  // aborted
  const Transfer transfer = found->second;
  announced_.erase(found);
  const Library& mpi = wire_.library;
  const int rank = places_.ranks[static_cast<size_t>(place)];
  Requests& requests = sending_[{place, tag}];
  request(transfer.bytes, "MPI_Isend", &requests, [&](size_t at, int count, Handle* made) {
    return mpi.isend(transfer.data + at, count, mpi.byte, rank, tag, mpi.communicator, made);
  });
}

// The pieces of a peer come in the order in which they are wanted. A session that is aborted takes
// no new ones, and waits for those that the library may still write or read.
void Session::move() {
  std::deque<Transfer> later;
  for (const Transfer& wanted : wanted_) {
    std::deque<Piece>& come = pieces_[wanted.peer];
    if (come.empty() || is_aborted_) {
      later.push_back(wanted);
      continue;
    }
    const Piece piece = std::move(come.front());
    come.pop_front();
    receive_piece(wanted, piece);
  }
  wanted_.swap(later);
  bool is_done = false;
  for (int look = 0; look < kLooks && !is_done; ++look) {
    const bool has_received = has_all_received();
    is_done = has_all_sent() && has_received;
    if (sending_.empty() && receiving_.empty()) break;
  }
  if (is_done && (is_aborted_ || (wanted_.empty() && announced_.empty()))) end();
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
    if (one->second.is_cancelled) tell(place, message, "");
    one = receiving_.erase(one);
  }
  return receiving_.empty();
}

void Session::receive_piece(const Transfer& wanted, const Piece& piece) {
  require_size(wanted, piece.bytes);
  if (!piece.tag) {
    if (wanted.bytes) std::memcpy(wanted.data, piece.data.data(), wanted.bytes);
    return;
  }
  const Library& mpi = wire_.library;
  const int rank = places_.ranks[static_cast<size_t>(wanted.peer)];
  Requests& requests = receiving_[{wanted.peer, piece.tag}];
  request(wanted.bytes, "MPI_Irecv", &requests, [&](size_t at, int count, Handle* made) {
    return mpi.irecv(wanted.data + at, count, mpi.byte, rank, piece.tag, mpi.communicator, made);
  });
  Envelope message = envelope(Kind::ready);
  message.value = piece.tag;
  tell(wanted.peer, message, "");
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
  announced_.clear();
  for (auto& one : receiving_) {
    for (Handle& request : one.second.handles) {
      require_success(wire_.library, wire_.library.cancel(&request), "MPI_Cancel");
    }
  }
  move();
}

}  // namespace ofl::ep::mpi
