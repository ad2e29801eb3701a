#include "graph/running/segment_run.h"

#include "ep/memory/caching_allocator.h"
#include "graph/running/segment_body.h"
#include "graph/running/steps/issue_step.h"

namespace ofl::graph {

namespace {

/// One run, while it is issued.
class Run {
 public:
  Run(const Issuer& issuer, const std::shared_ptr<const Schedule>& schedule,
      const Tensor* const* given, const SegmentOptions& options)
      : issuer_(issuer),
        schedule_(*schedule),
        lowered_(*schedule->lowered),
        frame_(std::make_shared<Frame>(schedule, issuer.site)),
        storages_(schedule->layout.memories.size()) {
    frame_->is_parallel = options.is_parallel;
    frame_->poison = options.poison;
    frame_->captured = options.captured;
    const RunNumbers& numbers = options.numbers;
    frame_->scalars.assign(numbers.scalars, numbers.scalars + lowered_.scalar_count);
    frame_->words.assign(numbers.words, numbers.words + lowered_.word_count);
    for (int64_t b = 0; b < lowered_.input_count; ++b) {
      storages_[b] = given[b]->storage;
      frame_->starts.push_back(lowered_.start_of(b, *given[b]));
    }
  }

  void issue(const Segment& segment) {
    for (const Segment::Use& use : segment.memories) {
      StorageRef& storage = storages_[use.memory];
      if (!storage) storage = made(schedule_.layout.memories[use.memory], segment);
    }
    if (segment.lane) {
      issue_kernels(segment);
    } else {
      issue_alone(segment);
    }
    for (const Segment::Use& use : segment.memories) {
      if (use.is_last && !schedule_.layout.memories[use.memory].is_result) {
        storages_[use.memory].reset();
      }
    }
  }

  std::vector<Tensor> results() {
    std::vector<Tensor> results;
    results.reserve(lowered_.results.size());
    for (const Placed& placed : lowered_.results) results.push_back(bound(placed));
    return results;
  }

 private:
  StorageRef made(const RunMemory& memory, const Segment& segment) const {
    const vm::SiteId site = frame_->site_of(segment.first());
    StorageRef storage = StorageRef::adopt(TensorStorage::make(*memory.state, memory.bytes, site));
    if (memory.is_arena) storage->note_arena();
    return storage;
  }

  Tensor bound(const Placed& placed) const {
    const int64_t b = placed.base;
    const Home& home = schedule_.layout.homes[b];
    const int64_t start = lowered_.is_input(b) ? frame_->starts[static_cast<int>(b)] : 0;
    return Lowered::bound(placed, storages_[home.memory], home.offset + start);
  }

  void issue_alone(const Segment& segment) {
    const Step& step = segment.first();
    std::vector<Tensor> operands(step.operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      if (step.operands[k].base >= 0) operands[k] = bound(step.operands[k]);
    }
    const LaneScope lane(step.lane);
    issue_step({issuer_.machine, frame_->site_of(step)}, step, operands.data(), frame_->numbers(),
               &turn_);
  }

  void issue_kernels(const Segment& segment) {
    vm::VirtualMachine& machine = issuer_.machine;
    std::vector<vm::Operand> operands;
    std::vector<TensorStorage*> memories;
    for (const Segment::Use& use : segment.memories) {
      TensorStorage* const storage = storages_[use.memory].get();
      memories.push_back(storage);
      const vm::Access access = use.is_written ? vm::Access::write : vm::Access::read;
      operands.push_back({&storage->dependence(), access});
    }
    const auto count = static_cast<int>(operands.size());
    SegmentBody body(frame_, segment, memories);
    vm::PacedCall paced;
    const bool is_shared = frame_->is_parallel && SegmentBody::is_worth_sharing(segment);
    const bool on_host = segment.lane.state->device.is_host();
    if (on_host && !is_shared && stays_here(segment, paced) &&
        run_here(segment, operands.data(), count, body)) {
      return;
    }
    if (on_host) machine.note_handed_over();
    vm::Instruction header = header_of(segment);
    if (!on_host) header.bytes = segment.new_bytes;
    machine.issue(header, operands.data(), count, std::move(body));
  }

  bool stays_here(const Segment& segment, vm::PacedCall& paced) const {
    const vm::Company company = segment.has_groups ? vm::Company::joinable : vm::Company::divisible;
    return issuer_.machine.is_small(segment.cost) ||
           issuer_.machine.stays_here(segment.cost, company, paced);
  }

  vm::Instruction header_of(const Segment& segment) const {
    const bool is_one_step = segment.pieces.size() == 1 && segment.pieces[0].calls.size() == 1;
    vm::Instruction header;
    header.type = &SegmentBody::type(schedule_.release);
    header.name = is_one_step ? segment.first().name : "segment";
    header.stream = &compute_stream(issuer_.machine, *segment.lane.state, segment.lane.number);
    header.site = frame_->site_of(segment.first());
    header.cost = segment.cost;
    return header;
  }

  bool run_here(const Segment& segment, const vm::Operand* operands, int count,
                SegmentBody& body) const {
    vm::Observer* const observer = issuer_.machine.observer();
    const int64_t begin = observer ? now_ns() : 0;
    vm::InlineScope here(issuer_.machine.window(), operands, count);
    if (!here) return false;
    try {
      body.run_here(issuer_.machine, here);
      if (observer) observer->ran(header_of(segment), 0, {}, false, begin, now_ns());
      return true;
    } catch (const ep::CapacityError&) {
      here.decline();  // as an instruction it waits for what others give back
      return false;
    }
  }

  const Issuer& issuer_;
  const Schedule& schedule_;
  const Lowered& lowered_;
  const std::shared_ptr<Frame> frame_;
  std::vector<StorageRef> storages_;  // of the run's memories, while they are needed
  Turn turn_;                         // of the last host function
};

}  // namespace

std::vector<Tensor> run_segments(const Issuer& issuer,
                                 const std::shared_ptr<const Schedule>& schedule,
                                 const Tensor* const* given, const SegmentOptions& options) {
  Run run(issuer, schedule, given, options);
  for (const Segment& segment : schedule->segments) {
    run.issue(segment);
    if (options.is_sequential) issuer.machine.barrier(issuer.site);
  }
  return run.results();
}

}  // namespace ofl::graph
