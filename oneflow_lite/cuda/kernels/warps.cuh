// Values of any size handed from lane to lane of a warp. Every lane of the warp takes part.

namespace ofl {

constexpr uint32 kEveryLane = 0xffffffffu;
constexpr int kWarpLanes = 32;

/// A value as the words that shuffles move.
template <typename T>
union Words {
  typedef typename Choice<sizeof(T) % 8 == 0, uint64, uint32>::type Word;
  Word words[(sizeof(T) + sizeof(Word) - 1) / sizeof(Word)];
  T value;
};

/// What the lane `delta` above has, in the group of `width` lanes; one's own where there is none.
template <typename T>
T shuffle_down(T value, int delta, int width) {
  Words<T> moved = {};
  moved.value = value;
#pragma unroll
  for (int k = 0; k < int(sizeof(moved.words) / sizeof(moved.words[0])); ++k) {
    moved.words[k] = __shfl_down_sync(kEveryLane, moved.words[k], delta, width);
  }
  return moved.value;
}

/// The same of the lane `delta` below.
template <typename T>
T shuffle_up(T value, int delta, int width) {
  Words<T> moved = {};
  moved.value = value;
#pragma unroll
  for (int k = 0; k < int(sizeof(moved.words) / sizeof(moved.words[0])); ++k) {
    moved.words[k] = __shfl_up_sync(kEveryLane, moved.words[k], delta, width);
  }
  return moved.value;
}

/// What lane `source` of the group of `width` lanes has.
template <typename T>
T shuffle_from(T value, int source, int width) {
  Words<T> moved = {};
  moved.value = value;
#pragma unroll
  for (int k = 0; k < int(sizeof(moved.words) / sizeof(moved.words[0])); ++k) {
    moved.words[k] = __shfl_sync(kEveryLane, moved.words[k], source, width);
  }
  return moved.value;
}

}  // namespace ofl
