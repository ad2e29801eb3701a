// Device memory that other libraries use, too. Order is that of the queues: nobody waits for the
// device. On the host memory is shared by SharedStorage (storage.h), and settled.
#pragma once

#include <memory>

#include "ep/event_pool.h"
#include "tensor/issue.h"

namespace ofl {

/// `x` as others may use it: its memory is there, and `ready` is behind all that was issued on it
/// (and on the device's compute queue). Waits until that has been launched; throws what made it
/// fail so far. The memory outlives the last handle for what is in the device's queues by then.
ep::EventLease hand_over(const Issuer& issuer, const Tensor& x, const char* reason);

/// A storage over memory of another library on `device`. What is issued on it comes after `ready`
/// (null: after what the compute queue has been given); `owner` goes when the last user has run.
StorageRef take_over(const Issuer& issuer, Device device, void* data, size_t bytes,
                     std::shared_ptr<void> owner, bool writable, ep::EventLease ready);

/// Uninitialized, in memory of the host that `device`, one with queues, has pinned for its copies.
Tensor empty_pinned(const Issuer& issuer, Device device, DType dtype, const Dims& shape);

}  // namespace ofl
