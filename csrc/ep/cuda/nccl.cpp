#include "ep/cuda/nccl.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/fingerprint.h"
#include "ep/cuda/cuda_stream.h"
#include "ep/cuda/found_library.h"
#include "ep/event_pool.h"

namespace ofl::ep::cuda {

namespace {

using Status = int;
using Handle = struct CommunicatorTag*;

constexpr Status kInProgress = 7;
constexpr int kByte = 0;               // ncclInt8
constexpr int kOldestVersion = 21400;  // 2.14, the first whose communicators do not block

struct UniqueId {
  char bytes[PeerLibrary::kIdBytes];
};

/// ncclConfig_t, as 2.14 has it. A library reads the fields that its version says are there.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = kOldestVersion;
  int blocking = 0;
};

// X(name, parameters)
#define OFL_NCCL_FUNCTIONS(X)                                                                     \
  X(GetVersion, (int* version))                                                                   \
  X(GetUniqueId, (UniqueId * id))                                                                 \
  X(CommInitRankConfig, (Handle * comm, int size, UniqueId id, int rank, Config* how))            \
  X(CommFinalize, (Handle comm))                                                                  \
  X(CommDestroy, (Handle comm))                                                                   \
  X(CommAbort, (Handle comm))                                                                     \
  X(CommGetAsyncError, (Handle comm, Status * status))                                            \
  X(GroupStart, ())                                                                               \
  X(GroupEnd, ())                                                                                 \
  X(Send, (const void* data, size_t count, int type, int peer, Handle comm, StreamHandle stream)) \
  X(Recv, (void* data, size_t count, int type, int peer, Handle comm, StreamHandle stream))

struct Routines {
#define OFL_NCCL_FIELD(name, parameters) Status(*name) parameters = nullptr;
  OFL_NCCL_FUNCTIONS(OFL_NCCL_FIELD)
#undef OFL_NCCL_FIELD
  const char* (*GetErrorString)(Status) = nullptr;
  const char* (*GetLastError)(Handle) = nullptr;
  int version = 0;
};

Routines find_routines(void* loaded, const std::string& path) {
  Routines routines;
  bool are_there = find_function(loaded, "ncclGetErrorString", &routines.GetErrorString) &&
                   find_function(loaded, "ncclGetLastError", &routines.GetLastError);
#define OFL_NCCL_FIND(name, parameters) \
  are_there = are_there && find_function(loaded, "nccl" #name, &routines.name);
  OFL_NCCL_FUNCTIONS(OFL_NCCL_FIND)
#undef OFL_NCCL_FIND
  if (!are_there) {
    fail(ErrorKind::runtime, "[nccl] ", path,
         " is older than 2.14; install a newer one, or set "
         "ONEFLOW_LITE_CUDA_NCCL=0");
  }
  routines.GetVersion(&routines.version);
  return routines;
}

FoundLibrary<Routines>& library() {
  static auto* const the_library =
      new FoundLibrary<Routines>("nccl", "ONEFLOW_LITE_CUDA_NCCL", find_routines);
  return *the_library;
}
std::atomic<bool> devices_are_shared{false};

/// Once it has been found to be there.
const Routines& nccl() { return *library().routines(); }

/// Error(runtime) with the library's words, unless it is a success or goes on.
void check(Status status, const char* function, Handle comm) {
  if (status == 0 || status == kInProgress) return;
  const Routines& routines = nccl();
  const char* const more = routines.GetLastError(comm);
  fail(ErrorKind::runtime, "[nccl] ", function, ": ", routines.GetErrorString(status),
       more && *more ? concat(" (", more, ")") : "");
}

class NcclExchange;

/// One rank's end. The library works in the background: while a communicator says that it is in
/// progress, nothing else may be asked of it.
class NcclPeers final : public Peers {
 public:
  NcclPeers(Device& device, DeviceContext& context, UniqueId id, int size, int place,
            std::shared_ptr<Stream> queue)
      : device_(device),
        context_(context),
        id_(id),
        size_(size),
        place_(place),
        queue_(std::move(queue)),
        stream_(static_cast<CudaStream&>(*queue_).handle()) {}
  ~NcclPeers() override { end(); }

  std::unique_ptr<Exchange> begin(const std::vector<Transfer>& sends,
                                  const std::vector<Transfer>& receives) override;
  void abort() override { end(); }
  void leave() override;

  /// Gets on with enqueuing; an event behind it once it is in the queue. Error(runtime) where an
  /// exchange of the communicator has failed, this one or another.
  EventLease advance(const NcclExchange& exchange);
  void require_well();
  Stream& queue() { return *queue_; }

 private:
  void start();
  bool is_in_progress();
  void enqueue(const NcclExchange& exchange);
  void end();

  Device& device_;
  DeviceContext& context_;
  const UniqueId id_;
  const int size_, place_;
  const std::shared_ptr<Stream> queue_;
  const StreamHandle stream_;
  Handle comm_ = nullptr;
  bool is_over_ = false;
  const NcclExchange* enqueuing_ = nullptr;  // asked for, and the background may yet do it
};

class NcclExchange final : public Exchange {
 public:
  NcclExchange(NcclPeers& peers, std::vector<Transfer> sends, std::vector<Transfer> receives)
      : peers_(peers), sends_(std::move(sends)), receives_(std::move(receives)) {}

  bool test() override {
    if (!ended_) ended_ = peers_.advance(*this);
    if (!ended_) return false;
    peers_.require_well();
    if (!ended_->done()) return false;
    if (const std::optional<Error> error = peers_.queue().async_error()) throw *error;
    return true;
  }
  bool is_enqueued() const override { return ended_ != nullptr; }
  const std::vector<Transfer>& sends() const { return sends_; }
  const std::vector<Transfer>& receives() const { return receives_; }

 private:
  NcclPeers& peers_;
  const std::vector<Transfer> sends_, receives_;
  EventLease ended_;
};

std::unique_ptr<Exchange> NcclPeers::begin(const std::vector<Transfer>& sends,
                                           const std::vector<Transfer>& receives) {
  return std::make_unique<NcclExchange>(*this, sends, receives);
}

void NcclPeers::require_well() {
  if (is_over_) fail(ErrorKind::runtime, "[nccl] the communicator was aborted");
  context_.require_alive();
  is_in_progress();
}

void NcclPeers::start() {
  const Current current(context_);
  Config config;
  check(nccl().CommInitRankConfig(&comm_, size_, id_, place_, &config), "ncclCommInitRankConfig",
        nullptr);
}

bool NcclPeers::is_in_progress() {
  Status status = 0;
  check(nccl().CommGetAsyncError(comm_, &status), "ncclCommGetAsyncError", comm_);
  check(status, "communicator", comm_);
  return status == kInProgress;
}

EventLease NcclPeers::advance(const NcclExchange& exchange) {
  if (is_over_) fail(ErrorKind::runtime, "[nccl] the communicator was aborted");
  context_.require_alive();
  if (!comm_) start();
  if (is_in_progress()) return nullptr;
  const Current current(context_);
  if (!std::exchange(enqueuing_, &exchange)) {
    enqueue(exchange);
    if (is_in_progress()) return nullptr;
  }
  enqueuing_ = nullptr;
  EventLease ended = device_.events().lease();
  queue_->record(*ended);
  return ended;
}

void NcclPeers::enqueue(const NcclExchange& exchange) {
  const Routines& routines = nccl();
  check(routines.GroupStart(), "ncclGroupStart", comm_);
  Status status = 0;
  const char* function = "ncclSend";
  for (const Transfer& one : exchange.sends()) {
    if (status == 0 || status == kInProgress) {
      status = routines.Send(one.data, one.bytes, kByte, one.peer, comm_, stream_);
    }
  }
  for (const Transfer& one : exchange.receives()) {
    if (status == 0 || status == kInProgress) {
      function = "ncclRecv";
      status = routines.Recv(one.data, one.bytes, kByte, one.peer, comm_, stream_);
    }
  }
  const Status ended = routines.GroupEnd();  // also after a failure: a group is open
  check(status, function, comm_);
  check(ended, "ncclGroupEnd", comm_);
}

/// In a forked child, and on a dead device, the library is left alone.
void NcclPeers::end() {
  is_over_ = true;
  if (context_.is_dead()) comm_ = nullptr;
  if (!comm_) return;
  const Current current(context_, std::nothrow);
  if (current.failure()) return;
  nccl().CommAbort(std::exchange(comm_, nullptr));
  queue_->sync();
}

// The others may still take what this rank has sent out of memory that goes with its communicator.
void NcclPeers::leave() {
  constexpr int64_t kLongestNs = 5'000'000'000;
  if (is_over_ || !comm_ || context_.is_dead()) return end();
  const Current current(context_);
  const Routines& routines = nccl();
  Status status = routines.CommFinalize(comm_);
  for (const int64_t begin = now_ns(); status == kInProgress && now_ns() - begin < kLongestNs;) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (routines.CommGetAsyncError(comm_, &status) != 0) break;
  }
  if (status != 0) return end();
  is_over_ = true;
  routines.CommDestroy(std::exchange(comm_, nullptr));
}

}  // namespace

