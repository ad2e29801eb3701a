#include "graph/running/captured.h"

#include <algorithm>
#include <utility>

#include "ops/launch.h"

namespace ofl::graph {

namespace {

std::atomic<bool> graphs_are_used{true};

constexpr int kLeastLaunches = 2;  // one is launched as quickly by itself
constexpr int kMostCaptures = 8;   // of one part: a capture takes longer than many launches
constexpr size_t kMostVersions = 4;

// A run for which a product's operands are in no version adds to the unrest of its piece, another
// one takes 1 away. So the piece leaves after more than 8 captures, and only where they come in
// more than a quarter of the runs.
constexpr int kUnrestOfMove = 3;
constexpr int kMostUnrest = 8 * kUnrestOfMove;

bool is_product(const Call& call) {
  return call.step->loops && call.step->loops->args.kernel == ops::KernelId::matmul;
}

/// What it launches is the same for the same addresses. A product is one of the library or not, as
/// flags say.
bool is_function_of_addresses(const Piece& piece) {
  return std::none_of(piece.calls.begin(), piece.calls.end(), [](const Call& call) {
    return is_product(call) || !call.step->given.empty() || !call.step->words.empty();
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
  ++runs_;
  if (pieces_.empty()) {
    if (!list_all(run)) return false;
    form_parts();
  }
  for (Part& part : parts_) {
    if (launch(&part, run)) continue;
    for (size_t i = part.first; i < part.last; ++i) run.run_alone(i);
  }
  if (std::exchange(has_left_, false)) form_parts();
  return true;
}

/// The launches of all pieces; false: some are not there yet.
bool CapturedSegment::list_all(const Run& run) {
  for (size_t i = 0; i < segment_.pieces.size(); ++i) {
    pieces_.push_back(std::make_unique<Captured>(device_));
  }
  for (size_t i = 0; i < pieces_.size(); ++i) {
    Captured& piece = *pieces_[i];
    bool is_there = true;
    const std::optional<Error> error = vm::catch_error([&] { is_there = list(i, run); });
    if (!is_there) {
      pieces_.clear();
      return false;
    }
    if (error) piece.reason = error->what();
    piece.follows_addresses =
        !device_.runs_host_kernels() && is_function_of_addresses(segment_.pieces[i]);
  }
  return true;
}

bool CapturedSegment::list(size_t number, const Run& run) {
  Captured& piece = *pieces_[number];
  KernelList queue(device_, piece.scratch, piece.takes_products);
  if (!run.launch(number, queue)) return false;
  piece.launches = queue.take();
  piece.addresses = addresses_of(number, run);
  piece.listed = runs_;
  return true;
}

/// Where they may be others than in the run before.
bool CapturedSegment::list_again(const Part& part, const Run& run) {
  for (size_t i = part.first; i < part.last; ++i) {
    const Captured& piece = *pieces_[i];
    if (piece.listed == runs_) continue;
    if (piece.follows_addresses && addresses_of(i, run) == piece.addresses) continue;
    if (!list(i, run)) return false;
  }
  return true;
}

/// A part that was there before keeps its graph.
void CapturedSegment::form_parts() {
  std::vector<Part> before = std::exchange(parts_, {});
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const bool is_alone = !pieces_[i]->reason.empty();
    const bool begins = parts_.empty() || is_alone || !pieces_[parts_.back().first]->reason.empty();
    if (begins) {
      parts_.emplace_back();
      parts_.back().first = i;
      parts_.back().wants_graph = !is_alone;
    }
    parts_.back().last = i + 1;
  }
  for (Part& part : parts_) {
    const auto same = std::find_if(before.begin(), before.end(), [&](const Part& old) {
      return old.first == part.first && old.last == part.last;
    });
    if (part.wants_graph && same != before.end()) part = std::move(*same);
  }
}

/// The part works in memory that another queue uses: the workspace of its library, or a scratch.
/// A device orders the launches of one graph, but a part has several graphs over one scratch.
/// Addresses tell queues apart, as a queue of the machine lives as long as the machine. Where the
/// scratch is still unused, no launch in another queue has it.
bool CapturedSegment::is_of_another(const Part& part, const ep::Stream& queue) const {
  if (!part.versions.empty() && part.launcher && part.launcher != &queue) return true;
  for (size_t i = part.first; i < part.last; ++i) {
    const Captured& piece = *pieces_[i];
    if (piece.scratch.is_used() && piece.user && piece.user != &queue) return true;
  }
  return false;
}

/// False: nothing of it is in the queue. What goes wrong goes wrong again, at its line, where the
/// pieces run by themselves.
bool CapturedSegment::launch(Part* part, const Run& run) {
  if (!part->wants_graph || is_of_another(*part, run.queue)) return false;
  bool is_launched = false;
  const std::optional<Error> error = vm::catch_error([&] {
    if (!list_again(*part, run) || !bring_up_to_date(part, run.queue)) return;
    run.queue.launch(*part->versions.front().graph);
    is_launched = true;
    for (size_t i = part->first; i < part->last; ++i) pieces_[i]->user = &run.queue;
  });
  launches_ += is_launched;
  return is_launched;
}

/// The first version is that of this run's lists; false: there is none.
bool CapturedSegment::bring_up_to_date(Part* part, ep::Stream& launcher) {
  std::vector<Version>& versions = part->versions;
  if (!versions.empty() && fit_of(*part, versions.front()) == Fit::other_launches) versions.clear();
  const auto same = std::find_if(versions.begin(), versions.end(), [&](const Version& version) {
    return fit_of(*part, version) == Fit::same_products;
  });
  note_moves(*part, same == versions.end() && !versions.empty() ? &versions.front() : nullptr);
  if (same == versions.end()) return capture(part, launcher);
  Version version = std::move(*same);  // what fails in the middle does not come back
  versions.erase(same);
  set_kernels(*part, &version);
  versions.insert(versions.begin(), std::move(version));
  return true;
}

/// A list that has not been made again since is the version's.
CapturedSegment::Fit CapturedSegment::fit_of(const Part& part, const Version& version) const {
  const auto is_like = [](const KeptLaunch& a, const KeptLaunch& b) { return a.is_like(b); };
  Fit fit = Fit::same_products;
  for (size_t i = part.first; i < part.last; ++i) {
    if (pieces_[i]->listed <= version.synced) continue;
    const auto &now = pieces_[i]->launches, &then = version.lists[i - part.first];
    if (!std::equal(now.begin(), now.end(), then.begin(), then.end(), is_like)) {
      return Fit::other_launches;
    }
    if (has_moved(part, i, version)) fit = Fit::other_operands;
  }
  return fit;
}

/// Products of the piece have other operands than in the version, which has like launches.
bool CapturedSegment::has_moved(const Part& part, size_t number, const Version& version) const {
  const auto &now = pieces_[number]->launches, &then = version.lists[number - part.first];
  for (size_t k = 0; k < now.size(); ++k) {
    if (now[k].is_product() && !now[k].has_args_of(then[k])) return true;
  }
  return false;
}

void CapturedSegment::set_kernels(const Part& part, Version* version) {
  for (size_t i = part.first; i < part.last; ++i) {
    const Captured& piece = *pieces_[i];
    if (piece.listed <= version->synced) continue;
    std::vector<KeptLaunch>& list = version->lists[i - part.first];
    int number = piece.first_kernel;
    for (size_t k = 0; k < list.size(); ++k) {
      if (list[k].is_product()) continue;
      if (!piece.launches[k].has_args_of(list[k])) {
        piece.launches[k].set(*version->graph, number);
        list[k] = piece.launches[k];
        ++changes_;
      }
      ++number;
    }
  }
  version->synced = runs_;
}

/// `last`: the version before one that has to be made for other operands, or null.
void CapturedSegment::note_moves(const Part& part, const Version* last) {
  for (size_t i = part.first; i < part.last; ++i) {
    Captured& piece = *pieces_[i];
    const bool moved = last && has_moved(part, i, *last);
    piece.unrest = moved ? piece.unrest + kUnrestOfMove : std::max(piece.unrest - 1, 0);
    if (piece.unrest <= kMostUnrest) continue;
    piece.reason = "a library makes the product, whose operands are elsewhere in many runs";
    has_left_ = true;
  }
}

/// A new first version, through a queue of its own: others record events in those of the machine at
/// any time. Beside other versions it does not count as a capture if all goes well: unrest bounds
/// how many there are. Where there are enough, the oldest one is updated. False: there is none.
bool CapturedSegment::capture(Part* part, ep::Stream& launcher) {
  Version version{nullptr, {}, runs_};
  int kernels = 0, products = 0;
  for (size_t i = part->first; i < part->last; ++i) {
    version.lists.push_back(pieces_[i]->launches);
    pieces_[i]->first_kernel = kernels;
    for (const KeptLaunch& one : version.lists.back()) ++(one.is_product() ? products : kernels);
  }
  const bool is_update = !part->versions.empty();
  if (kernels + products < kLeastLaunches || part->captures >= kMostCaptures + is_update) {
    part->wants_graph = is_update;
    return false;
  }
  ++part->captures;
  const std::unique_ptr<ep::Stream> queue = device_.create_stream(ep::QueuePriority::normal);
  queue->begin_capture(products ? &launcher : nullptr);
  if (!launch_into(*part, *queue)) return false;
  if (part->versions.size() == kMostVersions) {
    version.graph = std::move(part->versions.back().graph);
    part->versions.pop_back();
  }
  version.graph = queue->end_capture(std::move(version.graph));
  part->versions.insert(part->versions.begin(), std::move(version));
  part->launcher = products ? &launcher : nullptr;
  part->captures -= is_update;
  updates_ += is_update;
  return true;
}

/// False: the library has no routine for some product. From the next run on, those pieces have
/// kernels of our own in the graph.
bool CapturedSegment::launch_into(const Part& part, ep::Stream& queue) {
  bool is_whole = true;
  for (size_t i = part.first; i < part.last; ++i) {
    Captured& piece = *pieces_[i];
    const bool is_taken = std::all_of(piece.launches.begin(), piece.launches.end(),
                                      [&](const KeptLaunch& one) { return one.launch(queue); });
    if (!is_taken) piece.takes_products = is_whole = false;
  }
  return is_whole;
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
    if (part.versions.empty()) continue;
    ++report->graphs;
    for (const std::vector<KeptLaunch>& list : part.versions.front().lists) {
      for (const KeptLaunch& one : list) {
        ++(one.is_product() ? report->products : report->kernels);
      }
    }
  }
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i]->reason.empty()) continue;
    report->refusals.push_back({segment_.pieces[i].calls[0].step, pieces_[i]->reason});
  }
  report->launches += launches_;
  report->changes += changes_;
  report->updates += updates_;
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
