// Properties of communicators, with threads as ranks, that copy from each other, or have an MPI
// that the tests make, with and without memory that they share: each byte arrives, in any order of
// tests; ranks that differ or have failed get nothing; an abort ends everything. Run
// under ThreadSanitizer and AddressSanitizer.
#include "ep/communicators/communicator.h"

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

Over over = Over::threads;

Worlds make_worlds(int size) { return make_worlds(over, size); }

/// The ends of a group of all ranks of a world.
Ranks make_ranks(const Worlds& worlds) {
  std::vector<int32_t> all(worlds.size());
  std::iota(all.begin(), all.end(), 0);
  Ranks ends;
  for (const auto& world : worlds) ends.push_back(world->group(all));
  return ends;
}
Ranks make_ranks(int size) { return make_ranks(make_worlds(size)); }

/// Calls a function for each rank, in a thread of its own.
void each_rank(const Ranks& ranks, const std::function<void(Communicator&)>& run) {
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) threads.emplace_back([&run, &rank] { run(*rank); });
  for (std::thread& thread : threads) thread.join();
}

void finish(Work& work) {
  while (!work.test()) std::this_thread::yield();
}

/// Bytes for each pair of ranks: the same wherever they are computed. Some are none.
std::vector<char> bytes_for(int from, int to, uint32_t seed) {
  std::mt19937 random(seed * 10007 + static_cast<uint32_t>(from * 101 + to));
  const uint32_t most = random() % 8 ? 300 : 20'000;  // large ones go in another way
  std::vector<char> bytes(random() % 3 ? random() % most : 0);
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

/// An all-to-all of one rank, of two transfers a pair.
struct AllToAll {
  AllToAll(const Communicator& on, uint32_t given) : rank(on.rank()), size(on.size()), seed(given) {
    for (int peer = 0; peer < size; ++peer) {
      for (uint32_t k = 0; k < 2; ++k) {
        sent.push_back(bytes_for(rank, peer, 2 * seed + k));
        received.emplace_back(bytes_for(peer, rank, 2 * seed + k).size());
      }
    }
  }
  Collective collective() {
    Collective collective;
    collective.meaning = seed;
    collective.text = [text = concat("all_to_all ", seed)] { return text; };
    for (size_t i = 0; i < sent.size(); ++i) {
      const int peer = static_cast<int>(i / 2);
      collective.sends.push_back({peer, sent[i].data(), sent[i].size()});
      collective.receives.push_back({peer, received[i].data(), received[i].size()});
    }
    return collective;
  }
  bool is_right() const {
    for (size_t i = 0; i < received.size(); ++i) {
      const int peer = static_cast<int>(i / 2);
      const auto k = static_cast<uint32_t>(i % 2);
      if (received[i] != bytes_for(peer, rank, 2 * seed + k)) return false;
    }
    return true;
  }
  const int rank, size;
  const uint32_t seed;
  std::vector<std::vector<char>> sent, received;
};

void test_bytes_arrive(int size) {
  const Ranks ranks = make_ranks(size);
  each_rank(ranks, [](Communicator& own) {
    std::mt19937 random(static_cast<uint32_t>(own.rank()));
    const int rounds = std::min(60, 120 / own.size());
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::unique_ptr<AllToAll>> parts;
      std::vector<std::unique_ptr<Work>> works;
      for (uint32_t k = 0; k < 4; ++k) {
        parts.push_back(std::make_unique<AllToAll>(own, 4 * static_cast<uint32_t>(round) + k));
        works.push_back(own.post(parts.back()->collective()));
      }
      std::vector<size_t> left(works.size());
      std::iota(left.begin(), left.end(), size_t{0});
      while (!left.empty()) {  // in any order
        const size_t at = random() % left.size();
        if (!works[left[at]]->test()) {
          std::this_thread::yield();
          continue;
        }
        // The memory of a work that is over is this rank's own again.
        AllToAll& part = *parts[left[at]];
        CHECK(works[left[at]]->verdict() == Verdict::moved && part.is_right());
        for (auto& bytes : part.sent) std::fill(bytes.begin(), bytes.end(), char{0});
        works[left[at]].reset();
        left.erase(left.begin() + static_cast<int64_t>(at));
      }
    }
  });
}

