// Code of others in threads of ours, such as Python's: it may change what a thread has, like the
// context of CUDA that is current there.
#pragma once

namespace ofl::ep {

/// Of the calling thread: how often code of others has run in it. Whoever runs such code counts it
/// when it has ended; what a backend knows of the thread holds while the count stays.
inline thread_local unsigned foreign_code_count = 0;

}  // namespace ofl::ep
