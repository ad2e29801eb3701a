// Binary search in sorted elements. Where needles ascend, each search begins at the place of the
// needle before.
#include <algorithm>

#include "ops/sort/binary_search.h"
#include "ops/sort/order.h"

namespace ofl::ops {

namespace {

/// Elements between the places of needles that are searched together, up to which it is faster to
/// search the next ones from there.
constexpr int64_t kCloseNeedles = 64;

/// A bool is a byte of 0 or 1.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

/// The elements searched, one after the other in memory.
template <typename T>
class Haystack {
 public:
  explicit Haystack(const ArrayView& view) : n_(view.shape[0]) {
    const auto in_memory = reinterpret_cast<const T*>(view.data);
    if (n_ > 0 && view.strides[0] == sizeof(T)) {
      first_ = in_memory;
    } else {
      copy_.resize(n_);
      for (int64_t i = 0; i < n_; ++i) copy_[i] = load_element<T>(view.data + i * view.strides[0]);
      first_ = copy_.data();
    }
    numbers_ = without_nan();
  }
  /// In the order that `sorter` gives; Error(value) for a position that does not exist.
  Haystack(const ArrayView& view, const ArrayView& sorter) : n_(sorter.shape[0]) {
    copy_.resize(n_);
    for (int64_t i = 0; i < n_; ++i) {
      const auto at = load_element<int64_t>(sorter.data + i * sorter.strides[0]);
      if (at < 0 || at >= view.shape[0]) {
        fail(ErrorKind::value, "[searchsorted] expected a sorter of positions below ",
             view.shape[0], ", got ", at);
      }
      copy_[i] = load_element<T>(view.data + at * view.strides[0]);
    }
    first_ = copy_.data();
    numbers_ = without_nan();
  }

  int64_t size() const { return n_; }
  T operator[](int64_t i) const { return first_[i]; }

  /// No needle comes before the one in front of it, and none is a NaN.
  static bool ascend(const T* needles) {
    for (int k = 1; k < kTogether; ++k) {
      if (!follows(needles[k], needles[k - 1])) return false;
    }
    return true;
  }
  /// False of a NaN.
  static bool follows(T needle, T other) {
    if (kIsComplex<T> && (is_nan(needle) || is_nan(other))) return false;
    return is_less<true>(other, needle);
  }

  /// How many elements from `from` on are to be searched for a needle, if all before `from` come
  /// before it. Its place is among these or right behind them.
  template <bool Right>
  int64_t reach(int64_t from, T needle) const {
    int64_t length = kTogether;
    while (length < numbers_ - from && is_less<Right>(first_[from + length - 1], needle)) {
      length *= 2;
    }
    return std::min(length, numbers_ - from);
  }

  /// How many elements come before each of the needles, those equal to it included if Right.
  template <bool Right>
  void search(const T* needles, int64_t* found) const {
    search_numbers<Right>(needles, 0, numbers_, found);
    if constexpr (kHasNan) {
      for (int k = 0; k < kTogether; ++k) {
        if (is_nan(needles[k])) found[k] = place_of_nan<Right>(needles[k]);
      }
    }
  }

  /// Of needles, none a NaN, whose places are among `length` elements.
  template <bool Right>
  void search_numbers(const T* needles, int64_t from, int64_t length, int64_t* found) const {
    search_together(first_, from, length, needles, is_less<Right>, found);
  }

 private:
  static constexpr bool kHasNan = std::is_floating_point_v<T> || kIsComplex<T>;

  /// False where one is a NaN, of floats. Complex numbers are none.
  template <bool OrEqual>
  static bool is_less(T a, T b) {
    if constexpr (kIsComplex<T>) {
      const bool imag = OrEqual ? a.imag() <= b.imag() : a.imag() < b.imag();
      return (a.real() < b.real()) | ((a.real() == b.real()) & imag);
    } else if constexpr (kHasNan) {
      return OrEqual ? a <= b : a < b;
    } else {
      return OrEqual ? !before(b, a) : before(a, b);
    }
  }

