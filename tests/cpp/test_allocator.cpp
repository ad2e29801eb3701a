// Properties of ep::CachingAllocator on cpu and mock. Run under ThreadSanitizer and
// AddressSanitizer.
#include "ep/memory/caching_allocator.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "ep/event_pool.h"
#include "ep/memory/arena.h"
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

constexpr size_t kSlab = 2 * kMiB;

AllocatorOptions with_slabs() {
  AllocatorOptions options;
  options.slab_bytes = kSlab;
  return options;
}

bool is_inside(void* ptr, void* slab) {
  const auto address = reinterpret_cast<uintptr_t>(ptr), begin = reinterpret_cast<uintptr_t>(slab);
  return address >= begin && address < begin + kSlab;
}

/// As Stream::free_async() does it, for an allocator that is not the device's own.
void free_async(CachingAllocator& allocator, Stream& stream, void* ptr, size_t bytes) {
  std::vector<EventLease> pending{stream.device().events().lease()};
  stream.record(*pending.back());
  allocator.free(ptr, bytes, &stream, std::move(pending));
}

void test_small_blocks_are_carved() {
  auto mock = make_mock_device(0);
  CachingAllocator allocator(*mock, with_slabs());
  std::vector<char*> blocks;
  for (int i = 0; i < 1000; ++i) {
    blocks.push_back(static_cast<char*>(allocator.alloc(300, nullptr)));
  }
  std::sort(blocks.begin(), blocks.end());
  bool apart = true;
  for (size_t i = 1; i < blocks.size(); ++i) apart = apart && blocks[i] - blocks[i - 1] >= 300;
  for (char* block : blocks) apart = apart && (block - blocks.front()) % 256 == 0;
  CHECK(apart);
  AllocatorStats stats = allocator.stats();
  CHECK(stats.device_allocs == 1 && stats.cache_hits == 999 && stats.allocs == 1000);
  CHECK(stats.in_use == 1000 * 320 && stats.in_use + stats.cached == kSlab);
  CHECK(mock->memory_info().held == kSlab && stats.peak_held == kSlab);
  void* large = allocator.alloc(kSlab / 8 + 1, nullptr);
  CHECK(!is_inside(large, blocks.front()) && allocator.stats().device_allocs == 2);
  allocator.free(large, kSlab / 8 + 1, nullptr);
  CHECK(allocator.release_cache() == round_up_block(kSlab / 8 + 1));

  char* const kept = blocks[500];
  for (char* block : blocks) {
    if (block != kept) allocator.free(block, 300, nullptr);
  }
  CHECK(allocator.release_cache() == 0);  // a block of the slab is in use
  void* again = allocator.alloc(300, nullptr);
  CHECK(is_inside(again, blocks.front()) && again != kept && allocator.stats().device_allocs == 2);
  allocator.free(again, 300, nullptr);
  allocator.free(kept, 300, nullptr);
  CHECK(allocator.stats().cached == kSlab && allocator.release_cache() == kSlab);
  stats = allocator.stats();
  CHECK(stats.cached == 0 && stats.in_use == 0 && mock->memory_info().held == 0);
}

void test_carved_blocks_follow_the_queues() {
  auto mock = make_mock_device(0);
  CachingAllocator allocator(*mock, with_slabs());
  auto home = stream_of(*mock), other = stream_of(*mock);
  void* block = allocator.alloc(1000, home.get());
  Gate gate(*home);
  free_async(allocator, *home, block, 1000);
  void* elsewhere = allocator.alloc(1000, other.get());
  CHECK(elsewhere != block && is_inside(elsewhere, block));
  CHECK(allocator.release_cache() == 0);  // the queue may still use the block
  CHECK(allocator.alloc(1000, home.get()) == block);
  free_async(allocator, *home, block, 1000);
  gate.open();
  home->sync();
  CHECK(allocator.alloc(1000, other.get()) == block);
  allocator.free(block, 1000, nullptr);
  allocator.free(elsewhere, 1000, nullptr);
  CHECK(allocator.release_cache() == kSlab);
}

