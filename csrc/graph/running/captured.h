// Device graphs of a program: the kernels of a segment that need nothing of the host, launched as
// one.
//
//   pieces:  a*2   m@w   x[i]   tanh   sum
//   parts:  [graph   ]   [by itself]   [graph ]
//
//   run ──► each piece is launched into a list ──► other arguments than before? ──► changed in the
//           graph ──► the graph is launched
//
// Feeds, results, scalars and places in streams of random numbers are arguments of kernels, so all
// of them are changed in this one way.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "graph/planning/schedule.h"
#include "graph/running/kernel_list.h"
#include "vm/failure/failure.h"

namespace ofl::graph {

/// Off: programs launch each kernel by itself. Any thread.
void use_device_graphs(bool on);
bool uses_device_graphs();

/// What a report says of the graphs of a program, or of a segment.
struct CaptureReport {
  struct Refusal {
    const Step* step;
    std::string reason;
  };

  int64_t graphs = 0;
  int64_t kernels = 0;   // in them
  int64_t launches = 0;  // of graphs
  int64_t changes = 0;   // of arguments of kernels
  std::vector<Refusal> refusals;
};

/// Of a segment on a device with graphs. Runs come one after the other.
class CapturedSegment {
 public:
  /// What a run does with a piece, by its number.
  struct Run {
    ep::Stream& queue;
    const std::vector<char*>& addresses;  // of the segment's bases
    /// Launches it into the queue; false: not yet, and nothing has happened.
    std::function<bool(size_t piece, ep::Stream& queue)> launch;
    /// Runs it as it is run without graphs.
    std::function<void(size_t piece)> run_alone;
  };

  explicit CapturedSegment(const Segment& segment);

  /// False: another thread runs it, or it is too early, and nothing has happened.
  bool run(const Run& run);
  void add_to(CaptureReport* report) const;

 private:
  struct Captured {  // a piece
    explicit Captured(ep::Device& device) : scratch(device) {}

    KeptScratch scratch;
    std::vector<KeptKernel> kernels;  // as the graph has them
    std::vector<char*> addresses;     // of the operands, at that time
    bool follows_addresses = false;   // kernels are the same where these are
    int first_kernel = 0;             // its number in the graph
    std::string reason;               // not empty: it is not captured
  };
  struct Part {
    size_t first, last;                // pieces
    std::unique_ptr<ep::Graph> graph;  // null: they are launched by themselves
    bool wants_capture = true;         // the graph, if there is one, is of other kernels
    int captures = 0;
  };

  bool list_all(const Run& run);
  bool list(size_t number, const Run& run, std::vector<KeptKernel>* kernels);
  void form_parts();
  void capture(Part* part);
  void change(Part* part, Captured* piece, const std::vector<KeptKernel>& kernels);
  bool launch(Part* part, const Run& run);
  bool bring_up_to_date(Part* part, const Run& run);
  std::vector<char*> addresses_of(size_t number, const Run& run) const;

  const Segment& segment_;
  ep::Device& device_;
  mutable std::mutex mutex_;  // guards the rest
  std::vector<std::unique_ptr<Captured>> pieces_;
  std::vector<Part> parts_;
  bool is_new_ = false;  // the kernels are those of the run that is going on
  int64_t launches_ = 0, changes_ = 0;
};

/// Of all runs of a program. It lives until the last of them is over.
class CapturedProgram {
 public:
  explicit CapturedProgram(std::shared_ptr<const Schedule> schedule);

  /// Null: its device has no graphs.
  CapturedSegment* segment(int32_t number) const { return segments_[number].get(); }
  CaptureReport report() const;

 private:
  const std::shared_ptr<const Schedule> schedule_;
  std::vector<std::unique_ptr<CapturedSegment>> segments_;
};

}  // namespace ofl::graph
