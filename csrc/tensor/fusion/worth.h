// Where fusion is worth it: by the bytes of operands and the work of kernels.
#pragma once

#include <cstdint>

#include "ops/loop_args.h"
#include "vm/board/board.h"

namespace ofl {

/// Whether operations whose widest operand has so many bytes are better run as one where they
/// follow each other.
bool fusion_pays(const vm::Options& options, int64_t bytes);
bool fusion_pays(const vm::Options& options, const ops::LoopArgs& args);
/// The same of a kernel of so much work on the host, which then begins a group.
bool pays_on_host(const vm::Options& options, double cost, const ops::LoopArgs& args);

/// Whether an operand of so many bytes comes from memory, or from a cache of all cores.
bool is_large(int64_t bytes);
/// Whether the widest operand does.
bool is_large(const ops::LoopArgs& args);

}  // namespace ofl
