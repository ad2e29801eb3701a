#include "profiler/benchmark.h"

namespace ofl {

void Benchmark::ran(const vm::Instruction& instruction, vm::Seq, const vm::Description& description,
                    bool, int64_t begin_ns, int64_t end_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  Row& row = rows_[instruction.name];
  ++row.calls;
  row.ns += end_ns - begin_ns;
  row.bytes += description.bytes;
}

Benchmark::Rows Benchmark::rows() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return rows_;
}

void Benchmark::clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  rows_.clear();
}

}  // namespace ofl
