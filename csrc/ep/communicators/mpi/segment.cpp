#include "ep/communicators/mpi/segment.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace ofl::ep::mpi {

namespace {

constexpr size_t kLine = 64, kPage = 4096;
constexpr int kTables = 64;     // groups
constexpr uint64_t kCells = 8;  // collectives of a group that a rank may have posted at once
constexpr size_t kArena = 8 << 20, kAllArenas = 64 << 20;
/// Beyond it, the library's way with one copy instead of two is faster.
constexpr size_t kMostForOne = 1 << 20;

constexpr size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/// Instead of a place in the arena: there was no room.
constexpr uint64_t kNowhere = UINT64_MAX;

/// At the begin of what is lent: for each place, its pieces.
struct Entry {
  uint64_t at;     // from there; only where takes() allows the bytes
  uint64_t bytes;  // all of them
};

static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share them");

}  // namespace

/// The meaning of a collective to one rank, and where its pieces are.
struct alignas(kLine) Segment::Cell {
  std::atomic<uint64_t> stamp;  // the number, and one more; 0: nothing yet
  uint64_t meaning;
  uint64_t has_failed;
  uint64_t at;  // what is lent for it, in the arena; or kNowhere
};

/// A rank in a group.
struct alignas(kLine) Segment::Row {
  std::atomic<uint64_t> read;  // collectives before this one
  Cell cells[kCells];
};

// The memory: keys of the groups; their rows, by table and place; arenas, by place.

size_t Segment::arena_bytes(int ranks) {
  return std::min(kArena, kAllArenas / static_cast<size_t>(ranks) / kPage * kPage);
}

size_t Segment::rows_bytes(int ranks) {
  return round_up(kTables * (sizeof(uint64_t) + static_cast<size_t>(ranks) * sizeof(Row)), kPage);
}

size_t Segment::bytes_for(int ranks) {
  return rows_bytes(ranks) + static_cast<size_t>(ranks) * arena_bytes(ranks);
}

Segment::Segment(std::shared_ptr<char> memory, std::vector<int32_t> ranks, int32_t own)
    : memory_(std::move(memory)),
      ranks_(std::move(ranks)),
      own_(static_cast<int>(std::find(ranks_.begin(), ranks_.end(), own) - ranks_.begin())) {}

Segment::~Segment() = default;

std::atomic<uint64_t>& Segment::key(int table) const {
  return reinterpret_cast<std::atomic<uint64_t>*>(memory_.get())[table];
}

Segment::Row& Segment::row(int table, int place) const {
  static_assert(kTables * sizeof(uint64_t) % kLine == 0);
  auto* const first = reinterpret_cast<Row*>(memory_.get() + kTables * sizeof(uint64_t));
  return first[table * size() + place];
}

char* Segment::arena(int place) const {
  return memory_.get() + rows_bytes(size()) + static_cast<size_t>(place) * arena_bytes(size());
}

// No key is ever taken away. So where one rank finds a table for a group, or none, all do.
Meeting* Segment::meeting(uint64_t key, const std::vector<int32_t>& ranks) {
  if (ranks.size() < 2 || key == 0) return nullptr;
  std::vector<int> places;
  int own = 0;
  for (const int32_t rank : ranks) {
    const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
    if (found == ranks_.end()) return nullptr;
    const int place = static_cast<int>(found - ranks_.begin());
    if (place == own_) own = static_cast<int>(places.size());
    places.push_back(place);
  }
  for (int i = 0; i < kTables; ++i) {
    const auto table = static_cast<int>((key + static_cast<uint64_t>(i)) % kTables);
    uint64_t taken = 0;
    if (this->key(table).compare_exchange_strong(taken, key) || taken == key) {
      meetings_.emplace_back(new Meeting(*this, table, std::move(places), own));
      return meetings_.back().get();
    }
  }
  return nullptr;
}

/// The first gap: memory that was used a moment ago is in the cache.
std::optional<size_t> Segment::lend(size_t bytes, Meeting* meeting, uint64_t number) {
  const auto is_read = [](const Lent& one) { return one.meeting->have_all_read(one.number); };
  lent_.erase(std::remove_if(lent_.begin(), lent_.end(), is_read), lent_.end());
  size_t begin = 0;
  auto next = lent_.begin();
  for (; next != lent_.end() && next->begin - begin < bytes; ++next) begin = next->end;
  if (next == lent_.end() && arena_bytes(size()) - begin < bytes) return std::nullopt;
  lent_.insert(next, {begin, begin + bytes, meeting, number});
  return begin;
}

// A quarter of the arena serves each collective: several are in flight.
Meeting::Meeting(Segment& segment, int table, std::vector<int> places, int own)
    : segment_(segment),
      table_(table),
      places_(std::move(places)),
      own_(own),
      most_(std::min(kMostForOne,
                     Segment::arena_bytes(segment.size()) / 4 / places_.size() / kLine * kLine)) {}

