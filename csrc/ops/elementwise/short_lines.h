// Copies of lines of a few bytes, as the rows of a narrow matrix are, and of elements beside such
// rows: a call of the C library for each takes several times as long.
#pragma once

#include <cstdint>
#include <cstring>

namespace ofl::ops {

inline constexpr int64_t kLongestShortLine = 128;

template <size_t Size>
struct LineWord {
  unsigned char bytes[Size];
};

/// A line is two words, which overlap where it is shorter.
template <size_t Size>
void copy_lines_of(const char* from, int64_t step, char* to, int64_t out_step, int64_t lines,
                   int64_t bytes) {
  const int64_t last = bytes - static_cast<int64_t>(Size);
  for (int64_t i = 0; i < lines; ++i, from += step, to += out_step) {
    LineWord<Size> front, back;
    std::memcpy(&front, from, Size);
    std::memcpy(&back, from + last, Size);
    std::memcpy(to, &front, Size);
    std::memcpy(to + last, &back, Size);
  }
}

/// Copies lines of 1 to kLongestShortLine bytes, which begin `step` and `out_step` bytes apart.
inline void copy_short_lines(const char* from, int64_t step, char* to, int64_t out_step,
                             int64_t lines, int64_t bytes) {
  const auto copy = bytes <= 2    ? copy_lines_of<1>
                    : bytes <= 4  ? copy_lines_of<2>
                    : bytes <= 8  ? copy_lines_of<4>
                    : bytes <= 16 ? copy_lines_of<8>
                    : bytes <= 32 ? copy_lines_of<16>
                    : bytes <= 64 ? copy_lines_of<32>
                                  : copy_lines_of<64>;
  copy(from, step, to, out_step, lines, bytes);
}

template <size_t Size>
void repeat_each(const char* items, int64_t count, int64_t times, char* to) {
  LineWord<Size> item;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(&item, items + i * static_cast<int64_t>(Size), Size);
    for (int64_t j = 0; j < times; ++j, to += Size) std::memcpy(to, &item, Size);
  }
}

/// Writes each of `count` items of a dtype's size so many times. They may be at the end of what is
/// written.
inline void repeat_items(const char* items, int64_t size, int64_t count, int64_t times, char* to) {
  const auto repeat = size == 1   ? repeat_each<1>
                      : size == 2 ? repeat_each<2>
                      : size == 4 ? repeat_each<4>
                      : size == 8 ? repeat_each<8>
                                  : repeat_each<16>;
  repeat(items, count, times, to);
}

}  // namespace ofl::ops
