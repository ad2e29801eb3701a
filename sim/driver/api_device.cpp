// Driver and devices: what they are called and what they can.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "driver/api.h"
#include "driver/config.h"
#include "driver/context.h"
#include "driver/control.h"

namespace simcuda::api {
namespace {

constexpr int kDriverVersion = 13000;
constexpr int kLastAttribute = 147;
constexpr int kFirstBus = 0x10;  // of device 0; each device has a bus

struct Attribute {
  int number;
  int value;
};

/// What is not listed is 0: the device does not have it.
constexpr Attribute kAttributes[] = {
    {1, 1024},         // MAX_THREADS_PER_BLOCK
    {2, 1024},         // MAX_BLOCK_DIM_X
    {3, 1024},         // MAX_BLOCK_DIM_Y
    {4, 64},           // MAX_BLOCK_DIM_Z
    {5, 0x7fffffff},   // MAX_GRID_DIM_X
    {6, 65535},        // MAX_GRID_DIM_Y
    {7, 65535},        // MAX_GRID_DIM_Z
    {8, 48 << 10},     // MAX_SHARED_MEMORY_PER_BLOCK
    {9, 64 << 10},     // TOTAL_CONSTANT_MEMORY
    {10, 32},          // WARP_SIZE
    {11, 0x7fffffff},  // MAX_PITCH
    {12, 65536},       // MAX_REGISTERS_PER_BLOCK
    {13, 1000000},     // CLOCK_RATE, kHz
    {14, 512},         // TEXTURE_ALIGNMENT
    {15, 1},           // GPU_OVERLAP
    {19, 1},           // CAN_MAP_HOST_MEMORY
    {31, 1},           // CONCURRENT_KERNELS
    {36, 1000000},     // MEMORY_CLOCK_RATE, kHz
    {37, 512},         // GLOBAL_MEMORY_BUS_WIDTH, bits
    {38, 4 << 20},     // L2_CACHE_SIZE
    {39, 2048},        // MAX_THREADS_PER_MULTIPROCESSOR
    {40, 3},           // ASYNC_ENGINE_COUNT
    {41, 1},           // UNIFIED_ADDRESSING
    {78, 1},           // STREAM_PRIORITIES_SUPPORTED
    {81, 228 << 10},   // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    {82, 65536},       // MAX_REGISTERS_PER_MULTIPROCESSOR
    {91, 1},           // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    {97, 227 << 10},   // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    {99, 1},           // HOST_REGISTER_SUPPORTED
    {106, 32},         // MAX_BLOCKS_PER_MULTIPROCESSOR
    {111, 1 << 10},    // RESERVED_SHARED_MEMORY_PER_BLOCK
    {115, 1},          // MEMORY_POOLS_SUPPORTED
};

int attribute(int number, int device) {
  switch (number) {  // what depends on the device or the knobs
    case 16: return static_cast<int>(config().multiprocessors);
    case 33: return kFirstBus + device;
    case 75: return static_cast<int>(config().capability) / 10;
    case 76: return static_cast<int>(config().capability) % 10;
    default: break;
  }
  for (const Attribute& row : kAttributes) {
    if (row.number == number) return row.value;
  }
  return 0;
}

/// cuDeviceGet's rule: any device of the table.
void check_device(int device) { device_context(device); }

std::string bus_id(int device) {
  char text[16];
  std::snprintf(text, sizeof text, "0000:%02X:00.0", kFirstBus + device);
  return text;
}

}  // namespace

void init(unsigned flags) {
  require(flags == 0);
  require(read_environment(), ERROR_INVALID_VALUE);
  initialize();
}

void driver_version(int* version) {
  require(version != nullptr);
  *version = kDriverVersion;
}

void error_name(int code, const char** name) {
  require(name != nullptr);
  switch (code) {
#define SIMCUDA_CASE(symbol, number, text) \
  case number: *name = "CUDA_" #symbol; return;
    SIMCUDA_RESULTS(SIMCUDA_CASE)
#undef SIMCUDA_CASE
    default: *name = nullptr; fail(ERROR_INVALID_VALUE);
  }
}

void error_string(int code, const char** text) {
  require(text != nullptr);
  switch (code) {
#define SIMCUDA_CASE(symbol, number, words) \
  case number: *text = words; return;
    SIMCUDA_RESULTS(SIMCUDA_CASE)
#undef SIMCUDA_CASE
    default: *text = nullptr; fail(ERROR_INVALID_VALUE);
  }
}

void get_device(int* device, int ordinal) {
  require(device != nullptr);
  check_device(ordinal);
  *device = ordinal;
}

void device_count(int* count) {
  require(count != nullptr);
  *count = simcuda::device_count();
}

void device_name(char* name, int length, int device) {
  require(name != nullptr && length > 0);
  check_device(device);
  std::snprintf(name, static_cast<size_t>(length), "Simulated CUDA device %d", device);
}

void device_uuid(Uuid* uuid, int device) {
  require(uuid != nullptr);
  check_device(device);
  std::memcpy(uuid->bytes, "simulated-cuda-", 15);
  uuid->bytes[15] = static_cast<char>(device);
}

void device_total_memory(size_t* bytes, int device) {
  require(bytes != nullptr);
  *bytes = device_context(device).capacity().total();
}

void device_attribute(int* value, int number, int device) {
  require(value != nullptr && number >= 1 && number <= kLastAttribute);
  check_device(device);
  *value = attribute(number, device);
}

void device_compute_capability(int* major, int* minor, int device) {
  require(major != nullptr && minor != nullptr);
  check_device(device);
  *major = attribute(75, device);
  *minor = attribute(76, device);
}

void device_pci_bus_id(char* id, int length, int device) {
  require(id != nullptr && length > 0);
  check_device(device);
  std::snprintf(id, static_cast<size_t>(length), "%s", bus_id(device).c_str());
}

void device_by_pci_bus_id(int* device, const char* id) {
  require(device != nullptr && id != nullptr);
  for (int i = 0; i < simcuda::device_count(); ++i) {
    if (bus_id(i) != id) continue;
    *device = i;
    return;
  }
  fail(ERROR_INVALID_DEVICE);
}

void device_can_access_peer(int* can, int device, int peer) {
  require(can != nullptr);
  check_device(device);
  check_device(peer);
  *can = device != peer && config().peer;
}

void device_p2p_attribute(int* value, int number, int device, int peer) {
  constexpr int kAccessSupported = 2;
  require(value != nullptr && number >= 1 && number <= 5);
  check_device(device);
  check_device(peer);
  require(device != peer, ERROR_INVALID_DEVICE);
  *value = number == kAccessSupported && config().peer;
}

}  // namespace simcuda::api
