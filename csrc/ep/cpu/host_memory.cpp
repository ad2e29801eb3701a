#include "ep/cpu/host_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace ofl::ep {

namespace {

constexpr size_t kAlign = 64;
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void* allocate_host_memory(size_t bytes) {
  const bool is_large = bytes >= kHugePage;
  void* ptr = nullptr;
  if (posix_memalign(&ptr, is_large ? kHugePage : kAlign, bytes > 0 ? bytes : 1) != 0) {
    return nullptr;
  }
#if defined(MADV_HUGEPAGE)
  // Advice: where the kernel knows no huge pages, small ones do.
  if (is_large) madvise(ptr, bytes, MADV_HUGEPAGE);
#endif
  return ptr;
}

void free_host_memory(void* ptr) { std::free(ptr); }

}  // namespace ofl::ep
