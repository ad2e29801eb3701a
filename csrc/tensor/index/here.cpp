// Small reads and writes by one index array or mask, in the thread that asks for them.
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "ops/index/places.h"
#include "tensor/index/index.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

constexpr int64_t kManyPlaces = 1024;  // that a selector looks at
constexpr int64_t kManyBytes = 16384;  // that are copied: some microseconds

/// The places of x that a selector chooses from: blocks of bytes that lie together, one step apart.
struct Line {
  int64_t places;
  int64_t step;
  int64_t block;
};

/// Of x as the selector sees it; nullopt where it is no such line, or the selector is another.
std::optional<Line> line_of(const Tensor& x, const Tensor& selector) {
  const bool is_mask = selector.dtype == DType::b1;
  const int taken = is_mask ? selector.ndim() : 1;
  if (!(is_mask || selector.dtype == DType::i64) || taken == 0 || taken > x.ndim()) {
    return std::nullopt;
  }
  Line line{1, x.strides[taken - 1], static_cast<int64_t>(size_of(x.dtype))};
  for (int d = x.ndim() - 1; d >= taken; --d) {
    if (x.strides[d] != line.block) return std::nullopt;
    line.block *= x.shape[d];
  }
  for (int d = taken - 1; d >= 0; --d) {
    if (is_mask && selector.shape[d] != x.shape[d]) return std::nullopt;
    if (d < taken - 1 && x.strides[d] != x.strides[d + 1] * x.shape[d + 1]) return std::nullopt;
    line.places *= x.shape[d];
  }
  return line;
}

/// What is chosen of a line, in order.
class Chosen {
 public:
  /// -1 where an index is out of range.
  int64_t count() const { return count_; }

  void find(const Tensor& selector, const Line& line) {
    const int64_t n = selector.size();
    if (selector.dtype == DType::b1) {
      count_ = ops::find_true(selector.address(), 1, n, 0, line.step, offsets_);
    } else {
      const bool inside =
          ops::find_offsets(selector.address(), n, line.places, line.step, nullptr, offsets_);
      count_ = inside ? n : -1;
    }
  }

  /// The i-th chosen block becomes the one at out + i * block. The two ranges lie apart.
  void gather(const char* base, int64_t block, char* out) const {
    with_block(block, [=](auto size) {
      copy_blocks(
          size, [=](int64_t i) { return base + offsets_[i]; },
          [=](int64_t i) { return out + i * size; });
    });
  }

  /// The other way round; with a step of 0 from the same block each time.
  void scatter(char* base, int64_t block, const char* from, int64_t step) const {
    with_block(block, [=](auto size) {
      copy_blocks(
          size, [=](int64_t i) { return from + i * step; },
          [=](int64_t i) { return base + offsets_[i]; });
    });
  }

 private:
  /// run(size), with the common sizes known to the compiler.
  template <typename Run>
  static void with_block(int64_t block, const Run& run) {
    switch (block) {
      case 1: return run(std::integral_constant<size_t, 1>{});
      case 4: return run(std::integral_constant<size_t, 4>{});
      case 8: return run(std::integral_constant<size_t, 8>{});
      default: return run(static_cast<size_t>(block));
    }
  }

  /// Block from(i) to to(i), in order. A store may change the offsets as far as the compiler knows,
  /// so each one waits for the store before it: four places are read before one is written.
  template <typename Size, typename From, typename To>
  void copy_blocks(Size size, const From& from, const To& to) const {
    const int64_t count = count_;
    int64_t i = 0;
    if constexpr (!std::is_same_v<Size, size_t>) {
      constexpr int kAtOnce = 4;
      struct Block {
        char bytes[Size::value];
      };
      for (; i + kAtOnce <= count; i += kAtOnce) {
        Block read[kAtOnce];
        char* places[kAtOnce];
        for (int k = 0; k < kAtOnce; ++k) {
          std::memcpy(&read[k], from(i + k), size);
          places[k] = to(i + k);
        }
        for (int k = 0; k < kAtOnce; ++k) std::memcpy(places[k], &read[k], size);
      }
    }
    for (; i < count; ++i) std::memcpy(to(i), from(i), size);
  }

