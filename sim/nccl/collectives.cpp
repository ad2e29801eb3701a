// What a rank computes in a collective, of what all ranks have. Sums go in the order of the ranks.
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
void perform_reduction(const std::vector<Contribution>& all, size_t rank) {
  const Contribution& own = all[rank];
  if (own.kind == Kind::reduce && static_cast<int>(rank) != own.root) return;
  const size_t begin = own.kind == Kind::reduce_scatter ? rank * own.count : 0;
  std::vector<T> result(own.count);  // a rank's input may be its output
  reduce(all, begin, own.count, result.data());
  std::memcpy(own.receive, result.data(), own.count * sizeof(T));
}

void perform_copy(const std::vector<Contribution>& all, size_t rank) {
  const Contribution& own = all[rank];
  const size_t bytes = own.count * type_bytes(own.type);
  if (own.kind == Kind::broadcast) {
    std::memmove(own.receive, all[static_cast<size_t>(own.root)].send, bytes);
    return;
  }
  std::vector<char> gathered(bytes * all.size());  // a rank's input may lie in its output
  for (size_t other = 0; other < all.size(); ++other) {
    std::memcpy(gathered.data() + other * bytes, all[other].send, bytes);
  }
  std::memcpy(own.receive, gathered.data(), gathered.size());
}

struct Type {
  size_t bytes;
  void (*reduce)(const std::vector<Contribution>&, size_t rank);
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

Extents extents(const Contribution& c, int rank, int size) {
  const auto ranks = static_cast<size_t>(size);
  switch (c.kind) {
    case Kind::all_reduce: return {1, 1};
    case Kind::broadcast: return {rank == c.root, 1};
    case Kind::reduce: return {1, rank == c.root};
    case Kind::all_gather: return {1, ranks};
    case Kind::reduce_scatter: return {ranks, 1};
  }
  return {0, 0};
}

void perform(const std::vector<Contribution>& all, int rank) {
  if (all[0].count == 0) return;
  const bool copies = all[0].kind == Kind::broadcast || all[0].kind == Kind::all_gather;
  if (copies) {
    perform_copy(all, static_cast<size_t>(rank));
  } else {
    kTypes[all[0].type].reduce(all, static_cast<size_t>(rank));
  }
}

}  // namespace simnccl
