// Kernels of a device's own: compiled when a call first needs one of its kind, then kept.
//
//   call ──► key ──► known? ──► function
//                     └─ no ──► maker (source, compiler) ──► image ──► loaded ──► kept
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "ep/device.h"
#include "ops/cuda/launching.h"

namespace ofl::ops::cuda {

/// A kernel that an image is wanted for. Its entry takes one structure by value. Request in
/// oneflow_lite/cuda/kernels/request.py has the same fields, and says what they mean.
struct KernelRequest {
  std::string kind, op;
  std::vector<DType> dtypes, loop;
  std::vector<bool> scalars;
  bool flat = false;
  bool wide = false;
  std::vector<int64_t> options;
  size_t args_bytes = 0;  // of the argument that the kernel takes

  /// The name of the entry, as profilers and debuggers show it: of the family, the operations and
  /// the dtypes, "ofl_elementwise_add_float32".
  std::string entry() const;
};

/// The image for an architecture, whose entry has the request's name; "" where there is no kernel
/// for it. Any thread, which may block.
using KernelMaker = std::function<std::string(const KernelRequest&, const std::string& arch)>;
void set_kernel_maker(KernelMaker maker);
/// Told why a kernel could not be made that another way of running stands in for. Any thread.
void set_kernel_failure_hook(std::function<void(const char* message)> hook);

/// Off: calls run on the host, with the host's bits. Any thread.
void use_kernels(bool on);
bool uses_kernels();

/// Functions by device and key; null: there is none for this key. Any thread. Never destroyed:
/// workers may outlive statics.
class ProgramMap {
 public:
  /// What is known of the key; false: nothing yet.
  bool find(ep::Device& device, std::string_view key, void** function);
  /// Has it made. Two threads that both miss it make it twice, and the first one stays.
  void* make(ep::Device& device, std::string_view key, const KernelRequest& request);
  /// What there is by now: from the second time on that a key is asked for, it is made in the
  /// background, and then known.
  void* get_if_ready(ep::Device& device, std::string_view key,
                     const std::function<KernelRequest()>& request);
  /// Has it made in the background now, if nobody has asked for that.
  void make_soon(ep::Device& device, std::string_view key,
                 const std::function<KernelRequest()>& request);
  /// Has the image made where nothing is known of the key, once for each key, and does not load it.
  /// Not null where there is a function; the address is not to be used.
  void* rehearse(ep::Device& device, std::string_view key,
                 const std::function<KernelRequest()>& request);

 private:
  struct Entry {
    explicit Entry(std::string_view key) : key(key) {}

    const std::string key;
    void* function = nullptr;
    bool known = false;
    bool rehearsed = false;
    int asked = 0;
  };
  /// Of one device: there are few. Entries by views of their own keys, so that to look one up makes
  /// no string.
  struct Table {
    const ep::Device* device;
    std::unordered_map<std::string_view, std::unique_ptr<Entry>> entries;
  };
  Table& table_of(const ep::Device& device);                        // with the mutex
  Entry& entry_of(const ep::Device& device, std::string_view key);  // with the mutex
  void put(ep::Device& device, const std::string& key, void* function);
  void make_in_turn(ep::Device& device, std::string_view key, const KernelRequest& request);

  std::mutex mutex_;  // guards the rest
  std::vector<Table> tables_;
};

/// The programs of one family of kernels. Calls that share a key, compared as bytes, share one.
template <typename Key>
class Programs {
 public:
  /// `request()` says what is wanted where the key is new.
  template <typename MakeRequest>
  void* get(Launching& launching, const Key& key, const MakeRequest& request) {
    ep::Device& device = launching.device();
    if (launching.is_rehearsal()) return map_.rehearse(device, bytes_of(key), request);
    void* function = nullptr;
    if (map_.find(device, bytes_of(key), &function)) return function;
    return map_.make(device, bytes_of(key), request());
  }

 private:
  static std::string_view bytes_of(const Key& key) {
    static_assert(std::has_unique_object_representations_v<Key>);
    return {reinterpret_cast<const char*>(&key), sizeof(key)};
  }

  ProgramMap& map_ = *new ProgramMap;
};

}  // namespace ofl::ops::cuda
