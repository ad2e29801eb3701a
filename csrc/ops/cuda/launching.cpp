#include "ops/cuda/launching.h"

#include <algorithm>

namespace ofl::ops::cuda {

Launching::~Launching() {
  if (!queue_) return;
  for (const Block& block : scratch_) queue_->free_async(block.memory, block.bytes);
}

void* Launching::scratch(size_t bytes) {
  // In a rehearsal each has an address of its own, far from those of the operands.
  constexpr uintptr_t kRehearsed = uintptr_t{1} << 40;
  scratch_.reserve(scratch_.size() + 1);
  void* const memory =
      queue_ ? queue_->alloc_async(bytes)
             : reinterpret_cast<void*>(kRehearsed + scratch_.size() * kRehearsedAddress);
  scratch_.push_back({memory, bytes});
  return memory;
}

layout::int64* Launching::report(int count, Faults::Describe describe) {
  if (!queue_) return nullptr;
  if (queue_->keeps_launches()) throw ep::CaptureError("its kernels tell the host what is wrong");
  auto faults = std::make_shared<Faults>(device_, count, std::move(describe));
  layout::int64* const words = faults->words();
  kept_ = std::move(faults);
  return words;
}

void Launching::enqueue(const ep::DeviceKernel& kernel) {
  if (queue_) queue_->launch(kernel);
}

bool Launching::gemm(const ep::GemmCall& call) { return !queue_ || queue_->gemm(call); }

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
