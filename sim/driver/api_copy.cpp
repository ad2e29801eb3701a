// Copies. What is copied is decided when the call is made, and done in stream order: from pinned
// memory and between devices truly later, from pageable memory out of a copy made now, to pageable
// memory before the call returns.
#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "driver/api.h"
#include "driver/capture.h"
#include "driver/context.h"
#include "driver/graph.h"
#include "driver/memory.h"

namespace simcuda::api {
namespace {

enum class Place : uint8_t { device, pinned, pageable };

/// One side of a copy: rows of bytes somewhere.
struct Side {
  char* host = nullptr;
  size_t pitch = 0;
  Place place = Place::pageable;
  int device = -1;
  std::shared_ptr<void> keeps;  // the block, or the staged bytes
};

struct Extent {
  size_t width;
  size_t height;

  /// From the first byte to the last, if rows are `pitch` apart.
  size_t span(size_t pitch) const { return pitch * (height - 1) + width; }
};

/// Memory that the driver must know.
Side device_side(uint64_t pointer, size_t pitch, const Extent& extent) {
  auto block = memory_map().find(pointer, extent.span(pitch));
  require(block != nullptr);
  const Place place = block->is_on_device() ? Place::device : Place::pinned;
  const int device = block->is_on_device() ? block->device() : -1;
  return {host_address(pointer), pitch, place, device, std::move(block)};
}

/// Memory of the host, known or not.
Side host_side(const void* pointer, size_t pitch, const Extent& extent) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  require(pointer != nullptr && !is_tagged(address));
  auto block = memory_map().find(address, extent.span(pitch));
  const Place place = block ? Place::pinned : Place::pageable;
  return {host_address(address), pitch, place, -1, std::move(block)};
}

Side any_side(uint64_t pointer, size_t pitch, const Extent& extent) {
  if (is_tagged(pointer)) return device_side(pointer, pitch, extent);
  return host_side(reinterpret_cast<const void*>(pointer), pitch, extent);
}

void copy_rows(const Side& dst, const Side& src, const Extent& extent) {
  for (size_t row = 0; row < extent.height; ++row) {
    std::memmove(dst.host + row * dst.pitch, src.host + row * src.pitch, extent.width);
  }
}

/// The end of each row comes last, after `wait`: whoever writes to the source too early, or reads
/// the target, is seen.
template <typename Wait>
void copy_rows_until(const Side& dst, const Side& src, const Extent& extent, const Wait& wait) {
  constexpr size_t kMostLate = 4096;
  const size_t late = std::min(kMostLate, extent.width);
  const Extent first{extent.width - late, extent.height}, last{late, extent.height};
  copy_rows(dst, src, first);
  wait();
  Side dst_end = dst, src_end = src;
  dst_end.host += first.width;
  src_end.host += first.width;
  copy_rows(dst_end, src_end, last);
}

/// A copy of pageable memory, made now.
Side staged(const Side& src, const Extent& extent) {
  std::shared_ptr<char> bytes(new char[extent.width * extent.height],
                              std::default_delete<char[]>());
  Side copy{bytes.get(), extent.width, Place::pinned, -1, bytes};
  copy_rows(copy, src, extent);
  return copy;
}

Direction direction_of(const Side& dst, const Side& src) {
  if (dst.place == Place::device && src.place == Place::device) return Direction::d2d;
  return dst.place == Place::device ? Direction::h2d : Direction::d2h;
}

/// In the stream's thread.
void perform(const Side& dst, const Side& src, const Extent& extent, Context& context) {
  const int device = dst.place == Place::device ? dst.device : src.device;
  Context& engine = device >= 0 ? device_context(device) : context;
  const auto end = engine.copy_end(direction_of(dst, src), extent.width * extent.height);
  copy_rows_until(dst, src, extent, [&] { std::this_thread::sleep_until(end); });
}

using FindSide = std::function<Side()>;

/// A node that copies what is there whenever it runs. Of pageable memory nobody knows that.
void capture_copy(const FindSide& find_dst, const FindSide& find_src, const Extent& extent,
                  Stream& stream) {
  if (find_dst().place == Place::pageable || find_src().place == Place::pageable) {
    captures().refuse(stream, ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  Context& context = stream.context;
  captures().add(stream, task(NodeType::copy, context, [find_dst, find_src, extent, &context] {
                   perform(find_dst(), find_src(), extent, context);
                 }));
}

/// Queues the copy. `is_blocking`: it has happened when this returns, and its failure is this
/// one's.
void copy_sides(const FindSide& find_dst, const FindSide& find_src, const Extent& extent,
                Stream& stream, bool is_blocking) {
  if (stream.is_capturing()) return capture_copy(find_dst, find_src, extent, stream);
  const Side dst = find_dst();
  const Side given_src = find_src();
  const bool stages = given_src.place == Place::pageable && !is_blocking;
  Side src = stages && dst.place == Place::device ? staged(given_src, extent) : given_src;
  // Neither side is a device's: the host's own memory is copied before the call returns.
  const bool waits = is_blocking || dst.place == Place::pageable || src.place == Place::pageable;
  Context& context = stream.context;
  // Staged bytes go with the operation: the stream's thread frees them, not who is last by chance.
  context.submit(stream, WorkKind::copy, [dst, src = std::move(src), extent, &context] {
    perform(dst, src, extent, context);
  });
  if (!waits) return;
  stream.queue->synchronize();
  stream.context.check();
}

void copy_bytes(uint64_t dst, uint64_t src, size_t bytes, Handle handle, bool is_blocking,
                Side (*dst_side)(uint64_t, size_t, const Extent&),
                Side (*src_side)(uint64_t, size_t, const Extent&)) {
  const auto stream = stream_of(handle);
  if (bytes == 0) return;
  const Extent extent{bytes, 1};
  copy_sides([=] { return dst_side(dst, bytes, extent); },
             [=] { return src_side(src, bytes, extent); }, extent, *stream, is_blocking);
}

/// As the h2d and d2h calls want it: a host pointer here, a device pointer there.
Side only_device(uint64_t pointer, size_t pitch, const Extent& extent) {
  Side side = device_side(pointer, pitch, extent);
  require(side.place == Place::device);
  return side;
}
Side only_host(uint64_t pointer, size_t pitch, const Extent& extent) {
  return host_side(reinterpret_cast<const void*>(pointer), pitch, extent);
}

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void check_owner(DevicePtr pointer, Handle context, size_t bytes) {
  const Context& owner = context_of(context);
  owner.check();
  const auto block = memory_map().find(pointer, bytes);
  require(block && block->is_on_device() && block->device() == owner.device());
}

void copy_between(DevicePtr dst, Handle dst_context, DevicePtr src, Handle src_context,
                  size_t bytes, Handle stream, bool is_blocking) {
  current_context();
  if (bytes > 0) {
    check_owner(dst, dst_context, bytes);
    check_owner(src, src_context, bytes);
  }
  copy_bytes(dst, src, bytes, stream, is_blocking, only_device, only_device);
}

Side side_of_2d(const Copy2D::Side& side, const Extent& extent) {
  require(side.memory_type != kMemoryArray, ERROR_NOT_SUPPORTED);
  require(side.pitch >= side.x_in_bytes + extent.width || extent.height == 1);
  const size_t offset = side.y * side.pitch + side.x_in_bytes;
  switch (side.memory_type) {
    case kMemoryHost:
      require(side.host != nullptr);
      return only_host(number(side.host) + offset, side.pitch, extent);
    case kMemoryDevice: return only_device(side.device + offset, side.pitch, extent);
    case kMemoryUnified: return any_side(side.device + offset, side.pitch, extent);
    default: fail(ERROR_INVALID_VALUE);
  }
}

void copy_rectangle(const Copy2D* copy, Handle handle, bool is_blocking) {
  require(copy != nullptr);
  const auto stream = stream_of(handle);
  const Extent extent{copy->width_in_bytes, copy->height};
  if (extent.width == 0 || extent.height == 0) return;
  copy_sides([side = copy->dst, extent] { return side_of_2d(side, extent); },
             [side = copy->src, extent] { return side_of_2d(side, extent); }, extent, *stream,
             is_blocking);
}

}  // namespace

void copy_h2d(DevicePtr dst, const void* src, size_t bytes) {
  copy_bytes(dst, number(src), bytes, kNullStream, true, only_device, only_host);
}

void copy_d2h(void* dst, DevicePtr src, size_t bytes) {
  copy_bytes(number(dst), src, bytes, kNullStream, true, only_host, only_device);
}

void copy_d2d(DevicePtr dst, DevicePtr src, size_t bytes) {
  copy_bytes(dst, src, bytes, kNullStream, true, only_device, only_device);
}

void copy(DevicePtr dst, DevicePtr src, size_t bytes) {
  copy_bytes(dst, src, bytes, kNullStream, true, any_side, any_side);
}

void copy_peer(DevicePtr dst, Handle dst_context, DevicePtr src, Handle src_context, size_t bytes) {
  copy_between(dst, dst_context, src, src_context, bytes, kNullStream, true);
}

void copy_h2d_async(DevicePtr dst, const void* src, size_t bytes, Handle stream) {
  copy_bytes(dst, number(src), bytes, stream, false, only_device, only_host);
}

void copy_d2h_async(void* dst, DevicePtr src, size_t bytes, Handle stream) {
  copy_bytes(number(dst), src, bytes, stream, false, only_host, only_device);
}

void copy_d2d_async(DevicePtr dst, DevicePtr src, size_t bytes, Handle stream) {
  copy_bytes(dst, src, bytes, stream, false, only_device, only_device);
}

void copy_async(DevicePtr dst, DevicePtr src, size_t bytes, Handle stream) {
  copy_bytes(dst, src, bytes, stream, false, any_side, any_side);
}

void copy_peer_async(DevicePtr dst, Handle dst_context, DevicePtr src, Handle src_context,
                     size_t bytes, Handle stream) {
  copy_between(dst, dst_context, src, src_context, bytes, stream, false);
}

void copy_2d(const Copy2D* copy) { copy_rectangle(copy, kNullStream, true); }

void copy_2d_async(const Copy2D* copy, Handle stream) { copy_rectangle(copy, stream, false); }

}  // namespace simcuda::api
