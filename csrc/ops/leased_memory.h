// Memory that kernels work in, leased: calls come one after the other, and new memory costs page
// faults. It is not a thread's own, as threads come and go.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace ofl::ops {

/// What one kind of work leases, of about one size. Of large blocks it keeps two. Lives as long as
/// the process: helpers may outlive what is destroyed at exit.
class MemoryPool {
 private:
  friend class LeasedMemory;
  struct Free {
    void operator()(char* memory) const;
  };
  struct Memory {
    std::unique_ptr<char, Free> data;
    size_t bytes = 0;
  };
  static constexpr size_t kLarge = size_t{2} << 20, kMostLarge = 2;
  static Memory allocate(size_t bytes);
  bool has_room_for(const Memory& memory) const;  // with the mutex

  std::mutex mutex_;  // guards the rest; nobody has it while nothing runs, so not at a fork
  std::vector<Memory> idle_;
  size_t leases_ = 0;  // counted so far, no fewer than there were at a time
};

/// At least so many bytes, aligned to 64, with anything in them.
class LeasedMemory {
 public:
  LeasedMemory(MemoryPool& pool, size_t bytes);
  ~LeasedMemory();
  LeasedMemory(const LeasedMemory&) = delete;

  char* data() const { return memory_.data.get(); }

 private:
  MemoryPool& pool_;
  MemoryPool::Memory memory_;
};

}  // namespace ofl::ops
