#include "tensor/index/choosing.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <initializer_list>

#include "ops/loops.h"
#include "tensor/index/elements.h"

namespace ofl {

namespace {

constexpr int64_t kManyBytes = 65536;      // of an operand: some microseconds
constexpr int64_t kManyInOrder = 1 << 20;  // where each element waits for the one before
constexpr int64_t kRepeated = 1024;        // bytes of few values, written several times

/// Unsigned numbers, or pairs of them, in the place of elements of any dtype.
template <typename Visit>
void with_size(DType dtype, const Visit& visit) {
  switch (size_of(dtype)) {
    case 1: return visit(uint8_t{});
    case 2: return visit(uint16_t{});
    case 4: return visit(uint32_t{});
    case 8: return visit(uint64_t{});
    default: return visit(std::complex<double>{});
  }
}

/// Its elements may be read here, wherever they are.
bool is_small(const Issuer& issuer, const Tensor& x, int64_t most) {
  const int64_t bytes = x.size() * static_cast<int64_t>(size_of(x.dtype));
  return bytes > 0 && bytes <= most && settled_data(issuer.machine, *x.storage);
}

/// x may be written here, and what is written to it changes neither of the others.
bool may_write_here(const Issuer& issuer, const Tensor& x, const Tensor& mask, const Tensor& values,
                    int64_t most) {
  const auto width = static_cast<int64_t>(size_of(x.dtype));
  return x.storage->writable() && is_small(issuer, x, most) && is_small(issuer, mask, most) &&
         is_small(issuer, values, most) && mask.dtype == DType::b1 && mask.size() == x.size() &&
         values.dtype == x.dtype && mask.storage.get() != x.storage.get() &&
         values.storage.get() != x.storage.get() &&
         (x.contiguous() || !may_self_overlap(x.shape, x.strides, width));
}

/// Rows over tensors of one shape, in row-major order: one row where all of them are dense.
ops::Iteration rows_of(std::initializer_list<const Tensor*> tensors) {
  const Tensor& first = **tensors.begin();
  ops::Iteration rows;
  rows.operands = static_cast<int>(tensors.size());
  const bool is_dense =
      std::all_of(tensors.begin(), tensors.end(), [](const Tensor* x) { return x->contiguous(); });
  rows.ndim = is_dense ? 1 : first.ndim();
  for (int d = 0; d < rows.ndim; ++d) {
    rows.rows[d].dim = is_dense ? first.size() : first.shape[d];
    int k = 0;
    for (const Tensor* x : tensors) {
      rows.rows[d].strides[k++] =
          is_dense ? static_cast<int64_t>(size_of(x->dtype)) : x->strides[d];
    }
  }
  return rows;
}

/// A view of x's shape, where strides allow it.
std::optional<Tensor> shaped_like(const Tensor& x, const Tensor& other) {
  if (other.shape == x.shape) return other;
  if (other.size() == 1) return broadcast_view(*reshape_view(other, {}), x.shape, "putmask");
  return other.size() == x.size() ? reshape_view(other, x.shape) : std::nullopt;
}

/// The loop has no branch that values decide.
template <typename T>
void put_masked(char* const* data, const int64_t* steps, int64_t n) {
  auto* const x = reinterpret_cast<T*>(data[0]);
  const char* const mask = data[1];
  const auto* const values = reinterpret_cast<const T*>(data[2]);
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  if (steps[0] == kWidth && steps[1] == 1 && steps[2] == kWidth) {
    for (int64_t i = 0; i < n; ++i) {
      const T value = values[i], own = x[i];  // both are read: no branch
      x[i] = mask[i] ? value : own;
    }
  } else if (steps[0] == kWidth && steps[1] == 1 && steps[2] == 0) {
    const T value = *values;
    for (int64_t i = 0; i < n; ++i) {
      const T own = x[i];
      x[i] = mask[i] ? value : own;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      T* const place = reinterpret_cast<T*>(data[0] + i * steps[0]);
      const T value = *reinterpret_cast<const T*>(data[2] + i * steps[2]);
      const T own = *place;
      *place = mask[i * steps[1]] ? value : own;
    }
  }
}

/// Of another number of values than x has elements, which lie beside each other. Few are written
/// several times to a block, so that the loops over them are long.
void put_repeated(const Tensor& x, const Tensor& mask, const Tensor& values) {
  const ops::Iteration rows = rows_of({&x, &mask});
  const ops::Iteration::Row& inner = ops::inner_row(rows);
  const auto width = static_cast<int64_t>(size_of(x.dtype));
  const int64_t steps[] = {inner.strides[0], inner.strides[1], width};
  const int64_t bytes = values.size() * width, times = std::max<int64_t>(1, kRepeated / bytes);
  alignas(16) char block[kRepeated];
  for (int64_t k = 0; times > 1 && k < times; ++k) {
    std::memcpy(block + k * bytes, values.address(), static_cast<size_t>(bytes));
  }
  char* const from = times > 1 ? block : values.address();
  const int64_t count = values.size() * times;
  char* const data[] = {x.address(), mask.address()};
  with_size(x.dtype, [&](auto type) {
    int64_t next = 0;
    ops::for_each_row(rows, ops::outer_rows(rows), data, [&](char* const* pointers) {
      for (int64_t i = 0, n; i < inner.dim; i += n) {
        n = std::min(count - next, inner.dim - i);
        char* const at[] = {pointers[0] + i * steps[0], pointers[1] + i * steps[1],
                            from + next * width};
        put_masked<decltype(type)>(at, steps, n);
        next = next + n == count ? 0 : next + n;
      }
    });
  });
}

template <typename T>
void choose_each(const int64_t* numbers, const T* const* choices, int64_t n, T* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = choices[numbers[i]][i];
}

}  // namespace

bool put_masked_here(const Issuer& issuer, const Tensor& x, const Tensor& mask,
                     const Tensor& values) {
  if (!may_write_here(issuer, x, mask, values, kManyBytes)) return false;
  const std::optional<Tensor> chosen = shaped_like(x, mask), given = shaped_like(x, values);
  if (!chosen) return false;
  if (!given) {
    if (values.contiguous()) put_repeated(x, *chosen, values);
    return values.contiguous();
  }
  const ops::Iteration rows = rows_of({&x, &*chosen, &*given});
  const ops::Iteration::Row& inner = ops::inner_row(rows);
  char* const data[] = {x.address(), chosen->address(), given->address()};
  with_size(x.dtype, [&](auto type) {
    ops::for_each_row(rows, ops::outer_rows(rows), data, [&](char* const* pointers) {
      put_masked<decltype(type)>(pointers, inner.strides, inner.dim);
    });
  });
  return true;
}

bool place_here(const Issuer& issuer, const Tensor& x, const Tensor& mask, const Tensor& values) {
  if (!values.contiguous() || !may_write_here(issuer, x, mask, values, kManyInOrder)) {
    return false;
  }
  const std::optional<Tensor> chosen = shaped_like(x, mask);
  if (!chosen) return false;
  const int64_t count = values.size();
  const ops::Iteration rows = rows_of({&x, &*chosen});
  const ops::Iteration::Row& inner = ops::inner_row(rows);
  char* const data[] = {x.address(), chosen->address()};
  with_size(x.dtype, [&](auto type) {
    using T = decltype(type);
    const T* const from = reinterpret_cast<const T*>(values.address());
    int64_t next = 0;
    ops::for_each_row(rows, ops::outer_rows(rows), data, [&](char* const* pointers) {
      for (int64_t i = 0; i < inner.dim; ++i) {
        T* const place = reinterpret_cast<T*>(pointers[0] + i * inner.strides[0]);
        const bool is_chosen = pointers[1][i * inner.strides[1]] != 0;
        const T value = from[next], own = *place;
        *place = is_chosen ? value : own;
        next += is_chosen;
        if (next == count) next = 0;
      }
    });
  });
  return true;
}

bool choose_here(const Issuer& issuer, const Tensor& numbers, const std::vector<Tensor>& choices,
                 Tensor* out) {
  const int64_t n = numbers.size();
  const auto count = static_cast<uint64_t>(choices.size());
  if (numbers.dtype != DType::i64 || count == 0 || n == 0) return false;
  if (!readable_here(issuer.machine, numbers, kManyBytes)) return false;
  for (const Tensor& choice : choices) {
    const bool fits = choice.dtype == choices[0].dtype && choice.shape == numbers.shape;
    if (!fits || !readable_here(issuer.machine, choice, kManyBytes)) return false;
  }
  const auto* const values = reinterpret_cast<const int64_t*>(numbers.address());
  bool is_outside = false;
  for (int64_t i = 0; i < n; ++i) is_outside |= static_cast<uint64_t>(values[i]) >= count;
  if (is_outside) return false;
  const DType dtype = choices[0].dtype;
  if (!make_tensor_now(numbers.storage->state(), dtype, numbers.shape, issuer.site, out)) {
    return false;
  }
  with_size(dtype, [&](auto type) {
    using T = decltype(type);
    SmallVector<const T*, 8> places;
    for (const Tensor& choice : choices) {
      places.push_back(reinterpret_cast<const T*>(choice.address()));
    }
    choose_each(values, &places[0], n, reinterpret_cast<T*>(out->address()));
  });
  return true;
}

}  // namespace ofl
