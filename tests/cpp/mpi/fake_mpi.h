// An MPI whose ranks are threads of one process: messages of two ranks in order, small ones sent at
// once, large ones when both sides are there. It takes its time, and can be made to fail.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "ep/communicators/mpi/world.h"

namespace ofl::ep::mpi {

class FakeMpi {
 public:
  explicit FakeMpi(int size) : ends_(static_cast<size_t>(size)) {
    for (int rank = 0; rank < size; ++rank) ends_[static_cast<size_t>(rank)] = {this, rank, {}, {}};
  }
  FakeMpi(const FakeMpi&) = delete;

  Library library(int rank) {
    Library made{};
    made.isend = isend;
    made.irecv = irecv;
    made.test = test;
    made.cancel = cancel;
    made.test_cancelled = test_cancelled;
    made.error_string = error_string;
    made.communicator = reinterpret_cast<Handle>(&ends_[static_cast<size_t>(rank)]);
    made.byte = kByte;
    made.any_source = kAnySource;
    made.rank = rank;
    made.size = static_cast<int>(ends_.size());
    made.largest_tag = 500;  // so that tags come round
    return made;
  }
  /// Every call that sends fails from now on.
  void fail_sends() { fails_ = true; }

 private:
  static constexpr Handle kByte = 77;
  static constexpr int kAnySource = -5, kAtOnce = 4096, kFailed = 13;

  struct Request {
    FakeMpi* mpi;
    int from, to, tag;
    char* data;
    int count;
    std::vector<char> copy;  // of what was sent at once
    bool is_done, is_cancelled = false;
  };
  struct End {
    FakeMpi* mpi;
    int rank;
    std::deque<Request*> sent;      // to it, that nobody has received
    std::deque<Request*> expected;  // by it
  };

  static End& end_of(Handle communicator) { return *reinterpret_cast<End*>(communicator); }

  static int isend(const void* data, int count, Handle type, int to, int tag, Handle communicator,
                   Handle* request) {
    End& own = end_of(communicator);
    FakeMpi& mpi = *own.mpi;
    std::lock_guard<std::mutex> lock(mpi.mutex_);
    if (mpi.fails_ || type != kByte) return kFailed;
    char* const bytes = const_cast<char*>(static_cast<const char*>(data));
    auto* made = new Request{&mpi, own.rank, to, tag, bytes, count, {}, false};
    *request = reinterpret_cast<Handle>(made);
    if (count <= kAtOnce) {
      auto* kept = new Request{&mpi, own.rank, to, tag, nullptr, count, {}, false};
      kept->copy.assign(bytes, bytes + count);
      kept->data = kept->copy.data();
      made->is_done = true;
      mpi.deliver(kept);
    } else {
      mpi.deliver(made);
    }
    return 0;
  }

  static int irecv(void* data, int count, Handle type, int from, int tag, Handle communicator,
                   Handle* request) {
    End& own = end_of(communicator);
    std::lock_guard<std::mutex> lock(own.mpi->mutex_);
    if (type != kByte) return kFailed;
    auto* made =
        new Request{own.mpi, from, own.rank, tag, static_cast<char*>(data), count, {}, false};
    *request = reinterpret_cast<Handle>(made);
    for (auto sent = own.sent.begin(); sent != own.sent.end(); ++sent) {
      if (!matches(**sent, *made)) continue;
      Request* const found = *sent;
      own.sent.erase(sent);
      move(found, made);
      return 0;
    }
    own.expected.push_back(made);
    return 0;
  }

  static int test(Handle* request, int* is_done, void* status) {
    std::memset(status, 0xA5, 40);
    *is_done = 1;
    if (!*request) return 0;
    auto* own = reinterpret_cast<Request*>(*request);
    std::lock_guard<std::mutex> lock(own->mpi->mutex_);
    *is_done = own->is_done && own->mpi->random_() % 3 != 0;  // it takes its time
    if (!*is_done) return 0;
    static_cast<char*>(status)[0] = own->is_cancelled;
    delete own;
    *request = 0;
    return 0;
  }

  static int cancel(Handle* request) {
    auto* own = reinterpret_cast<Request*>(*request);
    std::lock_guard<std::mutex> lock(own->mpi->mutex_);
    auto& expected = own->mpi->ends_[static_cast<size_t>(own->to)].expected;
    for (auto one = expected.begin(); one != expected.end(); ++one) {
      if (*one != own) continue;
      expected.erase(one);
      own->is_done = own->is_cancelled = true;
      break;
    }
    return 0;
  }

  static int test_cancelled(const void* status, int* is_cancelled) {
    *is_cancelled = static_cast<const char*>(status)[0] == 1;
    return 0;
  }

  static int error_string(int, char* text, int* length) {
    *length = static_cast<int>(std::strlen(std::strcpy(text, "on purpose")));
    return 0;
  }

  static bool matches(const Request& sent, const Request& expected) {
    return sent.tag == expected.tag && (expected.from == kAnySource || expected.from == sent.from);
  }
  static void move(Request* sent, Request* expected) {
    std::memcpy(expected->data, sent->data, static_cast<size_t>(sent->count));
    expected->is_done = true;
    if (sent->copy.empty()) {
      sent->is_done = true;
    } else {
      delete sent;
    }
  }
  void deliver(Request* sent) {
    End& to = ends_[static_cast<size_t>(sent->to)];
    for (auto one = to.expected.begin(); one != to.expected.end(); ++one) {
      if (!matches(*sent, **one)) continue;
      Request* const found = *one;
      to.expected.erase(one);
      return move(sent, found);
    }
    to.sent.push_back(sent);
  }

  std::mutex mutex_;  // guards the rest
  std::vector<End> ends_;
  std::mt19937 random_{1};
  bool fails_ = false;
};

/// It lives as long as the program, with the messages that nobody has received.
inline FakeMpi& make_fake_mpi(int size) {
  static auto* const all = new std::deque<FakeMpi>;
  static auto* const mutex = new std::mutex;
  const std::lock_guard<std::mutex> lock(*mutex);
  return all->emplace_back(size);
}

/// Zeros for a host of so many ranks.
inline std::shared_ptr<char> make_host_memory(int ranks) {
  const size_t bytes = segment_bytes(ranks);
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return {static_cast<char*>(memory), [bytes](char* own) { munmap(own, bytes); }};
}

/// `hosts`: the ranks of each host whose ranks share memory; the others only send messages.
inline std::vector<std::unique_ptr<World>> make_fake_mpi_world(
    int size, const std::vector<std::vector<int32_t>>& hosts = {}) {
  FakeMpi& mpi = make_fake_mpi(size);
  std::vector<HostMemory> host_of(static_cast<size_t>(size));
  for (const std::vector<int32_t>& ranks : hosts) {
    const HostMemory host{make_host_memory(static_cast<int>(ranks.size())), ranks};
    for (const int32_t rank : ranks) host_of[static_cast<size_t>(rank)] = host;
  }
  std::vector<std::unique_ptr<World>> worlds;
  for (int rank = 0; rank < size; ++rank) {
    worlds.push_back(make_mpi_world(mpi.library(rank), host_of[static_cast<size_t>(rank)]));
  }
  return worlds;
}

}  // namespace ofl::ep::mpi
