// Memory of the host.
#pragma once

#include <cstddef>

namespace ofl::ep {

/// Aligned to 64 bytes; large blocks start at a huge page and ask for more of them: a page fault
/// costs as much as reading some kilobytes. nullptr where there is none.
void* allocate_host_memory(size_t bytes);
void free_host_memory(void* ptr);

}  // namespace ofl::ep
