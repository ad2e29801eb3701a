// A kernel's launch: checked when it is asked for, run by a stream's thread or as part of a graph.
#pragma once

#include <memory>
#include <vector>

#include "driver/modules.h"
#include "driver/parameters.h"
#include "driver/queue.h"

namespace simcuda {

struct Launch {
  std::shared_ptr<Function> function;
  SimLaunch shape;
  Parameters parameters;
};

/// Fails as cuLaunchKernel does. Of `given` and `extra` one is nullptr.
Launch make_launch(Context& context, Handle function, SimLaunch shape, void** given, void** extra);
/// In the stream's thread; a kernel that fails kills the context.
void run_kernel(Context& context, const Launch& launch, Arguments& arguments,
                Clock::time_point launched);

}  // namespace simcuda
