// partition and argpartition: by selection, each lane by itself.
#include <algorithm>
#include <vector>

#include "ops/lanes.h"
#include "ops/leased_memory.h"
#include "ops/sort/order.h"
#include "ops/sort/select.h"
#include "ops/sort/split_vectors.h"

namespace ofl::ops {

namespace {

/// So few elements are put in their whole order.
constexpr int64_t kFew = 256;
/// In attr, after the axis and the words that only sorts need.
constexpr int kFirstPlace = 3;

/// The places to fill: those in attr, or of each lane those in the second input.
class Places {
 public:
  explicit Places(const ArrayArgs& args)
      : name_(args.name), n_(args.input(0).shape[static_cast<int>(args.attr[0])]) {
    if (args.inputs == 2) {
      const auto axis = static_cast<int>(args.attr[0]);
      count_ = args.input(1).shape[axis];
      step_ = args.input(1).strides[axis];
    } else {
      places_.assign(args.attr.begin() + kFirstPlace, args.attr.end());
      arrange();
    }
  }

  /// Those of a lane, `given` in the second input, in ascending order.
  const std::vector<int64_t>& of_lane(const char* given) {
    places_.resize(count_);
    for (int64_t k = 0; k < count_; ++k) places_[k] = load_element<int64_t>(given + k * step_);
    arrange();
    return places_;
  }
  const std::vector<int64_t>& of_all() const { return places_; }

 private:
  void arrange() {
    for (const int64_t place : places_) {
      if (place >= 0 && place < n_) continue;
      fail(ErrorKind::index, "[", name_, "] expected places within ", n_, " elements, got ", place);
    }
    std::sort(places_.begin(), places_.end());
    places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
  }

