// Communicators of the simulated NCCL: ranks are threads or processes of one machine, which meet in
// shared memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace simnccl {

enum Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

enum class Kind : uint8_t { all_reduce, broadcast, reduce, all_gather, reduce_scatter };

/// What one rank brings to a collective.
struct Contribution {
  Kind kind;
  const void* send;  // of the host
  void* receive;
  size_t count;
  int type;
  int operation;
  int root;

  bool matches(const Contribution& other) const {
    return kind == other.kind && count == other.count && type == other.type &&
           operation == other.operation && root == other.root;
  }
};

struct Transfer {
  bool is_send;
  void* data;
  size_t bytes;
  int peer;
};

struct Segment;  // the shared memory

/// All ranks of one communicator, as one of them sees them. Its waits end when it aborts: the others
/// do not hear of that. One thread at a time calls meet() and exchange(), in the order of the rank's
/// calls.
class World {
 public:
  static constexpr int kMostRanks = 64;

  /// Null: it cannot be made, or others have made it for another number of ranks.
  static std::shared_ptr<World> enter(const std::string& name, int size);
  ~World();
  World(const World&) = delete;

  int size() const { return size_; }
  /// False if that rank is taken.
  bool join(int rank);
  bool is_complete() const;
  void wait_for_everyone() const;
  /// Whether all ranks have called it; this one has.
  bool finalize(int rank);

  /// A collective: each rank gets what all have, and does its own work.
  void meet(int rank, const Contribution& contribution);
  /// All at once, as in a group: no order of sends and receives blocks.
  void exchange(int rank, const std::vector<Transfer>& transfers);
  /// Until this rank aborts.
  void stall() const;

  void abort();
  Result error() const;

 private:
  World(std::string path, Segment* segment, int size)
      : path_(std::move(path)), segment_(segment), size_(size) {}

  const std::string path_;
  Segment* const segment_;
  const int size_;
  std::atomic<bool> is_aborted_{false};
};

/// Bytes of an element of ncclDataType_t; 0 if it is not known.
size_t type_bytes(int type);
/// The elements that the two buffers of a rank have, in units of `count`.
struct Extents {
  size_t send, receive;
};
Extents extents(const Contribution& contribution, int rank, int size);
/// Does the work of one rank in a collective of matching contributions.
void perform(const std::vector<Contribution>& contributions, int rank);

}  // namespace simnccl
