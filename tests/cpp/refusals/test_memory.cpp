// A host without memory: an instruction is entered as a whole, or the machine is as it was before.
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "machine_support.h"

namespace {
thread_local int g_left = -1;  // so many are granted to the thread; -1: all of them

void* allocate(std::size_t bytes) {
  if (g_left == 0) throw std::bad_alloc();
  if (g_left > 0) --g_left;
  void* const memory = std::malloc(bytes);
  if (!memory) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace ofl::vm {
namespace {

/// Whether it was issued, with memory for so many allocations.
bool issue(World& world, const std::vector<Operand>& operands, FunctionBody body, int granted) {
  Instruction header;
  header.type = &kFunctionType;
  header.name = "work";
  header.stream = &world.machine.stream(kMock0, StreamType::compute);
  const int count = static_cast<int>(operands.size());
  try {
    g_left = granted;
    world.machine.issue(header, operands.data(), count, std::move(body));
    g_left = -1;
    return true;
  } catch (const std::bad_alloc&) {
    g_left = -1;
    return false;
  }
}

// Every allocation of an issue fails once. The one that did not get in is neither waited for nor
// run, and the next write comes after the reads that did.
void test_an_instruction_enters_as_a_whole(int reads_before) {
  constexpr int kObjects = 40;  // more than a slot has room for
  for (int granted = 0;; ++granted) {
    World world;
    Dependence objects[kObjects], results[kObjects], copied;
    int value = 1, seen = 0, ran = 0;
    world.run(kMock0, StreamType::compute, {}, [] {});
    world.machine.drain(std::nullopt);
    std::vector<Operand> operands;
    for (int i = 0; i < kObjects; ++i) {
      operands.push_back(reads(objects[i]));
      operands.push_back(writes(results[i]));
    }
    bool issued = false;
    {
      Gate gate(world);
      world.run(kMock0, StreamType::h2d, {reads(gate.object), writes(copied)}, [] {});
      for (int i = 0; i < reads_before; ++i) {
        std::vector<Operand> each{reads(copied)};
        for (Dependence& object : objects) each.push_back(reads(object));
        world.run(kMock0, StreamType::compute, each, [&] { seen += value; });
      }
      FunctionBody body{[&](LaunchContext&) { ++ran; }, nullptr};
      issued = issue(world, operands, std::move(body), granted);
      std::vector<Operand> all;
      for (Dependence& object : objects) all.push_back(writes(object));
      world.run(kMock0, StreamType::d2h, all, [&] { value = 100; });
    }
    world.machine.drain(std::nullopt);
    CHECK(world.machine.stats().in_flight == 0);
    CHECK(seen == reads_before && value == 100 && ran == (issued ? 1 : 0));
    if (issued) break;
  }
}

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  alarm(300);  // a hang is a failure
  for (const int reads_before : {0, 1, 2, 7, 8, 16}) {
    test_an_instruction_enters_as_a_whole(reads_before);
  }
  return ofl::report();
}