Segment::Cell& Meeting::cell(uint64_t number, int place) const {
  const int there = places_[static_cast<size_t>(place)];
  return segment_.row(table_, there).cells[number % kCells];
}

bool Meeting::have_all_read(uint64_t number) {
  if (number < all_read_) return true;
  uint64_t all = UINT64_MAX;
  for (const int there : places_) {
    all = std::min(all, segment_.row(table_, there).read.load(std::memory_order_acquire));
  }
  all_read_ = all;
  return number < all_read_;
}

Meeting::Totals Meeting::totals(const std::vector<Transfer>& transfers) const {
  Totals sums(places_.size());
  for (const Transfer& one : transfers) {
    if (one.peer != own_) sums[static_cast<size_t>(one.peer)] += one.bytes;
  }
  return sums;
}

// The arena has a piece once, if the same memory goes to several ranks, as one piece each.
bool Meeting::post(uint64_t number, uint64_t meaning, bool has_failed,
                   const std::vector<Transfer>& sends, const Totals& totals) {
  if (number >= kCells && !have_all_read(number - kCells)) return false;
  const size_t count = places_.size();
  std::vector<const Transfer*> whole(count);  // the piece that is all of it; nullptr: several are
  for (const Transfer& one : sends) {
    const auto peer = static_cast<size_t>(one.peer);
    whole[peer] = one.bytes == totals[peer] ? &one : nullptr;
  }
  std::vector<Entry> entries(count);
  std::vector<bool> is_copied(count);
  const size_t head = round_up(count * sizeof(Entry), kLine);
  size_t end = head;
  const Transfer* last = nullptr;
  uint64_t last_at = 0;
  for (size_t place = 0; place < count; ++place) {
    entries[place].bytes = totals[place];
    if (totals[place] == 0 || !takes(totals[place])) continue;
    const Transfer* const own = whole[place];
    const bool is_same = own && last && own->data == last->data && own->bytes == last->bytes;
    entries[place].at = is_same ? last_at : end;
    if (is_same) continue;
    is_copied[place] = true;
    last = own;
    last_at = end;
    end += round_up(totals[place], kLine);
  }
  const std::optional<size_t> lent = segment_.lend(end, this, number);
  char* const base = segment_.arena(segment_.own_) + lent.value_or(0);
  if (lent) std::memcpy(base, entries.data(), count * sizeof(Entry));
  for (const Transfer& one : sends) {
    const auto peer = static_cast<size_t>(one.peer);
    if (!lent || !is_copied[peer] || one.bytes == 0) continue;
    std::memcpy(base + entries[peer].at, one.data, one.bytes);
    entries[peer].at += one.bytes;
  }
  Segment::Cell& own = cell(number, own_);
  own.meaning = meaning;
  own.has_failed = has_failed;
  own.at = lent ? *lent : kNowhere;
  own.stamp.store(number + 1, std::memory_order_release);
  return true;
}

std::optional<Meeting::Found> Meeting::check(uint64_t number) {
  const int count = static_cast<int>(places_.size());
  if (checked_ != number) {
    checked_ = number;
    arrived_ = 0;
  }
  for (; arrived_ < count; ++arrived_) {
    if (cell(number, arrived_).stamp.load(std::memory_order_acquire) != number + 1) {
      return std::nullopt;
    }
  }
  Found found{UINT64_MAX, 0, -1};
  for (int place = count; place-- > 0;) {
    const Segment::Cell& one = cell(number, place);
    found.least = std::min(found.least, one.meaning);
    found.largest = std::max(found.largest, one.meaning);
    if (one.has_failed) found.first_failed = place;
  }
  return found;
}

bool Meeting::has_pieces(uint64_t number, int place) const {
  return cell(number, place).at != kNowhere;
}

void Meeting::receive(uint64_t number, const std::vector<Transfer>& receives,
                      const Totals& totals) const {
  const size_t count = places_.size();
  std::vector<const char*> from(count);
  for (int there = 0; there < static_cast<int>(count); ++there) {
    if (there == own_ || !has_pieces(number, there)) continue;
    const auto place = static_cast<size_t>(there);
    const char* const base = segment_.arena(places_[place]) + cell(number, there).at;
    Entry entry;
    std::memcpy(&entry, base + static_cast<size_t>(own_) * sizeof entry, sizeof entry);
    if (entry.bytes != totals[place]) {
      fail(ErrorKind::runtime, "[mpi] pieces of ", entry.bytes, " bytes, expected ", totals[place]);
    }
    if (takes(entry.bytes)) from[place] = base + entry.at;
  }
  for (const Transfer& wanted : receives) {
    const char*& next = from[static_cast<size_t>(wanted.peer)];
    if (!next || wanted.bytes == 0) continue;
    std::memcpy(wanted.data, next, wanted.bytes);
    next += wanted.bytes;
  }
}

void Meeting::note_read(uint64_t number) {
  const int own = places_[static_cast<size_t>(own_)];
  segment_.row(table_, own).read.store(number + 1, std::memory_order_release);
}

}  // namespace ofl::ep::mpi