void test_arenas_of_programs_share_a_block() {
  auto mock = make_mock_device(0);
  CachingAllocator& allocator = mock->allocator();
  auto stream = stream_of(*mock);
  const auto lease = [&](size_t bytes) {
    return allocator.alloc(bytes, stream.get(), 1, Fit::arena);
  };
  const size_t largest = 40 * kMiB;
  void* const first = lease(largest);
  free_async(allocator, *stream, first, largest);
  for (size_t bytes : {2 * kMiB, 7 * kMiB, largest}) {
    void* const block = lease(bytes);
    CHECK(block == first);
    free_async(allocator, *stream, block, bytes);
  }
  void* const other = allocator.alloc(7 * kMiB, stream.get());
  CHECK(other != first);
  void* const beside = (CHECK(lease(kMiB) == first), lease(2 * kMiB));
  CHECK(beside != first && allocator.stats().in_use == largest + 9 * kMiB);
  allocator.free(other, 7 * kMiB, nullptr);
  allocator.free(beside, 2 * kMiB, nullptr);
  allocator.free(first, kMiB, nullptr);
  allocator.release_cache();
  // A larger one takes the place of an idle one.
  for (size_t bytes = 2 * kMiB; bytes <= 128 * kMiB; bytes *= 2) {
    allocator.free(lease(bytes), bytes, nullptr);
    CHECK(allocator.stats().cached <= std::max(bytes, largest));
  }
  CHECK(mock->memory_info().held == 128 * kMiB && allocator.stats().cached == 128 * kMiB);
  // The limit is that of all requests, and what is idle makes room.
  allocator.set_limit(130 * kMiB);
  CHECK_ERROR(out_of_memory, "asked for 160.0 MiB", lease(160 * kMiB));
  void* const most = allocator.alloc(120 * kMiB, nullptr);
  CHECK_ERROR(out_of_memory, "asked for 16.0 MiB", lease(16 * kMiB));
  allocator.free(most, 120 * kMiB, nullptr);
  allocator.free(lease(16 * kMiB), 16 * kMiB, nullptr);
  CHECK(allocator.stats().in_use == 0);
}

void test_an_arena_is_leased_in_turn() {
  Knobs knobs;
  knobs->capacity = 8 * kMiB;
  auto mock = make_mock_device(0);
  CachingAllocator allocator(*mock);
  Arena arena(allocator);
  {
    const ArenaLease lease(arena, 2 * kMiB);
    CHECK(lease.data() != nullptr && allocator.stats().in_use == 2 * kMiB);
    CHECK(arena.lease(64) == nullptr);      // somebody has it
    CHECK(allocator.release_cache() == 0);  // nor does the allocator take it
    CHECK_ERROR(out_of_memory, "out of memory", allocator.alloc(7 * kMiB, nullptr));
  }
  CHECK(allocator.stats().in_use == 0 && allocator.stats().cached == 2 * kMiB);
  char* const place = arena.lease(kMiB);  // what is there is large enough
  CHECK(place != nullptr && mock->memory_info().held == 2 * kMiB);
  arena.give_back();
  CHECK_ERROR(out_of_memory, "out of memory", arena.lease(9 * kMiB));
  CHECK(arena.lease(64) != nullptr);  // after that error
  arena.give_back();
  void* const large = allocator.alloc(8 * kMiB, nullptr);  // takes it
  CHECK_ERROR(out_of_memory, "out of memory", arena.lease(64));
  allocator.free(large, 8 * kMiB, nullptr);
  CHECK(allocator.release_cache() == 8 * kMiB && mock->memory_info().held == 0);
}

