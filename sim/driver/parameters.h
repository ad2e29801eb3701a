// The parameters of a launch: as the program gave them, and as the kernel gets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/context.h"
#include "driver/memory.h"
#include "include/sim_image.h"

namespace simcuda {

/// Parameters with device pointers as the kernel can use them, and what these point into.
class Arguments {
 public:
  /// A word of the parameters that points into memory that the driver knows.
  struct Pointer {
    size_t offset;  // of the word
    std::shared_ptr<Block> block;
  };

  /// What is wrong with them, so that a kernel that uses them fails; nullptr: nothing.
  const char* problem() const { return problem_; }
  const std::vector<Pointer>& into_blocks() const { return into_blocks_; }
  /// Moves the word's address by so many bytes.
  void move(const Pointer& pointer, ptrdiff_t distance);
  /// One for each parameter; valid as long as this is.
  std::vector<void*> pointers();

 private:
  friend class Parameters;
  struct alignas(16) Word {
    char bytes[16];
  };
  char* begin() { return reinterpret_cast<char*>(words_.data()); }
  void translate(size_t offset, bool is_pointer, Context& context);

  std::vector<Word> words_;
  std::vector<size_t> offsets_;
  std::vector<Pointer> into_blocks_;
  const char* problem_ = nullptr;
};

/// A copy of a kernel's parameters as they were given.
class Parameters {
 public:
  Parameters(const SimKernel& kernel, void** given, void** extra);

  /// For a kernel of this context that runs now or soon: the memory is kept as long.
  Arguments translated(Context& context) const;
  /// Where each parameter is; valid as long as this is, and not moved.
  std::vector<void*> given() const { return const_cast<Arguments&>(as_given_).pointers(); }

 private:
  void copy_buffer(void** extra, size_t bytes);

  const SimKernel& kernel_;
  Arguments as_given_;
};

}  // namespace simcuda
