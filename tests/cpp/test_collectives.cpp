// The stream of collectives: ranks that are threads of one machine. Operands are done before a
// collective is posted, all ranks keep one order, and whoever is ahead leaves room for the others.
// Run under ThreadSanitizer and AddressSanitizer.
#include <array>
#include <numeric>
#include <random>
#include <thread>

#include "ep/communicators/threads.h"
#include "machine_support.h"
#include "mpi/worlds.h"
#include "vm/progress/joining.h"
#include "vm/progress/partner.h"

namespace ofl::vm {
namespace {

/// A value that the machine orders.
struct Value {
  Dependence object;
  int64_t number = 0;
};

/// One rank: its end of the world, one group of all, and what it has in flight there.
struct Rank {
  std::unique_ptr<ep::World> end;
  std::unique_ptr<ep::Communicator> communicator;
  Line line;
  uint64_t issued = 0;
  std::atomic<int64_t> joined{0};
  int size() const { return communicator->size(); }
};

using Ranks = std::vector<std::unique_ptr<Rank>>;

ep::Over over = ep::Over::threads;

Ranks make_ranks(int count) {
  std::vector<int32_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  Ranks ranks;
  for (auto& end : ep::make_worlds(over, count)) {
    ranks.push_back(std::make_unique<Rank>());
    ranks.back()->communicator = end->group(all);
    ranks.back()->end = std::move(end);
  }
  return ranks;
}

/// All ranks tell each other a number.
struct GatherBody {
  Rank* rank;
  uint64_t number;
  uint64_t meaning;
  Value* own;
  std::vector<Value>* all;
};

std::unique_ptr<ep::Work> post(void* raw, bool has_failed, std::function<std::string()> text) {
  auto* body = static_cast<GatherBody*>(raw);
  ep::Collective collective;
  collective.meaning = body->meaning;
  collective.has_failed = has_failed;
  collective.text = std::move(text);
  const auto bytes_of = [](Value& value) { return reinterpret_cast<char*>(&value.number); };
  for (int peer = 0; peer < body->rank->size(); ++peer) {
    Value& place = (*body->all)[static_cast<size_t>(peer)];
    collective.sends.push_back({peer, bytes_of(*body->own), sizeof(int64_t)});
    collective.receives.push_back({peer, bytes_of(place), sizeof(int64_t)});
  }
  return body->rank->communicator->post(std::move(collective));
}

const Joining kJoining = {
    [](const void* raw) -> Place {
      const auto* body = static_cast<const GatherBody*>(raw);
      return {&body->rank->line, body->number};
    },
    post,
    [](const void* raw) -> std::function<std::string()> {
      return [meaning = static_cast<const GatherBody*>(raw)->meaning] {
        return concat("gather ", meaning);
      };
    },
};

const InstructionType kGatherType = [] {
  InstructionType type = {};
  type.kind = "collective";
  type.retired = [](void* raw, const FailurePtr&) {
    auto* body = static_cast<GatherBody*>(raw);
    body->rank->joined.fetch_sub(1);
    body->~GatherBody();
  };
  type.describe = [](const void*, Description*) {};
  type.is_queued_always = true;
  type.joining = &kJoining;
  return type;
}();

Seq gather(World& world, Rank& rank, Value& own, std::vector<Value>& all, uint64_t meaning = 0) {
  std::vector<Operand> operands = {reads(own.object)};
  for (Value& value : all) operands.push_back(writes(value.object));
  Instruction header;
  header.type = &kGatherType;
  header.name = "gather";
  header.stream = &world.machine.stream(kCpu, StreamType::ccl);
  header.is_attended = (rank.issued + static_cast<uint64_t>(rank.communicator->rank())) % 3 != 0;
  const Seq seq = world.machine.issue(header, operands.data(), static_cast<int>(operands.size()),
                                      GatherBody{&rank, rank.issued, meaning, &own, &all});
  rank.joined.fetch_add(1);
  ++rank.issued;
  if (header.is_attended) world.machine.attend(*header.stream, seq);
  return seq;
}

/// Each rank in a thread of its own.
void each_rank(const Ranks& ranks, const std::function<void(Rank&)>& run) {
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) {
    threads.emplace_back([&run, &rank] {
      const Partner partner(rank->joined);
      run(*rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Random work between collectives, on the host and in a queue; each rank knows what all have.
void test_random_programs(int count, size_t slots, int steps) {
  World world(slots);
  const Ranks ranks = make_ranks(count);
  each_rank(ranks, [&](Rank& rank) {
    const int own_rank = rank.communicator->rank();
    std::mt19937 random(7);  // the same on all ranks
    std::vector<int64_t> expected(static_cast<size_t>(count));
    std::iota(expected.begin(), expected.end(), 1);
    Value own;
    own.number = own_rank + 1;
    std::vector<std::unique_ptr<std::vector<Value>>> results;
    std::vector<std::vector<int64_t>> wanted;
    for (int step = 0; step < steps; ++step) {
      const auto added = static_cast<int64_t>(random() % 100);
      const bool is_queued = random() % 2;
      for (size_t k = 0; k < expected.size(); ++k) {
        expected[k] = expected[k] * 3 % 1000 + added * static_cast<int64_t>(k + 1);
      }
      world.run(is_queued ? kMock0 : kCpu, StreamType::compute, {writes(own.object)},
                [&, added] { own.number = own.number * 3 % 1000 + added * (own_rank + 1); });
      if (random() % 3) continue;
      results.push_back(std::make_unique<std::vector<Value>>(static_cast<size_t>(count)));
      wanted.push_back(expected);
      gather(world, rank, own, *results.back());
    }
    for (size_t i = 0; i < results.size(); ++i) {
      for (size_t k = 0; k < expected.size(); ++k) {
        Value& value = (*results[i])[k];
        world.machine.wait_for_value(value.object, "test");
        CHECK(value.number == wanted[i][k]);
      }
    }
    world.machine.wait_for_access(own.object, "test");
  });
  world.machine.drain(std::nullopt);
}

// A rank's operand fails: the others learn it, and the next collective is sound.
void test_a_failed_operand() {
  World world;
  const Ranks ranks = make_ranks(3);
  each_rank(ranks, [&](Rank& rank) {
    Value own, later;
    std::vector<Value> all(3), others(3);
    const bool fails = rank.communicator->rank() == 1;
    world.issue(kCpu, StreamType::compute, {writes(own.object)}, [&](LaunchContext&) {
      if (fails) fail(ErrorKind::value, "on purpose");
    });
    gather(world, rank, own, all);
    gather(world, rank, later, others);
    if (fails) {
      CHECK_ERROR(value, "on purpose", world.machine.wait_for_value(all[0].object, "test"));
    } else {
      CHECK_ERROR(rank, "rank 1: work: on purpose",
                  world.machine.wait_for_value(all[0].object, "test"));
    }
    world.machine.wait_for_value(others[2].object, "test");
  });
}

// Ranks that differ get no number, and neither does anything later.
void test_ranks_that_differ() {
  World world;
  const Ranks ranks = make_ranks(3);
  each_rank(ranks, [&](Rank& rank) {
    Value own;
    own.number = 1;
    std::vector<Value> all(3), later(3);
    gather(world, rank, own, all, rank.communicator->rank() == 2);
    gather(world, rank, own, later);
    CHECK_ERROR(desync, "rank 0: gather 0 at ?; rank 1: gather 0 at ?; rank 2: gather 1 at ?",
                world.machine.wait_for_value(all[0].object, "test"));
    CHECK_ERROR(rank, "gather 1", world.machine.wait_for_value(later[0].object, "test"));
    CHECK(all[0].number == 0 && later[0].number == 0);
    world.machine.wait_for_access(own.object, "test");
  });
}

// Collectives that others never join end with the machine.
void test_the_end_of_the_machine() {
  World world;
  const Ranks ranks = make_ranks(2);
  Value own;
  std::vector<Value> all(2), held(2);
  Gate gate(world);
  gather(world, *ranks[0], own, all);
  Value after;
  world.run(kCpu, StreamType::compute, {reads(gate.object), writes(after.object)}, [] {});
  gather(world, *ranks[0], after, held);
  gate.open();
  world.machine.shutdown();
  CHECK_ERROR(runtime, "had not completed when the process ended",
              world.machine.wait_for_value(all[0].object, "test"));
  CHECK(held[0].object.failure() != nullptr);  // as the first, or of the group that it has left
}

// A rank that does not come, while the others wait: they do not do so for ever.
void test_a_rank_that_is_late() {
  World world;
  world.machine.options().ccl_timeout = 2;  // a crowded machine does not hold a thread up so long
  const Ranks ranks = make_ranks(3);
  each_rank(ranks, [&](Rank& rank) {
    if (rank.communicator->rank() == 1) return;
    Value own;
    std::vector<Value> all(3);
    gather(world, rank, own, all);
    CHECK_ERROR(rank, "waited 2 s (ONEFLOW_LITE_CCL_TIMEOUT) for rank 1 in gather 0 at ?",
                world.machine.wait_for_value(all[0].object, "test"));
    world.machine.wait_for_access(own.object, "test");
  });
}

/// The issuing thread sees to a collective of one rank itself: it is over when the call returns,
/// and no worker has looked at it.
void test_what_is_attended_alone() {
  World world;
  const Ranks alone = make_ranks(1);
  alone[0]->issued = alone[0]->line.next = 1;  // of three, the first is not attended
  for (int i = 0; i < 2; ++i) {
    Value own;
    own.number = 7 + i;
    std::vector<Value> all(1);
    const Seq seq = gather(world, *alone[0], own, all);
    CHECK(!world.machine.window().in_flight(seq) && all[0].number == 7 + i);
  }
}

/// Where others are late, the thread goes on.
void test_what_is_attended_and_late() {
  World world;
  const Ranks ranks = make_ranks(2);
  Value own, other;
  std::vector<Value> all(2), others(2);
  gather(world, *ranks[0], own, all);  // is not attended
  gather(world, *ranks[1], other, others);
  world.machine.wait_for_value(all[0].object, "test");
  world.machine.wait_for_value(others[0].object, "test");
  std::vector<Value> late(2), last(2);
  const Seq first = gather(world, *ranks[0], own, late);  // attended, and rank 1 is late
  CHECK(world.machine.window().in_flight(first));
  gather(world, *ranks[1], other, last);
  world.machine.wait_for_value(late[1].object, "test");
  world.machine.wait_for_value(last[1].object, "test");
}

void test_all() {
  test_what_is_attended_alone();
  test_what_is_attended_and_late();
  for (int count : {1, 2, 3, 5}) test_random_programs(count, 4096, 300);
  test_random_programs(3, 64, 600);  // much more than there is room for
  test_a_failed_operand();
  test_ranks_that_differ();
  test_a_rank_that_is_late();
  test_the_end_of_the_machine();
}

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  for (const ofl::ep::Over way : ofl::ep::kAllWays) {
    over = way;
    test_all();
  }
  return ofl::report();
}
