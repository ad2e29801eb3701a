#include "tensor/index/lexsort.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/lanes.h"
#include "ops/sort/order.h"
#include "tensor/index/elements.h"

namespace ofl {

namespace {

constexpr int64_t kManyElements = 4096;  // up to here the order takes some tens of microseconds

/// A key along one lane.
struct Key {
  DType dtype;
  const char* elements;
  int64_t step;
};

/// The order of lanes of n elements. Those that are equal by one key are sorted by the one before.
class LaneOrder {
 public:
  LaneOrder(const ops::Loop& sort, int64_t n) : sort_(sort), order_(n), next_(n), sorted_(n) {}

  /// Writes the positions, by all keys.
  void run(const Key* keys, int count, char* out, int64_t step) {
    const Key& last = keys[count - 1];
    const auto n = static_cast<int64_t>(order_.size());
    ops::stable_order(last.dtype, last.elements, last.step, n, sort_, order_.data());
    if (count > 1) sort_equals(keys, count - 1, 0, n);
    for (const uint64_t place : order_) {
      std::memcpy(out, &place, sizeof place);
      out += step;
    }
  }

 private:
  /// Places [begin, end) of the order, whose positions ascend, by the keys up to `last`.
  void sort_part(const Key* keys, int last, int64_t begin, int64_t end) {
    const Key& key = keys[last];
    const size_t width = size_of(key.dtype);
    char* const sorted = reinterpret_cast<char*>(sorted_.data());
    char* to = sorted;
    for (int64_t i = begin; i < end; ++i, to += width) {
      copy_element(key.elements + static_cast<int64_t>(order_[i]) * key.step, width, to);
    }
    const int64_t n = end - begin;
    ops::stable_order(key.dtype, sorted, static_cast<int64_t>(width), n, sort_, next_.data());
    for (int64_t i = 0; i < n; ++i) next_[i] = order_[begin + static_cast<int64_t>(next_[i])];
    std::copy_n(next_.begin(), n, order_.begin() + begin);
    if (last > 0) sort_equals(keys, last, begin, end);
  }

  /// The parts of places [begin, end) that are equal by the last key, by the ones before it.
  void sort_equals(const Key* keys, int last, int64_t begin, int64_t end) {
    const Key& key = keys[last];
    visit_dtype(key.dtype, [&](auto type) {
      const auto element = [&](int64_t i) {
        return ops::load_element<decltype(type)>(key.elements +
                                                 static_cast<int64_t>(order_[i]) * key.step);
      };
      for (int64_t i = begin; i < end;) {
        int64_t next = i + 1;
        while (next < end && !ops::before(element(next - 1), element(next))) ++next;
        if (next - i > 1) sort_part(keys, last - 1, i, next);
        i = next;
      }
    });
  }

  const ops::Loop& sort_;
  std::vector<uint64_t> order_, next_;
  std::vector<Scalar> sorted_;  // elements of a key, in the order that there is
};

ops::ArrayView view_of(const Tensor& x) { return {x.address(), x.dtype, x.shape, x.strides}; }

}  // namespace

bool lexsort_here(const Issuer& issuer, const ops::Loop& sort, const Tensor* const* keys, int count,
                  int axis, Tensor* out) {
  const Tensor& first = *keys[0];
  if (first.size() == 0 || first.size() > kManyElements) return false;
  for (int k = 0; k < count; ++k) {
    if (!settled_data(issuer.machine, *keys[k]->storage)) return false;
  }
  if (!make_tensor_now(first.storage->state(), DType::i64, first.shape, issuer.site, out)) {
    return false;
  }
  ops::ArrayView views[kMostSortKeys], result = view_of(*out);
  for (int k = 0; k < kMostSortKeys; ++k) views[k] = view_of(*keys[k < count ? k : 0]);
  Key by[kMostSortKeys];
  LaneOrder order(sort, first.shape[axis]);
  ops::for_each_lane({&views[0], &views[1], &views[2], &result}, axis, [&](char* const* pointers) {
    for (int k = 0; k < count; ++k) {
      by[k] = {views[k].dtype, pointers[k], views[k].strides[axis]};
    }
    order.run(by, count, pointers[kMostSortKeys], result.strides[axis]);
  });
  return true;
}

}  // namespace ofl
