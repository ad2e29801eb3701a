// From functions of elements to loops over memory, block by block: the compiler makes vectors of
// what is computed in a block. The including file may compile this for an instruction set.
#pragma once

namespace ofl::ops::parts {

namespace {

constexpr intptr_t kBlock = 64;

/// The type in memory: float16 is computed in float32.
template <typename T, bool kHalves>
using Stored = std::conditional_t<kHalves && std::is_same_v<T, float>, Half, T>;

OFL_INLINE void convert(const Half* from, intptr_t count, float* to) {
  for (intptr_t i = 0; i < count; ++i) to[i] = half_to_float(from[i]);
}
OFL_INLINE void convert(const float* from, intptr_t count, Half* to) {
  for (intptr_t i = 0; i < count; ++i) to[i] = float_to_half(from[i]);
}

/// Elements of an operand, in order, as arrays of up to kBlock.
template <typename T, bool kHalves>
class Source {
 public:
  OFL_INLINE Source(const char* from, intptr_t step, intptr_t n) : from_(from), step_(step) {
    if (step != 0) return;
    const intptr_t count = std::min(n, kBlock);
    S one;
    std::memcpy(&one, from, sizeof(S));
    std::fill_n(kept_, count, one);
    widen(kept_, count);
  }
  OFL_INLINE const T* next(intptr_t count) {
    if (step_ == 0) return computed();
    const char* const from = from_;
    from_ += count * step_;
    if (step_ == sizeof(S)) return widen(reinterpret_cast<const S*>(from), count);
    for (intptr_t i = 0; i < count; ++i) std::memcpy(kept_ + i, from + i * step_, sizeof(S));
    return widen(kept_, count);
  }

 private:
  using S = Stored<T, kHalves>;
  static constexpr bool kIsWidened = !std::is_same_v<S, T>;
  OFL_INLINE const T* computed() const {
    if constexpr (kIsWidened) {
      return wide_;
    } else {
      return kept_;
    }
  }
  OFL_INLINE const T* widen(const S* given, intptr_t count) {
    if constexpr (kIsWidened) {
      convert(given, count, wide_);
      return wide_;
    } else {
      return given;
    }
  }
  const char* from_;
  const intptr_t step_;
  S kept_[kBlock];
  T wide_[kIsWidened ? kBlock : 1];
};

template <typename T>
OFL_INLINE void store_plain(const T* made, intptr_t count, char* out, intptr_t step) {
  if (step == sizeof(T) && count == kBlock) {
    std::memcpy(out, made, kBlock * sizeof(T));
  } else if (step == sizeof(T)) {
    std::memcpy(out, made, static_cast<size_t>(count) * sizeof(T));
  } else {
    for (intptr_t i = 0; i < count; ++i) std::memcpy(out + i * step, made + i, sizeof(T));
  }
}

template <bool kHalves, typename T>
OFL_INLINE void store(const T* made, intptr_t count, char* out, intptr_t step) {
  if constexpr (std::is_same_v<Stored<T, kHalves>, T>) {
    store_plain(made, count, out, step);
  } else {
    Half narrow[kBlock];
    convert(made, count, narrow);
    store_plain(narrow, count, out, step);
  }
}

/// A LoopFn of one operand. An output over it is element by element at the same place.
template <typename Operation, bool kHalves>
void loop_of_one(char** args, const intptr_t* dims, const intptr_t* steps, void*) {
  typename Operation::Out made[kBlock];
  Source<typename Operation::In, kHalves> source(args[0], steps[0], dims[0]);
  for (intptr_t done = 0; done < dims[0]; done += kBlock) {
    const intptr_t count = std::min(kBlock, dims[0] - done);
    const auto* const x = source.next(count);
    if (count == kBlock) {
      for (intptr_t i = 0; i < kBlock; ++i) made[i] = Operation::of(x[i]);
    } else {
      for (intptr_t i = 0; i < count; ++i) made[i] = Operation::of(x[i]);
    }
    store<kHalves>(made, count, args[1] + done * steps[1], steps[1]);
  }
}

/// An element of the operand may be written before it is read.
OFL_INLINE bool is_overwritten(const char* in, intptr_t in_step, size_t in_size, const char* out,
                               intptr_t out_step, size_t out_size, intptr_t n) {
  if (in == out && in_step == out_step && in_size == out_size && in_step != 0) return false;
  const auto low = [n](const char* x, intptr_t step) { return step < 0 ? x + (n - 1) * step : x; };
  const auto high = [n](const char* x, intptr_t step, size_t size) {
    return (step < 0 ? x : x + (n - 1) * step) + size;
  };
  return low(in, in_step) < high(out, out_step, out_size) &&
         low(out, out_step) < high(in, in_step, in_size);
}

/// Computes a block; returns whether an element is left to NumPy's loop.
template <typename Operation>
OFL_INLINE bool compute(const typename Operation::In* a, const typename Operation::Second* b,
                        typename Operation::Out* made, intptr_t count) {
  typename Operation::Mark odd = 0;
  for (intptr_t i = 0; i < count; ++i) made[i] = Operation::of(a[i], b[i], &odd);
  return odd != 0;
}

/// A LoopFn of two operands. Reductions are NumPy's, and so are blocks with an odd element.
template <typename Operation, bool kHalves>
void loop_of_two(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  using A = typename Operation::In;
  using B = typename Operation::Second;
  using Out = typename Operation::Out;
  constexpr size_t size_of_a = sizeof(Stored<A, kHalves>), size_of_b = sizeof(Stored<B, kHalves>);
  constexpr size_t size_of_out = sizeof(Stored<Out, kHalves>);
  const auto& numpys = *static_cast<const CalledLoop*>(data);
  const intptr_t n = dims[0];
  const bool is_numpys =
      (Operation::kNumpysForOneDivisor && steps[1] == 0) ||
      is_overwritten(args[0], steps[0], size_of_a, args[2], steps[2], size_of_out, n) ||
      is_overwritten(args[1], steps[1], size_of_b, args[2], steps[2], size_of_out, n);
  if (is_numpys) return numpys.loop(args, dims, steps, numpys.data);
  Out made[kBlock];
  Source<A, kHalves> first(args[0], steps[0], n);
  Source<B, kHalves> second(args[1], steps[1], n);
  for (intptr_t done = 0; done < n; done += kBlock) {
    const intptr_t count = std::min(kBlock, n - done);
    const A* const a = first.next(count);
    const B* const b = second.next(count);
    const bool is_odd = count == kBlock ? compute<Operation>(a, b, made, kBlock)
                                        : compute<Operation>(a, b, made, count);
    if (__builtin_expect(is_odd, 0)) {
      char* rest[3];
      for (int k = 0; k < 3; ++k) rest[k] = args[k] + done * steps[k];
      numpys.loop(rest, &count, steps, numpys.data);
    } else {
      store<kHalves>(made, count, args[2] + done * steps[2], steps[2]);
    }
  }
}

}  // namespace

}  // namespace ofl::ops::parts
