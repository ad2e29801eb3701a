#include "graph/running/segment_body.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/cost.h"
#include "ep/memory/caching_allocator.h"
#include "graph/running/steps/step_args.h"

namespace ofl::graph {

/// Memory for the while of what is in tiles or in registers alone, when the calls of a group run
/// one by one: from the first call that uses it to the last one.
class SegmentBody::Scratch {
 public:
  Scratch(SegmentBody& body, const Piece& piece, const Surroundings& here)
      : body_(body), piece_(piece), here_(here) {}
  Scratch(const Scratch&) = delete;
  ~Scratch() {
    for (Held& held : held_) give_back(&held);
  }

  void take(const Call& call) {
    for (const int32_t base : call.bases) {
      if (base < 0 || body_.segment_->bases[base].memory >= 0 || body_.addresses_[base]) continue;
      const size_t bytes = body_.frame_->lowered().bases[body_.segment_->bases[base].base].bytes;
      const vm::SiteId site = body_.frame_->site_of(*call.step);
      vm::DeviceState& state = *body_.segment_->lane.state;
      Held held{base, StorageRef::adopt(TensorStorage::make(state, bytes, site))};
      if (held.storage->on_host()) {
        held.storage->materialize_on_host();
      } else {
        held.storage->materialize(*here_.context);
      }
      body_.addresses_[base] = held.storage->data();
      if (body_.frame_->poison) body_.poison(*held.storage, here_);
      held_.push_back(std::move(held));
    }
  }

  /// Gives up memories that no call after number `i` uses.
  void let_go(size_t i) {
    const auto is_used_later = [&](int32_t base) {
      const auto uses = [base](const Call& call) {
        return std::find(call.bases.begin(), call.bases.end(), base) != call.bases.end();
      };
      return std::any_of(piece_.calls.begin() + static_cast<int64_t>(i) + 1, piece_.calls.end(),
                         uses);
    };
    for (size_t k = held_.size(); k-- > 0;) {
      if (is_used_later(held_[k].base)) continue;
      give_back(&held_[k]);
      held_.erase(held_.begin() + static_cast<int64_t>(k));
    }
  }

 private:
  struct Held {
    int32_t base;
    StorageRef storage;
  };

  /// Kernels in the queue may still use it.
  void give_back(Held* held) {
    body_.addresses_[held->base] = nullptr;
    if (!held->storage->on_host()) held->storage->forget(here_.context->queue);
  }

