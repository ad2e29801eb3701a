#include "tensor/index/sets.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "ops/leased_memory.h"
#include "ops/sort/order.h"

namespace ofl {

namespace {

constexpr int64_t kManyBytes = 1 << 20;  // of an operand: about a millisecond
constexpr int kBytes = 256;              // so many different elements have one byte

ops::MemoryPool& elements_pool() {
  static auto* const pool = new ops::MemoryPool;
  return *pool;
}

bool is_small(const Issuer& issuer, const Tensor& x) {
  return readable_here(issuer.machine, x, kManyBytes);
}

bool make_here(const Issuer& issuer, const Tensor& like, DType dtype, const Dims& shape,
               Tensor* out) {
  return make_tensor_now(like.storage->state(), dtype, shape, issuer.site, out);
}

/// A new tensor of n elements that are there.
template <typename T>
bool make_of(const Issuer& issuer, const Tensor& like, const T* elements, int64_t n, Tensor* out) {
  if (!make_here(issuer, like, like.dtype, {n}, out)) return false;
  if (n > 0) {
    std::memcpy(out->address(), static_cast<const void*>(elements),
                static_cast<size_t>(n) * sizeof(T));
  }
  return true;
}

int64_t* integers_of(const Tensor& x) { return reinterpret_cast<int64_t*>(x.address()); }

// --- of one byte: by a table

template <typename T>
uint8_t key_at(const char* elements, int64_t i) {
  return static_cast<uint8_t>(ops::order_key(ops::load_element<T>(elements + i)));
}

template <typename T>
T element_of(int key) {
  if constexpr (std::is_same_v<T, bool>) {
    return key != 0;
  } else {
    return static_cast<T>(std::is_signed_v<T> ? key ^ 0x80 : key);
  }
}

/// Writes the distinct elements.
template <typename T>
int64_t distinct_bytes(const char* elements, int64_t n, T* out) {
  std::array<uint8_t, kBytes> seen{};
  for (int64_t i = 0; i < n; ++i) seen[key_at<T>(elements, i)] = 1;
  int64_t count = 0;
  for (int key = 0; key < kBytes; key += sizeof(uint64_t)) {
    uint64_t some;
    std::memcpy(&some, &seen[key], sizeof some);
    for (; some; some &= some - 1) {
      out[count++] = element_of<T>(key + __builtin_ctzll(some) / 8);
    }
  }
  return count;
}

/// How often each key occurs. Neighbours go to counts of their own: no count waits for the last.
template <typename T>
std::array<int64_t, kBytes> counts_of_keys(const char* elements, int64_t n) {
  constexpr int kApart = 4;
  std::array<std::array<int64_t, kBytes>, kApart> parts{};
  for (int64_t i = 0; i < n; ++i) ++parts[i % kApart][key_at<T>(elements, i)];
  for (int key = 0; key < kBytes; ++key) {
    for (int k = 1; k < kApart; ++k) parts[0][key] += parts[k][key];
  }
  return parts[0];
}

template <typename T>
bool tell_of_bytes(const Issuer& issuer, const Tensor& x, Distinct* out) {
  const char* const elements = x.address();
  const int64_t n = x.size();
  std::array<T, kBytes> values;
  const int64_t count = distinct_bytes<T>(elements, n, values.data());
  if (!make_of(issuer, x, values.data(), count, &out->values) ||
      !make_here(issuer, x, DType::i64, {count}, &out->first) ||
      !make_here(issuer, x, DType::i64, x.shape, &out->inverse) ||
      !make_here(issuer, x, DType::i64, {count}, &out->counts)) {
    return false;
  }
  const std::array<int64_t, kBytes> counts = counts_of_keys<T>(elements, n);
  std::array<int64_t, kBytes> first{}, number{};
  int64_t *const inverse = integers_of(out->inverse), next = 0;
  for (int key = 0; key < kBytes; ++key) {
    number[key] = next;
    if (counts[key] > 0) integers_of(out->counts)[next++] = counts[key];
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    const uint8_t key = key_at<T>(elements, i);
    first[key] = i;
    inverse[i] = number[key];
  }
  for (int key = 0; key < kBytes; ++key) {
    if (counts[key] > 0) integers_of(out->first)[number[key]] = first[key];
  }
  return true;
}

// --- of more bytes: sorted

/// Keeps one element of each run of equal ones; how many. `starts` (may be null) gets where each
/// run starts, and then n.
template <typename T, bool EqualNan>
int64_t keep_distinct(T* sorted, int64_t n, int64_t* starts) {
  constexpr int64_t kTogether = 16;
  int64_t count = 1;
  T last = sorted[0];
  if (starts) starts[0] = 0;
  for (int64_t begin = 1, end; begin < n; begin = end) {
    end = std::min(begin + kTogether, n);
    if (ops::same_value(sorted[end - 1], last)) continue;  // so are those between, in their order
    for (int64_t i = begin; i < end; ++i) {
      const T value = sorted[i];
      sorted[count] = value;
      if (starts) starts[count] = i;
      count += ops::are_distinct<T, EqualNan>(value, last);
      last = value;
    }
  }
  if (starts) starts[count] = n;
  return count;
}

/// Writes the distinct elements to `out`, which has room for n.
template <typename T>
int64_t write_distinct(const char* elements, int64_t n, bool equal_nan, const ops::Loop& sort,
                       T* out, int64_t* starts = nullptr) {
  if constexpr (sizeof(T) == 1) {
    const int64_t count = distinct_bytes<T>(elements, n, out);
    if (!starts) return count;
    const std::array<int64_t, kBytes> counts = counts_of_keys<T>(elements, n);
    int64_t start = 0, next = 0;
    for (const int64_t each : counts) {
      if (each > 0) starts[next++] = std::exchange(start, start + each);
    }
    starts[count] = n;
    return count;
  } else {
    if (n == 0) return 0;
    ops::stable_sort<T>(elements, n, sort, out);
    return equal_nan ? keep_distinct<T, true>(out, n, starts)
                     : keep_distinct<T, false>(out, n, starts);
  }
}

/// Writes where the runs of equal elements start in their order, and then n; how many.
template <typename T, bool EqualNan>
int64_t find_starts(const T* elements, const uint64_t* order, int64_t n, int64_t* starts) {
  int64_t count = 1;
  starts[0] = 0;
  T last = elements[order[0]];
  for (int64_t i = 1; i < n; ++i) {
    const T value = elements[order[i]];
    starts[count] = i;
    count += ops::are_distinct<T, EqualNan>(value, last);
    last = value;
  }
  starts[count] = n;
  return count;
}

template <typename T>
bool tell_of_sorted(const Issuer& issuer, const Tensor& x, bool equal_nan, const ops::Loop& sort,
                    Distinct* out) {
  const int64_t n = x.size();
  const ops::LeasedMemory memory(elements_pool(), (2 * n + 1) * sizeof(int64_t));
  auto* const order = reinterpret_cast<uint64_t*>(memory.data());
  int64_t* const starts = reinterpret_cast<int64_t*>(order) + n;
  const T* const elements = reinterpret_cast<const T*>(x.address());
  ops::stable_order<T>(x.address(), sizeof(T), n, false, sort, order);
  const int64_t count = equal_nan ? find_starts<T, true>(elements, order, n, starts)
                                  : find_starts<T, false>(elements, order, n, starts);
  if (!make_here(issuer, x, x.dtype, {count}, &out->values) ||
      !make_here(issuer, x, DType::i64, {count}, &out->first) ||
      !make_here(issuer, x, DType::i64, x.shape, &out->inverse) ||
      !make_here(issuer, x, DType::i64, {count}, &out->counts)) {
    return false;
  }
  T* const values = reinterpret_cast<T*>(out->values.address());
  int64_t* const inverse = integers_of(out->inverse);
  for (int64_t run = 0; run < count; ++run) {
    const auto first = static_cast<int64_t>(order[starts[run]]);
    values[run] = elements[first];
    integers_of(out->first)[run] = first;
    integers_of(out->counts)[run] = starts[run + 1] - starts[run];
    for (int64_t i = starts[run]; i < starts[run + 1]; ++i) inverse[order[i]] = run;
  }
  return true;
}

bool is_aligned(const Tensor& x) {
  return reinterpret_cast<uintptr_t>(x.address()) % size_of(x.dtype) == 0;
}

// --- two sets

/// How many elements, which ascend, come before the NaN, which are not more than one.
template <typename T>
int64_t count_numbers(const T* elements, int64_t n) {
  return n > 0 && ops::is_nan(elements[n - 1]) ? n - 1 : n;
}

/// Of numbers.
template <typename T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b;
  return ops::before(a, b);
}

/// Writes what the operation keeps of distinct elements, which ascend; how many. `out` has room for
/// one more. The loop over numbers has no branch on them, as no processor can guess which is next.
template <typename T>
int64_t combine(SetOperation operation, const T* a, int64_t a_count, const T* b, int64_t b_count,
                T* out) {
  const bool keeps_common = operation == SetOperation::intersection;
  const bool keeps_others = operation == SetOperation::exclusive;
  const int64_t keeps[] = {!keeps_common, keeps_others, keeps_common};  // of a, of b, of both
  const int64_t a_numbers = count_numbers(a, a_count), b_numbers = count_numbers(b, b_count);
  int64_t count = 0, i = 0, j = 0;
  while (i < a_numbers && j < b_numbers) {
    const T one = a[i], other = b[j];
    const int64_t is_other = is_less(other, one), is_common = ops::same_value(one, other);
    out[count] = is_other ? other : one;
    count += keeps[is_other | is_common << 1];
    i += 1 - is_other;
    j += is_other | is_common;
  }
  for (; keeps_others && j < b_numbers; ++j) out[count++] = b[j];
  for (; !keeps_common && i < a_count; ++i) out[count++] = a[i];
  for (; keeps_others && j < b_count; ++j) out[count++] = b[j];
  return count;
}

}  // namespace

