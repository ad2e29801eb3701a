// Device graphs of a program: the kernels and products of a segment that need nothing of the host,
// launched as one.
//
//   pieces:  a*2   m@w   x[i]   tanh   sum
//   parts:  [graph   ]   [by itself]   [graph ]
//
//   run ──► each piece is launched into a list ──► other arguments than before?
//             of kernels:  they are set in the graph ──► the graph is launched
//             of products: another version of the graph has them, or an old one is updated
//
// Feeds, results, scalars and places in streams of random numbers are arguments of kernels, so all
// of them are changed in this one way. The nodes that a library makes of a product are opaque. For
// operands elsewhere the part is captured again, which takes longer than to launch it. Mostly they
// stay where they are, or the allocator moves them between a few places. So a few versions are
// kept, each for operands in one place. A product that needs a capture again and again leaves its
// graph.
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
  int64_t products = 0;  // in them, made by a library
  int64_t launches = 0;  // of graphs
  int64_t changes = 0;   // of arguments of kernels
  int64_t updates = 0;   // captures, as operands of products were elsewhere
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
    const ep::Stream* user = nullptr;  // the last to launch it; no other has a scratch in use
    std::vector<KeptLaunch> launches;  // of the last run
    int64_t listed = 0;                // the run in which they were
    std::vector<char*> addresses;      // of the operands, at that time
    bool follows_addresses = false;    // launches are the same where these are
    bool takes_products = true;        // false: the library has no routine for its product
    int first_kernel = 0;              // its number in the graph
    int unrest = 0;                    // of the operands of its products
    std::string reason;                // not empty: it is not captured
  };
  struct Version {
    std::unique_ptr<ep::Graph> graph;
    std::vector<std::vector<KeptLaunch>> lists;  // of each piece, as the graph has them
    int64_t synced;                              // the run in which they were those of the pieces
  };
  struct Part {
    size_t first, last;                    // pieces
    std::vector<Version> versions;         // launched last: first; none: pieces run by themselves
    bool wants_graph = true;               // or it never has one
    const ep::Stream* launcher = nullptr;  // of graphs with products: they have its workspace
    int captures = 0;                      // but for other operands of products
  };
  enum class Fit : uint8_t { same_products, other_operands, other_launches };

  bool list_all(const Run& run);
  bool list(size_t number, const Run& run);
  bool is_of_another(const Part& part, const ep::Stream& queue) const;
  bool list_again(const Part& part, const Run& run);
  void form_parts();
  bool launch(Part* part, const Run& run);
  bool bring_up_to_date(Part* part, ep::Stream& launcher);
  Fit fit_of(const Part& part, const Version& version) const;
  bool has_moved(const Part& part, size_t number, const Version& version) const;
  void set_kernels(const Part& part, Version* version);
  void note_moves(const Part& part, const Version* last);
  bool capture(Part* part, ep::Stream& launcher);
  bool launch_into(const Part& part, ep::Stream& queue);
  std::vector<char*> addresses_of(size_t number, const Run& run) const;

  const Segment& segment_;
  ep::Device& device_;
  mutable std::mutex mutex_;  // guards the rest
  std::vector<std::unique_ptr<Captured>> pieces_;
  std::vector<Part> parts_;
  bool has_left_ = false;  // a piece, from its part
  int64_t runs_ = 0;       // with lists
  int64_t launches_ = 0, changes_ = 0, updates_ = 0;
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
