#include "ep/threads/placement.h"

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ofl::ep {

#if defined(__linux__)

// Calls that the system refuses (more cores than cpu_set_t holds, a sandbox) leave the thread where
// it is: that costs time and nothing else.

void Placement::asleep() {
  if (thread_ == 0) thread_ = static_cast<pid_t>(syscall(SYS_gettid));
}

void Placement::elsewhere() {
  const int here = sched_getcpu();
  if (thread_ == 0 || limited_ || here < 0) return;
  if (sched_getaffinity(thread_, sizeof(allowed_), &allowed_) != 0) return;
  if (!CPU_ISSET(here, &allowed_) || CPU_COUNT(&allowed_) == 1) return;
  cpu_set_t others = allowed_;
  CPU_CLR(here, &others);
  limited_ = sched_setaffinity(thread_, sizeof(others), &others) == 0;
}

void Placement::awake() {
  if (!limited_) return;
  limited_ = false;
  sched_setaffinity(0, sizeof(allowed_), &allowed_);
}

#else

void Placement::asleep() {}
void Placement::elsewhere() {}
void Placement::awake() {}

#endif

}  // namespace ofl::ep
