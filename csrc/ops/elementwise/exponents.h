// What integers to negative powers are: an error, whoever finds it.
#pragma once

#include <string>

#include "base/error.h"

namespace ofl::ops {

inline Error negative_exponent(const std::string& op) {
  return {ErrorKind::value, "[" + op + "] integers to negative integer powers are not allowed"};
}

}  // namespace ofl::ops
