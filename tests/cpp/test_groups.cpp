// Directed tests of groups: what joins, in which order, what happens when they cannot run as one,
// and how they fail. A gate holds everything until all is issued, so groups are what they are.
#include <unistd.h>

#include <string>

#include "machine_support.h"
#include "vm/fusion/group.h"

namespace ofl::vm {
namespace {

using Names = std::vector<std::string>;

/// What groups did, and what they are to do; of one test.
struct Record {
  std::vector<Names> launched;
  std::string refused;  // the name that add() refuses
  int most = 100;       // members
  int no_memory = 0;    // launches that return false
  std::string fails;    // the name that throws
} record;

class RecordedGroup final : public Group {
 public:
  static std::unique_ptr<Group> begin(Slot* slot) {
    auto group = std::make_unique<RecordedGroup>();
    group->slots_.push_back(slot);
    return group;
  }
  bool add(Slot* slot) override {
    if (slot->header.type->group != &begin || slot->header.name == record.refused) return false;
    slots_.push_back(slot);
    return true;
  }
  bool full() const override { return static_cast<int>(slots_.size()) >= record.most; }
  bool launch(LaunchContext& context) override {
    if (record.no_memory > 0) return --record.no_memory, false;
    record.launched.emplace_back();
    for (Slot* slot : slots_) record.launched.back().push_back(slot->header.name);
    for (; failed_ < static_cast<int>(slots_.size()); ++failed_) {
      Slot* slot = slots_[failed_];
      if (slot->header.name == record.fails) fail(ErrorKind::value, "no ", slot->header.name);
      slot->header.type->launch(slot->body, context);
    }
    return true;
  }
  int failed() const override { return failed_; }
  Savings savings() const override { return {2, 64}; }

 private:
  std::vector<Slot*> slots_;
  int failed_ = 0;
};

const InstructionType kRecordedType = [] {
  InstructionType type = kFunctionType;
  type.group = &RecordedGroup::begin;
  return type;
}();

/// A machine, a gate, and instructions of the cpu that write their name when they run.
class Program {
 public:
  Program() { record = {}; }

  void step(const char* name, std::vector<Operand> operands,
            const InstructionType& type = kRecordedType) {
    Instruction header;
    header.type = &type;
    header.name = name;
    header.stream = &world.machine.stream(kCpu, StreamType::compute);
    header.cost = 1e9;  // too long for a thread that waits
    operands.push_back(reads(gate.object));
    world.machine.issue(header, operands.data(), static_cast<int>(operands.size()),
                        FunctionBody{[this, name](LaunchContext&) { ran.emplace_back(name); }, {}});
  }
  Names finish() {
    gate.open();
    world.machine.drain(std::nullopt);
    CHECK(world.machine.stats().in_flight == 0);
    return ran;
  }
  /// The name of what failed, which a look at the object throws.
  std::string failed(const Dependence& object) {
    try {
      world.machine.wait_for_value(object, "test");
      return "";
    } catch (const OperationError& error) {
      return error.op;
    }
  }

