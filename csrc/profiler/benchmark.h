// Benchmark: an Observer that adds up the time of each kind of operation.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "vm/board/observer.h"

namespace ofl {

/// Any thread. What is added up stays until taken.
class Benchmark final : public vm::Observer {
 public:
  struct Row {
    int64_t calls = 0;
    int64_t ns = 0;
    uint64_t bytes = 0;  // read and written
  };
  using Rows = std::map<std::string, Row>;  // by name of the operation

  void ran(const vm::Instruction& instruction, vm::Seq seq, const vm::Description& description,
           bool on_stream, int64_t begin_ns, int64_t end_ns) override;
  Rows rows() const;
  void clear();
  std::mutex& mutex() { return mutex_; }  // held across fork

 private:
  mutable std::mutex mutex_;  // guards rows_
  Rows rows_;
};

}  // namespace ofl
