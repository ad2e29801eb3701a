// Communicators of the simulated NCCL: ranks of one process that meet in their streams' threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
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

/// All ranks of one communicator. Waits end when everybody has come or somebody aborts.
class World {
 public:
  explicit World(int size) : size_(size) {}

  int size() const { return size_; }
  /// False if that rank is taken.
  bool join(int rank);
  void wait_for_everyone();
  bool is_complete();
  /// Whether all ranks have called it; this one has.
  bool finalize(int rank);

  /// The `index`-th collective of `rank`. Who comes last does the work of all.
  void meet(uint64_t index, int rank, const Contribution& contribution);
  /// All at once, as in a group: sends are posted before receives wait.
  void exchange(int rank, const std::vector<Transfer>& transfers);

  void abort();
  Result error();

 private:
  struct Meeting {
    std::vector<Contribution> contributions;
    std::vector<bool> has_come;
    int come = 0;
    int gone = 0;
    bool is_done = false;
  };
  struct Message {
    const void* data;
    size_t bytes;
    bool is_taken = false;
  };

  const int size_;
  std::mutex mutex_;  // guards the fields below
  std::condition_variable changed_;
  std::vector<bool> joined_, finalized_;
  int joined_count_ = 0, finalized_count_ = 0;
  std::map<uint64_t, Meeting> meetings_;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> messages_;  // (from, to)
  bool is_aborted_ = false;
  Result error_ = kSuccess;
};

/// Bytes of an element of ncclDataType_t; 0 if it is not known.
size_t type_bytes(int type);
/// Does the work of a collective for all ranks, whose contributions match.
void perform(const std::vector<Contribution>& contributions);

}  // namespace simnccl
