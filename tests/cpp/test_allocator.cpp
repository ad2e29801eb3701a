// Properties of ep::CachingAllocator on cpu and mock. Run plain, and under ThreadSanitizer and
// AddressSanitizer.
#include "ep/caching_allocator.h"

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "ep/cpu/cpu_device.h"
#include "ep/event_pool.h"
#include "ep_support.h"

namespace ofl::ep {
namespace {

void test_capacity() {
  Knobs knobs;
  knobs->capacity = 64 * kMiB;
  auto mock = make_mock_device(0);
  CachingAllocator& allocator = mock->allocator();
  void* raw = mock->alloc(4 * kMiB);
  CHECK_ERROR(out_of_memory, "[mock:0] out of memory: asked for 61.0 MiB", mock->alloc(61 * kMiB));
  std::vector<void*> blocks;
  for (int i = 0; i < 15; ++i) blocks.push_back(allocator.alloc(4 * kMiB, nullptr, 1 + i % 2));
  CHECK_ERROR(out_of_memory,
              "[mock:0] out of memory: asked for 4.0 MiB, held 60.0 MiB in live blocks and 0 B in "
              "the cache, capacity 64.0 MiB (0 B free)",
              allocator.alloc(4 * kMiB, nullptr));
  mock->free(raw, 4 * kMiB);
  void* small = nullptr;
  CHECK((small = allocator.alloc(100, nullptr, 9)) != nullptr);
  const std::vector<TagUsage> holders = allocator.largest_holders(5);
  CHECK(holders.size() == 3 && holders[0].tag == 1 && holders[0].bytes == 32 * kMiB &&
        holders[0].blocks == 8 && holders[1].tag == 2 && holders[2].tag == 0 &&
        holders[2].bytes == 128);
  CHECK(allocator.largest_holders(1).size() == 1);
  for (void* block : blocks) allocator.free(block, 4 * kMiB, nullptr);
  allocator.free(small, 100, nullptr);
  const AllocatorStats stats = allocator.stats();
  CHECK(stats.in_use == 0 && stats.cached == 60 * kMiB + 128 && stats.allocs == 16);
  CHECK_ERROR(runtime, "which is not a live block", allocator.free(raw, 4 * kMiB, nullptr));
}

void test_size_classes() {
  std::mt19937_64 random(1);
  bool ok = round_up_block(0) == 64 && round_up_block(64) == 64 && round_up_block(1025) == 1152;
  for (int i = 0; i < 100000; ++i) {
    const size_t bytes = 1 + (random() >> (2 + random() % 61));
    const size_t size = round_up_block(bytes);
    ok = ok && size >= bytes && size % 64 == 0 && round_up_block(size) == size;
    ok = ok && (bytes < 512 ? size - bytes < 64 : (size - bytes) <= bytes / 8);
  }
  CHECK(ok);
  CHECK(bytes_str(0) == "0 B" && bytes_str(4 * kMiB) == "4.0 MiB" && bytes_str(1536) == "1.5 KiB");
}

void test_reuse_rules(size_t bytes) {
  auto mock = make_mock_device(0);
  auto home = stream_of(*mock), other = stream_of(*mock);
  CachingAllocator& allocator = mock->allocator();
  void* block = home->alloc_async(bytes);
  Gate gate(*home);
  home->free_async(block, bytes);
  void* elsewhere = other->alloc_async(bytes);
  void* for_host = allocator.alloc(bytes, nullptr);
  CHECK(elsewhere != block && for_host != block);
  void* again = home->alloc_async(bytes);
  CHECK(again == block);  // the queue keeps the order
  home->free_async(again, bytes);
  gate.open();
  home->sync();
  void* later = other->alloc_async(bytes);
  CHECK(later == block);
  allocator.free(later, bytes, other.get());  // no events: idle
  CHECK(allocator.alloc(bytes, home.get()) == block);
  allocator.free(block, bytes, nullptr);
  other->free_async(elsewhere, bytes);
  allocator.free(for_host, bytes, nullptr);
  CHECK(allocator.stats().in_use == 0 && allocator.stats().device_allocs == 3);
}

void test_ladder() {
  Knobs knobs;
  knobs->capacity = 8 * kMiB;
  auto mock = make_mock_device(0);
  auto home = stream_of(*mock), other = stream_of(*mock);
  CachingAllocator& allocator = mock->allocator();
  void* block = home->alloc_async(8 * kMiB);
  auto* bytes = static_cast<int*>(mock->host_address(block));
  {
    Gate gate(*home);
    knobs->launch_latency = 0.02;  // so that a missing wait shows
    launch(*home, [bytes] { *bytes = 1; });
    knobs->launch_latency = 0;
    home->free_async(block, 8 * kMiB);
    CHECK_ERROR(out_of_memory, "out of memory", mock->alloc(8 * kMiB));
    void* taken = other->alloc_async(8 * kMiB);  // does not block: the queue waits
    CHECK(taken == block);
    launch(*other, [bytes] { *bytes = *bytes * 10 + 2; });
    CHECK(mock->events().leased() == 0);
    gate.open();
    other->sync();
    CHECK(*bytes == 12);
    other->free_async(taken, 8 * kMiB);
  }
  void* half = other->alloc_async(4 * kMiB);  // releases the idle block of 8 MiB
  void* second = other->alloc_async(4 * kMiB);
  knobs->launch_latency = 0.005;
  launch(*other, [] {});
  other->free_async(half, 4 * kMiB);
  other->free_async(second, 4 * kMiB);
  void* whole = home->alloc_async(8 * kMiB);  // syncs the two pending blocks, then releases them
  CHECK(whole != nullptr && allocator.stats().cached == 0);
  home->free_async(whole, 8 * kMiB);
  knobs->capacity = 32 * kMiB;
  home->sync();
  void* near = other->alloc_async(7 * kMiB + kMiB / 2);  // the next class, within 12.5 %
  CHECK(near == whole && allocator.stats().in_use == 8 * kMiB);
  other->free_async(near, 7 * kMiB + kMiB / 2);
  CHECK(allocator.stats().in_use == 0);
}

void test_limit() {
  auto cpu = make_cpu_device();
  CachingAllocator& allocator = cpu->allocator();
  allocator.set_limit(8 * kMiB);
  void* a = allocator.alloc(4 * kMiB, nullptr);
  void* b = allocator.alloc(4 * kMiB, nullptr);
  CHECK_ERROR(out_of_memory, "limit 8.0 MiB, capacity", allocator.alloc(64, nullptr));
  allocator.free(a, 4 * kMiB, nullptr);
  CHECK(allocator.stats().cached == 4 * kMiB);
  allocator.free(b, 4 * kMiB, nullptr);  // the cache keeps half of the limit
  CHECK(allocator.stats().cached == 4 * kMiB && cpu->memory_info().held == 4 * kMiB);
  void* c = allocator.alloc(5 * kMiB, nullptr);  // counts cached blocks: released first
  CHECK(allocator.stats().cached == 0 && allocator.stats().peak_held == 8 * kMiB);
  allocator.free(c, 5 * kMiB, nullptr);
  CHECK(allocator.stats().cached == 0);  // larger than the whole cache
  allocator.set_limit(0);
  allocator.free(allocator.alloc(64, nullptr), 64, nullptr);
  CHECK(allocator.stats().cached == 64 && allocator.release_cache() == 64);
}

// Threads fill, keep and check blocks; no two live blocks may share bytes, and nothing may be lost.
void test_allocator_stress(Device& device) {
  CachingAllocator& allocator = device.allocator();
  std::atomic<int> wrong{0};
  const auto worker = [&](uint32_t seed) {
    auto stream = stream_of(device);
    std::mt19937 random(seed);
    std::vector<std::pair<uint32_t*, size_t>> live;
    for (int i = 0; i < 2000; ++i) {
      if (live.size() < 8 && random() % 2) {
        const size_t bytes = 4 + random() % (random() % 4 ? 5000 : 2 * kMiB);
        auto* block = static_cast<uint32_t*>(stream->alloc_async(bytes, seed));
        launch(*stream, [&device, block, i] {
          *static_cast<uint32_t*>(device.host_address(block)) = static_cast<uint32_t>(i);
        });
        live.push_back({block, bytes | static_cast<size_t>(i) << 32});
      } else if (!live.empty()) {
        const auto [block, code] = live.back();
        live.pop_back();
        launch(*stream, [&device, &wrong, block = block, code = code] {
          if (*static_cast<uint32_t*>(device.host_address(block)) != code >> 32) ++wrong;
        });
        stream->free_async(block, static_cast<uint32_t>(code));
      }
    }
    for (const auto& [block, code] : live) stream->free_async(block, static_cast<uint32_t>(code));
    stream->sync();
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 4; ++seed) threads.emplace_back(worker, seed);
  for (std::thread& thread : threads) thread.join();
  const AllocatorStats stats = allocator.stats();
  CHECK(wrong == 0 && stats.in_use == 0 && device.memory_info().held == stats.cached);
  CHECK(allocator.release_cache() == stats.cached && allocator.stats().cached == 0);
  CHECK(device.memory_info().held == 0 && device.events().leased() == 0);
}

}  // namespace
}  // namespace ofl::ep

int main() {
  using namespace ofl::ep;
  constexpr size_t kSizes[] = {100, 10000, 2 * kMiB};
  test_capacity();
  test_size_classes();
  for (size_t bytes : kSizes) test_reuse_rules(bytes);
  test_ladder();
  test_limit();
  test_allocator_stress(*make_cpu_device());
  test_allocator_stress(*make_mock_device(1));
  return ofl::report();
}
