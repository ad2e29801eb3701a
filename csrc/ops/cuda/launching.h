// Putting a call on a device's queue as kernels of the device's own. Each launcher is a function
// that enqueues what its call needs, or returns false where there is no kernel for it: then the
// call goes through the host.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "ep/device.h"
#include "ep/memory/staging_pool.h"
#include "ops/cuda/layout/parameters.h"
#include "ops/in_flight.h"

namespace ofl::ops {

struct ArrayArgs;
struct LoopArgs;

namespace cuda {

/// Words in pinned memory by which kernels say what is wrong, such as an index out of range: any of
/// several threads that write one word may win. A kernel writes nothing where all is well.
class Faults final : public InFlight {
 public:
  static constexpr int64_t kNone = INT64_MIN;
  /// The error of word `word`, which holds `value`.
  using Describe = std::function<Error(int word, int64_t value)>;

  Faults(ep::Device& device, int count, Describe describe);
  layout::int64* words() const { return reinterpret_cast<layout::int64*>(memory_.data()); }
  std::optional<Error> failure() const override;

 private:
  ep::StagingLease memory_;
  int count_;
  Describe describe_;
};

/// Each byte of an argument is a byte of a field. A gap would hold any old value, such as an
/// address of the host.
template <typename Args>
inline constexpr bool kHasNoGap = std::has_unique_object_representations_v<Args>;

/// Where an operand of a rehearsed call begins: memory of a device begins where any vector may.
inline constexpr uintptr_t kRehearsedAddress = 1 << 12;

/// Of one call. Addresses are the device's. A rehearsal has no queue: the images of the call's
/// kernels are made, nothing is enqueued, and no memory is taken.
class Launching {
 public:
  Launching(ep::Stream& queue, const char* name)
      : queue_(&queue), device_(queue.device()), name_(name) {}
  static Launching rehearsal(ep::Device& device, const char* name) { return {device, name}; }
  Launching(const Launching&) = delete;
  /// What is enqueued by now may still use the scratch memory: the queue's order protects it.
  ~Launching();

  bool is_rehearsal() const { return !queue_; }
  ep::Device& device() { return device_; }
  const char* name() const { return name_; }  // of the operation, in errors

  /// Memory of the device for the kernels of this call. Ask before the first one is enqueued: there
  /// may be none.
  void* scratch(size_t bytes);
  template <typename T>
  T* scratch_of(int64_t count) {
    return static_cast<T*>(scratch(static_cast<size_t>(count) * sizeof(T)));
  }
  /// Words for the faults of the call's kernels; once for a call. nullptr in a rehearsal.
  layout::int64* report(int count, Faults::Describe describe);

  /// Enqueues it, in blocks of layout::kThreads; `items` of work, one thread takes one after the
  /// other.
  template <typename Args>
  void run(void* function, int64_t items, const Args& args) {
    static_assert(kHasNoGap<Args>);
    enqueue({function, items, 0, layout::kThreads, 0, &args, sizeof(args)});
  }
  /// The same with so many blocks of so many threads, and shared memory of so many bytes.
  template <typename Args>
  void run_blocks(void* function, int64_t blocks, int threads, size_t shared_bytes,
                  const Args& args) {
    static_assert(kHasNoGap<Args>);
    enqueue({function, 0, blocks, threads, shared_bytes, &args, sizeof(args)});
  }
  /// Enqueues a product by the device's library; false where that has none for it.
  bool gemm(const ep::GemmCall& call);

  /// What must live until the queue has run the call.
  std::shared_ptr<InFlight> kept() const { return kept_; }

 private:
  Launching(ep::Device& device, const char* name) : queue_(nullptr), device_(device), name_(name) {}
  void enqueue(const ep::DeviceKernel& kernel);

  struct Block {
    void* memory;
    size_t bytes;
  };

  ep::Stream* const queue_;
  ep::Device& device_;
  const char* name_;
  std::vector<Block> scratch_;
  std::shared_ptr<InFlight> kept_;
};

// --- the launchers; what they compute is said where the host's kernel is declared

bool launch_elementwise(Launching& launching, const LoopArgs& args);  // and copy, fill, where
bool launch_reduce(Launching& launching, const LoopArgs& args);
bool launch_arg_reduce(Launching& launching, const LoopArgs& args);
bool launch_count_nonzero(Launching& launching, const ArrayArgs& args);
bool launch_accumulate(Launching& launching, const ArrayArgs& args);
bool launch_bincount(Launching& launching, const ArrayArgs& args);
bool launch_scatter_add(Launching& launching, const ArrayArgs& args);
bool launch_matmul(Launching& launching, const LoopArgs& args);
bool launch_philox(Launching& launching, const ArrayArgs& args);
bool launch_conv2d(Launching& launching, const ArrayArgs& args);
bool launch_conv2d_input_gradient(Launching& launching, const ArrayArgs& args);
bool launch_conv2d_weight_gradient(Launching& launching, const ArrayArgs& args);
bool launch_layout_transform(Launching& launching, const ArrayArgs& args);

bool launch_gather(Launching& launching, const ArrayArgs& args);
bool launch_take_along_axis(Launching& launching, const ArrayArgs& args);
bool launch_pick(Launching& launching, const ArrayArgs& args);
bool launch_scatter(Launching& launching, const ArrayArgs& args);
bool launch_mask_gather(Launching& launching, const ArrayArgs& args);
bool launch_mask_scatter(Launching& launching, const ArrayArgs& args);
bool launch_nonzero(Launching& launching, const ArrayArgs& args);
bool launch_argsort(Launching& launching, const ArrayArgs& args);
bool launch_contains(Launching& launching, const ArrayArgs& args);
bool launch_members(Launching& launching, const ArrayArgs& args);
bool launch_run_numbers(Launching& launching, const ArrayArgs& args);
bool launch_run_starts(Launching& launching, const ArrayArgs& args);
bool launch_search_sorted(Launching& launching, const ArrayArgs& args);
bool launch_sort(Launching& launching, const ArrayArgs& args);

}  // namespace cuda
}  // namespace ofl::ops
