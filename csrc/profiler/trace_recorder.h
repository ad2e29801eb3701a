// TraceRecorder: an Observer that keeps what it sees, for a trace.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "vm/board/observer.h"

namespace ofl {

/// step: an operation of a program, as a part of a run.
enum class RecordKind : uint8_t { issue, run, wait, sync, step };
inline constexpr const char* kRecordKindNames[] = {"issue", "run", "wait", "sync", "step"};

struct TraceRecord {
  RecordKind kind;
  int lane;
  int64_t begin_ns, end_ns;
  vm::Seq seq;        // 0: ran at once in the issuing thread
  vm::Seq other_seq;  // wait: the instruction that `seq` waits for
  const char* name;   // outlives the machine
  vm::Description description;
  uint64_t bytes;
  vm::SiteId site;
  int32_t segment = -1;     // of a step
  bool is_measured = true;  // of a step: by the clock; else a share of its run's time
};

struct TraceLane {
  std::string name;
  bool stream;  // else an issuing thread
};

struct Trace {
  std::vector<TraceLane> lanes;  // by lane number
  std::vector<TraceRecord> records;
};

/// Any thread. What is recorded stays until taken.
class TraceRecorder final : public vm::Observer {
 public:
  void issued(const vm::Instruction& instruction, vm::Seq seq, const vm::Description& description,
              int64_t begin_ns, int64_t end_ns) override;
  void ran(const vm::Instruction& instruction, vm::Seq seq, const vm::Description& description,
           bool on_stream, int64_t begin_ns, int64_t end_ns) override;
  void ran_parts(const vm::Parts& ran) override;
  void waited(const vm::Stream& stream, vm::Seq seq, const vm::Stream& other,
              vm::Seq other_seq) override;
  void synced(const char* reason, int64_t begin_ns, int64_t end_ns) override;

  /// Everything recorded since the last call.
  Trace take();
  std::mutex& mutex() { return mutex_; }  // held across fork

 private:
  /// Parts of a run, which are described when they are taken.
  struct Run {
    int lane;
    vm::Seq seq;
    int32_t segment;
    bool is_measured;
    const char* name;  // or null
    vm::SiteId site;
    vm::PartTexts texts;
    std::shared_ptr<const vm::PartTimes> times;
    int64_t begin_ns, end_ns;
    vm::Seq first_group;

    int64_t time_of(int64_t ns) const;
  };
  static void describe(const Run& run, std::vector<TraceRecord>* records);

  // With mutex_ held.
  int lane_of(const vm::Stream& stream);
  int lane_of_this_thread();

  std::mutex mutex_;  // guards the fields below
  std::map<const vm::Stream*, int> stream_lanes_;
  std::map<int, int> thread_lanes_;  // by the number of the thread
  vm::Seq pieces_ = 0;  // so many have been recorded: groups of steps are numbered by them
  std::vector<Run> runs_;
  Trace trace_;
};

}  // namespace ofl
