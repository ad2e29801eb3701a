#include "python/distributed/implied.h"

#include <algorithm>

#include "distributed/layouts/plan.h"
#include "python/issue_site.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

using distributed::BoxingStep;
using distributed::Ledger;
using Steps = std::vector<BoxingStep>;

int64_t bytes_received(const Steps& steps, const GlobalTensor& x) {
  int64_t bytes = 0;
  for (const BoxingStep& step : steps) {
    bytes += distributed::bytes_received(step, x.member->rank(),
                                         static_cast<int64_t>(size_of(x.part.dtype)));
  }
  return bytes;
}

std::string text_of(const Ledger::Implied& what, int64_t bytes) {
  return concat("[", what.operation, "] moves an operand from ", what.from->str(), " to ",
                what.to->str(), ", ", bytes,
                " bytes to this rank; x.to_global(sbp=...) says "
                "so in the program");
}

void warn(const Ledger::Implied& what, int64_t bytes) {
  const Site place = site(what.site);
  const std::string file = place.file.empty() ? "<unknown>" : place.file;
  if (PyErr_WarnExplicit(PyExc_RuntimeWarning, text_of(what, bytes).c_str(), file.c_str(),
                         place.line, nullptr, nullptr) < 0) {
    throw PythonErrorSet{};
  }
}

/// Layouts between which nothing moves are not noted.
void note(const GlobalTensor& x, const distributed::Layout& to, const char* op) {
  const Steps& steps = distributed::plan_boxing(*x.layout, to);
  const auto moves = [](const BoxingStep& step) { return !step.moves_nothing(); };
  if (x.member->size() == 1 || std::none_of(steps.begin(), steps.end(), moves)) return;
  const Ledger::Implied what = {issuer().site, op, x.layout, &to};
  const Implicit mode = runtime().implicit_boxing.load(std::memory_order_relaxed);
  const int64_t bytes = bytes_received(steps, x);
  if (mode == Implicit::error) {
    fail(ErrorKind::runtime, text_of(what, bytes), " (ONEFLOW_LITE_IMPLICIT_BOXING=error)");
  }
  Ledger::Times& times = x.member->ledger().implied[what];
  ++times.count;
  times.bytes += bytes;
  if (mode == Implicit::warn && !times.is_warned_of) {
    times.is_warned_of = true;
    warn(what, bytes);
  }
}

}  // namespace

GlobalTensor brought(const GlobalTensor& x, const distributed::Layout& to, const char* op) {
  if (x.layout == &to) return x;
  note(x, to, op);
  return boxed(x, to, op);
}

}  // namespace ofl::python
