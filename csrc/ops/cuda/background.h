// One thread that makes kernels while the calls that want them run in another way.
#pragma once

#include <functional>
#include <mutex>

namespace ofl::ops::cuda {

/// One after the other. `work` may block and take the GIL, and throws nothing; what others see it
/// changes with the publishing mutex. Any thread.
void make_in_background(std::function<void()> work);
/// Held by that thread while it changes what others see; and across fork.
std::mutex& publishing_mutex();

/// Until all that was asked for is made. Not with the GIL.
void wait_for_background();
/// Ends the thread; what it has not begun is not made. Not with the GIL.
void stop_background();
/// In a child, where the thread does not exist; with the publishing mutex.
void forget_background();

}  // namespace ofl::ops::cuda
