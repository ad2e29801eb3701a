#include "profiler/trace_recorder.h"

#include "vm/stream.h"

namespace ofl {

int TraceRecorder::lane_of(const vm::Stream& stream) {
  const auto [entry, added] =
      stream_lanes_.try_emplace(&stream, static_cast<int>(trace_.lanes.size()));
  if (added) trace_.lanes.push_back({stream.name(), true});
  return entry->second;
}

int TraceRecorder::lane_of_this_thread() {
  const auto [entry, added] =
      thread_lanes_.try_emplace(std::this_thread::get_id(), static_cast<int>(trace_.lanes.size()));
  if (added) {
    trace_.lanes.push_back({"thread " + std::to_string(thread_lanes_.size()), false});
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
  for (const vm::Part& part : ran.parts) {
    trace_.records.push_back({RecordKind::step, lane, part.begin_ns, part.end_ns, ran.seq, 0,
                              part.name, part.description, part.bytes, part.site, ran.segment});
    vm::Seq& group = trace_.records.back().description.group;
    if (group != 0) group += steps_;
  }
  steps_ += ran.parts.size();
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
  std::lock_guard<std::mutex> lock(mutex_);
  Trace taken;
  std::swap(taken, trace_);
  stream_lanes_.clear();
  thread_lanes_.clear();
  return taken;
}

}  // namespace ofl