void test_ranks_that_differ() {
  for (uint32_t round = 0; round < 40; ++round) {
    const Worlds worlds = make_worlds(3);
    const Ranks ranks = make_ranks(worlds);
    each_rank(ranks, [round](Communicator& own) {
      AllToAll part(own, round);
      Collective collective = part.collective();
      const bool is_other = round % 2 && own.rank() == static_cast<int>(round / 2 % 3);
      if (is_other && round % 4 == 1 && over == Over::threads) {  // other sizes under one meaning
        collective.sends.push_back({0, part.sent[0].data(), 0});
      } else if (is_other) {
        collective.meaning = 1000;
        collective.text = [] { return std::string("sum at line 7"); };
      }
      for (auto& bytes : part.received) std::fill(bytes.begin(), bytes.end(), char{77});
      const std::unique_ptr<Work> work = own.post(std::move(collective));
      finish(*work);
      CHECK(work->verdict() == (round % 2 ? Verdict::differs : Verdict::moved));
      if (round % 2 == 0) return CHECK(part.is_right());
      for (const auto& bytes : part.received) {
        CHECK(std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 77; }));
      }
      const std::string reason = work->reason();
      CHECK(reason.find("rank 0: ") != std::string::npos);
      CHECK(reason.find("; rank 2: ") != std::string::npos);
      CHECK((reason.find("sum at line 7") != std::string::npos) ==
            (round % 4 == 3 || over != Over::threads));
      // Whatever comes later belongs to nothing that the others do.
      AllToAll later(own, 99);
      const std::unique_ptr<Work> next = own.post(later.collective());
      finish(*next);
      CHECK(next->verdict() == Verdict::aborted && next->reason() == reason);
    });
    if (round % 2 == 0) continue;
    const std::unique_ptr<Work> elsewhere = worlds[1]->group({1})->post({});
    CHECK(elsewhere->test() && elsewhere->verdict() == Verdict::aborted);
  }
}

/// Groups of one world do not know of each other; a rank's place is that in its group.
void test_groups() {
  const Worlds worlds = make_worlds(4);
  Ranks rows;
  for (const auto& world : worlds) {
    const int rank = world->rank();
    using Members = std::vector<int32_t>;
    rows.push_back(world->group(rank % 2 ? Members{3, 1} : Members{0, 2}));
  }
  CHECK(rows[3]->rank() == 0 && rows[1]->rank() == 1 && rows[2]->size() == 2);
  each_rank(rows, [](Communicator& own) {
    for (uint32_t round = 0; round < 20; ++round) {
      AllToAll part(own, round);
      const std::unique_ptr<Work> work = own.post(part.collective());
      finish(*work);
      CHECK(work->verdict() == Verdict::moved && part.is_right());
    }
  });
  CHECK_ERROR(value, "rank 0 is not in the group", worlds[0]->group({1, 2}));
}

void test_a_rank_that_has_failed() {
  const Ranks ranks = make_ranks(4);
  each_rank(ranks, [](Communicator& own) {
    for (uint32_t round = 0; round < 20; ++round) {
      AllToAll part(own, round);
      Collective collective = part.collective();
      collective.has_failed = round % 2 && own.rank() >= 2;
      const std::unique_ptr<Work> work = own.post(std::move(collective));
      finish(*work);
      CHECK(work->verdict() == (round % 2 ? Verdict::failed : Verdict::moved));
      if (round % 2) CHECK(work->reason() == concat("rank 2: all_to_all ", round));
    }
  });
}

void test_an_abort_ends_everything() {
  for (uint32_t round = 0; round < 30; ++round) {
    const Ranks ranks = make_ranks(3);
    each_rank(ranks, [round](Communicator& own) {
      for (uint32_t k = 0;; ++k) {
        AllToAll part(own, k);
        const std::unique_ptr<Work> work = own.post(part.collective());
        if (own.rank() == 2 && k == 5 + round % 3) own.abort("rank 2: out of memory");
        finish(*work);
        if (work->verdict() == Verdict::moved) continue;
        CHECK(work->verdict() == Verdict::aborted && work->reason() == "rank 2: out of memory");
        break;
      }
      AllToAll part(own, 99);
      const std::unique_ptr<Work> late = own.post(part.collective());
      finish(*late);
      CHECK(late->verdict() == Verdict::aborted);
    });
  }
}

/// A collective that all ranks have posted ends alike on all of them. One rank looks at it after
/// the abort. Between threads this cannot happen: there it is over when all have looked.
void test_a_rank_that_looks_after_an_abort() {
  if (over == Over::threads) return;
  const Ranks ranks = make_ranks(2);
  std::atomic<bool> is_aborted{false};
  each_rank(ranks, [&is_aborted](Communicator& own) {
    AllToAll part(own, 3);
    Collective collective = part.collective();
    if (over != Over::segment) collective.sends = collective.receives = {};
    const std::unique_ptr<Work> work = own.post(std::move(collective));
    while (own.rank() == 1 && !is_aborted) std::this_thread::yield();
    finish(*work);
    CHECK(work->verdict() == Verdict::moved);
    CHECK(over != Over::segment || part.is_right());
    if (own.rank() == 0) {
      own.abort("on purpose");
      is_aborted = true;
    }
    const std::unique_ptr<Work> next = own.post({});
    finish(*next);
    CHECK(next->verdict() == Verdict::aborted && next->reason() == "on purpose");
  });
}

/// A rank that leaves does not leave others waiting, and its memory is not read after that.
void test_a_rank_that_leaves() {
  for (int round = 0; round < 50; ++round) {
    Ranks ranks = make_ranks(3);
    each_rank(ranks, [round](Communicator& own) {
      AllToAll part(own, 1);
      const std::unique_ptr<Work> work = own.post(part.collective());
      if (own.rank() == round % 3) return;  // whether or not the others are there
      finish(*work);
      CHECK(work->verdict() == Verdict::moved || work->verdict() == Verdict::aborted);
      if (work->verdict() == Verdict::aborted) {
        CHECK(work->reason() == concat("rank ", round % 3, " left a collective in flight"));
      }
    });
  }
}

