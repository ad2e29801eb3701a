// Properties of the ep layer: cpu, mock, events. Run under
// ThreadSanitizer and AddressSanitizer.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "ep/event_pool.h"
#include "ep/memory/caching_allocator.h"
#include "ep_support.h"

namespace ofl::ep {
namespace {

void test_cpu() {
  auto cpu = make_cpu_device();
  auto stream = stream_of(*cpu);
  CHECK(cpu->is_host() && &stream->device() == cpu.get());
  int ran = 0;
  launch(*stream, [&ran] { ++ran; });
  CHECK(ran == 1);
  EventLease event = cpu->events().lease();
  stream->record(*event);
  const int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  CHECK(event->done() && event->reached_at_ns() > 0 && event->reached_at_ns() <= now);
  for (size_t bytes : {size_t{1}, size_t{100}, 2 * kMiB, 5 * kMiB + 1}) {
    auto* ptr = static_cast<char*>(cpu->alloc(bytes));
    CHECK(reinterpret_cast<uintptr_t>(ptr) % (bytes >= 2 * kMiB ? 2 * kMiB : 64) == 0);
    ptr[0] = ptr[bytes - 1] = 1;
    CHECK(cpu->memory_info().held == bytes && cpu->host_address(ptr) == ptr);
    cpu->free(ptr, bytes);
  }
  CHECK(cpu->memory_info().held == 0);
  const size_t capacity = cpu->memory_info().capacity;
  CHECK_ERROR(out_of_memory, "[cpu] out of memory: asked for ", cpu->alloc(capacity + 1));
  CHECK_ERROR(out_of_memory, "[cpu] out of memory", cpu->allocator().alloc(SIZE_MAX, nullptr));
  CHECK(cpu->memory_info().held == 0);
  auto mock = make_mock_device(1);
  void* foreign = mock->alloc(64);
  CHECK_ERROR(runtime, "is memory of mock:1; a cpu kernel cannot touch it",
              cpu->host_address(foreign));
  mock->free(foreign, 64);
}

void test_mock_pointers() {
  auto zero = make_mock_device(0), one = make_mock_device(1);
  auto stream = stream_of(*zero);
  char host[64] = {};
  void* a = zero->alloc(64);
  void* b = one->alloc(64);
  CHECK(reinterpret_cast<uint64_t>(a) >> 48 == 0x4d00 &&
        reinterpret_cast<uint64_t>(b) >> 48 == 0x4d01);
  CHECK(*static_cast<unsigned char*>(zero->host_address(a)) == 0xCD);
  CHECK_ERROR(runtime, "is memory of mock:1", zero->host_address(b));
  CHECK_ERROR(runtime, "is host memory", zero->host_address(host));
  CHECK_ERROR(runtime, "is memory of mock:1", zero->free(b, 64));
  using K = CopyKind;
  const auto copy = [&](void* dst, void* src, K kind) { stream->copy(dst, src, 64, kind); };
  CHECK_ERROR(runtime, "[mock:0] h2d copy: dst", copy(host, host, K::h2d));
  CHECK_ERROR(runtime, "expected host memory", copy(a, a, K::h2d));
  CHECK_ERROR(runtime, "is memory of mock:1, expected memory of mock:0", copy(b, host, K::h2d));
  CHECK_ERROR(runtime, "d2h copy: dst", copy(a, a, K::d2h));
  CHECK_ERROR(runtime, "d2h copy: src", copy(host, b, K::d2h));
  CHECK_ERROR(runtime, "d2d copy: src", copy(a, b, K::d2d));
  CHECK_ERROR(runtime, "peer copy: src", copy(a, host, K::peer));
  CHECK_ERROR(runtime, "peer copy: src", copy(a, a, K::peer));
  CHECK_ERROR(runtime, "peer copy: src", copy(b, b, K::peer));
  zero->free(a, 64);
  one->free(b, 64);
}

void test_mock_copies() {
  auto zero = make_mock_device(0), one = make_mock_device(1);
  auto stream = stream_of(*zero);
  const size_t bytes = 3 * kMiB + 5;
  std::vector<unsigned char> in(bytes), out(bytes);
  for (size_t i = 0; i < bytes; ++i) in[i] = static_cast<unsigned char>(i * 31 + i / 256);
  void* a = stream->alloc_async(bytes);
  void* b = stream->alloc_async(bytes);
  void* c = one->allocator().alloc(bytes, nullptr);
  void* pinned = zero->alloc_pinned(bytes);
  stream->copy(a, in.data(), bytes, CopyKind::h2d);
  stream->copy(b, a, bytes, CopyKind::d2d);
  stream->copy(c, b, bytes, CopyKind::peer);
  stream->copy(a, c, bytes, CopyKind::peer);
  stream->copy(pinned, a, bytes, CopyKind::d2h);
  stream->copy(out.data(), b, bytes, CopyKind::d2h);
  stream->copy(nullptr, nullptr, 0, CopyKind::d2h);
  stream->free_async(a, bytes);
  stream->free_async(b, bytes);
  stream->sync();
  CHECK(in == out && std::memcmp(pinned, in.data(), bytes) == 0);
  one->allocator().free(c, bytes, nullptr);
  zero->free_pinned(pinned, bytes);
  CHECK(zero->allocator().stats().in_use == 0 && zero->allocator().release_cache() >= 2 * bytes);
  CHECK(zero->memory_info().held == 0);
}

void test_faults() {
  Knobs knobs;
  auto mock = make_mock_device(0);
  auto stream = stream_of(*mock);
  char host[8] = {};
  void* block = stream->alloc_async(8);
  knobs->faults.alloc = 2;
  stream->free_async(stream->alloc_async(100), 100);
  CHECK_ERROR(out_of_memory, "[mock:0] injected failure of an allocation of 100 bytes",
              stream->alloc_async(100));
  stream->free_async(stream->alloc_async(100), 100);
  knobs->faults.alloc = 1;
  CHECK_ERROR(out_of_memory, "injected failure of an allocation", mock->alloc_pinned(7));
  knobs->faults.launch = 1;
  CHECK_ERROR(runtime, "[mock:0] injected failure of a launch", launch(*stream, [] {}));
  knobs->faults.copy = 2;
  stream->copy(block, host, 8, CopyKind::h2d);
  CHECK_ERROR(runtime, "[mock:0] injected failure of a copy",
              stream->copy(block, host, 8, CopyKind::h2d));
  knobs->faults.event = 1;
  EventLease event = mock->events().lease();
  CHECK_ERROR(runtime, "[mock:0] injected failure of an event record", stream->record(*event));
  CHECK(event->done());
  launch(*stream, [] { throw std::runtime_error("boom"); });
  launch(*stream, [] {});
  stream->sync();
  const std::optional<Error> error = stream->async_error();
  CHECK(error && std::string(error->what()) == "[mock:0] a task failed: boom");
  CHECK(!stream->async_error());
  launch(*stream, [] { throw std::bad_alloc(); });
  stream->sync();
  const std::optional<Error> lack = stream->async_error();
  CHECK(lack && lack->kind() == ErrorKind::out_of_memory);
  CHECK(std::string(lack->what()) == "[mock:0] a task failed: out of host memory");
  stream->free_async(block, 8);
}

void test_event_points() {
  auto mock = make_mock_device(0);
  auto a = stream_of(*mock), b = stream_of(*mock);
  auto event = mock->create_event(EventKind::timed);
  CHECK(event->done());
  event->sync();
  b->wait(*event);
  std::atomic<bool> ran{false};
  {
    Gate gate(*a);
    a->record(*event);
    b->wait(*event);
    launch(*b, [&ran] { ran = true; });
    CHECK(!event->done() && !ran);
    gate.open();
    b->sync();
    CHECK(event->done() && ran && event->reached_at_ns() > 0);
  }
  b->wait(*event);  // captures the reached point: the next record does not matter
  const int64_t first = event->reached_at_ns();
  Gate gate(*a);
  a->wait(*event);
  a->record(*event);
  b->sync();
  CHECK(!event->done());
  gate.open();
  event->sync();
  CHECK(event->reached_at_ns() >= first);
}

// Kernels on random queues read and write cells; each waits for the last accesses it conflicts
// with.
void test_random_order(uint32_t seed) {
  constexpr int kQueues = 4, kCells = 6, kOps = 400;
  Knobs knobs;
  knobs->jitter = 20e-6;
  auto zero = make_mock_device(0), one = make_mock_device(1);
  std::vector<std::unique_ptr<Stream>> queues;
  for (int i = 0; i < kQueues; ++i) queues.push_back(stream_of(i % 2 ? *one : *zero));
  uint64_t cells[kCells] = {}, expected[kCells] = {};
  std::vector<EventLease> touched[kCells];  // last write, if any, then the reads since
  std::mt19937 random(seed);
  for (int op = 1; op <= kOps; ++op) {
    const int dst = random() % kCells, src = random() % kCells, q = random() % kQueues;
    Stream& queue = *queues[q];
    for (const EventLease& event : touched[dst]) queue.wait(*event);
    if (!touched[src].empty()) queue.wait(*touched[src].front());
    launch(queue, [&cells, dst, src, op] { cells[dst] = (cells[dst] ^ cells[src]) * 31 + op; });
    expected[dst] = (expected[dst] ^ expected[src]) * 31 + op;
    EventLease event = queue.device().events().lease();
    queue.record(*event);
    if (src != dst) touched[src].push_back(event);
    touched[dst] = {event};
  }
  for (auto& queue : queues) queue->sync();
  CHECK(std::equal(cells, cells + kCells, expected));
}

void test_fifo_and_destruction() {
  Knobs knobs;
  knobs->jitter = 10e-6;
  auto mock = make_mock_device(0);
  std::vector<int> log;
  {
    auto queue = stream_of(*mock);
    for (int i = 0; i < 500; ++i) launch(*queue, [&log, i] { log.push_back(i); });
  }  // a destroyed stream has run all
  CHECK(log.size() == 500 && std::is_sorted(log.begin(), log.end()));
  auto unused = stream_of(*mock);
  unused->sync();
}

void test_simulated_time() {
  Knobs knobs;
  auto mock = make_mock_device(0);
  auto stream = stream_of(*mock);
  std::vector<char> host(1 << 16);
  void* block = stream->alloc_async(host.size());
  EventLease before = mock->events().lease(), after = mock->events().lease();
  const auto lasted = [&](const std::function<void()>& work) {
    stream->record(*before);
    stream->sync();
    work();
    stream->record(*after);
    after->sync();
    return static_cast<double>(after->reached_at_ns() - before->reached_at_ns()) * 1e-9;
  };
  knobs->h2d = 65536 / 0.01;
  CHECK(lasted([&] { stream->copy(block, host.data(), 65536, CopyKind::h2d); }) >= 0.01);
  knobs->launch_latency = 0.01;
  knobs->compute = 1e6;
  CHECK(lasted([&] { launch(*stream, [] {}, 1e4); }) >= 0.02);
  stream->free_async(block, host.size());
}

/// A kernel: writes `value` to `place`.
struct Store {
  std::atomic<int>* place;
  int value;
  void operator()() const { place->store(value); }
};

template <typename F>
HostKernel kernel_of(const F& f, double work = 0) {
  return {[](void* args) { (*static_cast<F*>(args))(); }, &f, sizeof(f), work};
}

void test_captured_graph() {
  auto mock = make_mock_device(0);
  CHECK(mock->has_graphs());
  auto capturing = stream_of(*mock), stream = stream_of(*mock);
  std::atomic<int> first{0}, second{0};
  const Store stores[] = {{&first, 1}, {&second, 2}, {&second, 3}};
  capturing->begin_capture(nullptr);
  for (const Store& store : stores) capturing->launch(kernel_of(store));
  CHECK_ERROR(runtime, "in a capture", capturing->begin_capture(nullptr));
  const EventLease event = mock->events().lease();
  CHECK_ERROR(runtime, "in a capture", capturing->record(*event));
  const std::unique_ptr<Graph> graph = capturing->end_capture(nullptr);
  CHECK_ERROR(runtime, "captures nothing", capturing->end_capture(nullptr));
  CHECK(first == 0 && second == 0);  // nothing has run
  const auto run = [&] {
    first = second = 0;
    stream->launch(*graph);
    stream->sync();
  };
  run();
  CHECK(first == 1 && second == 3);
  {
    Gate gate(*stream);  // a launch runs what the graph was at the launch
    stream->launch(*graph);
    const Store other{&second, 5};
    graph->set(2, kernel_of(other));
  }
  CHECK(second == 3);
  run();
  CHECK(first == 1 && second == 5);
  const auto another = [] {};
  CHECK_ERROR(runtime, "another one", graph->set(0, kernel_of(another)));
}

void test_one_latency_for_a_graph() {
  constexpr int kKernels = 20;
  constexpr double kLatency = 2e-3;
  Knobs knobs;
  knobs->launch_latency = kLatency;
  auto mock = make_mock_device(0);
  auto stream = stream_of(*mock);
  const auto lasted = [&](const std::function<void()>& work) {
    const int64_t begin = now_ns();
    work();
    stream->sync();
    return static_cast<double>(now_ns() - begin) * 1e-9;
  };
  const auto nothing = [] {};
  const auto launch_all = [&] {
    for (int i = 0; i < kKernels; ++i) stream->launch(kernel_of(nothing));
  };
  CHECK(lasted(launch_all) >= kKernels * kLatency);
  stream->begin_capture(nullptr);
  launch_all();
  const std::unique_ptr<Graph> graph = stream->end_capture(nullptr);
  double fastest = 1;
  for (int i = 0; i < 5; ++i) {
    fastest = std::min(fastest, lasted([&] { stream->launch(*graph); }));
  }
  CHECK(fastest >= kLatency && fastest < kKernels * kLatency / 2);
  knobs->faults.launch = 1;
  CHECK_ERROR(runtime, "injected failure", stream->launch(*graph));
  stream->launch(*graph);
  stream->sync();
}

void test_event_pool() {
  auto mock = make_mock_device(0);
  EventPool& pool = mock->events();
  Event* first = nullptr;
  {
    EventLease a = pool.lease(), b = pool.lease(), c = a;
    first = a.get();
    CHECK(a != b && pool.leased() == 2 && pool.created() == 2);
    b.reset();
    CHECK(pool.leased() == 1);
  }
  CHECK(pool.leased() == 0 && pool.lease().get() == first && pool.created() == 2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool] {
      for (int i = 0; i < 1000; ++i) EventLease a = pool.lease(), b = pool.lease();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.leased() == 0 && pool.created() <= 8);
}

void test_idle_is_asleep() {
  const auto cpu_seconds = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  };
  auto mock = make_mock_device(0);
  std::vector<std::unique_ptr<Stream>> queues;
  for (int i = 0; i < 8; ++i) queues.push_back(stream_of(*mock));
  for (auto& queue : queues) launch(*queue, [] {});
  for (auto& queue : queues) queue->sync();
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the interval that is measured
  CHECK(cpu_seconds() - before < 0.05);
}

#ifndef __SANITIZE_THREAD__  // which does not support new threads in the child
void test_fork() {
  auto mock = make_mock_device(0);
  auto stream = stream_of(*mock);
  int ran = 0;
  launch(*stream, [&ran] { ++ran; });
  stream->sync();
  CHECK(holds_in_child([&] {
    mock->after_fork_in_child();
    launch(*stream, [&ran] { ++ran; });
    stream->free_async(stream->alloc_async(kMiB), kMiB);
    stream->sync();
    stream.reset();
    return ran == 2 && mock->allocator().stats().in_use == 0;
  }));
  launch(*stream, [&ran] { ran += 10; });
  stream->sync();
  CHECK(ran == 11);
}
#endif

}  // namespace
}  // namespace ofl::ep

int main() {
  using namespace ofl::ep;
  test_cpu();
  test_mock_pointers();
  test_mock_copies();
  test_faults();
  test_event_points();
  for (uint32_t seed = 1; seed <= 5; ++seed) test_random_order(seed);
  test_fifo_and_destruction();
  test_simulated_time();
  test_captured_graph();
  test_one_latency_for_a_graph();
  test_event_pool();
  test_idle_is_asleep();
#ifndef __SANITIZE_THREAD__
  test_fork();
#endif
  return ofl::report();
}
