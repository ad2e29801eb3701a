// Random programs on the machine, compared with running them serially: several threads issue onto
// random streams of a cpu and two mock devices, with looks, barriers, inlined work, failures,
// nested issues and naive mode. Values are plain memory, so a sanitizer sees every missing order.
//
//   stress_machine [seed [rounds [threads]]]
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "ep/mock/mock_knobs.h"
#include "machine_support.h"
#include "vm/fusion/group.h"

namespace ofl::vm {
namespace {

constexpr int kVariables = 12;    // of each thread
constexpr int kShared = 4;        // read by all threads
constexpr int kOperations = 250;  // of each thread in a round
constexpr int kHealthy = -1;      // no failure

using Random = std::mt19937_64;

int below(Random& random, int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); }
bool chance(Random& random, double p) { return std::uniform_real_distribution<>()(random) < p; }

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6))) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 29);
}

struct Variable {
  Dependence dependence;
  uint64_t value = 1;
  std::vector<uint64_t> history;
};

/// What the serial run says of a variable.
struct Expected {
  uint64_t value = 1;
  std::vector<uint64_t> history;
  int failure = kHealthy;  // the operation whose failure poisons it
};

enum class Fault { none, launch, late };

struct Operation {
  int id;
  Fault fault;
  std::vector<int> reads, writes;  // at kVariables and above: shared ones
  int spin;
};

void compute(const Operation& op, const std::vector<Variable*>& variables) {
  for (volatile int i = 0; i < op.spin; i = i + 1) {
  }
  uint64_t value = mix(1, static_cast<uint64_t>(op.id));
  for (int i : op.reads) value = mix(value, variables[i]->value);
  for (int i : op.writes) value = mix(value, variables[i]->value);
  for (int i : op.writes) {
    variables[i]->value = mix(value, static_cast<uint64_t>(i));
    variables[i]->history.push_back(variables[i]->value);
  }
}

/// Runs its members one after the other; takes some and refuses some, and now and then has no
/// memory.
class RandomGroup final : public Group {
 public:
  static std::unique_ptr<Group> begin(Slot* slot) {
    auto group = std::make_unique<RandomGroup>(slot->name());
    group->slots_.push_back(slot);
    return group;
  }
  explicit RandomGroup(Seq seed) : random_(seed), most_(1 + random_() % 12) {}

  bool add(Slot* slot) override {
    const bool fits = slot->header.type->group == &begin && !chance(random_, 0.1);
    if (fits) slots_.push_back(slot);
    return fits;
  }
  bool full() const override { return slots_.size() >= most_; }
  bool launch(LaunchContext& context) override {
    if (chance(random_, 0.1)) return false;
    for (Slot* slot : slots_) slot->header.type->launch(slot->body, context);
    return true;
  }
  int failed() const override { return 0; }
  Savings savings() const override { return {}; }

 private:
  Random random_;
  const size_t most_;
  std::vector<Slot*> slots_;
};

const InstructionType kGroupableType = [] {
  InstructionType type = kFunctionType;
  type.group = &RandomGroup::begin;
  return type;
}();

struct Lane {
  Device device;
  StreamType type;
};

const Lane kLanes[] = {
    {kCpu, StreamType::compute},        {kCpu, StreamType::compute},
    {kCpu, StreamType::compute},        {kCpu, StreamType::host_func},
    {kCpu, StreamType::pinned_compute}, {kMock0, StreamType::compute},
    {kMock0, StreamType::h2d},          {kMock0, StreamType::d2h},
    {kMock0, StreamType::ccl},          {kMock0, StreamType::pinned_compute},
    {kMock1, StreamType::compute},      {kMock1, StreamType::h2d},
    {kMock1, StreamType::d2h},
};
constexpr int kLaneCount = sizeof(kLanes) / sizeof(kLanes[0]);

/// One issuing thread: its variables, and the serial run that keeps pace with what it issues.
class Program {
 public:
  Program(World& world, uint64_t seed, bool faults, std::vector<Variable>& shared)
      : world_(world),
        seed_(seed),
        random_(seed),
        faults_(faults),
        own_(kVariables),
        expected_(kVariables) {
    for (Variable& variable : own_) variables_.push_back(&variable);
    for (Variable& variable : shared) variables_.push_back(&variable);
  }

