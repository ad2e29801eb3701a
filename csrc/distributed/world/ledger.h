// Ledger: what a rank has moved so far.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "distributed/layouts/layout.h"
#include "vm/failure/failure.h"

namespace ofl::distributed {

/// With the GIL.
struct Ledger {
  /// A redistribution that an operation has made of an operand, and the program has not written.
  struct Implied {
    vm::SiteId site;
    std::string operation;
    const Layout* from;
    const Layout* to;

    bool operator<(const Implied& other) const {
      return std::tie(site, operation, from, to) <
             std::tie(other.site, other.operation, other.from, other.to);
    }
  };
  struct Times {
    int64_t count = 0;
    int64_t bytes = 0;  // that this rank got, in all of them
    bool is_warned_of = false;
  };

  int64_t collectives = 0;
  int64_t bytes_sent = 0, bytes_received = 0;
  std::map<Implied, Times> implied;
};

}  // namespace ofl::distributed
