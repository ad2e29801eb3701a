// Mailbox: short messages between any two ranks, of which the receiver need not know beforehand.
// Those from one rank come in the order in which it sent them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "ep/communicators/mpi/library.h"

namespace ofl::ep::mpi {

/// The head of a message. All ranks run the same build.
struct Envelope {
  uint32_t kind;
  uint32_t bytes;          // that follow
  uint64_t group, number;  // a collective of a group
  uint64_t values[2];      // by kind
  int32_t sender;          // its place in the group, or its rank in the world
  int32_t value, round;    // by kind
  int32_t unused;
};

/// One thread at a time.
class Mailbox {
 public:
  /// The most bytes of a message. With its envelope it is below the size up to which MPI libraries
  /// send at once, whether or not the other side is there (4 KiB within a host).
  static constexpr size_t kMostBytes = 3072;

  explicit Mailbox(const Library& library);
  Mailbox(const Mailbox&) = delete;

  /// Copies what follows, `envelope.bytes` bytes.
  void send(int rank, const Envelope& envelope, const void* follows);
  /// Calls `deliver` with each message that has come.
  void poll(const std::function<void(const Envelope&, const char* follows)>& deliver);
  /// Everything that was sent has left its memory, or has been seen to by the library.
  bool has_sent_all();
  /// Receives no more.
  void close();

 private:
  struct Letter {
    std::unique_ptr<char[]> bytes;
    size_t room = 0;
    Handle request = 0;

    void make_room(size_t wanted);
  };
  static constexpr int kTag = 0;
  static constexpr int kReceives = 16;  // posted at a time
  static constexpr int kLooks = 1000;

  void receive(Letter* letter);
  bool is_done(Letter* letter);
  void collect_sent();

  const Library& library_;
  std::deque<std::unique_ptr<Letter>> expected_;  // in the order in which they were posted
  std::deque<std::unique_ptr<Letter>> sent_;
  std::deque<std::unique_ptr<Letter>> unused_;
  bool is_closed_ = false;
};

/// As much of a text as is sent at once, without a part of a character.
std::string fitting(std::string text);

}  // namespace ofl::ep::mpi
