#include "tensor/fusion/worth.h"

#include <unistd.h>

#include <algorithm>

#include "ops/loops.h"

namespace ofl {

namespace {

/// A kernel of less work on the host, about 1 us, is not worth the search for others.
constexpr double kLeastHostCost = 3000;

/// Bytes of one operand that the first-level cache does not keep, or not with others: where results
/// stay there, the calls of a tile cost as much as is saved.
constexpr int64_t kLeastBytes = 64 << 10;

int64_t bytes_of_one(const ops::LoopArgs& args) {
  size_t item = 1;
  for (int k = 0; k < args.iteration.operands; ++k) item = std::max(item, size_of(args.dtype[k]));
  return ops::iteration_size(args.iteration) * static_cast<int64_t>(item);
}

}  // namespace

bool fusion_pays(const vm::Options& options, int64_t bytes) {
  const vm::Fusion fusion = options.fusion.load(std::memory_order_relaxed);
  if (fusion != vm::Fusion::where_it_pays) return fusion == vm::Fusion::always;
  return bytes >= kLeastBytes;
}

bool fusion_pays(const vm::Options& options, const ops::LoopArgs& args) {
  return fusion_pays(options, bytes_of_one(args));
}

bool pays_on_host(const vm::Options& options, double cost, const ops::LoopArgs& args) {
  return cost >= kLeastHostCost && fusion_pays(options, args);
}

bool is_large(int64_t bytes) {
  constexpr int64_t kUsual = 1 << 20;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const int64_t known = sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
  static const int64_t known = 0;
#endif
  return bytes >= (known > 0 ? known : kUsual) / 2;
}

bool is_large(const ops::LoopArgs& args) { return is_large(bytes_of_one(args)); }

}  // namespace ofl
