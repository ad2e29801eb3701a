#include "driver/parameters.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "driver/config.h"

namespace simcuda {
namespace {

constexpr uint64_t kAddressEnd = uint64_t{1} << 47;
#if defined(__SANITIZE_ADDRESS__) && defined(__x86_64__)
constexpr uint64_t kLowestAddress = (kAddressEnd >> 3) + 0x7fff8000;  // below are its shadows
#else
constexpr uint64_t kLowestAddress = uint64_t{1} << 32;  // below, numbers are as likely
#endif

/// Whether the host has memory there.
bool is_mapped(uint64_t address) {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  unsigned char residency = 0;
  return mincore(reinterpret_cast<void*>(address / page * page), 1, &residency) == 0;
}

/// The block of the host that a kernel may use at `word`, its end included.
std::shared_ptr<Block> host_block(uint64_t word) {
  auto block = memory_map().find(word, 0);
  if (!block) block = memory_map().find(word - 1, 1);
  return block && !block->is_on_device() ? block : nullptr;
}

}  // namespace

void Arguments::move(const Pointer& pointer, ptrdiff_t distance) {
  char* address = nullptr;
  std::memcpy(&address, begin() + pointer.offset, sizeof address);
  address += distance;
  std::memcpy(begin() + pointer.offset, &address, sizeof address);
}

std::vector<void*> Arguments::pointers() {
  std::vector<void*> result;
  for (const size_t offset : offsets_) result.push_back(begin() + offset);
  return result;
}

/// A word that is no address is left alone: a number.
void Arguments::translate(size_t offset, bool is_pointer, Context& context) {
  uint64_t word = 0;
  std::memcpy(&word, begin() + offset, sizeof word);
  if (is_tagged(word)) {
    auto block = memory_map().find_device(word);
    if (!block || !context.can_reach(block->device())) {
      problem_ = "a pointer to no memory in reach";
      return;
    }
    const char* const address = host_address(word);
    std::memcpy(begin() + offset, &address, sizeof address);
    into_blocks_.push_back({offset, std::move(block)});
    return;
  }
  const bool may_be_address = word >= kLowestAddress && word < kAddressEnd;
  if (word == 0 || !(is_pointer || may_be_address)) return;
  if (auto block = host_block(word)) {
    into_blocks_.push_back({offset, std::move(block)});
  } else if (is_pointer || (config().guess && is_mapped(word))) {
    problem_ = "a pointer to memory of the host that is not pinned";
  }
}

Parameters::Parameters(const SimKernel& kernel, void** given, void** extra) : kernel_(kernel) {
  size_t end = 0;
  for (unsigned i = 0; i < kernel.parameter_count; ++i) {
    const size_t alignment = kernel.parameter_alignments[i];
    as_given_.offsets_.push_back((end + alignment - 1) / alignment * alignment);
    end = as_given_.offsets_.back() + kernel.parameter_sizes[i];
  }
  as_given_.words_.resize((end + sizeof(Arguments::Word) - 1) / sizeof(Arguments::Word));
  const std::vector<void*> places = as_given_.pointers();
  if (extra) {
    copy_buffer(extra, end);
    return;
  }
  require(given != nullptr || kernel.parameter_count == 0);
  for (unsigned i = 0; i < kernel.parameter_count; ++i) {
    require(given[i] != nullptr);
    std::memcpy(places[i], given[i], kernel.parameter_sizes[i]);
  }
}

/// The form with CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE.
void Parameters::copy_buffer(void** extra, size_t bytes) {
  const void* buffer = nullptr;
  const size_t* size = nullptr;
  for (; *extra; extra += 2) {
    if (*extra == reinterpret_cast<void*>(1)) buffer = extra[1];
    if (*extra == reinterpret_cast<void*>(2)) size = static_cast<const size_t*>(extra[1]);
  }
  require(buffer && size && *size >= bytes);
  std::memcpy(as_given_.begin(), buffer, bytes);
}

/// Words inside a struct passed by value are aligned to 8 within it.
Arguments Parameters::translated(Context& context) const {
  Arguments arguments = as_given_;
  for (unsigned i = 0; i < kernel_.parameter_count; ++i) {
    const bool is_pointer = kernel_.parameter_is_pointer[i];
    for (size_t at = 0; at + 8 <= kernel_.parameter_sizes[i]; at += 8) {
      arguments.translate(as_given_.offsets_[i] + at, is_pointer, context);
    }
  }
  return arguments;
}

}  // namespace simcuda