void set_nccl_finder(LibraryFinder finder) { library().set_finder(std::move(finder)); }

void use_nccl(bool on) { library().use(on); }

void let_nccl_share_devices(bool on) { devices_are_shared.store(on, std::memory_order_relaxed); }

int NcclLibrary::version() {
  const Routines* const found = library().routines();
  return found ? found->version : 0;
}

bool NcclLibrary::is_wanted() { return library().is_used(); }

// NCCL takes two ranks of one device where it is told to (2.32); then each has a key of its own.
uint64_t NcclLibrary::device_key() {
  Uuid uuid{};
  int device = 0;
  context_.check(call().DeviceGet(&device, context_.id().index), "cuDeviceGet");
  context_.check(call().DeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
  Fingerprint key;
  for (const unsigned char byte : uuid.bytes) key.add(byte);
  if (devices_are_shared.load(std::memory_order_relaxed)) {
    static std::atomic<uint64_t> count{0};
    key.add(static_cast<uint64_t>(getpid()));
    key.add(++count);
  }
  return key.value();
}

std::string NcclLibrary::new_id() {
  UniqueId id{};
  check(nccl().GetUniqueId(&id), "ncclGetUniqueId", nullptr);
  return std::string(id.bytes, sizeof(id.bytes));
}

std::unique_ptr<Peers> NcclLibrary::connect(const std::string& id, int size, int place,
                                            std::shared_ptr<Stream> queue) {
  UniqueId own{};
  if (id.size() != sizeof(own.bytes)) fail(ErrorKind::runtime, "[nccl] an id of ", id.size());
  std::memcpy(own.bytes, id.data(), sizeof(own.bytes));
  return std::make_unique<NcclPeers>(device_, context_, own, size, place, std::move(queue));
}

}  // namespace ofl::ep::cuda
