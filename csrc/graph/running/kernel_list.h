// KernelList: a queue that keeps the kernels that are launched into it, and runs none. Two lists of
// one piece, of two runs, tell what a captured graph has to have changed.
#pragma once

#include <optional>
#include <vector>

#include "ep/device.h"

namespace ofl::graph {

/// Memory that the kernels of one captured piece work in: the same at each run. It goes when the
/// queue has run the last one.
class KeptScratch {
 public:
  explicit KeptScratch(ep::Device& device) : device_(device) {}
  ~KeptScratch();
  KeptScratch(const KeptScratch&) = delete;

  /// A run begins, and takes the same blocks again.
  void begin() { taken_ = 0; }
  /// CaptureError: more than is worth being kept.
  void* take(size_t bytes);

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

/// A kernel with arguments of its own.
class KeptKernel {
 public:
  explicit KeptKernel(const ep::HostKernel& kernel);
  explicit KeptKernel(const ep::DeviceKernel& kernel);

  void launch(ep::Stream& queue) const;
  void set(ep::Graph& graph, int number) const;
  /// They differ in their arguments alone, so that a graph can have the one in the other's place.
  bool is_like(const KeptKernel& other) const;
  bool has_args_of(const KeptKernel& other) const { return args_ == other.args_; }

 private:
  std::optional<ep::HostKernel> host_;  // or:
  std::optional<ep::DeviceKernel> device_;
  std::vector<unsigned char> args_;
};

class KernelList final : public ep::Stream {
 public:
  KernelList(ep::Device& device, KeptScratch& scratch) : device_(device), scratch_(scratch) {
    scratch_.begin();
  }

  std::vector<KeptKernel> take() { return std::move(kernels_); }

  void launch(const ep::HostKernel& kernel) override { kernels_.emplace_back(kernel); }
  void launch(const ep::DeviceKernel& kernel) override { kernels_.emplace_back(kernel); }
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
  std::vector<KeptKernel> kernels_;
};

}  // namespace ofl::graph
