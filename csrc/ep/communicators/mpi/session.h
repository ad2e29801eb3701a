// Session: one collective of a group, as this rank takes part in it.
//
//   posted ──► rounds of the check ──► moved: pieces travel ──────────► over
//                        └──► failed: the text of that rank comes ──► over
//                        └──► differs: the texts of all ranks come ──► over
//
// Ranks of one host meet in memory that they share (segment.h): there is the check, and there are
// the pieces where few bytes go from one to another. Else the check takes ceil(log2(p)) messages
// of each of p ranks, by dissemination [1]: in round k, a rank tells the one 2^k places further
// what it has heard. Least, largest and first stay what they are if something is heard twice.
//
// Other small pieces travel in messages, once the ranks mean the same. Of a large one:
//
//   receiver:  posts: receives it with a tag, ready ──►   the check ──►                  ──► done
//   sender:                                               the check ──► moved: sends it ──► done
//
// The receiver says `ready` before its part of the check. So where the check is through, `ready` is
// there or on its way, whatever other ranks do, and a sender waits for no rank that waits for it.
// (It says so with the check where the segment turns out to have had no room for the piece.) Where
// the check finds something else no piece comes, and receivers cancel.
//
// Nobody reads memory of a rank whose session is over, also where some have been aborted and others
// have not heard of it yet. A sender that is aborted before it sends does not. A receiver that is
// aborted cancels. Either the piece comes all the same, or the receiver says that it is `gone`. A
// sender that is aborted after it has sent waits for one of the two.
//
// [1] D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization. International
//     Journal of Parallel Programming 17 (1988), 1-17.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ep/communicators/communicator.h"
#include "ep/communicators/mpi/mailbox.h"
#include "ep/communicators/mpi/segment.h"

namespace ofl::ep::mpi {

/// The kinds of messages, with `values` and `value` of their envelopes.
enum class Kind : uint32_t {
  check,      // least and largest meaning, first place that has failed; of a round
  piece,      // a small one
  ready,      // a large one of this size is received with this tag
  gone,       // it is not any more
  text,       // of a rank, for the errors of others
  waiting,    // a rank has been waiting for some time
  where,      // a rank of the world asks where the receiver is, as it waits in a collective
  here,       // the answer
  group_end,  // a rank posts no collective of this number, or later, in the group
  world_end,  // a rank posts nothing any more
  abort,      // all that is in flight ends; by a collective that differs, or by none
};

/// How a rank reaches the others.
struct Wire {
  const Library& library;
  Mailbox mailbox;
  int last_tag = 0;

  explicit Wire(const Library& given) : library(given), mailbox(given) {}
  int draw_tag() { return last_tag = last_tag % library.largest_tag + 1; }
};

/// Some ranks, which of them this one is, and where they meet.
struct Places {
  uint64_t key;  // the same on all ranks
  std::vector<int32_t> ranks;
  int own;
  Meeting* meeting;  // nullptr: they only have messages
  int size() const { return static_cast<int>(ranks.size()); }
};

/// One thread at a time.
class Session {
 public:
  Session(Wire& wire, const Places& places, uint64_t number)
      : wire_(wire), places_(places), number_(number) {}

  void post(Collective collective);
  /// A message of this collective, which may come before it is posted.
  void take(const Envelope& envelope, const char* follows);
  /// Gets on with what is posted.
  void advance();
  /// It ends so, unless all bytes have moved.
  void abort(Verdict verdict, const std::string& reason);

  /// This rank asks all ranks where they are, unless another one does. Where two have asked at
  /// once, the lower one does. The higher one knows before it has all answers: the lower one's
  /// question was sent before its answer, and messages of two ranks come in order.
  bool ask();
  void note_asked(int32_t rank);
  /// Of the ranks of the world.
  const std::map<int32_t, std::string>& answers() const { return answers_; }

  void tell_waiting();
  /// Ranks that have not told that they wait.
  std::vector<int32_t> late() const;

  bool is_posted() const { return is_posted_; }
  /// It waits for other ranks, and for no message of theirs.
  bool is_at_meeting() const { return places_.meeting && is_posted_ && !is_decided_; }
  bool is_decided() const { return is_decided_; }
  bool is_over() const { return is_over_; }
  Verdict verdict() const { return verdict_; }
  const std::string& reason() const { return reason_; }
  std::string own_text() const { return collective_.text ? collective_.text() : ""; }
  /// Of a session that is over.
  std::function<std::string()> take_text() { return std::move(collective_.text); }

 private:
  /// The state of the check, over the ranks that this one has heard of.
  struct Known {
    uint64_t least, largest;  // meaning
    int first_failed;         // place; kNobody
  };
  static constexpr int kNobody = INT32_MAX;
  /// The library's requests that send or receive one piece.
  struct Requests {
    std::vector<Handle> handles;
    bool is_cancelled = false;  // one of them
  };
  /// A peer has said that it is ready for a large piece.
  struct Ready {
    uint64_t bytes;
    int tag;
  };

  Envelope envelope(Kind kind) const;
  void tell(int place, Envelope envelope, std::string_view text);
  void tell_known();
  bool meet();
  bool hear();
  void decide();
  void tell_text();
  void collect_texts();
  static bool is_large(const Transfer& transfer);
  bool may_meet(const Transfer& transfer, const Meeting::Totals& totals) const;
  bool is_in_segment(const Transfer& transfer, const Meeting::Totals& totals, int sender) const;
  void receive_large(const Transfer& wanted);
  void begin_to_move();
  void send_large(const Transfer& transfer, const Ready& ready);
  void cancel_receives();
  template <typename Call>
  void request(size_t bytes, const char* function, Requests* requests, const Call& call);
  void send_small(const Transfer& transfer);
  void move();
  void send_where_ready();
  void forget(int place, int tag);
  void receive_small();
  bool are_done(Requests* requests);
  bool has_all_sent();
  bool has_all_received();
  void end() { is_over_ = true; }

  Wire& wire_;
  const Places& places_;
  const uint64_t number_;
  Collective collective_;
  bool is_posted_ = false, is_decided_ = false, is_over_ = false, is_aborted_ = false;
  bool has_cancelled_ = false;                 // its receives
  bool has_asked_ = false, is_asked_ = false;  // this rank; one that goes before it
  int round_ = 0;
  Known known_{};
  bool has_met_ = false;                         // it has posted where they meet
  Meeting::Totals sent_bytes_, received_bytes_;  // where they meet
  std::map<int, Known> heard_;                   // by round
  std::map<int, std::string> texts_;             // by place
  std::set<int> waiting_;                        // places
  std::map<int32_t, std::string> answers_;
  Verdict verdict_ = Verdict::moved;  // once decided
  std::string reason_;
  // Small pieces: those that have come, by place, and those that have not.
  std::map<int, std::deque<std::string>> pieces_;
  std::deque<Transfer> wanted_;
  // Large ones: by place those whose peers are ready, and those that are to be sent; then by the
  // place of the peer and the tag.
  std::map<int, std::deque<Ready>> ready_;
  std::map<int, std::deque<Transfer>> unsent_;
  std::map<std::pair<int, int>, Requests> sending_, receiving_;
};

}  // namespace ofl::ep::mpi
