// What the driver finds in an image: one record for each kernel, under the symbol sim_kernel_NAME.
// Shared by the driver and by the compiled kernels; includes nothing.
#ifndef SIM_IMAGE_H_
#define SIM_IMAGE_H_

#define SIM_IMAGE_VERSION 2

enum SimOutcome {
  kSimFinished = 0,
  kSimDivergentBarrier = 1,
  kSimTrapped = 2,
  kSimMisaligned = 3,
};

struct SimLaunch {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;  // dynamic
  // Of blocks, and of the threads of a block between two barriers. 0: ascending; else the seed of a
  // random one.
  unsigned long long order;
  // Memory of the calling thread, valid until its next call; aligned to pages.
  char* (*scratch)(unsigned long bytes);
};

struct SimKernel {
  unsigned version;
  unsigned parameter_count;
  const unsigned* parameter_sizes;
  const unsigned* parameter_alignments;
  const bool* parameter_is_pointer;
  bool is_unordered;     // what it leaves may depend on the order of its threads: it has atomicCAS
  unsigned max_threads;  // of __launch_bounds__, else 1024
  // Runs all blocks in the calling thread. `message` gets a static text unless it finished.
  SimOutcome (*run)(const SimLaunch* launch, void* const* parameters, const char** message);
};

#endif
