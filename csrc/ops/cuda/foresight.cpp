#include "ops/cuda/foresight.h"

#include <atomic>
#include <cstdint>
#include <exception>

#include "ops/cuda/background.h"
#include "ops/cuda/launching.h"
#include "ops/launch.h"

namespace ofl::ops::cuda {

namespace {

constexpr size_t kRemembered = 4096;

/// The properties that calls of a kind have in common, as one number.
class Kind {
 public:
  void add(uint64_t value) {
    number_ = (number_ ^ value) * 0x9E3779B97F4A7C15u;  // 2^64 divided by the golden ratio
    number_ ^= number_ >> 32;
  }
  /// The magnitude of a dimension: kernels of long rows are not those of short ones.
  void add_dim(int64_t dim) {
    uint64_t bits = 0;
    for (; dim > 0; dim >>= 1) ++bits;
    add(bits);
  }
  /// How an operand steps: not at all, from element to element, or farther.
  void add_stride(int64_t stride, DType dtype) {
    add(stride == 0 ? 0 : stride == static_cast<int64_t>(size_of(dtype)) ? 1 : 2);
  }

  uint64_t number() const { return number_ | 1; }  // not that of an empty place

 private:
  uint64_t number_ = 0;
};

// A kind has two places; the one that was seen last is in the first. Nothing is read by them that
// another thread has written: relaxed. Two threads that see a kind at once, or more kinds than
// there are places, cost a rehearsal, which finds that all is known.
bool is_first(const Kind& kind) {
  static std::atomic<uint64_t> seen[kRemembered] = {};
  const uint64_t number = kind.number();
  std::atomic<uint64_t>* const places = &seen[(number >> 1) % (kRemembered / 2) * 2];
  const uint64_t last = places[0].load(std::memory_order_relaxed);
  if (last == number || places[1].load(std::memory_order_relaxed) == number) return false;
  places[1].store(last, std::memory_order_relaxed);
  places[0].store(number, std::memory_order_relaxed);
  return true;
}

void add(const LoopArgs& args, Kind* kind) {
  kind->add(reinterpret_cast<uintptr_t>(args.op));
  kind->add(reinterpret_cast<uintptr_t>(args.resolution));
  const Iteration& iteration = args.iteration;
  for (int k = 0; k < iteration.operands; ++k) {
    kind->add(static_cast<uint64_t>(args.dtype[k]));
    for (int d = 0; d < iteration.ndim; ++d) {
      kind->add_stride(iteration.rows[d].strides[k], args.dtype[k]);
    }
  }
  for (int d = 0; d < iteration.ndim; ++d) kind->add_dim(iteration.rows[d].dim);
}

void add(const ArrayArgs& args, Kind* kind) {
  kind->add(reinterpret_cast<uintptr_t>(args.name));
  kind->add(reinterpret_cast<uintptr_t>(args.loop.name));
  for (const ArrayView& view : args.operands) {
    kind->add(static_cast<uint64_t>(view.dtype));
    for (int d = 0; d < view.shape.size(); ++d) {
      kind->add_dim(view.shape[d]);
      kind->add_stride(view.strides[d], view.dtype);
    }
  }
}

}  // namespace

template <typename Args>
void foresee(ep::Device& device, const KernelCall<Args>& call) {
  const auto launch = call.args.form().launch;
  if (!launch) return;
  Kind kind;
  kind.add(reinterpret_cast<uintptr_t>(&device));
  kind.add(static_cast<uint64_t>(call.args.kernel));
  add(call.args, &kind);
  if (!is_first(kind)) return;
  const auto base_of = [](int) { return reinterpret_cast<char*>(kRehearsedAddress); };
  make_in_background([&device, launch, args = call.placed(base_of)] {
    try {
      auto launching = Launching::rehearsal(device, args.name);
      launch(launching, args);
    } catch (const std::exception&) {  // the call meets it again, and reports it
    }
  });
}

template void foresee(ep::Device&, const KernelCall<LoopArgs>&);
template void foresee(ep::Device&, const KernelCall<ArrayArgs>&);

}  // namespace ofl::ops::cuda
