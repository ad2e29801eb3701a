// KernelList: a queue that keeps the kernels that are launched into it, and the products that the
// device's library is to make, and runs none. Two lists of one piece, of two runs, tell what a
// captured graph has to have changed.
#pragma once

#include <optional>
#include <vector>

#include "ep/device.h"
#include "ep/gemm.h"

namespace ofl::graph {

/// Memory that the kernels of one captured piece work in: the same at each run, so that only the
/// order of one queue keeps runs apart. It goes when the queue has run the last one.
class KeptScratch {
 public:
  explicit KeptScratch(ep::Device& device) : device_(device) {}
  ~KeptScratch();
  KeptScratch(const KeptScratch&) = delete;

  /// A run begins, and takes the same blocks again.
  void begin() { taken_ = 0; }
  /// CaptureError: more than is worth being kept.
  void* take(size_t bytes);
  bool is_used() const { return !blocks_.empty(); }

 private:
  struct Block {
    void* memory;
    size_t bytes;
  };

  ep::Device& device_;
  std::vector<Block> blocks_;
  size_t taken_ = 0;
  size_t bytes_ = 0;
};

/// A kernel with arguments of its own, or a product. The arguments of a product cannot be set in
/// a graph.
class KeptLaunch {
 public:
  explicit KeptLaunch(const ep::HostKernel& kernel);
  explicit KeptLaunch(const ep::DeviceKernel& kernel);
  explicit KeptLaunch(const ep::GemmCall& product) : product_(product) {}

  /// False: a product for which the library has no routine, and nothing is launched.
  bool launch(ep::Stream& queue) const;
  bool is_product() const { return product_.has_value(); }
  /// Only of a kernel.
  void set(ep::Graph& graph, int number) const;
  /// They differ in their arguments alone, so that a graph can have the one in the other's place.
  /// Of products, operands may be elsewhere, and be rounded or not.
  bool is_like(const KeptLaunch& other) const;
  bool has_args_of(const KeptLaunch& other) const;

 private:
  std::optional<ep::HostKernel> host_;  // or:
  std::optional<ep::DeviceKernel> device_;
  std::optional<ep::GemmCall> product_;
  std::vector<unsigned char> args_;  // of a kernel
};

class KernelList final : public ep::Stream {
 public:
  /// `takes_products`: false where the library has no routine for them.
  KernelList(ep::Device& device, KeptScratch& scratch, bool takes_products)
      : device_(device), scratch_(scratch), takes_products_(takes_products) {
    scratch_.begin();
  }

  std::vector<KeptLaunch> take() { return std::move(launches_); }

  void launch(const ep::HostKernel& kernel) override { launches_.emplace_back(kernel); }
  void launch(const ep::DeviceKernel& kernel) override { launches_.emplace_back(kernel); }
  bool gemm(const ep::GemmCall& call) override;
  void copy(void* dst, const void* src, size_t bytes, ep::CopyKind kind) override;
  void record(ep::Event& event) override;
  void wait(ep::Event& event) override;
  void sync() override {}
  bool keeps_launches() const override { return true; }
  void* alloc_async(size_t bytes, uint32_t owner_tag) override;
  void free_async(void* ptr, size_t bytes) override;
  std::optional<Error> async_error() override { return std::nullopt; }
  ep::Device& device() override { return device_; }

 private:
  ep::Device& device_;
  KeptScratch& scratch_;
  const bool takes_products_;
  std::vector<KeptLaunch> launches_;
};

}  // namespace ofl::graph
