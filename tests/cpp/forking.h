// What a forked child finds. For one source file a program.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace ofl {
namespace {

/// Whether `in_child` is true in a forked child. `in_parent` runs as soon as there is the child.
bool holds_in_child(
    const std::function<bool()>& in_child, const std::function<void()>& in_parent = [] {}) {
  constexpr int kHolds = 42;  // no status of a child that crashes
  const pid_t child = fork();
  if (child == 0) _exit(in_child() ? kHolds : 1);
  in_parent();
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == kHolds;
}

}  // namespace
}  // namespace ofl
