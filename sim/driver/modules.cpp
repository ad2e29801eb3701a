#include "driver/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver/config.h"
#include "driver/context.h"
#include "driver/memory.h"

namespace simcuda {
namespace {

constexpr unsigned kMachineCuda = 190;  // EM_CUDA

/// A file of the image, unique: the loader takes a path that it has seen for the library it has.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<char>& bytes) {
    const char* const folder = std::getenv("TMPDIR");
    path_ = std::string(folder && *folder ? folder : "/tmp") + "/simcuda-XXXXXX";
    const int file = mkstemp(&path_[0]);
    require(file >= 0, ERROR_OUT_OF_MEMORY);
    size_t written = 0;
    while (written < bytes.size()) {
      const ssize_t count = write(file, bytes.data() + written, bytes.size() - written);
      if (count <= 0) break;
      written += static_cast<size_t>(count);
    }
    close(file);
    if (written < bytes.size()) {
      unlink(path_.c_str());
      fail(ERROR_OUT_OF_MEMORY);
    }
  }
  ~TemporaryFile() {
#if !defined(SIM_RACE_VIEW) && !defined(__SANITIZE_ADDRESS__)  // which read symbols from it
    unlink(path_.c_str());
#endif
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

}  // namespace

std::vector<char> read_image(const void* image) {
  require(image != nullptr);
  require(std::memcmp(image, ELFMAG, SELFMAG) == 0, ERROR_INVALID_IMAGE);
  ElfW(Ehdr) header;
  std::memcpy(&header, image, sizeof header);
  require(header.e_machine != kMachineCuda, ERROR_NO_BINARY_FOR_GPU);
  require(header.e_type == ET_DYN && header.e_shoff != 0, ERROR_INVALID_IMAGE);
  // The linker puts the section headers last.
  const size_t bytes = header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
  const char* const begin = static_cast<const char*>(image);
  return {begin, begin + bytes};
}

Module::Module(Context& context, const std::vector<char>& image)
    : context_(context), room_(context.take_room(static_cast<size_t>(config().module))) {
  const TemporaryFile file(image);
  library_ = dlopen(file.path(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    std::fprintf(stderr, "simcuda: image: %s\n", dlerror());
    fail(ERROR_INVALID_IMAGE);
  }
}

Module::~Module() {
  for (const auto& row : globals_) memory_map().remove(*row.second);
  dlclose(library_);
}

const SimKernel& Module::kernel(const std::string& name) const {
  const auto* kernel =
      static_cast<const SimKernel*>(dlsym(library_, ("sim_kernel_" + name).c_str()));
  require(kernel != nullptr, ERROR_NOT_FOUND);
  require(kernel->version == SIM_IMAGE_VERSION, ERROR_INVALID_IMAGE);
  return *kernel;
}

std::shared_ptr<Block> Module::global(const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto known = globals_.find(name);
  if (known != globals_.end()) return known->second;
  void* const address = dlsym(library_, name.c_str());
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  const bool is_variable =
      address &&
      dladdr1(address, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)),
              RTLD_DL_SYMENT) != 0 &&
      symbol && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT;
  require(is_variable, ERROR_NOT_FOUND);
  auto block = std::make_shared<Block>(BlockKind::module_global, context_.device(),
                                       static_cast<char*>(address), symbol->st_size, 0);
  memory_map().add(block);
  globals_[name] = block;
  return block;
}

Handle Library::module_for(Context& context) {
  std::lock_guard lock(mutex);
  Handle& handle = loaded[&context];
  if (!handle || !modules().find(handle)) {
    handle = modules().add(std::make_shared<Module>(context, image));
  }
  return handle;
}

Handle Kernel::function_for(Context& context) {
  const auto module = modules().get(library->module_for(context));
  std::lock_guard lock(mutex);
  Handle& handle = functions[&context];
  if (!handle || !simcuda::functions().find(handle)) {
    handle = simcuda::functions().add(std::make_shared<Function>(module, name));
  }
  return handle;
}

HandleTable<Module>& modules() {
  static auto* const table = new HandleTable<Module>;
  return *table;
}

HandleTable<Function>& functions() {
  static auto* const table = new HandleTable<Function>;
  return *table;
}

HandleTable<Library>& libraries() {
  static auto* const table = new HandleTable<Library>;
  return *table;
}

HandleTable<Kernel>& kernels() {
  static auto* const table = new HandleTable<Kernel>;
  return *table;
}

std::shared_ptr<Function> function_of(Handle handle) {
  if (auto function = functions().find(handle)) return function;
  const auto kernel = kernels().get(handle);
  return functions().get(kernel->function_for(current_context()));
}

}  // namespace simcuda
