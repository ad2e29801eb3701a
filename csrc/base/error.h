// Errors that cross layers: one exception type with a kind; bindings map the kind to a Python type.
#pragma once

#include <cstdint>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

namespace ofl {

enum class ErrorKind : uint8_t {
  value,
  type,
  index,
  axis,  // an index error that is a value error, too, as NumPy's
  overflow,
  floating_point,  // a result has a NaN or an infinity, and should not
  runtime,
  out_of_memory,
  linear_algebra,  // a singular matrix, no convergence
  buffer,          // memory cannot be handed over as asked
  interrupted,     // the waiting thread was asked to stop (Ctrl-C); `payload` holds the caller's
                   // exception
  recording,       // needs what is not there while a program is recorded, or was there only then
  cancelled,       // it was taken back before it began
  rank,            // another rank has failed, or is gone
  desync,          // ranks do not do the same
  foreign,         // raised by a host function; `payload` holds its exception
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::shared_ptr<void> payload = nullptr)
      : std::runtime_error(message), kind_(kind), payload_(std::move(payload)) {}

  ErrorKind kind() const { return kind_; }
  const std::shared_ptr<void>& payload() const { return payload_; }

 private:
  ErrorKind kind_;
  std::shared_ptr<void> payload_;  // opaque to C++: the exception object of the layer above
};

/// Concatenates its arguments, for messages of the form "[op] what, with the value".
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <typename... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, concat(parts...));
}

}  // namespace ofl
