// A system that refuses threads: the issue of work that has no thread is an error, what is in
// flight waits for a thread, and the end of the machine needs none.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "machine_support.h"
#include "vm/pool/call_out.h"

namespace {
std::atomic<bool> is_refused{false};
}

/// In place of the library's: the standard library and the sanitizers call it, too.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  if (is_refused) return EAGAIN;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static Create* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, start, argument);
}

namespace ofl::vm {
namespace {

class Refusing {
 public:
  Refusing() { is_refused = true; }
  ~Refusing() { is_refused = false; }
};

constexpr const char* kSentence = "the system refuses a thread for this stream";

// Also on the cpu, whose work a waiting thread could do: it must not be done behind the error.
void test_nothing_is_entered_without_a_thread(Device device, StreamType type) {
  World world;
  Dependence object;
  int value = 1;
  const auto run = [&] { return world.run(device, type, {writes(object)}, [&] { ++value; }); };
  world.machine.stream(device, type);  // with its queue, which may have a thread
  {
    Refusing refusing;
    CHECK_ERROR(runtime, kSentence, run());
    CHECK_ERROR(runtime, kSentence, world.machine.barrier(0));
  }
  world.machine.drain(std::nullopt);
  CHECK(value == 1 && world.machine.stats().in_flight == 0);
  run();
  world.machine.barrier(0);
  world.machine.drain(std::nullopt);
  CHECK(value == 2);
}

#ifndef __SANITIZE_THREAD__
// In the child the streams have no threads. Work that a function held up gets ready by its end.
bool ends_in_child(World& world, Seq seq, Dependence& written) {
  is_refused = true;
  world.machine.fork().fail_lost_functions();
  CHECK_ERROR(runtime, kSentence, world.machine.wait(seq, "test"));
  CHECK(world.machine.stats().in_flight == 1);
  is_refused = false;
  world.machine.wait(seq, "test");  // a thread that waits has one made
  CHECK(written.failure() && world.machine.stats().in_flight == 0);
  return g_failed == 0;
}

void test_what_is_released_without_a_thread() {
  World world;
  Dependence held, written;
  std::promise<void> begun, opened;
  world.issue(
      kCpu, StreamType::host_func, {writes(held)},
      [&](LaunchContext& context) {
        CallOut call(context);
        begun.set_value();
        opened.get_future().wait();
      },
      nullptr, 0, kCallType);
  const Seq behind = world.run(kMock0, StreamType::compute, {reads(held), writes(written)}, [] {});
  begun.get_future().wait();
  const auto in_child = [&] { return ends_in_child(world, behind, written); };
  CHECK(holds_in_child(world.machine, in_child, [&] { opened.set_value(); }));
  world.machine.drain(std::nullopt);
}
#endif

// Threads that there are do the work of those that are refused.
void test_a_pool_with_one_thread_of_several() {
  World world;
  world.machine.options().pool_threads.store(4);
  std::atomic<int> ran{0};
  world.run(kCpu, StreamType::engine, {}, [&] { ++ran; });
  world.machine.drain(std::nullopt);
  Refusing refusing;
  for (int i = 0; i < 100; ++i) world.run(kCpu, StreamType::engine, {}, [&] { ++ran; });
  world.machine.drain(std::nullopt);
  CHECK(ran == 101);
}

// The issuer may see a thread that ends at the same time. One that sees none is told.
void test_the_end_needs_no_thread(Device device, StreamType type) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> issued{0}, ran{0};
    {
      World world;
      world.run(device, type, {}, [] {});  // the queue has a thread of its own
      world.machine.drain(std::nullopt);
      std::atomic<bool> stop{false};
      std::thread other([&] {
        while (!stop) {
          try {
            world.run(device, type, {}, [&] { ++ran; });
            ++issued;
          } catch (const Error& error) {
            CHECK(std::string(error.what()).find(kSentence) != std::string::npos);
          }
        }
      });
      CHECK(eventually([&] { return issued > 20; }));
      {
        Refusing refusing;
        world.machine.shutdown();
      }
      stop = true;
      other.join();
    }
    CHECK(ran == issued);
  }
}

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  alarm(300);  // a hang is a failure
  for (const StreamType type : {StreamType::compute, StreamType::engine, StreamType::host_func}) {
    test_nothing_is_entered_without_a_thread(kCpu, type);
    test_the_end_needs_no_thread(kCpu, type);
  }
  test_nothing_is_entered_without_a_thread(kMock0, StreamType::compute);
  test_nothing_is_entered_without_a_thread(kMock0, StreamType::d2h);
  test_the_end_needs_no_thread(kMock0, StreamType::compute);
#ifndef __SANITIZE_THREAD__
  test_what_is_released_without_a_thread();
#endif
  test_a_pool_with_one_thread_of_several();
  return ofl::report();
}