bool distinct_here(const Issuer& issuer, const Tensor& x, bool equal_nan, const ops::Loop& sort,
                   Tensor* values, Tensor* counts) {
  const int64_t n = x.size();
  if (!is_small(issuer, x) || (counts && n == 0)) return false;
  const bool is_made = visit_dtype(x.dtype, [&](auto type) {
    using T = decltype(type);
    const size_t room = sizeof(T) == 1 ? kBytes : (n + 1) * sizeof(T);
    const ops::LeasedMemory memory(elements_pool(), room);
    const ops::LeasedMemory bounds(elements_pool(), counts ? (n + 1) * sizeof(int64_t) : 1);
    T* const elements = reinterpret_cast<T*>(memory.data());
    int64_t* const starts = counts ? reinterpret_cast<int64_t*>(bounds.data()) : nullptr;
    const int64_t count = write_distinct<T>(x.address(), n, equal_nan, sort, elements, starts);
    if (!make_of(issuer, x, elements, count, values)) return false;
    if (!counts) return true;
    if (!make_here(issuer, x, DType::i64, {count}, counts)) return false;
    for (int64_t run = 0; run < count; ++run) {
      integers_of(*counts)[run] = starts[run + 1] - starts[run];
    }
    return true;
  });
  if (is_made) issuer.machine.note_look();
  return is_made;
}