  int64_t count_ = 0;
  int64_t offsets_[kManyPlaces];
};

/// The line, where looking at the selector is small work of the host that nobody observes.
std::optional<Line> small_line(const Issuer& issuer, const Tensor& x, const Tensor& selector) {
  if (!x.storage->on_host() || selector.device() != x.device() || selector.size() > kManyPlaces ||
      !selector.contiguous() || !issuer.machine.may_act_at_once()) {
    return std::nullopt;
  }
  std::optional<Line> line = line_of(x, selector);
  if (line && line->block == 0) line.reset();
  return line;
}

/// The shape of x[selector], with `count` places chosen by a mask.
Dims chosen_shape(const Tensor& x, const Tensor& selector, int64_t count) {
  const bool is_mask = selector.dtype == DType::b1;
  Dims shape = is_mask ? Dims{count} : selector.shape;
  for (int d = is_mask ? selector.ndim() : 1; d < x.ndim(); ++d) shape.push_back(x.shape[d]);
  return shape;
}

/// Nothing written to x, which is alone, changes what is read.
bool is_apart(const Tensor& read, const Tensor& x) {
  return read.storage.get() != x.storage.get() && read.storage->is_alone();
}

/// `value` null: `scalar`, of a place's size.
bool write_here(const Issuer& issuer, const Tensor& x, const Tensor& selector, const Tensor* value,
                const Scalar& scalar) {
  const std::optional<Line> line = small_line(issuer, x, selector);
  if (!line || !x.storage->writable() || !x.storage->is_alone()) return false;
  if (line->places > 1 && std::abs(line->step) < line->block) return false;  // they overlap
  vm::Operand operands[] = {{&x.storage->dependence(), vm::Access::write},
                            {&selector.storage->dependence(), vm::Access::read},
                            {nullptr, vm::Access::read}};
  if (!is_apart(selector, x)) return false;
  if (value) {
    if (value->dtype != x.dtype || value->device() != x.device() || !value->contiguous() ||
        !is_apart(*value, x)) {
      return false;
    }
    operands[2].object = &value->storage->dependence();
  } else if (line->block != static_cast<int64_t>(size_of(x.dtype))) {
    return false;
  }
  vm::InlineScope here(issuer.machine.window(), operands, value ? 3 : 2);
  if (!here) return false;
  Chosen chosen;
  chosen.find(selector, *line);
  const int64_t count = chosen.count();
  if (count < 0 || count * line->block > kManyBytes || !x.storage->data() ||
      (value && value->shape != chosen_shape(x, selector, count))) {
    here.decline();
    return false;
  }
  if (value) {
    chosen.scatter(x.address(), line->block, value->address(), line->block);
  } else {
    chosen.scatter(x.address(), line->block, reinterpret_cast<const char*>(scalar.bytes), 0);
  }
  return true;
}

}  // namespace

bool gather_here(const Issuer& issuer, const Tensor& x, const Tensor& selector, Tensor* out) {
  const std::optional<Line> line = small_line(issuer, x, selector);
  if (!line || selector.ndim() + x.ndim() > kMaxDims) return false;
  const vm::Operand reads[] = {{&x.storage->dependence(), vm::Access::read},
                               {&selector.storage->dependence(), vm::Access::read}};
  vm::InlineScope here(issuer.machine.window(), reads, 2);
  if (!here) return false;
  Chosen chosen;
  chosen.find(selector, *line);
  const int64_t bytes = chosen.count() * line->block;
  const bool fits = bytes >= 0 && bytes <= kManyBytes && x.storage->data();
  const Dims shape = chosen_shape(x, selector, chosen.count());
  if (!fits || !make_tensor_now(x.storage->state(), x.dtype, shape, issuer.site, out)) {
    here.decline();
    return false;
  }
  chosen.gather(x.address(), line->block, out->address());
  return true;
}

bool scatter_here(const Issuer& issuer, const Tensor& x, const Tensor& selector,
                  const Tensor& value) {
  return write_here(issuer, x, selector, &value, Scalar{});
}

bool scatter_here(const Issuer& issuer, const Tensor& x, const Tensor& selector,
                  const Scalar& value) {
  return write_here(issuer, x, selector, nullptr, value);
}

}  // namespace ofl
