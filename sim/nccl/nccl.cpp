// The functions of NCCL: calls are checked, and queued on the ranks' streams when their group ends.
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "driver/control.h"
#include "nccl/communicator.h"

#define NCCL_EXPORT extern "C" __attribute__((visibility("default")))

namespace simnccl {
namespace {

constexpr int kVersion = 22800;
constexpr int kOperations = 5;

struct UniqueId {
  char bytes[128];
};

/// What an ncclComm_t points to: one rank.
struct Communicator {
  std::shared_ptr<World> world;
  int rank;
  int device;
  bool is_blocking = true;
  std::shared_ptr<std::mutex> turn = std::make_shared<std::mutex>();  // of its work on streams
  /// Where it does not block: the background has yet to do what was called last. One look later it
  /// has done it.
  bool is_busy = false, is_finalizing = false;

  bool is_in_progress() {
    if (is_blocking) return false;
    if (is_finalizing) return !world->finalize(rank);
    return std::exchange(is_busy, false) || !world->is_complete();
  }
};

/// ncclConfig_t of 2.14, with which those of later versions begin.
struct Config {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};
constexpr unsigned kMagic = 0xcafebeef, kFirstConfig = 21400;

/// Transfers of one communicator and stream that a group has so far.
struct Batch {
  Communicator* communicator;
  void* stream;
  std::vector<Transfer> transfers;
};

thread_local int group_depth = 0;
thread_local std::vector<Batch> batches;

Result enqueue(void* stream, std::function<void()> function) {
  auto* const task = new std::function<void()>(std::move(function));
  SimWork work{};
  work.run = [](void* data) {
    (*static_cast<std::function<void()>*>(data))();
    return static_cast<const char*>(nullptr);
  };
  work.release = [](void* data) { delete static_cast<std::function<void()>*>(data); };
  work.data = task;
  return simcuda_enqueue(stream, &work) == 0 ? kSuccess : kUnhandledCudaError;
}

void* host(const void* pointer, size_t bytes) {
  return simcuda_host_address(reinterpret_cast<unsigned long long>(pointer), bytes);
}

Result collective(Communicator* comm, void* stream, Contribution c) {
  if (!comm) return kInvalidArgument;
  const size_t bytes = c.count * type_bytes(c.type);
  const bool has_root = c.root >= 0 && c.root < comm->world->size();
  if (type_bytes(c.type) == 0 || c.operation < 0 || c.operation >= kOperations || !has_root) {
    return kInvalidArgument;
  }
  const Extents wanted = extents(c, comm->rank, comm->world->size());
  if (bytes > 0) {
    c.send = wanted.send ? host(c.send, bytes * wanted.send) : nullptr;
    c.receive = wanted.receive ? host(c.receive, bytes * wanted.receive) : nullptr;
    if ((wanted.send && !c.send) || (wanted.receive && !c.receive)) return kInvalidArgument;
  }
  return enqueue(stream, [world = comm->world, turn = comm->turn, rank = comm->rank, c] {
    const std::lock_guard lock(*turn);
    world->meet(rank, c);
  });
}

Result end_group() {
  Result result = kSuccess;
  if (const int planned = simcuda_planned_failure("ncclGroupEnd")) {
    batches.clear();
    return Result(planned);
  }
  const bool stalls = simcuda_planned_failure("ncclStall") != 0;
  for (Batch& batch : batches) {
    if (!batch.communicator->is_blocking) {
      batch.communicator->is_busy = true;
      result = kInProgress;
    }
    const Result one =
        enqueue(batch.stream,
                [world = batch.communicator->world, turn = batch.communicator->turn,
                 rank = batch.communicator->rank, transfers = std::move(batch.transfers), stalls] {
                  const std::lock_guard lock(*turn);
                  if (stalls) return world->stall();
                  world->exchange(rank, transfers);
                });
    if (one != kSuccess) result = one;
  }
  batches.clear();
  return result;
}

Result transfer(Communicator* comm, void* stream, bool is_send, const void* data, size_t count,
                int type, int peer) {
  if (!comm || type_bytes(type) == 0 || peer < 0 || peer >= comm->world->size()) {
    return kInvalidArgument;
  }
  if (comm->is_in_progress()) return kInvalidUsage;
  if (const int planned = simcuda_planned_failure(is_send ? "ncclSend" : "ncclRecv")) {
    return Result(planned);
  }
  const size_t bytes = count * type_bytes(type);
  void* const address = bytes ? host(data, bytes) : nullptr;
  if (bytes && !address) return kInvalidArgument;
  Batch* batch = nullptr;
  for (Batch& candidate : batches) {
    if (candidate.communicator == comm && candidate.stream == stream) batch = &candidate;
  }
  if (!batch) batch = &batches.emplace_back(Batch{comm, stream, {}});
  batch->transfers.push_back({is_send, address, bytes, peer});
  return group_depth ? kSuccess : end_group();
}

Result create(Communicator** comm, int size, const UniqueId& id, int rank,
              bool is_blocking = true) {
  if (const int planned = simcuda_planned_failure("ncclCommInitRank")) return Result(planned);
  if (!comm || size <= 0 || rank < 0 || rank >= size) return kInvalidArgument;
  const int device = simcuda_current_device();
  if (device < 0) return kUnhandledCudaError;
  const std::shared_ptr<World> world = World::enter(std::string(id.bytes), size);
  if (!world || !world->join(rank)) return kInvalidUsage;
  *comm = new Communicator{world, rank, device, is_blocking};
  if (!is_blocking) return kInProgress;
  if (group_depth == 0) world->wait_for_everyone();  // as the library does: one thread a rank
  return kSuccess;
}

}  // namespace
}  // namespace simnccl

