// Modules, libraries, and what is in them.
#include <string>

#include "driver/api.h"
#include "driver/context.h"
#include "driver/memory.h"
#include "driver/modules.h"

namespace simcuda::api {
namespace {

void drop_module(Handle handle) {
  const auto module = modules().take(handle);
  functions().erase_if([&](Function& function) { return function.module == module; });
}

void global_of(DevicePtr* pointer, size_t* bytes, Handle module, const char* name) {
  require(name != nullptr && (pointer != nullptr || bytes != nullptr));
  const auto block = modules().get(module)->global(name);
  if (pointer) *pointer = block->address();
  if (bytes) *bytes = block->bytes();
}

}  // namespace

void load_module(Handle* module, const void* image) {
  require(module != nullptr);
  Context& context = current_context();
  *module = modules().add(std::make_shared<Module>(context, read_image(image)));
}

void load_module_ex(Handle* module, const void* image, unsigned, int*, void**) {
  load_module(module, image);  // options are for the compiler of PTX and its log
}

void unload_module(Handle module) {
  current_context();
  drop_module(module);
}

void module_function(Handle* function, Handle module, const char* name) {
  require(function != nullptr && name != nullptr);
  current_context();
  *function = functions().add(std::make_shared<Function>(modules().get(module), name));
}

void module_global(DevicePtr* pointer, size_t* bytes, Handle module, const char* name) {
  current_context();
  global_of(pointer, bytes, module, name);
}

void load_library(Handle* library, const void* code, int*, void**, unsigned, int*, void**,
                  unsigned) {
  require(library != nullptr);
  *library = libraries().add(std::make_shared<Library>(read_image(code)));
}

void unload_library(Handle handle) {
  const auto library = libraries().take(handle);
  kernels().erase_if([&](Kernel& kernel) { return kernel.library == library; });
  for (const auto& row : library->loaded) {
    if (modules().find(row.second)) drop_module(row.second);
  }
}

void library_kernel(Handle* kernel, Handle library, const char* name) {
  require(kernel != nullptr && name != nullptr);
  const auto owner = libraries().get(library);
  // Whether it is there shows in a loaded copy: that of the current context.
  modules().get(owner->module_for(current_context()))->kernel(name);
  *kernel = kernels().add(std::make_shared<Kernel>(owner, name));
}

void library_module(Handle* module, Handle library) {
  require(module != nullptr);
  *module = libraries().get(library)->module_for(current_context());
}

void library_global(DevicePtr* pointer, size_t* bytes, Handle library, const char* name) {
  global_of(pointer, bytes, libraries().get(library)->module_for(current_context()), name);
}

void kernel_function(Handle* function, Handle kernel) {
  require(function != nullptr);
  *function = kernels().get(kernel)->function_for(current_context());
}

void function_module(Handle* module, Handle handle) {
  require(module != nullptr);
  const auto function = function_of(handle);
  *module = modules().handle_of(function->module.get());
}

void function_name(const char** name, Handle handle) {
  require(name != nullptr);
  *name = function_of(handle)->name.c_str();
}

}  // namespace simcuda::api
