#include "ep/communicators/mpi/bell.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#endif

namespace ofl::ep::mpi {

static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(Bell) == sizeof(uint32_t));

#if defined(__linux__)

bool Bell::is_there() { return true; }

/// It may end early, for a signal, too.
void Bell::sleep(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec longest{static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
  syscall(SYS_futex, &sleeps_, FUTEX_WAIT, 1, &longest, nullptr, 0);
}

void Bell::wake() {
  if (sleeps_.exchange(0, std::memory_order_seq_cst) == 0) return;  // another one wakes it
  syscall(SYS_futex, &sleeps_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

#else

bool Bell::is_there() { return false; }
void Bell::sleep(int64_t) {}
void Bell::wake() {}

#endif

}  // namespace ofl::ep::mpi
