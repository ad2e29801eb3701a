// Function: what is pushed, with what it reads and writes. Made once, issued any number of times.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/recording/host_object.h"
#include "python/engine/call.h"

namespace ofl::python {

/// Something that functions read and write and the library does not see: a file, a table.
struct Variable {
  vm::Dependence dependence;
  std::string name;                  // may be empty
  std::atomic<bool> deleted{false};  // no function may use it any more
};

/// A C function by its address: void f(void* argument, void** memory), or with an int that is 0
/// where it went well.
struct CFunction {
  void* address = nullptr;
  void* argument = nullptr;
  bool has_status = false;
  std::shared_ptr<void> keeps;  // the objects that own the two
};

/// A kernel with its parameters; those that are tensors are filled in when they are in memory.
struct KernelCall {
  void* function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  size_t shared_bytes = 0;
  std::vector<std::byte> args;
  std::vector<std::pair<size_t, Tensor>> pointers;  // the place of each in `args`
};

struct Function {
  enum class Kind : uint8_t {
    nothing,  // a place in the order
    forgive,  // makes its variables sound again
    python,   // called with an array for each tensor
    later,    // called with `on_complete`, too, and ends when that is called
    native,   // a CFunction
    kernel,   // a KernelCall, on a stream of a device
  };

  enum class Order : uint8_t {
    plain,
    in_any_case,  // it runs also if what it reads has failed
    notice,       // the same, and nobody waits for it, not even in naive mode
  };

  Kind kind = Kind::nothing;
  const char* name = "";
  Device device;
  vm::StreamType type = vm::StreamType::engine;
  int32_t priority = 0;
  Order order = Order::plain;
  std::shared_ptr<void> callable;  // of Python
  CFunction code;
  std::shared_ptr<const KernelCall> kernel;
  std::vector<std::shared_ptr<Variable>> variables;
  std::vector<Tensor> reads, writes;
  std::vector<Tensor> held;                           // for their order alone
  std::shared_ptr<Call> after;                        // the same, or null
  std::vector<vm::Operand> operands;                  // of all of these
  uint64_t bytes = 0;                                 // of the tensors that it writes
  std::shared_ptr<const std::string> variable_names;  // for reports, or null
};

/// Adds a tensor of the host, or of the function's device. Error(value) for one of another device,
/// or that is read-only and written.
void add_tensor(Function* function, const Tensor& x, vm::Access access, const char* op);

// The types are made with the module.
extern PyTypeObject* variable_type;
extern PyTypeObject* c_function_type;

}  // namespace ofl::python