  const char* const name_;
  const int64_t n_;
  int64_t count_ = 0, step_ = 0;
  std::vector<int64_t> places_;
};

/// Calls body(in, out, places) for each lane.
template <typename Body>
void for_each_partition(const ArrayArgs& args, const Body& body) {
  const ArrayView &in = args.input(0), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  Places places(args);
  if (args.inputs == 2) {
    for_each_lane({&in, &out, &args.input(1)}, axis,
                  [&](char* const* first) { body(first[0], first[1], places.of_lane(first[2])); });
  } else {
    for_each_lane({&in, &out}, axis,
                  [&](char* const* first) { body(first[0], first[1], places.of_all()); });
  }
}

/// The type that elements are compared in. Floats of two bytes become integers in their order.
template <typename T>
using Selected = std::conditional_t<kIsNarrow<T>, uint16_t, T>;

constexpr uint16_t kNanKey = 0xffff;

/// Zeros of different signs keep theirs.
template <typename T>
Selected<T> key_of(T value) {
  if constexpr (kIsNarrow<T>) {
    const unsigned key = value.bits & 0x8000 ? ~unsigned{value.bits} : value.bits | 0x8000U;
    return is_nan(value) ? kNanKey : static_cast<uint16_t>(key);
  } else {
    return value;
  }
}

MemoryPool& elements_pool() {
  static auto* const pool = new MemoryPool;
  return *pool;
}
MemoryPool& positions_pool() {
  static auto* const pool = new MemoryPool;
  return *pool;
}

template <typename T>
bool is_packed(const char* data, int64_t step) {
  return step == sizeof(T) && reinterpret_cast<uintptr_t>(data) % alignof(T) == 0;
}

/// A lane's elements as they are selected: where they are, or packed in `copy`.
template <typename T>
const Selected<T>* packed(const char* elements, int64_t step, int64_t n, Selected<T>* copy) {
  if (!kIsNarrow<T> && is_packed<T>(elements, step)) {
    return reinterpret_cast<const Selected<T>*>(elements);
  }
  for (int64_t i = 0; i < n; ++i) copy[i] = key_of(load_element<T>(elements + i * step));
  return copy;
}

/// Back from keys; each NaN is one of the input's, in their order.
template <typename T>
void restore_elements(const char* elements, int64_t step, int64_t n, const uint16_t* keys, T* out) {
  int64_t next_nan = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (keys[i] == kNanKey) {
      while (!is_nan(load_element<T>(elements + next_nan * step))) ++next_nan;
      out[i] = load_element<T>(elements + next_nan++ * step);
    } else {
      const unsigned key = keys[i];
      out[i].bits = static_cast<uint16_t>(key & 0x8000 ? key ^ 0x8000U : ~key);
    }
  }
}

template <typename T>
void partition_lane(const char* elements, int64_t step, int64_t n,
                    const std::vector<int64_t>& places, const Loop& sort, T* out) {
  const auto count = static_cast<int64_t>(places.size());
  if constexpr (sizeof(T) == 1) {
    sort_bytes(elements, step, n, false, out);
  } else if constexpr (kIsNarrow<T>) {
    auto* const keys = reinterpret_cast<uint16_t*>(out);
    select_places(packed<T>(elements, step, n, keys), keys, n, places.data(), count, sort);
    restore_elements(elements, step, n, keys, out);
  } else {
    select_places(packed<T>(elements, step, n, out), out, n, places.data(), count, sort);
  }
}

/// Fills order[0, n) with all positions: those of elements up to the value from the left, the
/// others from the right. Returns how many are up to it.
template <typename T>
using NumberFn = int64_t (*)(const T* elements, int64_t n, T value, int64_t* order);

/// The same from position i on, between two places.
template <typename T>
int64_t* number_rest(const T* elements, int64_t i, int64_t n, T value, int64_t* left,
                     int64_t* right) {
  for (; i < n; ++i) {
    *left = right[-1] = i;
    const bool is_up_to = !before(value, elements[i]);
    left += is_up_to;
    right -= !is_up_to;
  }
  return left;
}

template <typename T>
int64_t number_elements(const T* elements, int64_t n, T value, int64_t* order) {
  return number_rest(elements, 0, n, value, order, order + n) - order;
}

#ifdef OFL_X86_VECTORS

/// The value is not NaN.
template <typename Vector, typename Numbers, typename T>
inline int64_t number_vectors(const T* elements, int64_t n, T value, int64_t* order) {
  constexpr int kLanes = Numbers::kLanes;
  int64_t first[kLanes];
  for (int k = 0; k < kLanes; ++k) first[k] = k;
  typename Numbers::Type numbers;
  Numbers::read(first, &numbers);
  int64_t *left = order, *right = order + n, i = 0;
  for (; n - i >= Vector::kLanes + Numbers::kRoom; i += Vector::kLanes) {
    typename Vector::Type v;
    Vector::read(elements + i, &v);
    unsigned mask = Vector::up_to(v, value);
    for (int k = 0; k < Vector::kLanes; k += kLanes) {
      const unsigned own = mask & ((1u << kLanes) - 1);
      Numbers::put(numbers, own, left, right);
      left += __builtin_popcount(own);
      right -= kLanes - __builtin_popcount(own);
      mask >>= kLanes;
      numbers += kLanes;
    }
  }
  return number_rest(elements, i, n, value, left, right) - order;
}

template <typename T>
OFL_AVX2 OFL_FLAT int64_t number_256(const T* elements, int64_t n, T value, int64_t* order) {
  return number_vectors<Vector256<T>, Vector256<int64_t>>(elements, n, value, order);
}
template <typename T>
OFL_AVX512 OFL_FLAT int64_t number_512(const T* elements, int64_t n, T value, int64_t* order) {
  return number_vectors<Vector512<T>, Vector512<int64_t>>(elements, n, value, order);
}

#endif

template <typename T>
int64_t number(const T* elements, int64_t n, T value, int64_t* order) {
#ifdef OFL_X86_VECTORS
  if constexpr (!kIsComplex<T>) {
    using Number = NumberFn<T>;
    static const auto chosen =
        choose_by_isa<Number>("argpartition", number_elements<T>, number_256<T>, number_512<T>);
    if (!is_nan(value)) return chosen(elements, n, value, order);
  }
#endif
  return number_elements(elements, n, value, order);
}

/// The positions of a lane's elements, arranged around values that are known.
template <typename T>
class Positions {
 public:
  Positions(const T* elements, const T* selected, int64_t* order, int64_t* spare)
      : elements_(elements), selected_(selected), order_(order), spare_(spare) {}

  /// order[low, high) holds the positions of those that are there in the sorted order, or is still
  /// to be filled with all numbers.
  void arrange(int64_t low, int64_t high, const int64_t* places, const int64_t* end, bool filled) {
    if (places == end) return;
    const int64_t* const place = places + (end - places) / 2;
    const T value = selected_[*place];
    const int64_t up_to = filled ? split(low, high, [value](T x) { return !before(value, x); })
                                 : number(elements_, high, value, order_);
    if (up_to == *place + 1 && end - places == 1) return put_last(low, up_to, value);
    const int64_t less = split(low, up_to, [value](T x) { return before(x, value); });
    arrange(low, less, places, std::lower_bound(places, place, less), true);
    arrange(up_to, high, std::lower_bound(place, end, up_to), end, true);
  }

