// The scan over the words of a stream that draws numbers: see numpy_numbers.h. A unit is what a
// number begins with, a word or half of one. A rule is a kind of numbers:
//
//   kAcceptsAll                  each number takes one unit
//   bool accepts(unit, number)   the number of a unit that is accepted at once
//   Number draw(units)           a number as NumPy draws it, from the next units
//   Number moved(number)         as it is stored
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "ep/threads/helper_pool.h"
#include "ops/random/numpy_bits.h"

namespace ofl::ops {

/// The units of a piece, and of what comes behind it.
template <typename Unit>
class Units {
 public:
  static constexpr int64_t kInWord = sizeof(uint64_t) / sizeof(Unit);

  explicit Units(int64_t words) : words_(words) {}

  /// `bits` are at the beginning of the stream. The first word of a stream of halves with half a
  /// word left is the one that this is left of.
  void begin(const NumpyBits& bits, int64_t first) {
    const bool has_left = kInWord == 2 && bits.has_half;
    const bool is_left = has_left && first == 0;
    behind_ = bits.words;
    behind_.advance(static_cast<uint64_t>(first - (has_left && !is_left)));
    more_.clear();
    if (is_left) words_[0] = uint64_t{bits.half} << 32;
    behind_.fill(words_.data() + is_left, static_cast<int64_t>(words_.size()) - is_left);
  }

  int64_t size() const { return static_cast<int64_t>(words_.size()) * kInWord; }

  /// The units of the piece: on processors that store the low half of a word first.
  Unit operator[](int64_t i) const {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    Unit unit;
    std::memcpy(&unit, reinterpret_cast<const char*>(words_.data()) + i * sizeof unit, sizeof unit);
    return unit;
  }

  Unit next() {
    const int64_t i = at++;
    if (i < size()) return (*this)[i];
    const auto number = static_cast<size_t>((i - size()) / kInWord);
    while (more_.size() <= number) more_.push_back(behind_.next());
    const uint64_t word = more_[number];
    return static_cast<Unit>(kInWord == 2 && i % 2 == 1 ? word >> 32 : word);
  }

  int64_t at = 0;  // of the next unit

 private:
  std::vector<uint64_t> words_, more_;
  Pcg64 behind_{};
};

/// The numbers that begin in a piece, one after the other.
template <typename Rule>
class ScannedPiece {
 public:
  using Unit = typename Rule::Unit;
  using Number = typename Rule::Number;

  explicit ScannedPiece(int64_t words) : units_(words), numbers_(units_.size()) {}

  int64_t size() const { return units_.size(); }

  /// As if a number began with the first unit.
  void scan(const Rule& rule, const NumpyBits& bits, int64_t first_word, int64_t begin) {
    units_.begin(bits, first_word);
    jumps_.assign(1, {0, begin});
    before_.clear();
    skipped_ = count_ = 0;
    units_.at = begin;
    while (units_.at < size()) {
      const int64_t accepted = accept(rule, units_.at, size(), numbers_.data() + count_);
      count_ += accepted;
      units_.at += accepted;
      if (units_.at == size()) break;
      numbers_[count_++] = rule.draw(&units_);
      jumps_.push_back({count_, units_.at});
    }
    end_ = units_.at;
  }

  /// The first number begins with this unit, or comes later.
  void begin_at(const Rule& rule, int64_t begin) {
    units_.at = begin;
    while (!meets()) {
      if (units_.at >= size()) {  // nowhere
        skipped_ = count_;
        end_ = units_.at;
        return;
      }
      before_.push_back({Number{}, units_.at});
      Number& number = before_.back().number;
      const int64_t at = units_.at;
      if (rule.accepts(units_[at], &number)) {
        ++units_.at;
      } else {
        number = rule.draw(&units_);
      }
    }
  }

  int64_t count() const { return static_cast<int64_t>(before_.size()) + count_ - skipped_; }

  /// The unit behind the first n numbers.
  int64_t end_of(int64_t n) const {
    const auto before = static_cast<int64_t>(before_.size());
    if (n == count()) return end_;
    return n < before ? before_[n].begin : begin_of(skipped_ + n - before);
  }