using namespace simnccl;  // the functions below are this library

NCCL_EXPORT int ncclGetVersion(int* version) {
  if (!version) return kInvalidArgument;
  *version = kVersion;
  return kSuccess;
}

NCCL_EXPORT const char* ncclGetErrorString(int result) {
  switch (result) {
    case kSuccess: return "no error";
    case kUnhandledCudaError: return "unhandled cuda error";
    case kSystemError: return "unhandled system error";
    case kInternalError: return "internal error";
    case kInvalidArgument: return "invalid argument";
    case kInvalidUsage: return "invalid usage";
    case kRemoteError: return "remote process exited or there was a network error";
    case kInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}

NCCL_EXPORT const char* ncclGetLastError(Communicator*) { return ""; }

NCCL_EXPORT int ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> count{0};
  if (!id) return kInvalidArgument;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->bytes, sizeof id->bytes, "simnccl-%d-%d-%lld.%09ld", getpid(), ++count,
                static_cast<long long>(now.tv_sec), now.tv_nsec);
  return kSuccess;
}

NCCL_EXPORT int ncclCommInitRank(Communicator** comm, int size, UniqueId id, int rank) {
  return create(comm, size, id, rank);
}

NCCL_EXPORT int ncclCommInitRankConfig(Communicator** comm, int size, UniqueId id, int rank,
                                       const Config* config) {
  if (!config) return create(comm, size, id, rank);
  if (config->size < sizeof(Config) || config->magic != kMagic || config->version < kFirstConfig) {
    return kInvalidArgument;
  }
  return create(comm, size, id, rank, config->blocking != 0);
}

NCCL_EXPORT int ncclCommInitAll(Communicator** comms, int size, const int* devices) {
  UniqueId id;
  ncclGetUniqueId(&id);
  ++group_depth;
  Result result = comms && size > 0 ? kSuccess : kInvalidArgument;
  for (int rank = 0; rank < size && result == kSuccess; ++rank) {
    result = create(comms + rank, size, id, rank);
    if (result == kSuccess) comms[rank]->device = devices ? devices[rank] : rank;
  }
  --group_depth;
  return result;
}

NCCL_EXPORT int ncclCommDestroy(Communicator* comm) {
  delete comm;
  return kSuccess;
}

NCCL_EXPORT int ncclCommFinalize(Communicator* comm) {
  if (!comm) return kInvalidArgument;
  comm->is_finalizing = true;
  return comm->is_in_progress() ? kInProgress : kSuccess;
}

NCCL_EXPORT int ncclCommAbort(Communicator* comm) {
  if (!comm) return kInvalidArgument;
  comm->world->abort();
  delete comm;
  return kSuccess;
}

NCCL_EXPORT int ncclCommGetAsyncError(Communicator* comm, int* error) {
  if (!comm || !error) return kInvalidArgument;
  const int planned = simcuda_planned_failure("ncclCommGetAsyncError");
  *error = planned ? planned : comm->world->error();
  if (*error == kSuccess && comm->is_in_progress()) *error = kInProgress;
  return kSuccess;
}

NCCL_EXPORT int ncclCommCount(Communicator* comm, int* count) {
  if (!comm || !count) return kInvalidArgument;
  *count = comm->world->size();
  return kSuccess;
}

NCCL_EXPORT int ncclCommUserRank(Communicator* comm, int* rank) {
  if (!comm || !rank) return kInvalidArgument;
  *rank = comm->rank;
  return kSuccess;
}

NCCL_EXPORT int ncclCommCuDevice(Communicator* comm, int* device) {
  if (!comm || !device) return kInvalidArgument;
  *device = comm->device;
  return kSuccess;
}

NCCL_EXPORT int ncclGroupStart() {
  ++group_depth;
  return kSuccess;
}

NCCL_EXPORT int ncclGroupEnd() {
  if (group_depth == 0) return kInvalidUsage;
  return --group_depth == 0 ? end_group() : kSuccess;
}

NCCL_EXPORT int ncclAllReduce(const void* send, void* receive, size_t count, int type,
                              int operation, Communicator* comm, void* stream) {
  return collective(comm, stream, {Kind::all_reduce, send, receive, count, type, operation, 0});
}

NCCL_EXPORT int ncclBroadcast(const void* send, void* receive, size_t count, int type, int root,
                              Communicator* comm, void* stream) {
  return collective(comm, stream, {Kind::broadcast, send, receive, count, type, 0, root});
}

NCCL_EXPORT int ncclReduce(const void* send, void* receive, size_t count, int type, int operation,
                           int root, Communicator* comm, void* stream) {
  return collective(comm, stream, {Kind::reduce, send, receive, count, type, operation, root});
}

NCCL_EXPORT int ncclAllGather(const void* send, void* receive, size_t count, int type,
                              Communicator* comm, void* stream) {
  return collective(comm, stream, {Kind::all_gather, send, receive, count, type, 0, 0});
}

NCCL_EXPORT int ncclReduceScatter(const void* send, void* receive, size_t count, int type,
                                  int operation, Communicator* comm, void* stream) {
  return collective(comm, stream, {Kind::reduce_scatter, send, receive, count, type, operation, 0});
}

NCCL_EXPORT int ncclSend(const void* data, size_t count, int type, int peer, Communicator* comm,
                         void* stream) {
  return transfer(comm, stream, true, data, count, type, peer);
}

NCCL_EXPORT int ncclRecv(void* data, size_t count, int type, int peer, Communicator* comm,
                         void* stream) {
  return transfer(comm, stream, false, data, count, type, peer);
}