bool distinct_here(const Issuer& issuer, const Tensor& x, bool equal_nan, const ops::Loop& sort,
                   Distinct* out) {
  if (!is_small(issuer, x) || x.size() == 0 || !is_aligned(x)) return false;
  const bool is_made = visit_dtype(x.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) == 1) {
      return tell_of_bytes<T>(issuer, x, out);
    } else {
      return tell_of_sorted<T>(issuer, x, equal_nan, sort, out);
    }
  });
  if (is_made) issuer.machine.note_look();
  return is_made;
}

bool combined_here(const Issuer& issuer, const Tensor& a, const Tensor& b, SetOperation operation,
                   const ops::Loop& sort, Tensor* out) {
  const bool fits = a.dtype == b.dtype && a.device() == b.device();
  if (!fits || !is_small(issuer, a) || !is_small(issuer, b)) return false;
  const int64_t n = a.size(), m = b.size();
  const bool is_made = visit_dtype(a.dtype, [&](auto type) {
    using T = decltype(type);
    const ops::LeasedMemory memory(elements_pool(), 2 * (n + m) * sizeof(T) + 2 * kBytes);
    T* const first = reinterpret_cast<T*>(memory.data());
    if (operation == SetOperation::join) {
      T* const both = first + n + m;
      if (n > 0) std::memcpy(static_cast<void*>(both), a.address(), n * sizeof(T));
      if (m > 0) std::memcpy(static_cast<void*>(both + n), b.address(), m * sizeof(T));
      const auto* const given = reinterpret_cast<const char*>(both);
      const int64_t count = write_distinct<T>(given, n + m, true, sort, first);
      return make_of(issuer, a, first, count, out);
    }
    const int64_t a_count = write_distinct<T>(a.address(), n, true, sort, first);
    T* const second = first + a_count;
    const int64_t b_count = write_distinct<T>(b.address(), m, true, sort, second);
    T* const kept = second + b_count;
    return make_of(issuer, a, kept, combine(operation, first, a_count, second, b_count, kept), out);
  });
  if (is_made) issuer.machine.note_look();
  return is_made;
}

}  // namespace ofl
