// NumPy's order of elements as unsigned keys, equal for equal elements: NaN last, signed zeros
// equal. Complex numbers by their real and then their imaginary parts; those with a NaN in the
// imaginary, the real, both parts last, in this order.

namespace ofl {

/// A key of two words.
template <typename Word>
struct WordPair {
  Word high, low;
};

template <typename Word>
bool operator<(const WordPair<Word>& a, const WordPair<Word>& b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}
template <typename Word>
bool operator==(const WordPair<Word>& a, const WordPair<Word>& b) {
  return a.high == b.high && a.low == b.low;
}
template <typename Word>
WordPair<Word> operator~(const WordPair<Word>& a) {
  return {Word(~a.high), Word(~a.low)};
}

inline uint16 bits_of(float16 x) { return x.bits; }
inline uint16 bits_of(bfloat16 x) { return x.bits; }
inline uint32 bits_of(float32 x) { return __float_as_uint(x); }
inline uint64 bits_of(float64 x) { return uint64(__double_as_longlong(x)); }

/// The bits of infinity; 0: T is no float.
template <typename T>
struct InfinityBits {
  enum { value = 0 };
};
template <>
struct InfinityBits<float16> {
  enum : uint16 { value = 0x7c00 };
};
template <>
struct InfinityBits<bfloat16> {
  enum : uint16 { value = 0x7f80 };
};
template <>
struct InfinityBits<float32> {
  enum : uint32 { value = 0x7f800000 };
};
template <>
struct InfinityBits<float64> {
  enum : uint64 { value = 0x7ff0000000000000 };
};

template <int bytes>
struct UnsignedOf {
  typedef uint8 type;
};
template <>
struct UnsignedOf<2> {
  typedef uint16 type;
};
template <>
struct UnsignedOf<4> {
  typedef uint32 type;
};
template <>
struct UnsignedOf<8> {
  typedef uint64 type;
};

template <typename T>
bool is_nan(T x) {
  if constexpr (Is<T>::complex) {
    return is_nan(x.re) || is_nan(x.im);
  } else if constexpr (InfinityBits<T>::value != 0) {
    typedef typename UnsignedOf<sizeof(T)>::type Bits;
    constexpr Bits sign = Bits(Bits(1) << (sizeof(T) * 8 - 1));
    return Bits(bits_of(x) & Bits(~sign)) > Bits(InfinityBits<T>::value);
  } else {
    return false;
  }
}

template <typename T>
typename UnsignedOf<sizeof(T)>::type float_key(T x) {
  typedef typename UnsignedOf<sizeof(T)>::type Bits;
  constexpr Bits sign = Bits(Bits(1) << (sizeof(T) * 8 - 1));
  const Bits bits = bits_of(x);
  if (is_nan(x)) return Bits(~Bits(0));
  if (Bits(bits << 1) == 0) return sign;
  return bits & sign ? Bits(~bits) : Bits(bits | sign);
}

/// The keys just below that of NaN belong to no real part: they are those of the numbers with a
/// NaN.
template <typename Part>
WordPair<typename UnsignedOf<sizeof(Part)>::type> complex_key(Complex<Part> x) {
  typedef typename UnsignedOf<sizeof(Part)>::type Word;
  const int nans = 2 * is_nan(x.re) + is_nan(x.im);
  if (nans == 0) return {float_key(x.re), float_key(x.im)};
  const Word high = Word(~Word(3 - nans));
  if (nans == 3) return {high, Word(0)};
  return {high, nans == 1 ? float_key(x.re) : float_key(x.im)};
}

template <typename T>
auto key_of(T x) {
  if constexpr (Is<T>::complex) {
    return complex_key(x);
  } else if constexpr (InfinityBits<T>::value != 0) {
    return float_key(x);
  } else {
    typedef typename UnsignedOf<sizeof(T)>::type Bits;
    const Bits sign = Is<T>::integer && Is<T>::has_sign ? Bits(Bits(1) << (sizeof(T) * 8 - 1)) : 0;
    return Bits(Bits(x) ^ sign);
  }
}

/// The key in the order asked for.
template <typename T>
auto key_of(T x, bool descending) {
  const auto key = key_of(x);
  return descending ? decltype(key_of(x))(~key) : key;
}

/// Byte `place` of a key, the lowest is 0.
template <typename Word>
uint32 digit_of(Word key, int place) {
  return uint32(key >> (8 * place)) & 255;
}
template <typename Word>
uint32 digit_of(const WordPair<Word>& key, int place) {
  const int words = sizeof(Word);
  return place < words ? digit_of(key.low, place) : digit_of(key.high, place - words);
}

/// x == y: NaN equals nothing.
template <typename T>
bool same_value(T x, T y) {
  return key_of(x) == key_of(y) && !is_nan(x);
}

/// An element of an array of any step in bytes.
template <typename T>
T element_at(const char* first, int64 step, int64 i) {
  return reinterpret_cast<const Stored<T>*>(first + i * step)->get();
}

}  // namespace ofl