  void put(const Rule& rule, int64_t n, Number* out) const {
    const int64_t before = std::min(n, static_cast<int64_t>(before_.size()));
    for (int64_t i = 0; i < before; ++i) out[i] = rule.moved(before_[i].number);
    const Number* const from = numbers_.data() + skipped_;
    for (int64_t i = before; i < n; ++i) out[i] = rule.moved(from[i - before]);
  }

 private:
  struct Jump {
    int64_t number;  // from this number on, each begins one unit behind the one before it,
    int64_t begin;   // and this one here
  };
  struct Before {
    Number number;
    int64_t begin;
  };

  /// The numbers of the units from `begin` on, up to the first that is not accepted.
  int64_t accept(const Rule& rule, int64_t begin, int64_t end, Number* numbers) const {
    constexpr int64_t kBlock = 8;  // most blocks are accepted as a whole
    int64_t at = begin;
    for (; at + kBlock <= end; at += kBlock, numbers += kBlock) {
      bool are_all = true;
#pragma GCC unroll 8
      for (int64_t k = 0; k < kBlock; ++k) are_all &= rule.accepts(units_[at + k], numbers + k);
      if (!are_all) break;
    }
    while (at < end && rule.accepts(units_[at], numbers)) ++at, ++numbers;
    return at - begin;
  }

  int64_t begin_of(int64_t n) const {
    const auto behind =
        std::upper_bound(jumps_.begin(), jumps_.end(), n,
                         [](int64_t x, const Jump& jump) { return x < jump.number; });
    const Jump& jump = *std::prev(behind);
    return jump.begin + n - jump.number;
  }

  /// Whether a number of the scan begins with the next unit; those before it are left out then.
  bool meets() {
    const auto behind =
        std::upper_bound(jumps_.begin(), jumps_.end(), units_.at,
                         [](int64_t at, const Jump& jump) { return at < jump.begin; });
    if (behind == jumps_.begin()) return false;
    const Jump& jump = *std::prev(behind);
    const int64_t n = jump.number + units_.at - jump.begin;
    const int64_t next = behind == jumps_.end() ? count_ : behind->number;
    if (n >= next) return false;
    skipped_ = n;
    return true;
  }

  Units<Unit> units_;
  std::vector<Number> numbers_;
  std::vector<Jump> jumps_;
  std::vector<Before> before_;  // numbers before those of the scan
  int64_t skipped_ = 0;         // numbers of the scan that are none
  int64_t count_ = 0;           // of the scan
  int64_t end_ = 0;             // the unit behind the last one
};

/// Threads that draw the numbers of one piece after the other.
///
/// `passed_` is p: all pieces below p are counted in `drawn_` and `begin_`. The thread of piece p
/// alone reads and writes these, until it stores p + 1 (release; the thread that waits for that
/// acquires). Pieces are taken in order, so the lowest that has not passed belongs to a thread that
/// waits for nobody: none waits for ever. Pieces behind the last number need not pass, and a thread
/// that fails says so: nobody waits for these.
template <typename Rule>
class Scan {
 public:
  using Unit = typename Rule::Unit;
  using Number = typename Rule::Number;

  Scan(const NumpyBits& bits, const Rule& rule, int64_t count, Number* out)
      : bits_(bits), rule_(rule), count_(count), out_(out) {
    first_ = begin_ = Units<Unit>::kInWord == 2 && bits.has_half;
  }

  void run(ep::HelperPool* helpers) {
    constexpr int64_t kMost = 4096;  // units of a piece: they and its numbers stay in the cache
    const int64_t units = std::min(kMost, count_ + count_ / 32 + 64);
    words_ = (units + Units<Unit>::kInWord - 1) / Units<Unit>::kInWord;
    const int64_t pieces = count_ / units + 1;
    if (helpers && pieces > 1) {
      const int64_t shares = pieces / kPiecesOfShare + helpers->threads();
      const auto draw = [this](int64_t) { draw_pieces(kPiecesOfShare); };
      helpers->parallel_for(std::min(shares, pieces), draw, kPiecesOfShare);
    }
    draw_pieces(INT64_MAX);  // what is left: numbers take more than a unit now and then
  }

  /// How many units were taken, the one that was left before among them.
  int64_t taken() const { return Rule::kAcceptsAll ? first_ + count_ : begin_; }

