// The kernels of a program on devices that have kernels of their own: they are compiled in the
// background from when the program is built.
#pragma once

#include "graph/planning/schedule.h"

namespace ofl::graph {

/// Some step runs as kernels of its device's own.
bool wants_kernels(const Lowered& lowered);
/// Until a group's kernel is there, its members run one by one.
void make_kernels_soon(const Schedule& schedule);

}  // namespace ofl::graph