  /// NaN come last; those of complex numbers differ.
  template <bool Right>
  int64_t place_of_nan(T needle) const {
    if constexpr (!kIsComplex<T>) return Right ? n_ : numbers_;
    const T *const from = first_ + numbers_, *const end = first_ + n_;
    return (Right ? std::upper_bound(from, end, needle, before<T>)
                  : std::lower_bound(from, end, needle, before<T>)) -
           first_;
  }

  int64_t without_nan() const {
    if constexpr (!kHasNan) return n_;
    return std::partition_point(first_, first_ + n_, [](T x) { return !is_nan(x); }) - first_;
  }

  const int64_t n_;
  int64_t numbers_ = 0;  // those before the NaN
  const T* first_ = nullptr;
  std::vector<T> copy_;
};

/// Calls take(i, needle, found) for each needle.
template <bool Right, typename T, typename Take>
void search_all(const Haystack<T>& haystack, const ArrayView& needles, const Take& take) {
  T together[kTogether];
  int64_t found[kTogether];
  const int64_t n = needles.shape[0], step = needles.strides[0];
  int64_t from = 0;
  bool are_close = false;  // the needles before these
  T last{};                // of them
  for (int64_t i = 0; i < n; i += kTogether) {
    const int count = static_cast<int>(std::min<int64_t>(kTogether, n - i));
    for (int k = 0; k < count; ++k) {
      together[k] = load_element<T>(needles.data + (i + k) * step);
    }
    std::fill(together + count, together + kTogether, together[count - 1]);
    const bool go_on =
        are_close && Haystack<T>::follows(together[0], last) && Haystack<T>::ascend(together);
    if (go_on) {
      const int64_t length = haystack.template reach<Right>(from, together[count - 1]);
      haystack.template search_numbers<Right>(together, from, length, found);
    } else {
      haystack.template search<Right>(together, found);
    }
    from = found[count - 1];
    last = together[count - 1];
    are_close = from - found[0] <= kCloseNeedles;
    for (int k = 0; k < count; ++k) take(i + k, together[k], found[k]);
  }
}

}  // namespace

void search_sorted_kernel(const ArrayArgs& args) {
  const ArrayView& out = args.output(0);
  visit_dtype(args.input(0).dtype, [&](auto type) {
    using T = Stored<decltype(type)>;
    const auto haystack =
        args.inputs == 3 ? Haystack<T>(args.input(0), args.input(2)) : Haystack<T>(args.input(0));
    const auto write = [&](int64_t i, T, int64_t found) {
      std::memcpy(out.data + i * out.strides[0], &found, sizeof(found));
    };
    if (args.attr[0] != 0) {
      search_all<true>(haystack, args.input(1), write);
    } else {
      search_all<false>(haystack, args.input(1), write);
    }
  });
}

void contains_kernel(const ArrayArgs& args) {
  const ArrayView& out = args.output(0);
  const bool invert = args.attr[0] != 0;
  visit_dtype(args.input(0).dtype, [&](auto type) {
    using T = Stored<decltype(type)>;
    const Haystack<T> haystack(args.input(0));
    search_all<false>(haystack, args.input(1), [&](int64_t i, T needle, int64_t found) {
      const bool hit = found < haystack.size() && same_value(haystack[found], needle);
      out.data[i * out.strides[0]] = static_cast<char>(hit != invert);
    });
  });
}

void members_kernel(const ArrayArgs& args) {
  const ArrayView &elements = args.input(2), &out = args.output(0);
  const bool invert = args.attr[0] != 0;
  const size_t size = size_of(elements.dtype);
  int64_t count = 0;
  visit_dtype(args.input(0).dtype, [&](auto type) {
    using T = Stored<decltype(type)>;
    const Haystack<T> haystack(args.input(0));
    search_all<false>(haystack, args.input(1), [&](int64_t i, T needle, int64_t found) {
      const bool hit = found < haystack.size() && same_value(haystack[found], needle);
      if (hit == invert) return;
      std::memcpy(out.data + count * out.strides[0], elements.data + i * elements.strides[0], size);
      ++count;
    });
  });
  std::memcpy(args.output(1).data, &count, sizeof(count));
}

}  // namespace ofl::ops
