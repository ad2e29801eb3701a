#include "tensor/index/elements.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "ep/memory/caching_allocator.h"
#include "ops/loop_args.h"

namespace ofl {

void repeat_element(const Scalar& value, size_t size, size_t count, char* out) {
  constexpr size_t kInCache = 16384;  // of what is there: so much is read again and again
  const size_t bytes = size * count;
  if (bytes == 0) return;
  const Scalar zero;
  if (std::memcmp(value.bytes, zero.bytes, sizeof zero.bytes) == 0) {
    std::memset(out, 0, bytes);
    return;
  }
  std::memcpy(out, value.bytes, size);
  for (size_t done = size; done < bytes;) {
    const size_t more = std::min({done, kInCache, bytes - done});
    std::memcpy(out + done, out, more);
    done += more;
  }
}

bool read_element(vm::VirtualMachine& machine, const Tensor& x, Scalar* element) {
  if (!x.storage->on_host() || machine.is_recorded()) return false;
  machine.note_look();
  if (x.storage->is_settled()) {
    copy_element(x.address(), size_of(x.dtype), element->bytes);
    return true;
  }
  const vm::Operand read{&x.storage->dependence(), vm::Access::read};
  vm::InlineScope here(machine.window(), &read, 1);
  if (!here) return false;
  copy_element(x.address(), size_of(x.dtype), element->bytes);
  return true;
}

bool write_element(vm::VirtualMachine& machine, TensorStorage& storage, int64_t offset, DType dtype,
                   const Scalar& element) {
  char* const data = storage.writable() ? settled_data(machine, storage) : nullptr;
  if (!data) return false;
  copy_element(element.bytes, size_of(dtype), data + offset);
  return true;
}

bool write_element(vm::VirtualMachine& machine, TensorStorage& storage, int64_t offset, DType dtype,
                   const Tensor& element) {
  char* const data = storage.writable() ? settled_data(machine, storage) : nullptr;
  const char* const source = settled_data(machine, *element.storage);
  const bool may_lose_part =
      info(element.dtype).kind == DTypeKind::complex && element.dtype != dtype;
  if (!data || !source || may_lose_part) return false;
  Scalar value;  // the two may overlap
  if (element.dtype == dtype) {
    copy_element(source + element.offset, size_of(dtype), value.bytes);
  } else {
    const ops::CastFn cast = ops::cast_function(element.dtype, dtype);
    cast(source + element.offset, 0, reinterpret_cast<char*>(value.bytes), 0, 1);
  }
  copy_element(value.bytes, size_of(dtype), data + offset);
  return true;
}

// The steps are those that elementwise() would find: some loops take another path where they are 0,
// and round differently.
void run_loop(const ops::Resolution& resolution, int count, char* const* places,
              const DType* dtypes, const bool* numbers, char* out, bool in_place) {
  Scalar held[ops::kMaxOperands];
  char* data[ops::kMaxOperands];
  intptr_t steps[ops::kMaxOperands];
  for (int k = 0; k < count; ++k) {
    const DType wanted = resolution.in[k];
    data[k] = places[k];
    steps[k] = numbers[k] || in_place ? 0 : static_cast<intptr_t>(size_of(wanted));
    if (dtypes[k] == wanted) continue;
    data[k] = reinterpret_cast<char*>(held[k].bytes);
    ops::cast_function(dtypes[k], wanted)(places[k], 0, data[k], 0, 1);
  }
  const bool is_cast = resolution.out != resolution.result;
  data[count] = is_cast ? reinterpret_cast<char*>(held[count].bytes) : out;
  steps[count] = in_place ? 0 : static_cast<intptr_t>(size_of(resolution.out));
  const intptr_t n = 1;
  resolution.loop(data, &n, steps, resolution.data);
  if (is_cast) ops::cast_function(resolution.out, resolution.result)(data[count], 0, out, 0, 1);
}

namespace {

/// Whether the elements of both along the last axis lie side by side.
bool have_dense_rows(const Tensor& x, const Tensor& result) {
  const int last = x.ndim() - 1;
  const auto size = static_cast<int64_t>(size_of(x.dtype));
  return last >= 0 && x.strides[last] == size && result.strides[last] == size;
}

/// Copies each element, a Word, from the strides of one tensor to those of the other, over the axes
/// from `axis` on.
template <typename Word>
void copy_words(const Tensor& x, const Tensor& result, int axis, const char* from, char* to) {
  const int64_t n = x.shape[axis], step = x.strides[axis], stride = result.strides[axis];
  if (axis + 1 < x.ndim()) {
    for (int64_t i = 0; i < n; ++i, from += step, to += stride) {
      copy_words<Word>(x, result, axis + 1, from, to);
    }
  } else if (have_dense_rows(x, result)) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(Word));
  } else {
    for (int64_t i = 0; i < n; ++i, from += step, to += stride) {
      std::memcpy(to, from, sizeof(Word));
    }
  }
}

void copy_each(const Tensor& x, const Tensor& result) {
  const auto copy = [&](auto word) {
    copy_words<decltype(word)>(x, result, 0, x.address(), result.address());
  };
  switch (size_of(x.dtype)) {
    case 1: return copy(uint8_t{});
    case 2: return copy(uint16_t{});
    case 4: return copy(uint32_t{});
    case 8: return copy(uint64_t{});
    default: return copy(std::array<uint64_t, 2>{});
  }
}

}  // namespace

bool copied_here(const Issuer& issuer, const Tensor& x, const Tensor& result) {
  constexpr int64_t kFewBytes = 16384, kFewMoves = 512;  // half a microsecond
  if (x.dtype != result.dtype || !at_hand(issuer.machine, x, kFewBytes)) return false;
  const bool lie_alike = x.strides == result.strides || (x.contiguous() && result.contiguous());
  const int64_t together = have_dense_rows(x, result) ? x.shape[x.ndim() - 1] : 1;
  if (!lie_alike && x.size() > kFewMoves * together) return false;
  try {
    result.storage->materialize_on_host();
  } catch (const ep::CapacityError&) {
    return false;
  }
  if (lie_alike) {
    std::memcpy(result.address(), x.address(), result.storage->bytes());
  } else {
    copy_each(x, result);
  }
  return true;
}

}  // namespace ofl
