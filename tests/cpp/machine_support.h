// What the tests of the machine share: a machine of its own with a cpu and two mock devices, and
// instructions made of function objects. For one source file a program.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "backends.h"
#include "check.h"
#include "vm/virtual_machine.h"

namespace ofl::vm {
namespace {

using Work = std::function<void(LaunchContext&)>;

const Device kCpu{ep::kCpuType, 0};
const Device kMock0{ep::kMockType, 0};
const Device kMock1{ep::kMockType, 1};

/// True when `condition` comes true; false after a time that only a broken machine needs.
bool eventually(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

/// The same of a machine whose process forks as Python's hooks have it do.
bool holds_in_child(
    VirtualMachine& machine, const std::function<bool()>& in_child,
    const std::function<void()>& in_parent = [] {}) {
  machine.fork().before();
  return ofl::holds_in_child(
      [&] {
        machine.fork().after_in_child();
        return in_child();
      },
      [&] {
        machine.fork().after_in_parent();
        in_parent();
      });
}

/// The body of all instructions here: `launch` runs or enqueues, `retired` sees the failure.
struct FunctionBody {
  Work launch;
  std::function<void(const FailurePtr&)> retired;
};

const InstructionType kFunctionType = {
    "op",
    [](void* body, LaunchContext& context) { static_cast<FunctionBody*>(body)->launch(context); },
    [](void*, Stream&, uint64_t) {},
    [](void* body, const FailurePtr& failure) {
      auto* own = static_cast<FunctionBody*>(body);
      if (own->retired) own->retired(failure);
      own->~FunctionBody();
    },
    [](const void*, Description*) {},
};

/// Of functions that may wait for anything, in a CallOut.
const InstructionType kCallType = [] {
  InstructionType type = kFunctionType;
  type.calls_out = true;
  return type;
}();

/// Runs `work` where the stream's instructions run: here, or on the device's queue. What it throws
/// there becomes the instruction's asynchronous error.
void run_on_stream(LaunchContext& context, std::function<void()> work) {
  if (!context.stream.in_order()) return work();
  struct Args {
    std::function<void()>* work;
    std::optional<Error>* error;
  } args{new std::function<void()>(std::move(work)), &context.slot.async_error};
  const auto run = [](void* raw) {
    auto* args = static_cast<Args*>(raw);
    const std::unique_ptr<std::function<void()>> work(args->work);
    try {
      (*work)();
    } catch (const Error& error) {
      args->error->emplace(error);
    }
  };
  context.queue.launch({run, &args, sizeof(args), 1});
}

Operand reads(Dependence& object) { return {&object, Access::read}; }
Operand writes(Dependence& object) { return {&object, Access::write}; }

/// Devices and, ending before them, the machine.
class World {
 public:
  explicit World(size_t slots = 4096)
      : machine([this](Device device) -> ep::Device& { return find(device); }, slots) {}

  Seq issue(Device device, StreamType type, const std::vector<Operand>& operands, Work work,
            std::function<void(const FailurePtr&)> retired = nullptr, uint64_t bytes = 0,
            const InstructionType& kind = kFunctionType, double cost = 0) {
    Instruction header;
    header.type = &kind;
    header.cost = cost;
    header.name = "work";
    header.stream = &machine.stream(device, type);
    header.bytes = bytes;
    return machine.issue(header, operands.data(), static_cast<int>(operands.size()),
                         FunctionBody{std::move(work), std::move(retired)});
  }
  /// The same for work that needs no context.
  Seq run(Device device, StreamType type, const std::vector<Operand>& operands,
          std::function<void()> work) {
    return issue(device, type, operands, [work = std::move(work)](LaunchContext& context) {
      run_on_stream(context, work);
    });
  }

 private:
  ep::Device& find(Device device) { return device == kCpu ? *cpu_ : *mocks_[device.index]; }

  std::unique_ptr<ep::Device> cpu_ = ep::make_cpu_device();
  std::unique_ptr<ep::Device> mocks_[2] = {ep::make_mock_device(0), ep::make_mock_device(1)};

 public:
  VirtualMachine machine;
};

/// A host function that runs until open(), and writes `object`.
class Gate {
 public:
  explicit Gate(World& world) : world_(world) {
    held_ = world_.run(kCpu, StreamType::host_func, {writes(object)},
                       [opened = opened_.get_future().share()] { opened.wait(); });
  }
  ~Gate() {
    open();
    world_.machine.wait(held_, "gate");
  }
  void open() {
    if (!is_open_) opened_.set_value();
    is_open_ = true;
  }

  Dependence object;

 private:
  World& world_;
  Seq held_ = 0;
  std::promise<void> opened_;
  bool is_open_ = false;
};

}  // namespace
}  // namespace ofl::vm
