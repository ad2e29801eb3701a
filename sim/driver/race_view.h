// ThreadSanitizer as a detector of races between streams. It must see the orders that a program
// asked for (submission, stream order, events, synchronization) and not those that the simulation's
// own locks happen to make. So the driver itself is not instrumented, its locks are hidden, each
// real edge is stated, and so are its accesses to the devices' memory (memcpy and memset are seen).
#pragma once

#include <cstddef>

#if defined(SIM_RACE_VIEW)  // set by build.py, which leaves the driver uninstrumented

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void __tsan_write_range(void* address, unsigned long bytes);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace simcuda {

/// In this scope the calling thread's accesses and locks are not looked at.
class HiddenFromRaceDetector {
 public:
  HiddenFromRaceDetector() {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~HiddenFromRaceDetector() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  }
  HiddenFromRaceDetector(const HiddenFromRaceDetector&) = delete;
  HiddenFromRaceDetector& operator=(const HiddenFromRaceDetector&) = delete;
};

/// What this thread did comes before what follows an `order_after` of the same address.
inline void order_before(const void* address) { __tsan_release(const_cast<void*>(address)); }
inline void order_after(const void* address) { __tsan_acquire(const_cast<void*>(address)); }

/// The calling thread writes these bytes.
inline void writes(void* address, size_t bytes) { __tsan_write_range(address, bytes); }

}  // namespace simcuda

#else

namespace simcuda {

class HiddenFromRaceDetector {
 public:
  HiddenFromRaceDetector() {}  // not trivial: a scope's variable is no unused one
};
inline void order_before(const void*) {}
inline void order_after(const void*) {}
inline void writes(void*, size_t) {}

}  // namespace simcuda

#endif
