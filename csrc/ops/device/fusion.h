// Fusion on a device: consecutive elementwise kernels over one iteration space as one kernel of the
// device's own, with the same bits. What only they would see stays in registers.
//
//   memory ──► element in registers ──► kernel 1 ──► kernel 2 ──► ... ──► memory, what others see
#pragma once

#include <string>
#include <vector>

#include "ops/device/launching.h"
#include "ops/device/programs.h"
#include "ops/fusion_space.h"

namespace ofl::ops::device {

class Fusion : public FusionSpace {
 public:
  static constexpr int kMaxKernels = 32, kMaxPlaces = 12, kMaxScalars = 16, kMaxRows = 8;

  /// Takes a kernel to run with the ones before, after them; false: it must run by itself. `args`
  /// outlive the group.
  bool add(const KernelArgs& args, void* const* memories);
  bool full() const { return size() == kMaxKernels; }
  int size() const { return static_cast<int>(kernels_.size()); }
  /// The first kernels, up to where nothing that is written before is used after.
  int segment() const;

  /// The one kernel that runs all; nullptr: there is none, or not yet (it is being compiled). What
  /// is unseen lives in registers.
  void* find_kernel(ep::Device& device);
  /// Enqueues it; the other memories have addresses.
  void launch(Launching& launching, void* kernel);

 private:
  /// An operand is a place, by number, or after those a scalar.
  struct Kernel {
    const KernelArgs* args;
    std::vector<int> operands;
  };
  /// A place that kernels share, as a value in registers.
  struct Value {
    Place place;
    DType dtype;
    bool loaded;  // its first use reads it
    bool written;
  };
  struct ScalarValue {
    const Scalar* value;
    DType dtype;
  };

  bool is_stored(const Value& value) const;
  bool all_flat() const;
  bool is_narrow() const;
  int add_value(const Place& place, DType dtype, std::vector<Value>* values) const;
  bool place_values(const Newcomer& newcomer, std::vector<Value>* values,
                    std::vector<ScalarValue>* scalars, Kernel* kernel) const;
  std::string key() const;
  KernelRequest make_request() const;

  std::vector<Kernel> kernels_;
  std::vector<Value> values_;
  std::vector<ScalarValue> scalars_;
};

}  // namespace ofl::ops::device
