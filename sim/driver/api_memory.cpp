// Allocation: device memory at once and in stream order, pinned and registered host memory.
#include <cstdio>
#include <utility>

#include "driver/api.h"
#include "driver/capture.h"
#include "driver/config.h"
#include "driver/context.h"
#include "driver/memory.h"

namespace simcuda::api {
namespace {

constexpr unsigned char kFresh = 0xCD;
constexpr size_t kPagesOfATable = 512;  // the device's tables have 8 bytes for 4 KiB of the host

/// A block for `bytes` of the context's device, known from here on.
std::shared_ptr<Block> make_block(Context& context, size_t bytes, const Stream* stream) {
  require(bytes > 0);
  Room room = context.take_room(bytes, stream);
  char* const host = Block::allocate(bytes);
  require(host != nullptr, ERROR_OUT_OF_MEMORY);
  auto block = std::make_shared<Block>(BlockKind::device, context.device(), host, bytes, 0);
  block->room() = std::move(room);
  memory_map().add(block);
  return block;
}

/// The block that begins at `pointer`. It is unknown from here on: later calls that name it fail.
std::shared_ptr<Block> take_block(DevicePtr pointer) {
  auto block = memory_map().find(pointer, 1);
  const bool is_start = block && block->kind() == BlockKind::device && block->address() == pointer;
  require(is_start && memory_map().remove(*block));
  return block;
}

/// The bytes are dead, and nobody has written behind them.
void retire(Context& context, Block& block) {
  const HiddenFromRaceDetector hidden;
  if (!block.is_guard_intact()) {
    context.kill(ERROR_ILLEGAL_ADDRESS, "somebody wrote behind the end of a block");
  }
  block.retire();
}

std::shared_ptr<Block> take_host_block(void* pointer, BlockKind kind, Result otherwise) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  auto block = memory_map().find(address, 1);
  const bool is_start =
      block && block->kind() == kind && reinterpret_cast<uint64_t>(block->host()) == address;
  require(is_start && memory_map().remove(*block), otherwise);
  return block;
}

}  // namespace

void memory_info(size_t* free, size_t* total) {
  Capacity& capacity = current_context().capacity();
  if (total) *total = capacity.total();
  if (free) *free = capacity.free();
}

void allocate(DevicePtr* pointer, size_t bytes) {
  require(pointer != nullptr);
  const auto block = make_block(current_context(), bytes, nullptr);
  block->poison(kFresh);
  *pointer = block->address();
}

void release(DevicePtr pointer) {
  current_context();
  if (pointer == 0) return;
  const auto block = take_block(pointer);
  Context& owner = device_context(block->device());
  owner.synchronize();
  retire(owner, *block);
  block->room().give_back();
}

void allocate_async(DevicePtr* pointer, size_t bytes, Handle handle) {
  require(pointer != nullptr);
  const auto stream = stream_of(handle);
  if (stream->is_capturing()) captures().refuse(*stream, ERROR_NOT_SUPPORTED);  // nodes of memory
  const auto block = make_block(stream->context, bytes, stream.get());
  // In stream order: who uses it on another stream without waiting has it overwritten.
  stream->context.enqueue(*stream, [block] { block->poison(kFresh); });
  *pointer = block->address();
}

void release_async(DevicePtr pointer, Handle handle) {
  const auto stream = stream_of(handle);
  if (stream->is_capturing()) captures().refuse(*stream, ERROR_NOT_SUPPORTED);
  if (pointer == 0) return;
  const auto block = take_block(pointer);
  Context& owner = device_context(block->device());
  const auto bytes = static_cast<int64_t>(block->room().own_bytes());
  stream->bytes_being_freed.fetch_add(bytes, std::memory_order_relaxed);
  std::weak_ptr<Stream> weak = stream;
  stream->context.enqueue(*stream, [&owner, block, bytes, weak] {
    const bool is_intact = block->is_guard_intact();
    block->retire();
    const HiddenFromRaceDetector hidden;
    if (!is_intact) owner.kill(ERROR_ILLEGAL_ADDRESS, "somebody wrote behind the end of a block");
    block->room().give_back();
    if (const auto alive = weak.lock()) {
      alive->bytes_being_freed.fetch_sub(bytes, std::memory_order_relaxed);
    }
  });
}

void allocate_host(void** pointer, size_t bytes) { allocate_host_with_flags(pointer, bytes, 0); }

void allocate_host_with_flags(void** pointer, size_t bytes, unsigned flags) {
  require(pointer != nullptr && (flags & ~7u) == 0);
  Context& context = current_context();
  require(bytes > 0);
  Room tables = context.take_room(bytes / kPagesOfATable + 1);
  require(memory_map().bytes(BlockKind::pinned) + bytes <= static_cast<size_t>(config().pinned),
          ERROR_OUT_OF_MEMORY);
  char* const host = Block::allocate(bytes);
  require(host != nullptr, ERROR_OUT_OF_MEMORY);
  auto block = std::make_shared<Block>(BlockKind::pinned, context.device(), host, bytes, flags);
  block->room() = std::move(tables);
  memory_map().add(std::move(block));
  *pointer = host;
}

void release_host(void* pointer) {
  current_context();
  if (!pointer) return;
  const auto block = take_host_block(pointer, BlockKind::pinned, ERROR_INVALID_VALUE);
  Context& owner = device_context(block->device());
  owner.synchronize();
  retire(owner, *block);
  block->room().give_back();
}

void register_host(void* pointer, size_t bytes, unsigned flags) {
  const Context& context = current_context();
  require(pointer != nullptr && bytes > 0 && (flags & ~15u) == 0);
  require(!is_tagged(reinterpret_cast<uint64_t>(pointer)));
  require(!memory_map().overlaps(pointer, bytes), ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  memory_map().add(std::make_shared<Block>(BlockKind::registered, context.device(),
                                           static_cast<char*>(pointer), bytes, flags));
}

void unregister_host(void* pointer) {
  current_context();
  require(pointer != nullptr);
  const auto block =
      take_host_block(pointer, BlockKind::registered, ERROR_HOST_MEMORY_NOT_REGISTERED);
  device_context(block->device()).synchronize();
}

void host_device_pointer(DevicePtr* device, void* host, unsigned flags) {
  current_context();
  require(device != nullptr && flags == 0);
  const auto address = reinterpret_cast<uint64_t>(host);
  const auto block = memory_map().find(address, 1);
  require(block && !block->is_on_device());
  *device = address;  // host memory has one address everywhere
}

void host_flags(unsigned* flags, void* pointer) {
  current_context();
  require(flags != nullptr);
  const auto block = memory_map().find(reinterpret_cast<uint64_t>(pointer), 1);
  require(block && block->kind() == BlockKind::pinned);
  *flags = block->flags();
}

}  // namespace simcuda::api
