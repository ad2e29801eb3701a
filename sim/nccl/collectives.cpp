// What collectives compute, once everybody has come. Sums go in the order of the ranks.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "nccl/communicator.h"
#include "number.h"

namespace simnccl {
namespace {

using simcuda::Bfloat16;
using simcuda::Half;
using simcuda::Rounded;

enum Operation : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3, kAverage = 4 };

template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, T, float>;

template <typename T>
T combined(T a, T b, int operation) {
  switch (operation) {
    case kProduct: return static_cast<T>(a * b);
    case kMax: return std::max(a, b);
    case kMin: return std::min(a, b);
    default: return static_cast<T>(a + b);
  }
}

/// Elements [begin, begin + count) of all ranks' inputs, reduced into `target`.
template <typename T>
void reduce(const std::vector<Contribution>& all, size_t begin, size_t count, T* target) {
  const int operation = all[0].operation;
  for (size_t i = 0; i < count; ++i) {
    Wide<T> value = static_cast<const T*>(all[0].send)[begin + i];
    for (size_t rank = 1; rank < all.size(); ++rank) {
      const Wide<T> other = static_cast<const T*>(all[rank].send)[begin + i];
      value = combined(value, other, operation);
    }
    if (operation == kAverage)
      value = static_cast<Wide<T>>(value / static_cast<Wide<T>>(all.size()));
    target[i] = Rounded<T>::from(value);
  }
}

template <typename T>
void perform_reduction(const std::vector<Contribution>& all) {
  const size_t count = all[0].count;
  const bool scatters = all[0].kind == Kind::reduce_scatter;
  std::vector<T> result(count * (scatters ? all.size() : 1));
  reduce(all, 0, result.size(), result.data());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[0].kind == Kind::reduce && static_cast<int>(rank) != all[0].root) continue;
    const T* const part = result.data() + (scatters ? rank * count : 0);
    std::memcpy(all[rank].receive, part, count * sizeof(T));
  }
}

void perform_copy(const std::vector<Contribution>& all) {
  const size_t bytes = all[0].count * type_bytes(all[0].type);
  if (all[0].kind == Kind::broadcast) {
    const void* const source = all[static_cast<size_t>(all[0].root)].send;
    for (const Contribution& one : all) std::memmove(one.receive, source, bytes);
    return;
  }
  std::vector<char> gathered(bytes * all.size());  // a rank's input may lie in its output
  for (size_t rank = 0; rank < all.size(); ++rank) {
    std::memcpy(gathered.data() + rank * bytes, all[rank].send, bytes);
  }
  for (const Contribution& one : all) {
    std::memcpy(one.receive, gathered.data(), gathered.size());
  }
}

struct Type {
  size_t bytes;
  void (*reduce)(const std::vector<Contribution>&);
};

template <typename T>
constexpr Type type_row() {
  return {sizeof(T), &perform_reduction<T>};
}

constexpr Type kTypes[] = {
    // by ncclDataType_t
    type_row<int8_t>(),  type_row<uint8_t>(),  type_row<int32_t>(), type_row<uint32_t>(),
    type_row<int64_t>(), type_row<uint64_t>(), type_row<Half>(),    type_row<float>(),
    type_row<double>(),  type_row<Bfloat16>(),
};

}  // namespace

size_t type_bytes(int type) {
  const bool is_known = type >= 0 && type < static_cast<int>(std::size(kTypes));
  return is_known ? kTypes[type].bytes : 0;
}

void perform(const std::vector<Contribution>& all) {
  if (all[0].count == 0) return;
  const bool copies = all[0].kind == Kind::broadcast || all[0].kind == Kind::all_gather;
  if (copies) {
    perform_copy(all);
  } else {
    kTypes[all[0].type].reduce(all);
  }
}

}  // namespace simnccl