  World world;
  Gate gate{world};
  Names ran;
};

void test_members_are_in_program_order() {
  Program program;
  Gate other(program.world);
  Dependence x, y, z, late, last;
  program.step("a", {writes(x)});
  program.step("waits", {reads(other.object), writes(late)});
  program.step("b", {reads(x), writes(y)});
  program.step("c", {writes(z)});
  program.step("after", {reads(late), reads(x)});
  program.step("d", {reads(z), reads(y), writes(x)});  // after its readers, "after" among them
  program.step("e", {reads(z), reads(y), writes(last)});
  program.gate.open();
  CHECK(program.failed(last).empty());
  other.open();
  const Names ran = program.finish();
  // What needs the results of members and something else is not passed by what is younger.
  CHECK((record.launched.front() == Names{"a", "b", "c"}));
  CHECK((Names(ran.begin() + 3, ran.end()) == Names{"e", "waits", "after", "d"}));
  const auto stats = program.world.machine.stats().total;
  CHECK(stats.groups == record.launched.size());
  CHECK(stats.saved_results == 2 * stats.groups && stats.saved_bytes == 64 * stats.groups);
}

void test_refused_and_other_kinds_run_by_themselves() {
  Program program;
  record.refused = "refused";
  Dependence x, y;
  program.step("a", {writes(x)});
  program.step("b", {reads(x)});
  program.step("refused", {reads(x), writes(y)});
  program.step("behind", {reads(y)});
  program.step("other", {reads(x)}, kFunctionType);
  program.step("c", {reads(x)});
  const Names ran = program.finish();
  CHECK((record.launched.front() == Names{"a", "b"}));
  CHECK(ran.size() == 6 && ran[0] == "a" && ran[1] == "b");
}

void test_full_groups_leave_the_rest() {
  Program program;
  record.most = 3;
  std::vector<Dependence> objects(7);
  const char* names[] = {"0", "1", "2", "3", "4", "5", "6"};
  for (int i = 0; i < 7; ++i) program.step(names[i], {writes(objects[i])});
  CHECK((program.finish() == Names{"0", "1", "2", "3", "4", "5", "6"}));
  CHECK((record.launched == std::vector<Names>{{"0", "1", "2"}, {"3", "4", "5"}}));
}

/// Ready members go back to their places, waiting ones wait again; the first runs by itself.
void test_disbanded_groups_lose_nothing() {
  for (int times = 1; times <= 4; ++times) {
    Program program;
    record.no_memory = times;
    Dependence x, y, z;
    program.step("a", {writes(x)});
    program.step("b", {reads(x), writes(y)});
    program.step("c", {reads(y), reads(x), writes(z)});
    program.step("d", {writes(z)});
    program.step("e", {reads(z), writes(x)});
    CHECK((program.finish() == Names{"a", "b", "c", "d", "e"}));
  }
}

void test_poisoned_operands_do_not_join() {
  Program program;
  Dependence bad, x, y, z;
  program.world.issue(kCpu, StreamType::host_func, {writes(bad), reads(program.gate.object)},
                      [](LaunchContext&) { fail(ErrorKind::value, "bad"); });
  program.step("a", {writes(x)});
  program.step("b", {reads(x), reads(bad), writes(y)});
  program.step("c", {reads(y), writes(y)});
  program.step("d", {reads(x), writes(z)});
  const Names ran = program.finish();
  CHECK((ran == Names{"a", "d"}));
  CHECK(program.failed(y) == "work" && program.failed(x).empty() && program.failed(z).empty());
}

/// What the members of a group that failed write is lost; the one that threw is named, once.
void test_a_failure_has_the_name_of_its_member() {
  Program program;
  record.fails = "b";
  Dependence x, y, z, sound;
  program.step("a", {writes(x)});
  program.step("b", {reads(x), writes(y)});
  program.step("c", {reads(x), writes(z)});
  program.step("alone", {writes(sound)}, kFunctionType);
  program.step("later", {reads(z), writes(z)}, kFunctionType);
  program.finish();
  for (const Dependence* object : {&x, &y, &z}) CHECK(program.failed(*object) == "b");
  CHECK(program.failed(sound).empty());
  CHECK(program.world.machine.stats().failures == 1);
  CHECK_ERROR(value, "no b", program.world.machine.synchronize(std::nullopt));
  program.world.machine.synchronize(std::nullopt);
}

void test_without_fusion_all_run_by_themselves() {
  Program program;
  program.world.machine.options().fusion = Fusion::never;
  Dependence x;
  program.step("a", {writes(x)});
  program.step("b", {reads(x)});
  CHECK((program.finish() == Names{"a", "b"}));
  CHECK(record.launched.empty());
}

}  // namespace
}  // namespace ofl::vm

int main() {
  using namespace ofl::vm;
  alarm(120);  // a hang is a failure
  test_members_are_in_program_order();
  test_refused_and_other_kinds_run_by_themselves();
  test_full_groups_leave_the_rest();
  test_disbanded_groups_lose_nothing();
  test_poisoned_operands_do_not_join();
  test_a_failure_has_the_name_of_its_member();
  test_without_fusion_all_run_by_themselves();
  return ofl::report();
}
