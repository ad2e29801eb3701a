#include "ep/memory/bins.h"

#include <algorithm>

namespace ofl::ep {

namespace {

constexpr int kPollLimit = 16;  // pending blocks asked for done() by one request

}  // namespace

bool PendingBlock::done() const {
  return std::all_of(events.begin(), events.end(), [](const EventLease& e) { return e->done(); }) &&
         std::all_of(uses.begin(), uses.end(),
                     [](const QueueUse& use) { return use.queue->reached(use.position, true); });
}

void* Bins::take(Bin& bin, Stream* stream) {
  touch(bin);
  if (!bin.idle.empty()) {
    void* ptr = bin.idle.back();
    bin.idle.pop_back();
    return ptr;
  }
  std::vector<PendingBlock>& blocks = bin.pending;
  auto found = std::find_if(blocks.begin(), blocks.end(), [stream](const PendingBlock& block) {
    return stream != nullptr && block.home == stream;
  });
  if (found == blocks.end()) {
    const auto last = blocks.begin() + std::min<size_t>(blocks.size(), kPollLimit);
    found =
        std::find_if(blocks.begin(), last, [](const PendingBlock& block) { return block.done(); });
    if (found == last) return nullptr;
  }
  void* ptr = found->ptr;
  blocks.erase(found);
  return ptr;
}

void Bins::promote_done() {
  for_each([](Bin& bin, size_t) {
    std::vector<PendingBlock> waiting;
    for (PendingBlock& block : bin.pending) {
      if (block.done()) {
        bin.idle.push_back(block.ptr);
      } else {
        waiting.push_back(std::move(block));
      }
    }
    bin.pending = std::move(waiting);
  });
}

}  // namespace ofl::ep
