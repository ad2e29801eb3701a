#include "vm/progress/progress_policy.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace ofl::vm {

namespace {

/// A rank that is idle looks for questions once a second.
constexpr int64_t kAnswerNs = 3'000'000'000;

/// "0 to 2, 5".
std::string named(const std::vector<size_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += concat(i ? ", " : "", ranks[i]);
    if (last > i) text += concat(last > i + 1 ? " to " : ", ", ranks[last]);
    i = last + 1;
  }
  return text;
}

/// A line for each answer, with the ranks that have given it.
std::string listed(const std::vector<std::string>& answers) {
  std::vector<std::string> different;
  std::map<std::string, std::vector<size_t>> ranks;
  for (size_t rank = 0; rank < answers.size(); ++rank) {
    std::vector<size_t>& same = ranks[answers[rank]];
    if (same.empty()) different.push_back(answers[rank]);
    same.push_back(rank);
  }
  std::string text;
  for (const std::string& answer : different) {
    const std::vector<size_t>& same = ranks[answer];
    text += concat("  rank", same.size() > 1 ? "s " : " ", named(same), ": ",
                   answer.empty() ? "has not answered" : answer, "\n");
  }
  return text;
}

}  // namespace

bool ProgressPolicy::run_next(const Turn& turn) {
  Slot* const slot = stream_.take_next(turn.max_cost);
  if (slot) run(slot);
  return slot != nullptr;
}

void ProgressPolicy::run(Slot* slot) {
  const Place place = slot->header.type->joining->place(slot->body);
  if (place.number != place.line->next) {
    held_[{place.line, place.number}] = slot;
    slot->state.store(SlotState::pending, std::memory_order_release);
    return stream_.board().note_pending();
  }
  post(slot);
  for (;;) {
    const auto next = held_.find({place.line, ++place.line->next});
    if (next == held_.end()) return;
    Slot* const successor = next->second;
    held_.erase(next);
    post(successor);
  }
}

/// The line is alive until the instruction that has come last ends: nobody polls meanwhile.
void ProgressPolicy::post(Slot* slot) {
  InFlight posted{slot, nullptr, slot->failure ? slot->failure : slot->given_failure(), now_ns()};
  const FailurePtr own = posted.own;
  const FailurePtr unposted = attempt(slot, [&] {
    posted.work = slot->header.type->joining->post(slot->body, own != nullptr, text_of(slot, own));
  });
  if (unposted) posted.own = own ? own : unposted;
  slot->state.store(SlotState::pending, std::memory_order_release);
  in_flight_.push_back(std::move(posted));
  stream_.board().note_pending();
}

bool ProgressPolicy::poll(bool) {
  std::vector<InFlight> ended;
  bool is_first = true;  // those behind it mostly wait for the same ranks
  for (InFlight& each : in_flight_) {
    if (!each.work || each.work->test()) {
      ended.push_back(std::move(each));
      each.slot = nullptr;
    } else if (each.work->awaits_others()) {
      if (std::exchange(is_first, false)) watch_for_hang(each);
      watch_time(each);
    } else {
      each.slot->state.store(SlotState::launched, std::memory_order_release);
      if (each.work->can_stall()) watch_time(each);
    }
  }
  const auto is_gone = [](const InFlight& each) { return !each.slot; };
  in_flight_.erase(std::remove_if(in_flight_.begin(), in_flight_.end(), is_gone), in_flight_.end());
  if (!ended.empty()) ended_at_ = now_ns();
  for (const InFlight& each : ended) end(each, outcome(each));
  return !ended.empty();
}

