// cuBLAS: found by a hook at the first product, opened and called through a table of functions, as
// the driver is. Nothing of it is needed to build or to run.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "ep/cuda/cuda_context.h"
#include "ep/cuda/found_library.h"
#include "ep/gemm.h"

namespace ofl::ep {

class Device;

namespace cuda {

struct CublasState;  // what a cublasHandle_t points to

void set_cublas_finder(LibraryFinder finder);

/// Off: products are made by kernels of our own. Any thread.
void use_cublas(bool on);
/// float32 products may be made of factors of 10 bits. Any thread.
void allow_tf32(bool on);

/// The version, as 10000 * major + 100 * minor + patch; 0 where it is not there or not in use.
int cublas_version();

/// The library's state for one stream, with a workspace of its own, from the device's allocator:
/// work of one stream is in order. Used by one thread at a time, with the stream's context current.
class Cublas {
 public:
  /// nullptr where there is no library, or it is not in use.
  static std::unique_ptr<Cublas> make(Device& device, DeviceContext& context, StreamHandle stream);
  ~Cublas();
  Cublas(const Cublas&) = delete;

  bool gemm(const GemmCall& call);

 private:
  Cublas(Device& device, DeviceContext& context) : device_(device), context_(context) {}
  void start(StreamHandle stream);
  template <typename Call>
  int with_memory(const Call& call);
  void check(int status, const char* function);

  Device& device_;
  DeviceContext& context_;
  CublasState* handle_ = nullptr;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
};

}  // namespace cuda
}  // namespace ofl::ep
