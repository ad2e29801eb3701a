// Failure: why an instruction failed. Every object that a failed instruction should have written
// carries its failure, and so does everything that is computed from such an object.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "base/device.h"
#include "base/error.h"

namespace ofl::vm {

/// Names an instruction; grows in issue order. 0 names none. An instruction whose slot in the
/// window has moved on is finished, so a name never dangles.
using Seq = uint64_t;
inline constexpr Seq kNoneAwaited = ~Seq{0};

/// Where an instruction was issued; an index into a table of the layer above. 0: unknown.
using SiteId = uint32_t;

/// Immutable, and shared by everything that it poisons.
struct Failure {
  ErrorKind kind;
  std::string message;
  std::string op;
  SiteId site;
  Seq seq;  // it affects only instructions that were issued later
  Device device;
  std::shared_ptr<void> payload;
  uint64_t run = 0;   // of a program: which; 0: of none
  int64_t place = 0;  // of the operation in the order of issue of what the program was made of
};
using FailurePtr = std::shared_ptr<const Failure>;

/// Whether the operation of `a` was issued before that of `b`: what needs the results of both has
/// the failure of the first. A program may run its operations in another order.
inline bool issued_before(const Failure& a, const Failure& b) {
  return a.run != 0 && a.run == b.run ? a.place < b.place : a.seq < b.seq;
}

/// Calls `step`; the error that it throws.
template <typename Step>
std::optional<Error> catch_error(const Step& step) {
  try {
    step();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::out_of_memory, "out of host memory");
  } catch (const std::exception& error) {
    return Error(ErrorKind::runtime, error.what());
  }
}

/// The exception that a look at a poisoned object throws.
class OperationError : public Error {
 public:
  explicit OperationError(const Failure& failure)
      : Error(failure.kind, failure.message, failure.payload), op(failure.op), site(failure.site) {}

  const std::string op;
  const SiteId site;
};

}  // namespace ofl::vm
