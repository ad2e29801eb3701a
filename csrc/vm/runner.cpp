#include "vm/runner.h"

#include <pthread.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "vm/failure/failure.h"

namespace ofl::vm {

thread_local std::string Runner::thread_name_;

void Runner::make_thread(const std::string& name, const std::function<void()>& make) {
  const std::optional<Error> error = catch_error(make);
  if (!error) return;
  fail(ErrorKind::runtime, "[", name,
       "] the system refuses a thread for this stream: ", error->what(),
       "; raise the limits on threads and memory (ulimit -u, ulimit -v)");
}

void Runner::begin_thread(const std::string& name) {
  thread_name_ = name;
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1);  // naps end on time: by default Linux adds up to 50 us
#endif
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace ofl::vm
