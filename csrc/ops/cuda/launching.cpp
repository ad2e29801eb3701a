#include "ops/cuda/launching.h"

#include <algorithm>

#include "ops/kernel.h"

namespace ofl::ops::cuda {

namespace {

struct Row {
  KernelFn kernel;
  KernelLauncher launcher;
};

constexpr Row kRows[] = {
    {elementwise_kernel, launch_elementwise}, {copy_kernel, launch_elementwise},
    {fill_kernel, launch_elementwise},        {where_kernel, launch_elementwise},
    {reduce_kernel, launch_reduce},           {arg_reduce_kernel, launch_arg_reduce},
    {matmul_kernel, launch_matmul},
};

}  // namespace

KernelLauncher launcher_of(const KernelArgs& args) {
  for (const Row& row : kRows) {
    if (row.kernel == args.kernel) return row.launcher;
  }
  return nullptr;
}

Launching::~Launching() {
  for (const Block& block : scratch_) queue_.free_async(block.memory, block.bytes);
}

void* Launching::scratch(size_t bytes) {
  scratch_.reserve(scratch_.size() + 1);
  void* memory = queue_.alloc_async(bytes);
  scratch_.push_back({memory, bytes});
  return memory;
}

Faults::Faults(ep::Device& device, int count, Describe describe)
    : memory_(device.staging().lease(static_cast<size_t>(count) * sizeof(int64_t))),
      count_(count),
      describe_(std::move(describe)) {
  std::fill_n(words(), count_, kNone);
}

std::optional<Error> Faults::failure() const {
  for (int word = 0; word < count_; ++word) {
    if (words()[word] != kNone) return describe_(word, words()[word]);
  }
  return std::nullopt;
}

}  // namespace ofl::ops::cuda