/// Whoever waits for a rank that has ended its program learns it, whichever comes first.
void test_a_rank_that_ends() {
  for (int round = 0; round < 50; ++round) {
    const Worlds worlds = make_worlds(3);
    const Ranks ranks = make_ranks(worlds);
    each_rank(ranks, [&](Communicator& own) {
      AllToAll first(own, 1);
      const std::unique_ptr<Work> work = own.post(first.collective());
      finish(*work);
      CHECK(work->verdict() == Verdict::moved && first.is_right());
      if (own.rank() == round % 3) return worlds[static_cast<size_t>(own.rank())]->leave();
      AllToAll second(own, 2);
      const std::unique_ptr<Work> later = own.post(second.collective());
      finish(*later);
      CHECK(later->verdict() == Verdict::differs || later->verdict() == Verdict::aborted);
      CHECK(later->reason().find(concat("rank ", round % 3, " has ended; rank ")) == 0);
    });
  }
}

void test_bad_input() {
  CHECK_ERROR(value, "at least one rank, got 0", make_thread_world(0));
  const Ranks ranks = make_ranks(1);
  Collective collective;
  collective.sends.push_back({1, nullptr, 0});
  CHECK_ERROR(value, "no rank 1 in a group of 1", ranks[0]->post(collective));
  CHECK(ranks[0]->rank() == 0 && ranks[0]->size() == 1);
  const std::unique_ptr<Work> empty = ranks[0]->post({});
  CHECK(!empty->awaits_others() && empty->test() && empty->verdict() == Verdict::moved);
}

/// Ranks that wait tell each other so. Then each of them knows the ranks that are late.
void test_late_ranks() {
  const Ranks ranks = make_ranks(4);
  std::atomic<int> known{0};
  each_rank(ranks, [&known](Communicator& own) {
    if (own.rank() == 1 || own.rank() == 3) return;
    AllToAll part(own, 1);
    const std::unique_ptr<Work> work = own.post(part.collective());
    work->tell_waiting();
    while (work->late() != std::vector<int32_t>{1, 3}) work->test();
    CHECK(!work->test() && work->awaits_others());
    ++known;
    while (known < 2) std::this_thread::yield();
    if (own.rank() == 2) work->abort("without two");
    finish(*work);
    CHECK(work->verdict() == Verdict::aborted && work->reason() == "without two");
  });
}

/// Of those that wait, one asks; each rank says what it is in, or has been in last. Also one that
/// is idle and whose program does nothing, one outside of the group, and one that has ended.
void test_where_ranks_are() {
  const Worlds worlds = make_worlds(5);
  const Ranks all = make_ranks(worlds);
  Ranks some;
  for (const size_t rank : {1, 2, 3}) some.push_back(worlds[rank]->group({1, 2, 3}));
  each_rank(all, [](Communicator& own) {
    AllToAll part(own, 1);
    const std::unique_ptr<Work> work = own.post(part.collective());
    finish(*work);
  });
  worlds[4]->leave();
  std::atomic<int> reports{0}, waiting{2};
  each_rank(some, [&](Communicator& own) {
    if (own.rank() == 2) return;
    AllToAll part(own, 2);
    const std::unique_ptr<Work> work = own.post(part.collective());
    CHECK(!work->test() && work->turn() == own.rank() / 3.0);
    const std::vector<std::string> wanted = {"idle since all_to_all 1", "in all_to_all 2",
                                             "in all_to_all 2", "idle since all_to_all 1",
                                             "has ended"};
    bool asks = work->ask();
    while (asks && work->answers() != wanted) {
      work->test();
      asks = work->ask();
    }
    CHECK(work->ask() == asks && work->awaits_others());
    reports += asks;
    for (--waiting; waiting > 0;) work->test();
  });
  CHECK(reports == 1);
}

/// An error of the library aborts the collectives in flight, with the library's words.
void test_a_library_that_fails() {
  mpi::FakeMpi& library = mpi::make_fake_mpi(2);
  const auto world = make_mpi_world(library.library(0));
  const auto own = world->group({0, 1});
  AllToAll part(*own, 1);
  const std::unique_ptr<Work> work = own->post(part.collective());
  CHECK(!work->test());
  library.fail_sends();
  work->tell_waiting();
  finish(*work);
  CHECK(work->verdict() == Verdict::aborted);
  CHECK(work->reason() == "[mpi] MPI_Isend: error 13: on purpose");
}

void test_all() {
  for (int size : {1, 2, 3, 5, 8}) test_bytes_arrive(size);
  test_ranks_that_differ();
  test_groups();
  test_a_rank_that_has_failed();
  test_an_abort_ends_everything();
  test_a_rank_that_looks_after_an_abort();
  test_a_rank_that_leaves();
  test_a_rank_that_ends();
  test_late_ranks();
  test_where_ranks_are();
  test_bad_input();
}

}  // namespace
}  // namespace ofl::ep

int main() {
  using namespace ofl::ep;
  for (const Over way : kAllWays) {
    over = way;
    test_all();
  }
  test_a_library_that_fails();
  return ofl::report();
}
