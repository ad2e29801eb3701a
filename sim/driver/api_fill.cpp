// Fills (cuMemset*).
#include <algorithm>
#include <cstring>
#include <limits>

#include "driver/api.h"
#include "driver/capture.h"
#include "driver/context.h"
#include "driver/graph.h"
#include "driver/memory.h"
#include "driver/race_view.h"

namespace simcuda::api {
namespace {

template <typename T>
void fill(DevicePtr dst, T value, size_t count, Handle handle, bool is_blocking) {
  const auto stream = stream_of(handle);
  require(dst % sizeof(T) == 0 && count <= std::numeric_limits<size_t>::max() / sizeof(T));
  if (count == 0) return;
  const auto find = [dst, count] {
    auto block = memory_map().find(dst, count * sizeof(T));
    require(block != nullptr);
    return block;
  };
  const auto block = find();
  const auto write = [dst, value, count] {
    T* const begin = reinterpret_cast<T*>(host_address(dst));
    writes(begin, count * sizeof(T));
    std::fill_n(begin, count, value);
  };
  if (stream->is_capturing()) {
    const auto run = [find, write] {
      const auto there = find();
      write();
    };
    return captures().add(*stream, task(NodeType::fill, stream->context, run));
  }
  stream->context.submit(*stream, WorkKind::fill, [block, write] { write(); });
  if (!is_blocking) return;
  stream->queue->synchronize();
  stream->context.check();
}

}  // namespace

void fill_8(DevicePtr dst, unsigned char value, size_t count) {
  fill(dst, value, count, kNullStream, true);
}
void fill_16(DevicePtr dst, unsigned short value, size_t count) {
  fill(dst, value, count, kNullStream, true);
}
void fill_32(DevicePtr dst, unsigned value, size_t count) {
  fill(dst, value, count, kNullStream, true);
}
void fill_8_async(DevicePtr dst, unsigned char value, size_t count, Handle stream) {
  fill(dst, value, count, stream, false);
}
void fill_16_async(DevicePtr dst, unsigned short value, size_t count, Handle stream) {
  fill(dst, value, count, stream, false);
}
void fill_32_async(DevicePtr dst, unsigned value, size_t count, Handle stream) {
  fill(dst, value, count, stream, false);
}

}  // namespace simcuda::api