 private:
  /// Of positions of elements up to the value, one that has it comes to the end.
  void put_last(int64_t low, int64_t up_to, T value) {
    int64_t* const end = order_ + up_to;
    std::swap(end[-1], *std::find_if(order_ + low, end, [&](int64_t position) {
                return !before(elements_[position], value);
              }));
  }

  /// Those of elements that belong to the left come first; where the others begin. Both keep their
  /// order.
  template <typename Belongs>
  int64_t split(int64_t low, int64_t high, const Belongs& belongs) {
    int64_t left = low, others = 0;
    for (int64_t i = low; i < high; ++i) {
      const int64_t position = order_[i];
      order_[left] = spare_[others] = position;
      const bool is_left = belongs(elements_[position]);
      left += is_left;
      others += !is_left;
    }
    std::copy_n(spare_, others, order_ + left);
    return left;
  }

  const T* const elements_;
  const T* const selected_;
  int64_t* const order_;
  int64_t* const spare_;
};

/// Whether all positions are put in their order: those of few elements, or of bytes.
template <typename T>
constexpr bool orders_whole(int64_t n) {
  return sizeof(T) == 1 || n <= kFew;
}

template <typename T>
void argpartition_lane(const char* elements, int64_t step, int64_t n,
                       const std::vector<int64_t>& places, int64_t* order) {
  if constexpr (sizeof(T) > 1) {
    using Key = Selected<T>;
    const auto bytes = static_cast<size_t>(n) * sizeof(Key);
    const LeasedMemory memory(elements_pool(), 2 * bytes + alignof(std::max_align_t));
    auto* const selected = reinterpret_cast<Key*>(memory.data());
    Key* const copy = selected + n;
    const Key* given = packed<T>(elements, step, n, copy);
    const auto count = static_cast<int64_t>(places.size());
    select_places(given, selected, n, places.data(), count, Loop{});
    const LeasedMemory spare(positions_pool(), static_cast<size_t>(n) * sizeof(int64_t));
    Positions<Key>(given, selected, order, reinterpret_cast<int64_t*>(spare.data()))
        .arrange(0, n, places.data(), places.data() + count, false);
  }
}

}  // namespace

void partition_kernel(const ArrayArgs& args) {
  const ArrayView &in = args.input(0), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  const int64_t n = in.shape[axis], step = in.strides[axis], out_step = out.strides[axis];
  visit_dtype(in.dtype, [&](auto type) {
    using T = decltype(type);
    const bool in_place = is_packed<T>(out.data, out_step);
    const std::unique_ptr<T[]> buffer(in_place ? nullptr : new T[n]);
    for_each_partition(args, [&](const char* from, char* to, const std::vector<int64_t>& places) {
      T* const lane = in_place ? reinterpret_cast<T*>(to) : buffer.get();
      partition_lane<T>(from, step, n, places, args.loop, lane);
      if (in_place) return;
      for (int64_t i = 0; i < n; ++i) {
        std::memcpy(to + i * out_step, static_cast<const void*>(lane + i), sizeof(T));
      }
    });
  });
}

void argpartition_kernel(const ArrayArgs& args) {
  const ArrayView &in = args.input(0), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  const int64_t n = in.shape[axis], step = in.strides[axis], out_step = out.strides[axis];
  const bool in_place = is_packed<int64_t>(out.data, out_step);
  std::vector<int64_t> buffer(in_place ? 0 : n);
  visit_dtype(in.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_partition(args, [&](const char* from, char* to, const std::vector<int64_t>& places) {
      auto* order = in_place ? reinterpret_cast<int64_t*>(to) : buffer.data();
      if (orders_whole<T>(n) || places.empty()) {
        stable_order<T>(from, step, n, false, args.loop, reinterpret_cast<uint64_t*>(order));
      } else {
        argpartition_lane<T>(from, step, n, places, order);
      }
      if (in_place) return;
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * out_step, order + i, sizeof(*order));
    });
  });
}

}  // namespace ofl::ops