 private:
  /// A piece takes some 10 us. A thread that helps has other duties, so it draws so many at a time.
  static constexpr int64_t kPiecesOfShare = 32;

  void draw_pieces(int64_t most) { Rule::kAcceptsAll ? draw_all(most) : draw_scanned(most); }

  /// The place of each number is known before.
  void draw_all(int64_t most) {
    const Rule rule = rule_;  // which no number is written to
    Units<Unit> units(words_);
    const int64_t end = first_ + count_;
    for (; most > 0; --most) {
      const int64_t number = next_.fetch_add(1, std::memory_order_relaxed);
      const int64_t begin = number * units.size();
      if (begin >= end) return;
      units.begin(bits_, number * words_);
      const int64_t from = number == 0 ? first_ : 0, to = std::min(units.size(), end - begin);
      Number* const out = out_ + begin - first_;
      for (int64_t i = from; i < to; ++i) {
        Number x;
        rule.accepts(units[i], &x);
        out[i] = rule.moved(x);
      }
    }
  }

  /// A thread that fails would let others wait for its piece.
  void draw_scanned(int64_t most) {
    if (is_done_.load(std::memory_order_relaxed)) return;
    try {
      ScannedPiece<Rule> piece(words_);
      while (most > 0 && draw_next(&piece)) --most;
    } catch (...) {
      has_failed_.store(true, std::memory_order_relaxed);
      throw;
    }
  }

  /// False: there is nothing left to draw.
  bool draw_next(ScannedPiece<Rule>* piece) {
    const Rule rule = rule_;
    const int64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    if (is_done_.load(std::memory_order_relaxed)) return false;
    const int64_t begin = number * piece->size(), first = number == 0 ? first_ : 0;
    piece->scan(rule, bits_, number * words_, first);
    if (!wait_for(number)) return false;
    const int64_t drawn = drawn_, left = count_ - drawn;
    if (left > 0 && begin_ > begin + first) piece->begin_at(rule, begin_ - begin);
    const int64_t wanted = std::min(left, piece->count());
    if (left > 0) begin_ = begin + piece->end_of(wanted);
    drawn_ = drawn + wanted;
    if (wanted == left) is_done_.store(true, std::memory_order_relaxed);
    passed_.store(number + 1, std::memory_order_release);
    piece->put(rule, wanted, out_ + drawn);
    return wanted < left;
  }

  /// False: all numbers are drawn, or another thread has failed.
  bool wait_for(int64_t number) const {
    constexpr int kSpins = 1000;  // the thread before works on as much as this one did
    for (int spins = 0; passed_.load(std::memory_order_acquire) < number; ++spins) {
      if (is_done_.load(std::memory_order_relaxed)) return false;
      if (has_failed_.load(std::memory_order_relaxed)) return false;
      if (spins > kSpins) std::this_thread::yield();
    }
    return true;
  }

  const NumpyBits bits_;
  const Rule rule_;
  const int64_t count_;
  Number* const out_;
  int64_t first_;      // the unit with which the first number begins
  int64_t words_ = 0;  // of a piece
  // Only passed_ publishes what others read before all threads are done: the rest is relaxed.
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> passed_{0};
  std::atomic<bool> is_done_{false};
  std::atomic<bool> has_failed_{false};
  int64_t drawn_ = 0;  // numbers
  int64_t begin_ = 0;  // the unit with which the next one begins
};

/// Draws the numbers, and moves the bits on.
template <typename Rule>
void scan(NumpyBits* bits, const Rule& rule, int64_t count, typename Rule::Number* out,
          ep::HelperPool* helpers) {
  if (count == 0) return;
  Scan<Rule> scan(*bits, rule, count, out);
  scan.run(helpers);
  if (sizeof(typename Rule::Unit) == sizeof(uint64_t)) {
    bits->words.advance(static_cast<uint64_t>(scan.taken()));
    return;
  }
  const int64_t words = (scan.taken() + 1) / 2 - bits->has_half;
  bits->has_half = scan.taken() % 2 == 1;
  if (words == 0) return;
  bits->words.advance(static_cast<uint64_t>(words));
  bits->half = static_cast<uint32_t>(Pcg64::word(bits->words.state) >> 32);
}

}  // namespace ofl::ops
