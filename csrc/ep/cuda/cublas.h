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
bool is_tf32_allowed();

/// The version, as 10000 * major + 100 * minor + patch; 0 where it is not there or not in use.
int cublas_version();

/// The library's state for one stream, with a workspace of its own, from the device's allocator:
/// work of one stream is in order. Used by one thread at a time, with the stream's context current.
///
/// Captured products have the workspace of the stream that launches their graph:
///
///   Cublas of stream s:   product   ┌ a loan: into stream c ┐   graph launched in s   product
///   its workspace:        used      └ captured, not used    ┘   used                  used
///
/// The graph is launched in s only, in order with other products there. So no two work in it at a
/// time, and a graph needs none of its own. The workspace goes with s, when s has run all that was
/// launched: at the end of the process before the device's allocator, or with its dead context. A
/// graph that is still there then holds an address that nobody uses.
class Cublas {
 public:
  /// nullptr where there is no library, or it is not in use.
  static std::unique_ptr<Cublas> make(Device& device, DeviceContext& context, StreamHandle stream);
  ~Cublas();
  Cublas(const Cublas&) = delete;

  bool gemm(const GemmCall& call);

 private:
  friend class CublasLoan;

  Cublas(Device& device, DeviceContext& context, StreamHandle stream)
      : device_(device), context_(context), home_(stream) {}
  void start();
  void go_to(StreamHandle stream);
  bool is_usable() const;
  template <typename Call>
  int with_memory(const Call& call);
  void check(int status, const char* function);

  Device& device_;
  DeviceContext& context_;
  const StreamHandle home_;
  CublasState* handle_ = nullptr;
  bool is_there_ = false;  // the handle has a stream, and its workspace
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
};

/// While it lives, products go into a stream that captures, and nobody else uses the library's
/// state. Should the library not take its own stream back at the end, the next product asks again.
class CublasLoan {
 public:
  CublasLoan(Cublas& cublas, StreamHandle stream);
  ~CublasLoan();
  CublasLoan(const CublasLoan&) = delete;

  bool gemm(const GemmCall& call) { return cublas_.gemm(call); }

 private:
  Cublas& cublas_;
};

}  // namespace cuda
}  // namespace ofl::ep
