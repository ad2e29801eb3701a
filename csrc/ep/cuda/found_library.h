// FoundLibrary: a library that a hook finds when it is first wanted. It is opened once, and called
// through a table of functions.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"

namespace ofl::ep::cuda {

/// The path of the library, or "" where none is installed. Called on any thread, which may block;
/// perhaps more than once, but its first answer stays.
using LibraryFinder = std::function<std::string()>;

/// Never destroyed, as threads may outlive statics. Any thread.
template <typename Routines>
class FoundLibrary {
 public:
  /// `name`, "cublas", and `flag`, which turns it off, are for errors. `find_routines` gets the
  /// loaded library and its path; it throws Error(runtime) where functions are missing.
  FoundLibrary(const char* name, const char* flag,
               Routines (*find_routines)(void* loaded, const std::string& path))
      : name_(name), flag_(flag), find_routines_(find_routines) {}

  void set_finder(LibraryFinder finder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    finder_ = std::move(finder);
  }
  void use(bool on) { used_.store(on, std::memory_order_relaxed); }
  bool is_used() const { return used_.load(std::memory_order_relaxed); }

  /// Its functions; null: it is not there. No lock is held while it is looked for: the finder may
  /// wait for a lock of its own, whose owner may wait here. Two threads may both look; the first
  /// one that stores stays, and both see the same file. Error(runtime) where the file is of no use.
  const Routines* routines() {
    const Found* known = found_.load(std::memory_order_acquire);
    if (!known) {
      const Found* const opened = open();
      if (found_.compare_exchange_strong(known, opened, std::memory_order_acq_rel)) known = opened;
    }
    return known->is_there ? &known->routines : nullptr;
  }

 private:
  struct Found {
    bool is_there = false;
    Routines routines;
  };

  const Found* open() {
    LibraryFinder finder;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      finder = finder_;
    }
    const std::string path = finder ? finder() : "";
    if (path.empty()) return new Found;
    void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!loaded) {
      fail(ErrorKind::runtime, "[", name_, "] cannot be loaded (", dlerror(),
           "); mend the installation, or set ", flag_, "=0");
    }
    return new Found{true, find_routines_(loaded, path)};
  }

  const char* const name_;
  const char* const flag_;
  Routines (*const find_routines_)(void*, const std::string&);
  std::atomic<bool> used_{true};
  std::atomic<const Found*> found_{nullptr};  // once it has been looked for; never destroyed
  std::mutex mutex_;                          // guards finder_
  LibraryFinder finder_;
};

/// Finds a function of a loaded library by its name, or null; whether it is there. As POSIX has it,
/// a pointer to an object is the address of a function.
template <typename Function>
bool find_function(void* loaded, const char* symbol, Function* function) {
  *reinterpret_cast<void**>(function) = dlsym(loaded, symbol);
  return *function != nullptr;
}

}  // namespace ofl::ep::cuda
