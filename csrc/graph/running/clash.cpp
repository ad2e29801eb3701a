#include "graph/running/clash.h"

#include <algorithm>
#include <functional>

#include "base/small_vector.h"

namespace ofl::graph {

namespace {

/// The bytes of an input. They are counted in its storage, or are addresses where other storages
/// may be over the same memory.
struct Span {
  const void* storage;  // null: these are addresses
  int64_t begin, end;
  int64_t input;
  bool is_written;

  bool operator<(const Span& other) const {
    if (storage != other.storage) return std::less<const void*>()(storage, other.storage);
    return begin != other.begin ? begin < other.begin : input < other.input;
  }
};

Span span_of(const Tensor& x, int64_t input, bool is_written) {
  const TensorStorage* const storage = x.storage.get();
  const Extent extent = extent_of(x.shape, x.strides, static_cast<int64_t>(size_of(x.dtype)));
  const bool is_alone = storage->is_alone();
  const int64_t first = x.offset + (is_alone ? 0 : reinterpret_cast<intptr_t>(storage->data()));
  return {is_alone ? storage : nullptr, first + extent.low, first + extent.high, input, is_written};
}

}  // namespace

Clash find_clash(const Tensor* const* given, int64_t count, const std::vector<int64_t>& written) {
  SmallVector<Span, 16> spans;
  auto next = written.begin();
  for (int64_t i = 0; i < count; ++i) {
    const bool is_written = next != written.end() && *next == i;
    if (is_written) ++next;
    if (given[i] && given[i]->size() > 0) spans.push_back(span_of(*given[i], i, is_written));
  }
  std::sort(spans.begin(), spans.end());
  // Of the spans so far: those that end last, of all and of those that are written to.
  const Span* last = nullptr;
  const Span* last_written = nullptr;
  for (const Span& span : spans) {
    if (last && last->storage != span.storage) last = last_written = nullptr;
    if (last_written && span.begin < last_written->end) return {last_written->input, span.input};
    if (span.is_written && last && span.begin < last->end) return {span.input, last->input};
    if (!last || span.end > last->end) last = &span;
    const bool is_last = !last_written || span.end > last_written->end;
    if (span.is_written && is_last) last_written = &span;
  }
  return {};
}

}  // namespace ofl::graph
