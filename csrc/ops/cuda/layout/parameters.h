// Arguments of kernels, each laid out once: the host's compiler and that of a device read the same
// headers. They include nothing but each other, as a device's compiler has no library. The host
// fills a structure, which its kernel takes by value.
#pragma once

namespace ofl::layout {

typedef int int32;
typedef long long int64;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef unsigned long long uint64;

static_assert(sizeof(int32) == 4 && sizeof(int64) == 8 && sizeof(void*) == 8);

// Enumerators, as a device's compiler makes variables of other constants.
enum : int32 {
  kMostParameterBytes = 4096,  // that a driver takes of all parameters together
  kMostDims = 32,              // of an array
  kWarp = 32,                  // threads
  kThreads = 256,              // of a block, where its kernel's family does not say otherwise
};
enum : int64 { kNarrow = int64{1} << 31 };  // elements and bytes that indices of 32 bits reach

}  // namespace ofl::layout
