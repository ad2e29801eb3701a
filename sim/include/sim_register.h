// The record by which the driver finds a kernel, deduced from the kernel's type.
#ifndef SIM_REGISTER_H_
#define SIM_REGISTER_H_

namespace sim {

template <size_t... I>
struct Indices {};
template <size_t N, size_t... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <size_t... I>
struct MakeIndices<0, I...> {
  using type = Indices<I...>;
};

constexpr unsigned first(unsigned value = 1024, ...) { return value; }

/// Dynamic shared memory comes first, then what running a block needs.
inline void prepare(const SimLaunch* launch) {
  constexpr size_t kPage = 4096;
  const unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
  const size_t shared = (launch->shared_bytes + kPage - 1) / kPage * kPage;
  place.grid_dim = {launch->grid[0], launch->grid[1], launch->grid[2]};
  place.block_dim = {launch->block[0], launch->block[1], launch->block[2]};
  place.dynamic_shared = launch->scratch(shared + scratch_bytes(threads));
  place.scratch = place.dynamic_shared + shared;
}

template <auto kernel>
struct Runner;

template <typename... Args, void (*kernel)(Args...)>
struct Runner<kernel> {
  static constexpr unsigned kCount = sizeof...(Args);
  static constexpr unsigned kSizes[] = {unsigned(sizeof(Args))..., 0};
  static constexpr unsigned kAlignments[] = {unsigned(alignof(Args))..., 0};

  template <size_t... I>
  static void call(void* const* parameters, Indices<I...>) {
    kernel(*static_cast<Args*>(parameters[I])...);
  }

  static SimOutcome run(const SimLaunch* launch, void* const* parameters, const char** message) {
    prepare(launch);
    const auto thread = [parameters] { call(parameters, typename MakeIndices<kCount>::type{}); };
    SimOutcome outcome = kSimFinished;
    for (unsigned z = 0; z < launch->grid[2] && outcome == kSimFinished; ++z) {
      for (unsigned y = 0; y < launch->grid[1] && outcome == kSimFinished; ++y) {
        for (unsigned x = 0; x < launch->grid[0] && outcome == kSimFinished; ++x) {
          place.block = {x, y, z};
          __builtin_memset(place.dynamic_shared, 0xCD, launch->shared_bytes);
          outcome = run_block(thread, message);
        }
      }
    }
    return outcome;
  }
};

}  // namespace sim

// `bounds` are the arguments of __launch_bounds__, in parentheses.
#define SIM_KERNEL(name, bounds)                                                          \
  extern "C" __attribute__((visibility("default"))) const SimKernel sim_kernel_##name = { \
      SIM_IMAGE_VERSION,          sim::Runner<&name>::kCount,                             \
      sim::Runner<&name>::kSizes, sim::Runner<&name>::kAlignments,                        \
      sim::first bounds,          &sim::Runner<&name>::run};

#endif
