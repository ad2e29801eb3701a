// From operations of vectors to loops over memory. For regions that are compiled for AVX2.
#pragma once

#include "ops/elementwise/arithmetic/operations.h"

namespace ofl::ops::arithmetic {

namespace {

/// An array, or an element that is the same for all.
template <typename W, bool kStays>
struct Input {
  using T = typename W::Element;
  explicit OFL_INLINE Input(const T* from) : from(from) {
    if constexpr (kStays) {
      T one;
      __builtin_memcpy(&one, from, sizeof one);
      every = W::all(one);
    }
  }
  OFL_INLINE typename W::V at(intptr_t i) const {
    if constexpr (kStays) {
      return every;
    } else {
      return W::load(from + i);
    }
  }
  const T* from;
  typename W::V every;
};

template <typename W, typename Operation, bool kFirstStays, bool kSecondStays>
struct Inputs {
  using T = typename W::Element;
  OFL_INLINE Inputs(const T* a, const T* b) : first(a), second(b) {}
  OFL_INLINE auto result(intptr_t i) const {
    if constexpr (Operation::kInputs == 1) {
      return Operation::template of<W>(first.at(i));
    } else {
      return Operation::template of<W>(first.at(i), second.at(i));
    }
  }
  Input<W, kFirstStays> first;
  Input<W, kSecondStays> second;
};

/// Computes elements from the first on; returns how many it has: all `n`, or whole blocks of four
/// vectors, if a NaN comes out after them. Which of two NaNs NumPy's loop gives depends on whether
/// an element is in a block of its vectors, or in what is left behind. Its blocks
/// (loops_arithm_fp.dispatch.c.src) have two vectors, so 128 bytes at most, as ours have; it goes
/// on where one begins. The last vector ends with the last element: it is computed first, from
/// inputs that are not written over yet, and stored last.
template <typename W, typename Operation, bool kFirstStays, bool kSecondStays>
OFL_INLINE intptr_t compute(const typename W::Element* a, const typename W::Element* b,
                            typename W::Element* out, intptr_t n) {
  constexpr bool kOfNans = Operation::kOfNans && kIsFloat<typename W::Element>;
  constexpr intptr_t kLanes = W::kLanes, kGrain = 4 * kLanes;
  const Inputs<W, Operation, kFirstStays, kSecondStays> inputs(a, b);
  const typename W::V last = inputs.result(n - kLanes);
  if constexpr (kOfNans) {
    if (W::Here::have_nan(last, last)) return 0;
  }
  intptr_t i = 0;
  for (; i + kGrain <= n; i += kGrain) {
    typename W::V x[4];
    for (int j = 0; j < 4; ++j) x[j] = inputs.result(i + j * kLanes);
    if constexpr (kOfNans) {
      const bool has_nan = W::Here::have_nan(x[0], x[1]) | W::Here::have_nan(x[2], x[3]);
      if (__builtin_expect(has_nan, 0)) return i;
    }
    for (int j = 0; j < 4; ++j) W::store(out + i + j * kLanes, x[j]);
  }
  const intptr_t left = n - i;
  typename W::V x[3];  // before the last
  bool has_nan = false;
  for (int j = 0; j < 3; ++j) {
    if (left <= (j + 1) * kLanes) break;
    x[j] = inputs.result(i + j * kLanes);
    if constexpr (kOfNans) has_nan |= W::Here::have_nan(x[j], x[j]);
  }
  if (__builtin_expect(has_nan, 0)) return i;
  for (int j = 0; j < 3 && left > (j + 1) * kLanes; ++j) W::store(out + i + j * kLanes, x[j]);
  W::store(out + n - kLanes, last);
  return n;
}

constexpr int kWidest = 32;  // bytes of a vector

/// By the widest vectors of up to kBytes that are not longer than the array.
template <typename T, int kBytes, typename Operation, bool kFirstStays, bool kSecondStays>
OFL_INLINE intptr_t compute_by_width(const T* a, const T* b, T* out, intptr_t n) {
  using W = Vectors<T, kBytes>;
  if constexpr (kBytes > static_cast<int>(sizeof(T))) {
    constexpr int kNext = kBytes > 16 ? 16 : sizeof(T);
    if (n < W::kLanes) {
      return compute_by_width<T, kNext, Operation, kFirstStays, kSecondStays>(a, b, out, n);
    }
  }
  return compute<W, Operation, kFirstStays, kSecondStays>(a, b, out, n);
}

/// An element of `in`, which has `in_bytes`, may be written before it is read.
OFL_INLINE bool is_overwritten(const char* in, intptr_t in_bytes, const char* out,
                               intptr_t out_bytes) {
  return in < out + out_bytes && out < in + in_bytes && (in != out || in_bytes != out_bytes);
}

/// The elements from `done` on.
template <int kOut>
__attribute__((cold, noinline)) void leave_to_numpys(char* const* args, intptr_t n, intptr_t done,
                                                     const intptr_t* steps, void* data) {
  char* rest[kOut + 1];
  for (int k = 0; k <= kOut; ++k) rest[k] = args[k] + done * steps[k];
  const intptr_t left = n - done;
  const auto& numpys = *static_cast<const CalledLoop*>(data);
  numpys.loop(rest, &left, steps, numpys.data);
}

/// A LoopFn.
template <typename T, typename Operation>
void loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  constexpr int kOut = Operation::kInputs;
  constexpr auto kSize = static_cast<intptr_t>(sizeof(T));
  const intptr_t n = dims[0], bytes = n * kSize;
  bool usual = n > 0 && steps[kOut] == kSize;
  for (int k = 0; k < kOut; ++k) {
    const bool stays = kOut == 2 && steps[k] == 0;
    usual = usual && (stays || steps[k] == kSize) &&
            !is_overwritten(args[k], stays ? kSize : bytes, args[kOut], bytes);
  }
  intptr_t done = 0;
  if (__builtin_expect(usual, 1)) {
    const T *const a = reinterpret_cast<const T*>(args[0]), *const b = reinterpret_cast<const T*>(
                                                                args[kOut - 1]);
    T* const out = reinterpret_cast<T*>(args[kOut]);
    if (kOut == 1 || (steps[0] != 0 && steps[1] != 0)) {
      done = compute_by_width<T, kWidest, Operation, false, false>(a, b, out, n);
    } else if (steps[0] != 0) {
      done = compute_by_width<T, kWidest, Operation, false, true>(a, b, out, n);
    } else if (steps[1] != 0) {
      done = compute_by_width<T, kWidest, Operation, true, false>(a, b, out, n);
    }
  }
  if (__builtin_expect(done == n, 1)) return;
  leave_to_numpys<kOut>(args, n, done, steps, data);
}

/// Integers without a sign have the same loop, unless the sign counts.
template <typename T, typename Operation, typename = void>
struct LoopType {
  using Type = T;
};
template <typename T, typename Operation>
struct LoopType<T, Operation, std::enable_if_t<std::is_integral_v<T> && !Operation::kOfSigns>> {
  using Type = std::make_unsigned_t<T>;
};

template <typename T, typename Operation>
constexpr LoopFn loop_of() {
  if constexpr (Operation::template kHas<T>) {
    return loop<typename LoopType<T, Operation>::Type, Operation>;
  } else {
    return nullptr;
  }
}

}  // namespace

}  // namespace ofl::ops::arithmetic