  SegmentBody& body_;
  const Piece& piece_;
  const Surroundings& here_;
  std::vector<Held> held_;
};

SegmentBody::SegmentBody(std::shared_ptr<Frame> frame, const Segment& segment,
                         const std::vector<TensorStorage*>& memories)
    : frame_(std::move(frame)), segment_(&segment) {
  for (TensorStorage* storage : memories) held_.add(storage);
}

void SegmentBody::run_here(vm::VirtualMachine& machine, vm::InlineScope& here) {
  const Surroundings thread{
      nullptr, &machine, &here, segment_->lane.state->device.helpers(), machine.observer(),
      nullptr};
  for (int m = 0; m < held_.size(); ++m) {
    if (!segment_->memories[m].is_written || held_[m]->data()) continue;
    held_[m]->materialize_on_host();
    if (frame_->poison) poison(*held_[m], thread);
  }
  run(thread);
}

void SegmentBody::launch(vm::LaunchContext& context) {
  if (!segment_->lane.state->device.is_host()) queued_.resize(segment_->call_count);
  vm::Stream& stream = context.stream;
  ep::HelperPool* const helpers = segment_->lane.state->device.helpers();
  run({&context, nullptr, nullptr, helpers, stream.board().observer(), &stream});
}

vm::FailurePtr SegmentBody::failure_of(const Step& step, const Error& error,
                                       const Surroundings& here) const {
  auto failure = std::make_shared<const vm::Failure>(vm::Failure{
      error.kind(), error.what(), step.name, frame_->site_of(step), here.seq(),
      segment_->lane.state->device.id(), error.payload(), frame_->run_number(), step.place});
  here.note(failure);
  return failure;
}

/// Memory for what is written; where there is none, what would be in it has failed.
void SegmentBody::materialize(const Surroundings& here, Failures* failures) {
  for (int m = 0; m < held_.size(); ++m) {
    if (!segment_->memories[m].is_written) continue;
    const bool is_new = !held_[m]->data();
    const std::optional<Error> error = vm::catch_error([&] {
      here.materialize(*held_[m]);
      if (is_new && frame_->poison) poison(*held_[m], here);
    });
    if (error) failures->lose(m, failure_of(first_writer(m), *error, here));
  }
}

const Step& SegmentBody::first_writer(int memory) const {
  for (const Piece& piece : segment_->pieces) {
    for (const Call& call : piece.calls) {
      for (size_t k = 0; k < call.bases.size(); ++k) {
        const bool writes = call.bases[k] >= 0 && call.step->writes[k];
        if (writes && segment_->bases[call.bases[k]].memory == memory) return *call.step;
      }
    }
  }
  return segment_->first();
}

/// In the order of the queue: it may have older uses of the memory to go.
void SegmentBody::poison(TensorStorage& storage, const Surroundings& here) const {
  struct Fill {
    void* data;
    size_t bytes;
    int byte;
  };
  ep::Device& device = segment_->lane.state->device;
  if (!device.runs_host_kernels()) {
    const std::vector<char> filled(storage.bytes(), static_cast<char>(*frame_->poison));
    if (filled.empty()) return;
    return here.context->queue.copy(storage.data(), filled.data(), filled.size(),
                                    ep::CopyKind::h2d);
  }
  Fill fill{device.host_address(storage.data()), storage.bytes(), *frame_->poison};
  const auto run = [](void* block) {
    const auto& fill = *static_cast<const Fill*>(block);
    std::memset(fill.data, fill.byte, fill.bytes);
  };
  if (device.is_host()) return run(&fill);
  here.context->queue.launch({run, &fill, sizeof(fill), static_cast<double>(fill.bytes)});
}

void SegmentBody::run(const Surroundings& here) {
  Failures failures(*frame_, *segment_, held_, here.reader());
  materialize(here, &failures);
  const Lowered& lowered = frame_->lowered();
  addresses_.reserve(segment_->bases.size());
  for (const Segment::Local& local : segment_->bases) {
    char* address = local.memory < 0 ? nullptr : held_[local.memory]->data();
    if (address) address += local.offset;
    if (address && lowered.is_input(local.base)) address += frame_->starts[local.base];
    addresses_.push_back(address);
  }
  if (frame_->is_parallel && here.context && here.helpers && is_worth_sharing(*segment_)) {
    run_strands(here, &failures);
  } else if (!run_captured(here, &failures)) {
    run_pieces([](size_t i) { return i; }, segment_->pieces.size(), here, &failures);
  }
  addresses_.clear();
}

/// False: nothing has happened. A run with failures skips kernels, and one that is observed is
/// told of each.
bool SegmentBody::run_captured(const Surroundings& here, Failures* failures) {
  CapturedSegment* const captured =
      frame_->captured ? frame_->captured->segment(frame_->number_of(*segment_)) : nullptr;
  if (!captured || here.observer || failures->any()) return false;
  return captured->run(
      {here.context->queue, addresses_,
       [&](size_t piece, ep::Stream& queue) { return launch_into(queue, piece, here); },
       [&](size_t piece) { run_piece(piece, here, failures); }});
}

/// False: its kernel is not there yet.
bool SegmentBody::launch_into(ep::Stream& queue, size_t number, const Surroundings& here) {
  vm::LaunchContext context{queue, here.context->stream, here.context->slot};
  Surroundings into = here;
  into.context = &context;
  const Piece& piece = segment_->pieces[number];
  int failed = 0;
  if (piece.unit->is_group()) return run_group(piece, into, &failed);
  run_call(piece.calls[0], into, queued(piece, 0));
  return true;
}

bool SegmentBody::is_worth_sharing(const Segment& segment) {
  constexpr double kLeastCost = 20e3 / kAdditionNs;  // 20 us
  return segment.lane.state->device.is_host() && segment.strands.size() > 1 &&
         segment.cost >= kLeastCost;
}

/// Each in one thread; kernels in it work alone.
void SegmentBody::run_strands(const Surroundings& here, Failures* failures) {
  Surroundings alone = here;
  alone.helpers = nullptr;
  failures->share();
  const auto strands = static_cast<int64_t>(segment_->strands.size());
  const std::thread::id own = std::this_thread::get_id();
  here.helpers->parallel_for(strands, [&](int64_t number) {
    const std::vector<int32_t>& strand = segment_->strands[number];
    Surroundings thread = alone;
    if (std::this_thread::get_id() != own) thread.lane = nullptr;
    run_pieces([&](size_t i) { return strand[i]; }, strand.size(), thread, failures);
  });
}

/// One after the other.
template <typename Numbers>
void SegmentBody::run_pieces(const Numbers& numbers, size_t count, const Surroundings& here,
                             Failures* failures) {
  if (!here.observer) {
    for (size_t i = 0; i < count; ++i) run_piece(numbers(i), here, failures);
    return;
  }
  if (!queued_.empty()) {  // told of when the queue has run it
    started_ = moment(here);
    for (size_t i = 0; i < count; ++i) run_on_queue(numbers(i), here, failures);
    return;
  }
  StepRecords records(count);
  for (size_t i = 0; i < count; ++i) run_watched(numbers(i), here, failures, &records);
  records.tell(*here.observer, here.lane, here.context ? here.context->slot.name() : 0,
               frame_->number_of(*segment_), frame_->site(), frame_->schedule());
}

/// Members of a group whose results are checked run one by one: each could have made what is found.
void SegmentBody::run_watched(size_t number, const Surroundings& here, Failures* failures,
                              StepRecords* records) {
  const Piece& piece = segment_->pieces[number];
  if (here.checks() || is_hit(piece, *failures)) {
    run_one_by_one(piece, here, failures, records);
  } else {
    run_piece(number, here, failures);
    records->ran(number);
  }
}

/// The check of a step runs before and after it, on the queue; what it finds is looked at when the
/// segment settles.
void SegmentBody::run_on_queue(size_t number, const Surroundings& here, Failures* failures) {
  const Piece& piece = segment_->pieces[number];
  Queued& first = *queued(piece, 0);
  const auto launch = [&](void (*run)(void* block)) {
    QueuedCheck* const check = first.check.get();
    here.context->queue.launch({run, &check, sizeof(check), 0});
  };
  const bool may_look = segment_->lane.state->device.runs_host_kernels();
  if (may_look && here.checks() && !is_hit(piece, *failures)) {
    first.check = std::make_unique<QueuedCheck>(QueuedCheck{check_of(piece.calls[0]), {}});
    launch([](void* block) { (*static_cast<QueuedCheck**>(block))->check.before(); });
  }
  run_piece(number, here, failures);
  if (first.check && !first.failure) {
    launch([](void* block) {
      QueuedCheck& check = **static_cast<QueuedCheck**>(block);
      check.error = vm::catch_error([&] { check.check.after(); });
    });
  }
  first.ended = moment(here);
}

StepCheck SegmentBody::check_of(const Call& call) const {
  ep::Device& device = segment_->lane.state->device;
  return {*call.step, frame_->numbers(), [&](int k) {
            return static_cast<char*>(device.host_address(addresses_[call.bases[k]]));
          }};
}

void SegmentBody::run_checked(const Call& call, const Surroundings& here) const {
  StepCheck check = check_of(call);
  check.before();
  run_call(call, here, nullptr);
  check.after();
}

/// When the queue gets there.
ep::EventLease SegmentBody::moment(const Surroundings& here) const {
  ep::EventLease event = segment_->lane.state->device.events().lease(ep::EventKind::timed);
  here.context->queue.record(*event);
  return event;
}

bool SegmentBody::is_hit(const Piece& piece, const Failures& failures) {
  return failures.any() &&
         std::any_of(piece.calls.begin(), piece.calls.end(),
                     [&](const Call& call) { return failures.of(call) != nullptr; });
}

void SegmentBody::run_piece(size_t number, const Surroundings& here, Failures* failures) {
  const Piece& piece = segment_->pieces[number];
  if (is_hit(piece, *failures)) return run_one_by_one(piece, here, failures, nullptr);
  int failed = 0;
  bool has_run = true;
  const std::optional<Error> error = vm::catch_error([&] {
    if (piece.unit->is_group()) {
      has_run = run_group(piece, here, &failed);
    } else {
      run_call(piece.calls[0], here, queued(piece, 0));
    }
  });
  if (!has_run) return run_one_by_one(piece, here, failures, nullptr);
  if (!error) return;
  const vm::FailurePtr failure = failure_of(*piece.calls[failed].step, *error, here);
  for (size_t i = 0; i < piece.calls.size(); ++i) {
    if (Queued* const each = queued(piece, i)) each->failure = failure;
    failures->fail(piece.calls[i], failure, failure->seq);
  }
}

/// False: it cannot run as one now, and nothing has happened.
bool SegmentBody::run_group(const Piece& piece, const Surroundings& here, int* failed) const {
  SmallVector<char*, 16> bases;
  auto* const scalars = reinterpret_cast<char*>(frame_->scalars.data());
  for (const int32_t base : piece.bases) {
    bases.push_back(base == kScalarsBase ? scalars : addresses_[base]);
  }
  if (piece.unit->prepared) return launch_group(piece, bases.data(), here);
  piece.unit->plan->run(bases.data(), here.helpers, failed);
  return true;
}

bool SegmentBody::launch_group(const Piece& piece, char* const* bases,
                               const Surroundings& here) const {
  if (!ops::uses_own_kernels(segment_->lane.state->device)) return false;
  const char* const name = piece.calls[0].step->name;
  try {
    return piece.unit->prepared->launch(here.context->queue, name, bases, frame_->scalars.data());
  } catch (const ep::CapacityError&) {
    return false;  // one by one the calls wait for what others give back
  }
}

void SegmentBody::run_one_by_one(const Piece& piece, const Surroundings& here, Failures* failures,
                                 StepRecords* records) {
  const bool is_checked = here.observer && here.checks();
  Scratch scratch(*this, piece, here);
  for (size_t i = 0; i < piece.calls.size(); ++i) {
    const Call& call = piece.calls[i];
    vm::FailurePtr failure = failures->of(call);
    if (!failure) {
      const std::optional<Error> error = vm::catch_error([&] {
        scratch.take(call);
        is_checked ? run_checked(call, here) : run_call(call, here, queued(piece, i));
      });
      if (records) records->ran(number_of(piece), static_cast<int>(i));
      if (error) failure = failure_of(*call.step, *error, here);
    }
    if (failure) {
      if (Queued* const each = queued(piece, i)) each->failure = failure;
      failures->fail(call, failure, here.seq());
    }
    scratch.let_go(i);
  }
}

void SegmentBody::run_call(const Call& call, const Surroundings& here, Queued* queued) const {
  const Step& step = *call.step;
  if (step.kind == Step::Kind::allocate) return;
  const auto address = [&](int k) { return addresses_[call.bases[k]]; };
  const auto run = [&](auto&& args) {
    if (queued) {
      queued->in_flight =
          launch_step(step, address, std::move(args), here.context->queue, &queued->async_error);
      return;
    }
    set_addresses(step, address, &args);
    args.helpers = here.helpers;
    ops::run(args);
  };
  if (step.loops) return run(loop_args(step, frame_->numbers()));
  run(array_args(step, frame_->numbers()));
}

/// The queue has run it: what failed there is known, and so is what depends on it.
void SegmentBody::settle(const vm::Slot& slot) {
  Failures failures(*frame_, *segment_, held_, slot.name());
  vm::Observer* const observer = slot.header.stream->board().observer();
  if (observer && started_) tell_of_queue(*observer, slot);
  auto queued = queued_.begin();
  for (const Piece& piece : segment_->pieces) {
    for (const Call& call : piece.calls) {
      if (queued == queued_.end()) return;
      vm::FailurePtr failure = failures.of(call);
      if (!failure) failure = settled(*call.step, &*queued, slot);
      if (failure) failures.fail(call, failure, slot.name());
      ++queued;
    }
  }
}

void SegmentBody::tell_of_queue(vm::Observer& observer, const vm::Slot& slot) const {
  StepRecords records(segment_->pieces.size(), started_->reached_at_ns());
  for (const Piece& piece : segment_->pieces) {
    if (static_cast<size_t>(piece.first_call) >= queued_.size()) break;
    const ep::EventLease& ended = queued_[static_cast<size_t>(piece.first_call)].ended;
    if (ended) records.add(number_of(piece), -1, ended->reached_at_ns());
  }
  records.tell(observer, slot.header.stream, slot.name(), frame_->number_of(*segment_),
               frame_->site(), frame_->schedule());
}

/// The failure of a call whose operands are sound; null: it has none.
vm::FailurePtr SegmentBody::settled(const Step& step, Queued* queued, const vm::Slot& slot) const {
  if (queued->failure) return queued->failure;
  if (!queued->async_error && queued->in_flight) {
    queued->async_error = queued->in_flight->failure();
  }
  if (!queued->async_error && queued->check) queued->async_error = queued->check->error;
  if (!queued->async_error) return nullptr;
  const Error& error = *queued->async_error;
  auto failure = std::make_shared<const vm::Failure>(vm::Failure{
      error.kind(), error.what(), step.name, frame_->site_of(step), slot.name(),
      segment_->lane.state->device.id(), error.payload(), frame_->run_number(), step.place});
  slot.header.stream->board().failures.note(failure);
  return failure;
}

/// The machine has poisoned the memories; the temporaries in them are the frame's.
void SegmentBody::fail_all(const vm::FailurePtr& failure) const {
  for (const Piece& piece : segment_->pieces) {
    for (const Call& call : piece.calls) {
      for (size_t k = 0; k < call.bases.size(); ++k) {
        if (!call.step->writes[k]) continue;
        frame_->fail(segment_->bases[call.bases[k]].base, failure, failure->seq);
      }
    }
  }
}

vm::InstructionType SegmentBody::make_type() {
  vm::InstructionType type;
  type.kind = "segment";
  type.launch = [](void* body, vm::LaunchContext& context) {
    static_cast<SegmentBody*>(body)->launch(context);
  };
  type.launched = [](void* body, vm::Stream& stream, uint64_t position) {
    static_cast<SegmentBody*>(body)->held_.launched(stream, position);
  };
  type.retired = [](void* body, const vm::FailurePtr& failure) {
    auto* const segment = static_cast<SegmentBody*>(body);
    if (failure) segment->fail_all(failure);
    segment->~SegmentBody();
  };
  type.describe = [](const void*, vm::Description*) {};
  type.settle = [](void* body, const vm::Slot& slot) {
    static_cast<SegmentBody*>(body)->settle(slot);
  };
  return type;
}

const vm::InstructionType& SegmentBody::type(Release release) {
  static const vm::InstructionType in_queue_order = make_type();
  static const vm::InstructionType when_done = [] {
    vm::InstructionType type = make_type();
    type.launched = [](void*, vm::Stream&, uint64_t) {};
    return type;
  }();
  return release == Release::event ? when_done : in_queue_order;
}

}  // namespace ofl::graph
