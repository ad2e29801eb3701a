#include "profiler/trace_recorder.h"

#include <atomic>
#include <cmath>

#include "base/error.h"
#include "vm/stream.h"

namespace ofl {

namespace {

/// The same in all recordings: a profile of several parts has one lane for a thread.
int number_of_this_thread() {
  static std::atomic<int> count{0};
  thread_local const int number = ++count;
  return number;
}

}  // namespace

int TraceRecorder::lane_of(const vm::Stream& stream) {
  const auto [entry, added] =
      stream_lanes_.try_emplace(&stream, static_cast<int>(trace_.lanes.size()));
  if (added) trace_.lanes.push_back({stream.name(), true});
  return entry->second;
}

int TraceRecorder::lane_of_this_thread() {
  const int number = number_of_this_thread();
  const auto [entry, added] =
      thread_lanes_.try_emplace(number, static_cast<int>(trace_.lanes.size()));
  if (added) {
    const std::string& name = vm::Runner::thread_name();
    trace_.lanes.push_back({name.empty() ? concat("thread ", number) : name, false});
  }
  return entry->second;
}

void TraceRecorder::issued(const vm::Instruction& instruction, vm::Seq seq,
                           const vm::Description& description, int64_t begin_ns, int64_t end_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  trace_.records.push_back({RecordKind::issue, lane_of_this_thread(), begin_ns, end_ns, seq, 0,
                            instruction.name, description, instruction.bytes, instruction.site});
}

void TraceRecorder::ran(const vm::Instruction& instruction, vm::Seq seq,
                        const vm::Description& description, bool on_stream, int64_t begin_ns,
                        int64_t end_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int lane = on_stream ? lane_of(*instruction.stream) : lane_of_this_thread();
  trace_.records.push_back({RecordKind::run, lane, begin_ns, end_ns, seq, 0, instruction.name,
                            description, instruction.bytes, instruction.site});
}

void TraceRecorder::ran_parts(const vm::Parts& ran) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int lane = ran.stream ? lane_of(*ran.stream) : lane_of_this_thread();
  runs_.push_back({lane, ran.seq, ran.segment, ran.is_measured, ran.name, ran.site, ran.texts,
                   ran.times, ran.begin_ns, ran.end_ns, pieces_ + 1});
  pieces_ += ran.times->ends.size();
}

/// In this run, if `ns` is of the run whose times it has.
int64_t TraceRecorder::Run::time_of(int64_t ns) const {
  const int64_t since = ns - times->begin_ns, all = times->end_ns() - times->begin_ns;
  if (is_measured || all == 0) return begin_ns + since;
  const double share = static_cast<double>(since) / static_cast<double>(all);
  return begin_ns + std::llround(share * static_cast<double>(end_ns - begin_ns));
}

void TraceRecorder::describe(const Run& run, std::vector<TraceRecord>* records) {
  if (run.name) {
    records->push_back({RecordKind::run,
                        run.lane,
                        run.begin_ns,
                        run.end_ns,
                        run.seq,
                        0,
                        run.name,
                        {},
                        0,
                        run.site});
  }
  int64_t begin = run.begin_ns;
  vm::Seq number = run.first_group;
  std::vector<vm::Part> parts;
  for (const vm::PartTimes::End& piece : run.times->ends) {
    const int64_t end = run.time_of(piece.ns);
    parts.clear();
    run.texts.append(run.texts.program.get(), run.segment, piece.number, piece.member, &parts);
    for (vm::Part& part : parts) {
      if (parts.size() > 1) part.description.group = number;
      records->push_back({RecordKind::step, run.lane, begin, end, run.seq, 0, part.name,
                          part.description, part.bytes, part.site ? part.site : run.site,
                          run.segment, run.is_measured});
    }
    begin = end;
    ++number;
  }
}

void TraceRecorder::waited(const vm::Stream& stream, vm::Seq seq, const vm::Stream& other,
                           vm::Seq other_seq) {
  std::lock_guard<std::mutex> lock(mutex_);
  lane_of(other);
  const int64_t now = now_ns();
  trace_.records.push_back(
      {RecordKind::wait, lane_of(stream), now, now, seq, other_seq, "stream wait", {}, 0, 0});
}

void TraceRecorder::synced(const char* reason, int64_t begin_ns, int64_t end_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  trace_.records.push_back(
      {RecordKind::sync, lane_of_this_thread(), begin_ns, end_ns, 0, 0, reason, {}, 0, 0});
}

Trace TraceRecorder::take() {
  Trace taken;
  std::vector<Run> runs;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::swap(taken, trace_);
    std::swap(runs, runs_);
    stream_lanes_.clear();
    thread_lanes_.clear();
  }
  for (const Run& run : runs) describe(run, &taken.records);
  return taken;
}

}  // namespace ofl
