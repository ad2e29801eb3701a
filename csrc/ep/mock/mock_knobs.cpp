#include "ep/mock/mock_knobs.h"

namespace ofl::ep {

MockKnobs& mock_knobs() {
  static MockKnobs knobs;
  return knobs;
}

bool count_down(std::atomic<int64_t>& counter) {
  int64_t left = counter.load();
  while (left > 0) {
    if (counter.compare_exchange_weak(left, left - 1)) return left == 1;
  }
  return false;
}

void fail_injected(const Device& device, const char* what) {
  fail(ErrorKind::runtime, "[", device.id().str(), "] injected failure of ", what);
}

}  // namespace ofl::ep
