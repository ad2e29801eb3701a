// Sums of rows by index: what the gradients of reads by index arrays are.
#include <algorithm>
#include <cstring>

#include "base/vectors.h"
#include "ops/index/places.h"

namespace ofl::ops {

namespace {

template <typename T>
using AddFn = void (*)(T* to, const char* from, int64_t step, int64_t n);

template <typename T>
inline void add_elements(T* to, const char* from, int64_t step, int64_t n) {
  if (step == sizeof(T)) {
    const T* const row = reinterpret_cast<const T*>(from);
    for (int64_t j = 0; j < n; ++j) to[j] += row[j];
    return;
  }
  for (int64_t j = 0; j < n; ++j) to[j] += *reinterpret_cast<const T*>(from + j * step);
}

// The same code for the vectors of each processor; each element is added to one sum.
template <typename T>
void add_128(T* to, const char* from, int64_t step, int64_t n) {
  add_elements(to, from, step, n);
}
template <typename T>
OFL_AVX2 OFL_FLAT void add_256(T* to, const char* from, int64_t step, int64_t n) {
  add_elements(to, from, step, n);
}
template <typename T>
OFL_AVX512 OFL_FLAT void add_512(T* to, const char* from, int64_t step, int64_t n) {
  add_elements(to, from, step, n);
}

template <typename T>
void add_rows(const ArrayArgs& args) {
  const ArrayView &rows = args.input(1), &out = args.output(0);
  static const auto add =
      choose_by_isa<AddFn<T>>("scatter_add", add_128<T>, add_256<T>, add_512<T>);
  const int64_t lead = out.shape[0], width = out.shape[1];
  for (int64_t place = 0; place < lead; ++place) {
    std::memset(out.data + place * out.strides[0], 0, static_cast<size_t>(width) * sizeof(T));
  }
  const IndexedAxis axis{lead, out.strides[0], 0, OutOfRange::raise, args.name};
  for_each_place({axis}, &args.input(0), rows.strides, nullptr, [&](const Places& places) {
    for (int64_t i = 0; i < places.n; ++i) {
      add(reinterpret_cast<T*>(out.data + places.offsets[i]),
          rows.data + places.lined + i * places.step, rows.strides[1], width);
    }
  });
}

}  // namespace

void scatter_add_kernel(const ArrayArgs& args) {
  if (args.output(0).dtype == DType::f32) return add_rows<float>(args);
  add_rows<double>(args);
}

}  // namespace ofl::ops