void test_arena_stress() {
  const auto cpu = make_cpu_device();
  Arena& arena = cpu->arena();
  std::atomic<int> leased{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        if (t == 0 && i % 7 == 0) cpu->allocator().release_cache();
        const size_t bytes = 64 * static_cast<size_t>(1 + (i * 31 + t) % 50);
        const ArenaLease lease(arena, bytes);
        if (!lease.data()) {
          ++refused;
          continue;
        }
        std::fill_n(lease.data(), bytes, static_cast<char>(t));  // nobody else does
        if (std::count(lease.data(), lease.data() + bytes, static_cast<char>(t)) ==
            static_cast<int64_t>(bytes)) {
          ++leased;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(leased + refused == 8000 && leased > 0);
}

void test_slabs_on_the_ladder() {
  Knobs knobs;
  knobs->capacity = 2 * kSlab;
  auto mock = make_mock_device(0);
  CachingAllocator allocator(*mock, with_slabs());
  auto home = stream_of(*mock), other = stream_of(*mock);
  void* small = allocator.alloc(64, home.get());
  {
    Gate gate(*home);
    free_async(allocator, *home, small, 64);
    gate.open();
  }
  void* large = allocator.alloc(3 * kMiB, other.get());  // the slab is idle, and goes
  CHECK(large != nullptr && mock->memory_info().held == 3 * kMiB);
  void* own = allocator.alloc(64, home.get());  // there is no room for a slab
  CHECK(mock->memory_info().held == 3 * kMiB + 64);
  allocator.free(own, 64, nullptr);
  CHECK(allocator.release_cache() == 64);
  allocator.free(large, 3 * kMiB, nullptr);
  allocator.release_cache();

  knobs->capacity = kMiB;
  own = allocator.alloc(64, home.get());  // the device refuses the slab
  CHECK(mock->memory_info().held == 64 && allocator.stats().device_allocs == 4);
  knobs->capacity = 2 * kSlab;
  void* carved = allocator.alloc(64, home.get());
  CHECK(mock->memory_info().held == 64 + kSlab && allocator.stats().device_allocs == 5);
  allocator.set_limit(64 + kSlab);
  CHECK_ERROR(out_of_memory, "limit 2.0 MiB", allocator.alloc(kMiB, nullptr));
  allocator.free(own, 64, nullptr);
  allocator.free(carved, 64, nullptr);
  allocator.set_limit(kMiB);  // more is held: all that is idle goes
  CHECK(allocator.stats().cached == 0 && mock->memory_info().held == 0);
  own = allocator.alloc(64, nullptr);  // a slab is more than the limit
  CHECK(mock->memory_info().held == 64);
  allocator.free(own, 64, nullptr);
}

// Threads fill, keep and check blocks; no two live blocks may share bytes, and nothing may be lost.
void test_allocator_stress(Device& device, CachingAllocator& allocator) {
  std::atomic<int> wrong{0};
  const auto worker = [&](uint32_t seed) {
    auto stream = stream_of(device);
    std::mt19937 random(seed);
    std::vector<std::pair<uint32_t*, size_t>> live;
    for (int i = 0; i < 2000; ++i) {
      if (live.size() < 8 && random() % 2) {
        const size_t bytes = 4 + random() % (random() % 4 ? 5000 : 2 * kMiB);
        const Fit fit = random() % 3 ? Fit::close : Fit::arena;
        auto* block = static_cast<uint32_t*>(allocator.alloc(bytes, stream.get(), seed, fit));
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
        free_async(allocator, *stream, block, static_cast<uint32_t>(code));
      } else if (i % 100 == 50) {
        allocator.release_cache();
      }
    }
    for (const auto& [block, code] : live) {
      free_async(allocator, *stream, block, static_cast<uint32_t>(code));
    }
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
  test_small_blocks_are_carved();
  test_carved_blocks_follow_the_queues();
  test_slabs_on_the_ladder();
  test_arenas_of_programs_share_a_block();
  test_an_arena_is_leased_in_turn();
  test_arena_stress();
  const auto cpu = make_cpu_device(), mock = make_mock_device(1);
  test_allocator_stress(*cpu, cpu->allocator());
  test_allocator_stress(*mock, mock->allocator());
  CachingAllocator carving(*mock, with_slabs());
  test_allocator_stress(*mock, carving);
  return ofl::report();
}
