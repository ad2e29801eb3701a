// What reductions put together: values that begin with nothing, and searches for the best.

namespace ofl {

// --- what changes nothing

/// Added to anything: -0, as 0 would make 0 of -0.
template <typename T>
T nothing_added() {
  if constexpr (Is<T>::complex) {
    return {nothing_added<decltype(T::re)>(), nothing_added<decltype(T::re)>()};
  } else if constexpr (Is<T>::integer || Same<T, bool>::type) {
    return T(0);
  } else {
    return -T(0);
  }
}

template <typename T>
T nothing_multiplied() {
  if constexpr (Is<T>::complex) {
    return {1, 0};
  } else {
    return T(1);
  }
}

/// The product, where 1 + 0i really leaves the other one: infinities and zeros, too.
template <typename T>
T product(T x, T y) {
  if constexpr (Is<T>::complex) {
    if (x.re == 1 && x.im == 0) return y;
    if (y.re == 1 && y.im == 0) return x;
  }
  return multiply(x, y);
}

template <typename T>
T least() {
  if constexpr (Is<T>::complex) {
    return {least<decltype(T::re)>(), least<decltype(T::re)>()};
  } else if constexpr (Is<T>::integer) {
    return Is<T>::has_sign ? T(Wrapping<T>(1) << (8 * sizeof(T) - 1)) : T(0);
  } else if constexpr (Same<T, bool>::type) {
    return false;
  } else {
    return -1 / T(0);
  }
}

template <typename T>
T greatest() {
  if constexpr (Is<T>::complex) {
    return {greatest<decltype(T::re)>(), greatest<decltype(T::re)>()};
  } else if constexpr (Is<T>::integer) {
    return T(~least<T>());
  } else if constexpr (Same<T, bool>::type) {
    return true;
  } else {
    return 1 / T(0);
  }
}

template <typename T>
T not_a_number() {
  if constexpr (Is<T>::complex) {
    return {not_a_number<decltype(T::re)>(), not_a_number<decltype(T::re)>()};
  } else {
    return T(0) / T(0);
  }
}

/// Where no number is NaN, the least one is passed over like it.
template <typename T>
T passed_over(T otherwise) {
  if constexpr (Is<T>::integer || Same<T, bool>::type) {
    return otherwise;
  } else {
    return not_a_number<T>();
  }
}

// --- the first of the best

template <typename T, typename Position>
struct Found {
  T value;
  Position position;
};

/// By the order of numbers, NaN above or below all others; of equal ones the one at the smallest
/// position, whatever the order in which they are compared.
template <typename T, typename Position, bool smallest, bool nan_wins>
struct Best {
  typedef Found<T, Position> Value;

  static Value empty() {
    const T last = smallest ? greatest<T>() : least<T>();
    return {nan_wins ? last : passed_over(last), greatest<Position>()};
  }
  static Value combine(Value x, Value y) {
    const bool x_is_nan = isnan(x.value), y_is_nan = isnan(y.value);
    bool y_is_better = nan_wins ? y_is_nan : x_is_nan, are_equal = x_is_nan && y_is_nan;
    if (!x_is_nan && !y_is_nan) {
      y_is_better = smallest ? less(y.value, x.value) : less(x.value, y.value);
      are_equal = equal(x.value, y.value);
    }
    return (are_equal ? y.position < x.position : y_is_better) ? y : x;
  }
};

}  // namespace ofl
