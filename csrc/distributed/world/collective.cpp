#include "distributed/world/collective.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/fingerprint.h"
#include "tensor/body.h"
#include "vm/progress/joining.h"

namespace ofl::distributed {

namespace {

/// A message whose tensor is a held storage from here on.
struct HeldMessage {
  int peer;
  int held;
  int64_t offset;
  size_t bytes;
};

struct CollectiveBody {
  std::shared_ptr<Group> group;
  std::shared_ptr<ep::Communicator> communicator;  // of the group, or of its devices
  std::shared_ptr<ep::Turn> turn;                  // of its devices
  std::shared_ptr<std::atomic<int64_t>> joined;
  uint64_t number = 0;  // in the group's line
  Meaning meaning;
  HeldStorages held;
  std::vector<HeldMessage> sends, receives;

  std::vector<ep::Transfer> transfers(const std::vector<HeldMessage>& parts) const {
    std::vector<ep::Transfer> found;
    for (const HeldMessage& part : parts) {
      found.push_back({part.peer, held[part.held]->data() + part.offset, part.bytes});
    }
    return found;
  }
  uint64_t hash() const {
    Fingerprint hash;
    hash.add(number);
    for (const char* letter = meaning.name; *letter; ++letter) {
      hash.add(static_cast<uint64_t>(*letter));
    }
    hash.add(static_cast<uint64_t>(meaning.dtype));
    for (const Layout* layout : {meaning.from, meaning.to}) hash.add(layout ? layout->hash() : 0);
    hash.add(meaning.more);
    return hash.value();
  }
  static uint64_t bytes_of(const std::vector<HeldMessage>& parts) {
    uint64_t sum = 0;
    for (const HeldMessage& part : parts) sum += part.bytes;
    return sum;
  }
  uint64_t bytes() const { return bytes_of(sends) + bytes_of(receives); }
  void describe(vm::Description* out) const {
    if (meaning.to) describe_shape(meaning.to->shape(), meaning.dtype, out);
    out->bytes = bytes();
  }
};

vm::Place place_of(const void* body) {
  const auto* own = static_cast<const CollectiveBody*>(body);
  return {&own->group->line, own->number};
}

/// The memory of a failed operand may not be there, and nothing of it moves.
std::unique_ptr<ep::Work> post(void* body, bool has_failed, std::function<std::string()> text) {
  auto* own = static_cast<CollectiveBody*>(body);
  ep::Collective collective;
  collective.meaning = own->hash();
  collective.has_failed = has_failed;
  collective.text = std::move(text);
  if (!has_failed) {
    collective.sends = own->transfers(own->sends);
    collective.receives = own->transfers(own->receives);
  }
  collective.turn = own->turn;
  return own->communicator->post(std::move(collective));
}

std::function<std::string()> text_of(const void* body) {
  const auto* own = static_cast<const CollectiveBody*>(body);
  return [number = own->number, meaning = own->meaning] {
    return concat("collective ", number, ", ", meaning.str());
  };
}

constexpr vm::Joining kJoining = {place_of, post, text_of};

constexpr vm::InstructionType kCollectiveType = [] {
  vm::InstructionType type = {};
  type.kind = "collective";
  type.retired = [](void* body, const vm::FailurePtr&) {
    auto* own = static_cast<CollectiveBody*>(body);
    own->joined->fetch_sub(1, std::memory_order_seq_cst);  // against Board::Watching
    own->~CollectiveBody();
  };
  type.describe = [](const void* body, vm::Description* out) {
    static_cast<const CollectiveBody*>(body)->describe(out);
  };
  type.is_queued_always = true;  // in naive mode the issuer waits, and answers Ctrl-C
  type.joining = &kJoining;
  return type;
}();

/// The collectives that are issued while a recording goes on.
class Issues {
 public:
  void record(bool on) { is_on_.store(on, std::memory_order_relaxed); }
  void note(const IssuedCollective& issued) {
    if (!is_on_.load(std::memory_order_relaxed)) return;
    std::lock_guard<std::mutex> lock(mutex_);
    all_.push_back(issued);
  }
  std::vector<IssuedCollective> take() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  std::atomic<bool> is_on_{false};  // a hint: nothing else hangs on it
  std::mutex mutex_;                // guards the rest
  std::vector<IssuedCollective> all_;
};
Issues issues;

void add_parts(const std::vector<Message>& messages, vm::Access access, CollectiveBody* body,
               std::vector<HeldMessage>* parts, std::vector<vm::Operand>* operands) {
  for (const Message& message : messages) {
    const Tensor& x = message.tensor;
    const size_t bytes = static_cast<size_t>(x.size()) * size_of(x.dtype);
    if (bytes == 0) continue;
    const bool is_next_of_it =  // another run of one tensor
        !parts->empty() && body->held[body->held.size() - 1] == x.storage.get();
    if (!is_next_of_it) {
      body->held.add(x.storage.get());
      operands->push_back({&x.storage->dependence(), access});
    }
    parts->push_back({message.peer, body->held.size() - 1, x.offset, bytes});
  }
}

}  // namespace

void record_collectives(bool on) { issues.record(on); }

std::vector<IssuedCollective> take_collectives() { return issues.take(); }

std::string Meaning::str() const {
  if (words) return words();
  std::string text = concat(name, " of ", name_of(dtype));
  if (from) text += concat(" ", from->str());
  if (to) text += concat(from ? " to " : " ", to->str());
  return text;
}

void issue_collective(const Issuer& issuer, Member& member, const std::shared_ptr<Group>& group,
                      const DeviceGroup* devices, const Meaning& meaning,
                      const std::vector<Message>& sends, const std::vector<Message>& receives) {
  CollectiveBody body;
  body.group = group;
  body.communicator = devices ? devices->communicator : group->communicator;
  if (devices) body.turn = devices->order->enter();
  body.joined = member.joined();
  body.number = group->issued;
  body.meaning = meaning;
  std::vector<vm::Operand> operands;
  add_parts(sends, vm::Access::read, &body, &body.sends, &operands);
  add_parts(receives, vm::Access::write, &body, &body.receives, &operands);
  vm::Instruction header;
  header.type = &kCollectiveType;
  header.name = meaning.name;
  header.stream = &issuer.machine.stream(Device{}, vm::StreamType::ccl);
  header.site = issuer.site;
  header.bytes = body.bytes();
  header.is_attended =
      !devices && !vm::Partner::joined() && issuer.machine.looks().note_collective(now_ns());
  Ledger& ledger = member.ledger();
  ++ledger.collectives;
  ledger.bytes_sent += static_cast<int64_t>(CollectiveBody::bytes_of(body.sends));
  ledger.bytes_received += static_cast<int64_t>(CollectiveBody::bytes_of(body.receives));
  const std::shared_ptr<std::atomic<int64_t>> joined = body.joined;
  const vm::Seq seq = issuer.machine.issue(header, operands.data(),
                                           static_cast<int>(operands.size()), std::move(body));
  // After the issue, which may wait for room: others may be waiting for this very instruction. Its
  // end may be counted first; only this thread looks at the number.
  joined->fetch_add(1, std::memory_order_relaxed);
  issues.note({seq, member.rank(), group->key, group->issued});
  ++group->issued;
  group->last = seq;
  if (header.is_attended) issuer.machine.attend(*header.stream, seq);
  if (issuer.machine.options().naive.load(std::memory_order_relaxed)) {
    issuer.machine.wait(seq, "naive mode");
  }
}

}  // namespace ofl::distributed
