#include "graph/running/captured.h"

#include <algorithm>

#include "ops/launch.h"

namespace ofl::graph {

namespace {

std::atomic<bool> graphs_are_used{true};

constexpr int kLeastKernels = 2;  // one is launched as quickly by itself
constexpr int kMostCaptures = 8;  // of one part: a capture takes longer than many launches

/// What it launches is the same for the same addresses. A product is one of the library or not, as
/// flags say.
bool is_function_of_addresses(const Piece& piece) {
  return std::none_of(piece.calls.begin(), piece.calls.end(), [](const Call& call) {
    const Step& step = *call.step;
    const bool is_product = step.loops && step.loops->args.kernel == ops::KernelId::matmul;
    return is_product || !step.given.empty() || !step.words.empty();
  });
}

}  // namespace

void use_device_graphs(bool on) { graphs_are_used.store(on, std::memory_order_relaxed); }

bool uses_device_graphs() { return graphs_are_used.load(std::memory_order_relaxed); }

CapturedSegment::CapturedSegment(const Segment& segment)
    : segment_(segment), device_(segment.lane.state->device) {}

bool CapturedSegment::run(const Run& run) {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (!device_.runs_host_kernels() && !ops::uses_own_kernels(device_)) return false;
  if (pieces_.empty()) {
    if (!list_all(run)) return false;
    form_parts();
    is_new_ = true;
  }
  for (Part& part : parts_) {
    if (launch(&part, run)) continue;
    for (size_t i = part.first; i < part.last; ++i) run.run_alone(i);
  }
  is_new_ = false;
  return true;
}

/// The kernels of all pieces; false: some are not there yet.
bool CapturedSegment::list_all(const Run& run) {
  for (size_t i = 0; i < segment_.pieces.size(); ++i) {
    pieces_.push_back(std::make_unique<Captured>(device_));
  }
  for (size_t i = 0; i < pieces_.size(); ++i) {
    Captured& piece = *pieces_[i];
    bool is_there = true;
    const std::optional<Error> error =
        vm::catch_error([&] { is_there = list(i, run, &piece.kernels); });
    if (!is_there) {
      pieces_.clear();
      return false;
    }
    if (error) piece.reason = error->what();
    piece.addresses = addresses_of(i, run);
    piece.follows_addresses =
        !device_.runs_host_kernels() && is_function_of_addresses(segment_.pieces[i]);
  }
  return true;
}

bool CapturedSegment::list(size_t number, const Run& run, std::vector<KeptKernel>* kernels) {
  KernelList queue(device_, pieces_[number]->scratch);
  if (!run.launch(number, queue)) return false;
  *kernels = queue.take();
  return true;
}

void CapturedSegment::form_parts() {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const bool is_alone = !pieces_[i]->reason.empty();
    const bool begins = parts_.empty() || is_alone || !pieces_[parts_.back().first]->reason.empty();
    if (begins) parts_.push_back({i, i, nullptr});
    parts_.back().last = i + 1;
  }
  for (Part& part : parts_) part.wants_capture = pieces_[part.first]->reason.empty();
}

/// Through a queue of its own: others record events in those of the machine at any time.
void CapturedSegment::capture(Part* part) {
  part->graph.reset();
  int count = 0;
  for (size_t i = part->first; i < part->last; ++i) {
    pieces_[i]->first_kernel = count;
    count += static_cast<int>(pieces_[i]->kernels.size());
  }
  if (count < kLeastKernels || part->captures++ >= kMostCaptures) {
    part->wants_capture = false;
    return;
  }
  const std::unique_ptr<ep::Stream> queue = device_.create_stream(ep::QueuePriority::normal);
  queue->begin_capture();
  for (size_t i = part->first; i < part->last; ++i) {
    for (const KeptKernel& kernel : pieces_[i]->kernels) kernel.launch(*queue);
  }
  part->graph = queue->end_capture();
  part->wants_capture = false;
}

/// False: nothing of it is in the queue. What goes wrong goes wrong again, at its line, where the
/// pieces run by themselves.
bool CapturedSegment::launch(Part* part, const Run& run) {
  if (!part->graph && !part->wants_capture) return false;
  bool is_launched = false;
  const std::optional<Error> error = vm::catch_error([&] {
    if (!is_new_ && !bring_up_to_date(part, run)) return;
    if (part->wants_capture) capture(part);
    if (!part->graph) return;
    run.queue.launch(*part->graph);
    is_launched = true;
  });
  launches_ += is_launched;
  return is_launched;
}

bool CapturedSegment::bring_up_to_date(Part* part, const Run& run) {
  for (size_t i = part->first; i < part->last; ++i) {
    Captured& piece = *pieces_[i];
    std::vector<char*> addresses = addresses_of(i, run);
    if (piece.follows_addresses && addresses == piece.addresses) continue;
    std::vector<KeptKernel> kernels;
    if (!list(i, run, &kernels)) return false;
    change(part, &piece, kernels);
    piece.kernels = std::move(kernels);
    piece.addresses = std::move(addresses);
  }
  return true;
}

/// Kernels of other functions need another graph; so does what fails in the middle.
void CapturedSegment::change(Part* part, Captured* piece, const std::vector<KeptKernel>& kernels) {
  const auto& before = piece->kernels;
  const auto is_like = [](const KeptKernel& a, const KeptKernel& b) { return a.is_like(b); };
  const bool fits = !part->wants_capture && std::equal(kernels.begin(), kernels.end(),
                                                       before.begin(), before.end(), is_like);
  part->wants_capture = true;
  if (!fits) return;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].has_args_of(before[k])) continue;
    kernels[k].set(*part->graph, piece->first_kernel + static_cast<int>(k));
    ++changes_;
  }
  part->wants_capture = false;
}

std::vector<char*> CapturedSegment::addresses_of(size_t number, const Run& run) const {
  std::vector<char*> addresses;
  for (const Call& call : segment_.pieces[number].calls) {
    for (const int32_t base : call.bases) {
      addresses.push_back(base < 0 ? nullptr : run.addresses[base]);
    }
  }
  return addresses;
}

void CapturedSegment::add_to(CaptureReport* report) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Part& part : parts_) {
    if (!part.graph) continue;
    ++report->graphs;
    for (size_t i = part.first; i < part.last; ++i) {
      report->kernels += static_cast<int64_t>(pieces_[i]->kernels.size());
    }
  }
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i]->reason.empty()) continue;
    report->refusals.push_back({segment_.pieces[i].calls[0].step, pieces_[i]->reason});
  }
  report->launches += launches_;
  report->changes += changes_;
}

CapturedProgram::CapturedProgram(std::shared_ptr<const Schedule> schedule)
    : schedule_(std::move(schedule)) {
  for (const Segment& segment : schedule_->segments) {
    const bool has_graphs = segment.lane && segment.lane.state->device.has_graphs();
    segments_.push_back(has_graphs ? std::make_unique<CapturedSegment>(segment) : nullptr);
  }
}

CaptureReport CapturedProgram::report() const {
  CaptureReport report;
  for (const auto& segment : segments_) {
    if (segment) segment->add_to(&report);
  }
  return report;
}

}  // namespace ofl::graph
