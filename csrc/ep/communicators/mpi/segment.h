// Segment: memory that the ranks of one host share, and in which those of a group meet. There they
// learn what the others mean, and get small pieces, without a message.
//
//   rank r posts collective n:
//     its pieces ──► its arena, lent for n ──► its cell n % kCells: meaning, failed, where; stamp
//                                                       │
//   each rank of the group: all stamps are of n? ◄──────┘──► the check ──► its pieces ◄── arenas
//                                                                             │
//                                             its count of what it has read ◄─┘
//
// A cell and what was lent for n are written again when all ranks have read n. A rank that is late
// holds up those that are kCells collectives of the group further, and nobody else: where the arena
// has no room, the cell says so, and the pieces go in messages. So a collective waits for nothing
// but earlier ones of its group.
//
// Why nobody reads what is being written: a rank writes its cell and its arena, then the stamp
// (release). A reader that sees the stamp (acquire) sees both. It reads, then counts (release). The
// writer sees that all have counted n (acquire), itself among them, before it writes there again.
// Each cell, arena and count has one writer. So the stamp of n stays until a rank that waits for it
// has seen it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "ep/communicators/communicator.h"

namespace ofl::ep::mpi {

class Meeting;

/// This rank's view of the memory. One thread at a time.
class Segment {
 public:
  static size_t bytes_for(int ranks);
  /// Of these ranks of the world, this one among them; the same list on each. `memory`:
  /// bytes_for(their number), at the begin of a page, and all of it zero when the first rank comes.
  Segment(std::shared_ptr<char> memory, std::vector<int32_t> ranks, int32_t own);
  Segment(const Segment&) = delete;
  ~Segment();

  /// Where these ranks of the world meet; its place in the list. nullptr on each of them: one is
  /// on another host, they are one, or there are too many groups. It lives as long as the segment.
  Meeting* meeting(uint64_t key, const std::vector<int32_t>& ranks);

 private:
  friend class Meeting;
  struct Cell;
  struct Row;
  /// A part of the own arena, until all ranks of a meeting have read a collective.
  struct Lent {
    size_t begin, end;
    Meeting* meeting;
    uint64_t number;
  };

  static size_t arena_bytes(int ranks);
  static size_t rows_bytes(int ranks);
  int size() const { return static_cast<int>(ranks_.size()); }
  std::atomic<uint64_t>& key(int table) const;
  Row& row(int table, int place) const;
  char* arena(int place) const;
  std::optional<size_t> lend(size_t bytes, Meeting* meeting, uint64_t number);

  const std::shared_ptr<char> memory_;
  const std::vector<int32_t> ranks_;
  const int own_;           // its place among them
  std::vector<Lent> lent_;  // by `begin`
  std::vector<std::unique_ptr<Meeting>> meetings_;
};

/// A group in the segment. Places are those of the group. One thread at a time.
class Meeting {
 public:
  /// The result of the check of a collective.
  struct Found {
    uint64_t least, largest;  // meaning
    int first_failed;         // place; -1: none has
  };
  /// Bytes to or from each place; 0 for this rank's own.
  using Totals = std::vector<size_t>;

  Totals totals(const std::vector<Transfer>& transfers) const;
  /// So many bytes for one rank travel through the segment; more, in messages.
  bool takes(size_t bytes) const { return bytes <= most_; }

  /// Says what this rank means, and copies the pieces for the ranks of which takes() allows the
  /// total, if the arena has room for them. False: its cell is not free yet.
  bool post(uint64_t number, uint64_t meaning, bool has_failed, const std::vector<Transfer>& sends,
            const Totals& totals);
  /// Once all ranks have posted it.
  std::optional<Found> check(uint64_t number);
  /// After check(), before note_read(): the pieces of that rank are there. The same on all ranks.
  bool has_pieces(uint64_t number, int place) const;
  /// Copies what is there for this rank; when has_pieces() may be called. Error(runtime): a rank
  /// has posted another number of bytes.
  void receive(uint64_t number, const std::vector<Transfer>& receives, const Totals& totals) const;
  /// This rank reads nothing of it any more. In the order of the numbers.
  void note_read(uint64_t number);

 private:
  friend class Segment;
  Meeting(Segment& segment, int table, std::vector<int> places, int own);

  bool have_all_read(uint64_t number);
  Segment::Cell& cell(uint64_t number, int place) const;

  Segment& segment_;
  const int table_;
  const std::vector<int> places_;  // in the segment, by place in the group
  const int own_;
  const size_t most_;
  uint64_t all_read_ = 0;  // collectives before this one, by all of them
  uint64_t checked_ = 0;   // the number whose check goes on
  int arrived_ = 0;        // so many of its places have posted
};

}  // namespace ofl::ep::mpi