  void run() {
    for (int id = 0; id < kOperations; ++id) {
      step(make_operation(id));
      if (chance(random_, 0.03)) look(below(random_, kVariables));
      if (chance(random_, 0.01)) world_.machine.barrier(0);
      if (chance(random_, 0.004)) world_.machine.drain(std::nullopt);
      if (chance(random_, 0.01)) (void)world_.machine.stats();
      if (chance(random_, 0.004)) (void)world_.machine.dump();
    }
  }
  /// Once everything has run.
  void check() {
    for (int i = 0; i < kVariables; ++i) look(i);
    world_.machine.wait_for_value(nested_, "look");
    same(nested_done_ == nested_issued_,
         concat("nested: ", nested_done_, ", not ", nested_issued_));
    for (int i = 0; i < kVariables; ++i) {
      if (expected_[i].failure != kHealthy) continue;
      const auto& history = own_[i].history;
      const auto& expected = expected_[i].history;
      same(history == expected, concat("variable ", i, ": history of ", history.size(),
                                       " values differs from ", expected.size()));
    }
  }

 private:
  Operation make_operation(int id) {
    Operation op{id, Fault::none, {}, {}, chance(random_, 0.1) ? below(random_, 4000) : 0};
    if (faults_ && chance(random_, 0.01))
      op.fault = chance(random_, 0.5) ? Fault::launch : Fault::late;
    std::vector<int> all(kVariables);
    for (int i = 0; i < kVariables; ++i) all[i] = i;
    std::shuffle(all.begin(), all.end(), random_);
    const int written = chance(random_, 0.1) ? 0 : 1 + below(random_, 2);
    const int read = below(random_, chance(random_, 0.1) ? kVariables - 2 : 4);
    op.writes.assign(all.begin(), all.begin() + written);
    op.reads.assign(all.begin() + written, all.begin() + written + read);
    if (chance(random_, 0.3)) op.reads.push_back(kVariables + below(random_, kShared));
    return op;
  }

  void step(const Operation& op) {
    std::vector<Operand> operands;
    for (int i : op.reads) operands.push_back(reads(variables_[i]->dependence));
    for (int i : op.writes) operands.push_back(writes(variables_[i]->dependence));
    if (!(chance(random_, 0.3) && run_inline(op, operands))) issue(op, operands);
    run_serially(op);
  }

  void issue(const Operation& op, const std::vector<Operand>& operands) {
    const Lane& lane = kLanes[below(random_, kLaneCount)];
    const bool nested = lane.type == StreamType::host_func && chance(random_, 0.3);
    if (nested && op.fault == Fault::none && !touches_failure(op)) ++nested_issued_;
    const Work work = [this, op, nested](LaunchContext& context) {
      if (op.fault == Fault::launch) throw error_of(op);
      if (nested && op.fault == Fault::none) issue_nested();
      run_on_stream(context, [this, op] {
        if (op.fault == Fault::late) throw error_of(op);
        compute(op, variables_);
      });
    };
    // Where one of a group fails, all have failed: only what does not fail is grouped here.
    const bool groupable = op.fault == Fault::none && !nested && chance(random_, 0.8);
    world_.issue(lane.device, lane.type, operands, work, nullptr, 0,
                 groupable ? kGroupableType : kFunctionType, chance(random_, 0.5) ? 0 : 1e5);
  }

  // Host functions may issue; their order among each other is not fixed, so this only counts.
  void issue_nested() {
    world_.run(kMock0, StreamType::compute, {writes(nested_)}, [this] { ++nested_done_; });
  }

  bool run_inline(const Operation& op, const std::vector<Operand>& operands) {
    InlineScope here(world_.machine.window(), operands.data(), static_cast<int>(operands.size()));
    if (!here) return false;
    if (op.fault == Fault::none) {
      compute(op, variables_);
      return true;
    }
    const Seq seq = here.take_seq();
    const auto failure = std::make_shared<const Failure>(
        Failure{ErrorKind::value, error_of(op).what(), "inline", 0, seq, kCpu, nullptr});
    for (int i : op.writes) own_[i].dependence.poison(failure, seq);
    world_.machine.note_failure(failure);
    return true;
  }

  static Error error_of(const Operation& op) {
    return Error(ErrorKind::value, "operation " + std::to_string(op.id));
  }

  bool touches_failure(const Operation& op) const { return failure_of(op) != kHealthy; }