/// At half of the time, each rank that waits tells the others so. Those that have not are late.
void ProgressPolicy::watch_time(InFlight& waiting) const {
  const double most = stream_.board().options.ccl_timeout.load(std::memory_order_relaxed);
  if (most <= 0) return;
  const double waited = static_cast<double>(now_ns() - waiting.since) * 1e-9;
  if (waited > most / 2 && !std::exchange(waiting.has_told, true)) waiting.work->tell_waiting();
  if (waited <= most) return;
  std::string ranks;
  for (const int32_t rank : waiting.work->late()) ranks += concat(ranks.empty() ? "" : ", ", rank);
  const std::string whom = ranks.empty() ? "its bytes" : "rank " + ranks;
  waiting.work->abort(concat("waited ", most, " s (ONEFLOW_LITE_CCL_TIMEOUT) for ", whom, " in ",
                             text_of(waiting.slot, waiting.own)()));
}

/// One of the ranks that wait asks all where they are, and reports it, once. They take turns for a
/// quarter of the time, so that mostly one of them asks.
void ProgressPolicy::watch_for_hang(InFlight& waiting) const {
  const double most = stream_.board().options.hang_timeout.load(std::memory_order_relaxed);
  if (most <= 0 || waiting.is_reported) return;
  const int64_t now = now_ns();
  const double waited = static_cast<double>(now - std::max(waiting.since, ended_at_)) * 1e-9;
  if (waited < most * (1 + waiting.work->turn() / 4)) return;
  waiting.is_reported = !waiting.work->ask();
  if (waiting.is_reported) return;
  if (waiting.asked_at == 0) waiting.asked_at = now;
  const std::vector<std::string> answers = waiting.work->answers();
  const bool all = std::find(answers.begin(), answers.end(), "") == answers.end();
  if (!all && now - waiting.asked_at < kAnswerNs) return;
  waiting.is_reported = true;
  std::fprintf(stderr,
               "oneflow_lite: a collective has waited for %g s (ONEFLOW_LITE_HANG_TIMEOUT) for "
               "ranks that have not come to it\n%s",
               most, listed(answers).c_str());
}

bool ProgressPolicy::moves() const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [](const InFlight& each) { return each.work && !each.work->awaits_others(); });
}

void ProgressPolicy::drain() {
  while (busy()) {
    if (!poll(true)) std::this_thread::yield();
  }
}

// To let go of a work aborts it on all ranks, so that what is held ends when its turn comes.
void ProgressPolicy::abandon_pending(const Error& error) {
  std::lock_guard<std::mutex> baton(stream_.baton());
  std::vector<InFlight> left;
  left.swap(in_flight_);
  for (InFlight& each : left) {
    each.work.reset();
    end(each, each.slot->failure ? each.slot->failure : make_failure(each.slot, error));
  }
  if (stream_.has_ready() || !held_.empty()) stream_.runner().wake();
}

void ProgressPolicy::end(const InFlight& ended, FailurePtr failure) {
  Slot* const slot = ended.slot;
  slot->state.store(SlotState::running, std::memory_order_release);
  if (Observer* observer = stream_.board().observer()) {
    // On its stream: the time is that of all ranks, and not of the thread that looks.
    observer->ran(slot->header, slot->name(), slot->describe(), true, ended.since, now_ns());
  }
  stream_.retire(slot, failure);
}

/// A rank whose operand has failed keeps that failure; the others get one of their own.
FailurePtr ProgressPolicy::outcome(const InFlight& ended) const {
  if (ended.own) return ended.own;
  switch (ended.work->verdict()) {
    case ep::Verdict::moved: return nullptr;
    case ep::Verdict::differs:
      return make_failure(ended.slot, Error(ErrorKind::desync, ended.work->reason()));
    case ep::Verdict::failed:
    case ep::Verdict::aborted: break;
  }
  return make_failure(ended.slot, Error(ErrorKind::rank, ended.work->reason()));
}

std::function<std::string()> ProgressPolicy::text_of(const Slot* slot,
                                                     const FailurePtr& failure) const {
  const Board& board = stream_.board();
  if (!failure) {
    const Instruction& header = slot->header;
    return [&board, site = header.site, what = header.type->joining->text(slot->body)] {
      return concat(what(), " at ", board.site_text(site));
    };
  }
  return [text = concat(failure->op, ": ", failure->message, "; issued at ",
                        board.site_text(failure->site))] { return text; };
}

}  // namespace ofl::vm
