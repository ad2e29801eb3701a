// Images and what is in them. An image is a host shared object made of CUDA C++ by sim/compiler.py.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/abi.h"
#include "driver/capacity.h"
#include "driver/objects.h"
#include "include/sim_image.h"

namespace simcuda {

class Block;
class Context;

/// A copy of the bytes of an image. Fails with INVALID_IMAGE, or NO_BINARY_FOR_GPU for a real
/// cubin.
std::vector<char> read_image(const void* image);

/// One image loaded for one context: it has its own globals.
class Module {
 public:
  Module(Context& context, const std::vector<char>& image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Context& context() const { return context_; }
  /// Fails with NOT_FOUND.
  const SimKernel& kernel(const std::string& name) const;
  /// A variable, as memory of the device. Fails with NOT_FOUND.
  std::shared_ptr<Block> global(const std::string& name);

 private:
  Context& context_;
  const Room room_;
  void* library_;
  std::mutex mutex_;  // guards globals_
  std::map<std::string, std::shared_ptr<Block>> globals_;
};

/// A kernel of a module.
struct Function {
  Function(std::shared_ptr<Module> its_module, std::string its_name)
      : module(std::move(its_module)), name(std::move(its_name)), kernel(module->kernel(name)) {}

  const std::shared_ptr<Module> module;
  const std::string name;
  const SimKernel& kernel;
  std::atomic<int> max_dynamic_shared{48 << 10};
  std::atomic<int> shared_carveout{-1};
};

/// An image without a context; loaded in each where one of its kernels is used.
struct Library {
  explicit Library(std::vector<char> its_image) : image(std::move(its_image)) {}

  Handle module_for(Context& context);

  const std::vector<char> image;
  std::mutex mutex;  // guards loaded
  std::map<Context*, Handle> loaded;
};

/// A kernel of a library.
struct Kernel {
  Kernel(std::shared_ptr<Library> its_library, std::string its_name)
      : library(std::move(its_library)), name(std::move(its_name)) {}

  Handle function_for(Context& context);

  const std::shared_ptr<Library> library;
  const std::string name;
  std::mutex mutex;  // guards functions
  std::map<Context*, Handle> functions;
};

HandleTable<Module>& modules();
HandleTable<Function>& functions();
HandleTable<Library>& libraries();
HandleTable<Kernel>& kernels();

/// Of a function, or of a kernel in the current context.
std::shared_ptr<Function> function_of(Handle handle);

}  // namespace simcuda
