// NCCL: found by a hook when ranks first have tensors on cuda devices, opened and called through a
// table of functions, as the driver is. Nothing of it is needed to build or to run. Only its sends
// and receives are used: what is added up is added by the kernels of our own, in the order that all
// ranks and devices have in common.
#pragma once

#include <memory>
#include <string>

#include "ep/communicators/peers.h"
#include "ep/cuda/cuda_context.h"
#include "ep/cuda/found_library.h"

namespace ofl::ep {

class Device;

namespace cuda {

void set_nccl_finder(LibraryFinder finder);

/// Off: tensors of cuda devices go from rank to rank through the memory of the host. Any thread.
void use_nccl(bool on);
/// The library has been told to let ranks share a device. Any thread.
void let_nccl_share_devices(bool on);

class NcclLibrary final : public PeerLibrary {
 public:
  NcclLibrary(Device& device, DeviceContext& context) : device_(device), context_(context) {}

  const char* name() override { return "NCCL"; }
  /// Error(runtime) where the file that was found is of no use.
  int version() override;
  bool is_wanted() override;
  uint64_t device_key() override;
  std::string new_id() override;
  std::unique_ptr<Peers> connect(const std::string& id, int size, int place,
                                 std::shared_ptr<Stream> queue) override;

 private:
  Device& device_;
  DeviceContext& context_;
};

}  // namespace cuda
}  // namespace ofl::ep
