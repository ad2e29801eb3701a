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
  place.random = launch->order;
}

template <typename T>
constexpr bool kIsPointer = false;
template <typename T>
constexpr bool kIsPointer<T*> = true;

template <auto kernel>
struct Runner;

template <typename... Args, void (*kernel)(Args...)>
struct Runner<kernel> {
  static constexpr unsigned kCount = sizeof...(Args);
  static constexpr unsigned kSizes[] = {unsigned(sizeof(Args))..., 0};
  static constexpr unsigned kAlignments[] = {unsigned(alignof(Args))..., 0};
  static constexpr bool kArePointers[] = {kIsPointer<Args>..., false};

  template <size_t... I>
  static void call(void* const* parameters, Indices<I...>) {
    kernel(*static_cast<Args*>(parameters[I])...);
  }

  static SimOutcome run(const SimLaunch* launch, void* const* parameters, const char** message) {
    prepare(launch);
    const auto thread = [parameters] { call(parameters, typename MakeIndices<kCount>::type{}); };
    SimOutcome outcome = kSimFinished;
    const unsigned long long x = launch->grid[0], y = launch->grid[1], z = launch->grid[2];
    Order order(x * y * z, place.random);
    for (unsigned long long i = 0; i < x * y * z && outcome == kSimFinished; ++i) {
      const unsigned long long block = order.next();
      place.block = {unsigned(block % x), unsigned(block / x % y), unsigned(block / (x * y))};
      __builtin_memset(place.dynamic_shared, 0xCD, launch->shared_bytes);
      outcome = run_block(thread, message);
    }
    return outcome;
  }
};

}  // namespace sim

// `bounds` are the arguments of __launch_bounds__, in parentheses.
#define SIM_KERNEL(name, bounds)                                         \
  extern "C" __attribute__((visibility("default")))                      \
  const SimKernel sim_kernel_##name = {SIM_IMAGE_VERSION,                \
                                       sim::Runner<&name>::kCount,       \
                                       sim::Runner<&name>::kSizes,       \
                                       sim::Runner<&name>::kAlignments,  \
                                       sim::Runner<&name>::kArePointers, \
                                       SIM_UNORDERED,                    \
                                       sim::first bounds,                \
                                       &sim::Runner<&name>::run};

#endif
