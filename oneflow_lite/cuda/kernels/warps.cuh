// Values of any size handed from lane to lane of a warp. Every lane of the warp takes part.

namespace ofl {

constexpr uint32 kEveryLane = 0xffffffffu;

/// A value as the words that shuffles move.
template <typename T>
union Words {
  typedef typename Choice<sizeof(T) % 8 == 0, uint64, uint32>::type Word;
  Word words[(sizeof(T) + sizeof(Word) - 1) / sizeof(Word)];
  T value;
};

/// What `move` makes of a value, word by word.
template <typename T, typename Move>
T move_words(T value, const Move& move) {
  Words<T> moved = {};
  moved.value = value;
#pragma unroll
  for (int k = 0; k < int(sizeof(moved.words) / sizeof(moved.words[0])); ++k) {
    moved.words[k] = move(moved.words[k]);
  }
  return moved.value;
}

/// What the lane `delta` above has, in the group of `width` lanes; one's own where there is none.
template <typename T>
T shuffle_down(T value, int delta, int width) {
  typedef typename Words<T>::Word Word;
  return move_words(value,
                    [=](Word word) { return __shfl_down_sync(kEveryLane, word, delta, width); });
}

/// The same of the lane `delta` below.
template <typename T>
T shuffle_up(T value, int delta, int width) {
  typedef typename Words<T>::Word Word;
  return move_words(value,
                    [=](Word word) { return __shfl_up_sync(kEveryLane, word, delta, width); });
}

/// What lane `source` of the group of `width` lanes has.
template <typename T>
T shuffle_from(T value, int source, int width) {
  typedef typename Words<T>::Word Word;
  return move_words(value, [=](Word word) { return __shfl_sync(kEveryLane, word, source, width); });
}

}  // namespace ofl
