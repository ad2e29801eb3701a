// CHECK and CHECK_ERROR for the C++ test programs, what a forked child finds, and their summary.
// For one source file a program.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <string>

#include "base/error.h"

namespace ofl {
namespace {

std::atomic<int> g_passed{0}, g_failed{0};  // checks may be in several threads

#define CHECK(condition) check_that((condition), #condition, __LINE__)
#define CHECK_ERROR(kind, part, expression) \
  check_error(ErrorKind::kind, part, [&] { (void)(expression); }, __LINE__)

void check_that(bool ok, const char* text, int line) {
  ++(ok ? g_passed : g_failed);
  if (!ok) std::printf("line %d: %s\n", line, text);
}

void check_error(ErrorKind kind, const std::string& part, const std::function<void()>& run,
                 int line) {
  try {
    run();
    check_that(false, ("no error, expected: " + part).c_str(), line);
  } catch (const Error& error) {
    const bool ok =
        error.kind() == kind && std::string(error.what()).find(part) != std::string::npos;
    check_that(ok, (part + " != " + error.what()).c_str(), line);
  }
}

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

/// The exit status of main().
int report() {
  std::printf("%d passed, %d failed\n", g_passed.load(), g_failed.load());
  return g_failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ofl