  int failure_of(const Operation& op) const {
    int earliest = kHealthy;
    for (const auto* list : {&op.reads, &op.writes}) {
      for (int i : *list) {
        const int failure = i < kVariables ? expected_[i].failure : kHealthy;
        if (failure != kHealthy && (earliest == kHealthy || failure < earliest)) earliest = failure;
      }
    }
    return earliest;
  }

  void run_serially(const Operation& op) {
    int failure = failure_of(op);
    if (failure == kHealthy && op.fault != Fault::none) failure = op.id;
    if (failure != kHealthy) {
      for (int i : op.writes) {
        int& known = expected_[i].failure;
        if (known == kHealthy || failure < known) known = failure;
      }
      return;
    }
    uint64_t value = mix(1, static_cast<uint64_t>(op.id));
    for (int i : op.reads) value = mix(value, i < kVariables ? expected_[i].value : 1);
    for (int i : op.writes) value = mix(value, expected_[i].value);
    for (int i : op.writes) {
      expected_[i].value = mix(value, static_cast<uint64_t>(i));
      expected_[i].history.push_back(expected_[i].value);
    }
  }

  void look(int i) {
    const int failure = expected_[i].failure;
    try {
      world_.machine.wait_for_value(own_[i].dependence, "look");
      same(failure == kHealthy, concat("variable ", i, " has a value, not failure ", failure));
      same(failure != kHealthy || own_[i].value == expected_[i].value,
           concat("variable ", i, " has another value"));
    } catch (const OperationError& error) {
      same(error.what() == "operation " + std::to_string(failure),
           concat("variable ", i, " has ", error.what(), ", not ", failure));
    }
  }

  void same(bool ok, const std::string& what) {
    std::lock_guard<std::mutex> lock(report_mutex);
    check_that(ok, concat("program ", seed_, ": ", what).c_str(), __LINE__);
  }

  static std::mutex report_mutex;  // guards the counts of check.h

  World& world_;
  const uint64_t seed_;
  Random random_;
  const bool faults_;
  std::vector<Variable> own_;
  std::vector<Variable*> variables_;  // own, then shared
  std::vector<Expected> expected_;
  Dependence nested_;
  int nested_done_ = 0;  // ordered by nested_
  int nested_issued_ = 0;
};

std::mutex Program::report_mutex;

struct Setting {
  bool naive, faults;
  double jitter;
  int max_in_flight;
};

void run_round(World& world, uint64_t seed, int threads, const Setting& setting) {
  Options& options = world.machine.options();
  options.naive = setting.naive;
  options.max_in_flight = setting.max_in_flight;
  ep::mock_knobs().jitter = setting.jitter;
  std::vector<Variable> shared(kShared);
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < threads; ++i) {
    programs.push_back(std::make_unique<Program>(world, seed * 64 + static_cast<uint64_t>(i),
                                                 setting.faults, shared));
  }
  std::vector<std::thread> issuers;
  for (auto& program : programs) issuers.emplace_back([&program] { program->run(); });
  for (std::thread& issuer : issuers) issuer.join();
  world.machine.drain(std::nullopt);
  for (auto& program : programs) program->check();
}

void stress(uint64_t seed, int rounds, int threads) {
  World world(1024);
  world.machine.options().hang_timeout = 20;  // then it says what is in flight
  for (int round = 0; round < rounds; ++round) {
    Random random(seed * 1000 + static_cast<uint64_t>(round));
    const Setting setting{chance(random, 0.15), chance(random, 0.5),
                          chance(random, 0.3) ? 20e-6 : 0, chance(random, 0.3) ? 8 : 512};
    run_round(world, random(), threads, setting);
  }
  const Stats stats = world.machine.stats();
  CHECK(stats.in_flight == 0);
  CHECK(stats.issued == stats.retired);
  CHECK(stats.total.grouped > stats.total.groups);
  std::printf("seed %llu: %llu instructions, %llu inlined, %llu in %llu groups, %llu failures\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(stats.issued),
              static_cast<unsigned long long>(stats.inlined),
              static_cast<unsigned long long>(stats.total.grouped),
              static_cast<unsigned long long>(stats.total.groups),
              static_cast<unsigned long long>(stats.failures));
}

}  // namespace
}  // namespace ofl::vm

int main(int argc, char** argv) {
  alarm(600);  // a hang is a failure
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 20;
  const int threads = argc > 3 ? std::atoi(argv[3]) : 3;
  ofl::vm::stress(seed, rounds, threads);
  return ofl::report();
}
