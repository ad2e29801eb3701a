// Properties of the memory that ranks of one host share: there is room again once all have read,
// whoever is late; what does not fit into it goes in messages; hosts know nothing of each other.
// Run under ThreadSanitizer and AddressSanitizer.
#include "ep/communicators/mpi/segment.h"

#include <atomic>
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "check.h"
#include "mpi/worlds.h"

namespace ofl::ep {
namespace {

using Worlds = std::vector<std::unique_ptr<World>>;
using Ranks = std::vector<std::unique_ptr<Communicator>>;
using Members = std::vector<int32_t>;

Ranks make_ranks(const Worlds& worlds, const Members& members) {
  Ranks ends;
  for (const int32_t rank : members) {
    ends.push_back(worlds[static_cast<size_t>(rank)]->group(members));
  }
  return ends;
}

void each_rank(const Ranks& ranks, const std::function<void(Communicator&)>& run) {
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) threads.emplace_back([&run, &rank] { run(*rank); });
  for (std::thread& thread : threads) thread.join();
}

/// The same wherever it is computed.
char byte_of(int from, uint32_t number) { return static_cast<char>(31 * from + 7 * number + 1); }

/// Each rank tells all others the same bytes, as one transfer or as two. Two are never the same
/// piece for several ranks, so the arena has them once for each rank.
struct Gather {
  Gather(const Communicator& on, uint32_t given, size_t bytes, bool in_two)
      : rank(on.rank()), size(on.size()), number(given), own(bytes, byte_of(on.rank(), given)) {
    collective.meaning = number;
    collective.text = [] { return std::string("gather"); };
    for (int peer = 0; peer < size; ++peer) {
      received.emplace_back(bytes);
      const size_t first = in_two ? bytes / 3 : bytes;
      add(peer, 0, first);
      if (in_two) add(peer, first, bytes - first);
    }
  }
  void add(int peer, size_t begin, size_t bytes) {
    collective.sends.push_back({peer, own.data() + begin, bytes});
    collective.receives.push_back({peer, received.back().data() + begin, bytes});
  }
  bool is_right() const {
    for (int from = 0; from < size; ++from) {
      for (const char byte : received[static_cast<size_t>(from)]) {
        if (byte != byte_of(from, number)) return false;
      }
    }
    return true;
  }
  const int rank, size;
  const uint32_t number;
  std::vector<char> own;
  std::vector<std::vector<char>> received;
  Collective collective;
};

void finish(Work& work) {
  while (!work.test()) std::this_thread::yield();
}

/// All are posted before the first is looked at, by one rank or by all; each rank has its own pace.
void gather_often(const Ranks& ranks, int count, size_t bytes, bool is_one_late) {
  std::atomic<int> posted{0};
  each_rank(ranks, [&](Communicator& own) {
    std::mt19937 random(static_cast<uint32_t>(own.rank()));
    if (is_one_late && own.rank() == 0) {
      while (posted < own.size() - 1) std::this_thread::yield();
    }
    std::vector<std::unique_ptr<Gather>> parts;
    std::vector<std::unique_ptr<Work>> works;
    for (int k = 0; k < count; ++k) {
      const auto number = static_cast<uint32_t>(k);
      parts.push_back(std::make_unique<Gather>(own, number, bytes, k % 2 == 1));
      works.push_back(own.post(parts.back()->collective));
      if (random() % 4 == 0) works[random() % works.size()]->test();
    }
    ++posted;
    for (size_t k = 0; k < works.size(); ++k) {
      finish(*works[k]);
      CHECK(works[k]->verdict() == Verdict::moved && parts[k]->is_right());
    }
  });
}

Members first(int count) {
  Members all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void test_many_in_flight() {
  for (const int size : {2, 3, 5}) {
    for (const bool is_one_late : {false, true}) {
      const Worlds worlds = make_worlds(Over::segment, size);
      gather_often(make_ranks(worlds, first(size)), 100, 64, is_one_late);
    }
  }
}

/// The arena is lent more than once; larger pieces go another way.
void test_more_than_there_is_room_for() {
  for (const size_t bytes : {size_t{300} << 10, (size_t{1} << 20) + 1}) {
    for (const bool is_one_late : {false, true}) {
      const Worlds worlds = make_worlds(Over::segment, 3);
      gather_often(make_ranks(worlds, first(3)), 12, bytes, is_one_late);
    }
  }
}

/// Five fill the arena of each rank before the next ones are posted, and the fifth finds no room.
void test_one_that_finds_no_room() {
  const Worlds worlds = make_worlds(Over::segment, 8);
  const Ranks ranks = make_ranks(worlds, first(8));
  std::atomic<int> posted{0};
  each_rank(ranks, [&](Communicator& own) {
    std::vector<std::unique_ptr<Gather>> parts;
    std::vector<std::unique_ptr<Work>> works;
    const auto post = [&] {
      parts.push_back(std::make_unique<Gather>(own, static_cast<uint32_t>(parts.size()),
                                               size_t{250} << 10, true));
      works.push_back(own.post(parts.back()->collective));
    };
    for (int k = 0; k < 5; ++k) post();
    for (size_t k = 0; k < 4; ++k) finish(*works[k]);
    for (++posted; posted < own.size();) std::this_thread::yield();
    for (int k = 0; k < 4; ++k) post();
    for (size_t k = 0; k < works.size(); ++k) {
      finish(*works[k]);
      CHECK(works[k]->verdict() == Verdict::moved && parts[k]->is_right());
    }
  });
}

/// Two ranks fill their arenas with collectives of two groups, each with another one first.
void test_groups_in_a_circle() {
  const Worlds worlds = make_worlds(Over::segment, 2);
  const Ranks one = make_ranks(worlds, {0, 1}), other = make_ranks(worlds, {1, 0});
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      std::vector<std::unique_ptr<Gather>> parts;
      std::vector<std::unique_ptr<Work>> works;
      const auto post = [&](Communicator& own) {
        for (uint32_t k = 0; k < 10; ++k) {
          parts.push_back(std::make_unique<Gather>(own, k, size_t{1} << 20, true));
          works.push_back(own.post(parts.back()->collective));
        }
      };
      post(rank == 0 ? *one[0] : *other[0]);
      post(rank == 0 ? *other[1] : *one[1]);
      for (size_t left = works.size(); left > 0;) {
        left = 0;
        for (const auto& work : works) left += !work->test();
        std::this_thread::yield();
      }
      for (size_t k = 0; k < works.size(); ++k) {
        CHECK(works[k]->verdict() == Verdict::moved && parts[k]->is_right());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void test_no_bytes() {
  const Worlds worlds = make_worlds(Over::segment, 3);
  gather_often(make_ranks(worlds, first(3)), 20, 0, false);
}

/// Some groups have a place to meet, and others have none; all of them work.
void test_more_groups_than_places() {
  const Worlds worlds = make_worlds(Over::segment, 8);
  for (uint32_t members = 0; members < 256; ++members) {
    Members group;
    for (int rank = 0; rank < 8; ++rank) {
      if (members >> rank & 1) group.push_back(rank);
    }
    if (group.size() == 3 || group.size() == 4)
      gather_often(make_ranks(worlds, group), 2, 64, false);
  }
}

void test_groups_at_once() {
  const Worlds worlds = make_worlds(Over::segment, 4);
  const Ranks all = make_ranks(worlds, {0, 1, 2, 3}), two = make_ranks(worlds, {3, 0});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      for (uint32_t round = 0; round < 50; ++round) {
        std::vector<std::unique_ptr<Gather>> parts;
        std::vector<std::unique_ptr<Work>> works;
        const auto post = [&](Communicator& own) {
          parts.push_back(std::make_unique<Gather>(own, round, 100'000, false));
          works.push_back(own.post(parts.back()->collective));
        };
        post(*all[static_cast<size_t>(rank)]);
        if (rank == 3) post(*two[0]);
        if (rank == 0) post(*two[1]);
        for (size_t k = works.size(); k-- > 0;) {
          finish(*works[k]);
          CHECK(works[k]->verdict() == Verdict::moved && parts[k]->is_right());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void test_hosts() {
  const Worlds worlds = mpi::make_fake_mpi_world(5, {{0, 2}, {1, 3}});
  for (const Members& group :
       {Members{0, 2}, Members{1, 3}, Members{0, 1}, Members{0, 1, 2, 3, 4}}) {
    gather_often(make_ranks(worlds, group), 20, 5'000, false);
  }
}

/// A rank reads nothing where the number of bytes is another one.
void test_other_sizes() {
  for (const size_t bytes : {size_t{128}, size_t{2} << 20}) {
    const Worlds worlds = make_worlds(Over::segment, 2);
    const Ranks ranks = make_ranks(worlds, {0, 1});
    each_rank(ranks, [bytes](Communicator& own) {
      Gather part(own, 1, own.rank() == 0 ? 64 : bytes, false);
      const std::unique_ptr<Work> work = own.post(part.collective);
      finish(*work);
      CHECK(work->verdict() == Verdict::aborted);
      CHECK(work->reason().find("bytes, expected") != std::string::npos);
    });
  }
}

void test_where_a_group_meets() {
  const std::shared_ptr<char> memory = mpi::make_host_memory(3);
  mpi::Segment own(memory, {4, 7, 9}, 7), other(memory, {4, 7, 9}, 9);
  CHECK(!own.meeting(1, {7}) && !own.meeting(2, {7, 8}));
  for (uint64_t key = 1; key <= 80; ++key) {
    mpi::Meeting* const here = own.meeting(key, {9, 7});
    CHECK((here != nullptr) == (key <= 64));
    CHECK((other.meeting(key, {9, 7}) != nullptr) == (here != nullptr));
  }
}

}  // namespace
}  // namespace ofl::ep

int main() {
  using namespace ofl::ep;
  test_many_in_flight();
  test_more_than_there_is_room_for();
  test_one_that_finds_no_room();
  test_groups_in_a_circle();
  test_no_bytes();
  test_more_groups_than_places();
  test_groups_at_once();
  test_hosts();
  test_other_sizes();
  test_where_a_group_meets();
  return ofl::report();
}
