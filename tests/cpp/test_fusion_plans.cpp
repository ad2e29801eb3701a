// Plans of fused groups: each is made once and runs often, in several threads at once and over
// other memory each time, and makes what its kernels make one by one. A plan for a device launches
// one kernel with the addresses of the launch; here the device keeps what it is given. Run
// under ThreadSanitizer and AddressSanitizer. The table of kernels and the loops are the test's
// own.
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "backends.h"
#include "check.h"
#include "ops/cuda/background.h"
#include "ops/cuda/fusion/plan.h"
#include "ops/fusion/plan.h"
#include "ops/launch.h"
#include "ops/pieces.h"
#include "ops/reduce/plan.h"

namespace ofl::ops {
namespace {

constexpr int64_t kRows = 16, kColumns = 300, kElements = kRows * kColumns, kItem = sizeof(float);
constexpr int kThreads = 4, kRuns = 250;  // of each thread
constexpr double kCost = 100;             // of an element: helpers share the work

float& at(char* data) { return *reinterpret_cast<float*>(data); }

/// out[i] = in[i], which is not negative.
void copy_positive(const LoopArgs& args) {
  for_each_row(args.iteration, args.iteration.ndim, args.data, [](char* const* data) {
    if (at(data[0]) < 0) fail(ErrorKind::value, "[copy_positive] got ", at(data[0]));
    at(data[1]) = at(data[0]);
  });
}

Piecewise positive_pieces(const LoopArgs& args) {
  return cut_anywhere(args, kCost,
                      [](const LoopArgs& piece, const Piecewise&) { copy_positive(piece); });
}

constexpr Kernel kLoops(KernelId::elementwise, "elementwise", 1, Pattern::elementwise,
                        LoopForm{elementwise_kernel, nullptr, elementwise_pieces, "elementwise"});
constexpr Kernel kPositive(KernelId::copy, "copy_positive", 1, Pattern::elementwise,
                           LoopForm{copy_positive, nullptr, positive_pieces, "copy"});
constexpr Kernel kReduce(KernelId::reduce, "reduce", 1, Pattern::reduction,
                         LoopForm{reduce_kernel});
constexpr Kernel kOther(KernelId::sort, "other", 1, Pattern::opaque, ArrayForm{});

}  // namespace

const Kernel kKernels[] = {kLoops, kPositive, kLoops, kLoops, kReduce, kOther, kOther, kOther,
                           kOther, kOther,    kOther, kOther, kOther,  kOther, kOther, kOther,
                           kOther, kOther,    kOther, kOther, kOther,  kOther, kOther, kOther,
                           kOther, kOther,    kOther, kOther, kOther,  kOther, kOther, kOther,
                           kOther, kOther,    kOther, kOther, kOther,  kOther, kOther, kOther};

namespace {

template <typename Function>
void loop_of(char** args, const intptr_t* dims, const intptr_t* steps, void*) {
  for (intptr_t i = 0; i < dims[0]; ++i) {
    char* const out = args[2] + i * steps[2];
    at(out) = Function{}(at(args[0] + i * steps[0]), at(args[1] + i * steps[1]));
  }
}

/// A row of the op table, of float32.
struct Op {
  Op(const char* name, LoopFn loop) : def(name, known, 2) {
    constexpr DType f32 = DType::f32;
    resolution = {loop, nullptr, {f32, f32}, f32, {f32, f32}, f32, kCost};
  }
  KnownLoops known;
  OpDef def;
  Resolution resolution;
};

struct Maximum {
  float operator()(float a, float b) const { return a < b ? b : a; }
};

/// Sums are of small whole numbers, so that they are exact.
struct Ops {
  Ops() {
    add.def.adds = true;
    maximum.def.selects = true;
  }
  Op add{"add", loop_of<std::plus<float>>};
  Op subtract{"subtract", loop_of<std::minus<float>>};
  Op multiply{"multiply", loop_of<std::multiplies<float>>};
  Op divide{"divide", loop_of<std::divides<float>>};
  Op maximum{"maximum", loop_of<Maximum>};
};
Ops ops;

/// An operand in the memory of a base: all elements, or one of each row.
struct Operand {
  int16_t base;
  int64_t offset = 0;
  bool of_rows = false;
};

using Call = KernelCall<LoopArgs>;

Call call_of(KernelId kernel, const Op& op, bool flat, std::vector<Operand> operands) {
  Call call;
  LoopArgs& args = call.args;
  args.kernel = kernel;
  args.name = op.def.name.c_str();
  args.op = &op.def;
  args.resolution = &op.resolution;
  args.iteration.operands = static_cast<int32_t>(operands.size());
  args.iteration.ndim = flat ? 1 : 2;
  Iteration::Row* rows = args.iteration.rows;
  rows[0].dim = flat ? kElements : kRows;
  rows[1].dim = kColumns;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Operand& operand = operands[k];
    const bool is_scalar = operand.base < 0;
    call.bases.push_back(operand.base);
    args.data[k] = reinterpret_cast<char*>(operand.offset);
    args.dtype[k] = DType::f32;
    rows[0].strides[k] = is_scalar ? 0 : flat || operand.of_rows ? kItem : kColumns * kItem;
    rows[1].strides[k] = is_scalar || operand.of_rows ? 0 : kItem;
  }
  return call;
}

Call elementwise(const Op& op, bool flat, Operand a, Operand b, Operand out) {
  return call_of(KernelId::elementwise, op, flat, {a, b, out});
}

Call reduce(const Op& op, bool flat, Operand in, Operand out) {
  Call call = call_of(KernelId::reduce, op, flat, {in, out});
  if (flat) call.args.iteration.rows[0].strides[kReduceOut] = 0;
  call.args.attr[0] = op.def.adds;  // begins with the scalar, which is 0
  return call;
}

/// Calls that are to run as one; bases from `unseen` on are needed by nobody after them.
struct Program {
  std::vector<Call> calls;
  int bases, unseen;
};

constexpr Operand kNumber{-1};

/// Two results, the second one with an offset.
Program chain() {
  const Operand x{0, 16}, y{1}, t{4}, u{5}, first{2}, second{3, 64};
  Program program{{}, 6, 4};
  program.calls = {elementwise(ops.multiply, true, x, y, t), elementwise(ops.add, true, t, t, u),
                   elementwise(ops.subtract, true, u, kNumber, first),
                   elementwise(ops.maximum, true, t, y, second)};
  at(reinterpret_cast<char*>(program.calls[2].args.scalars[1].bytes)) = 3;
  return program;
}

/// Each result is needed by the next kernel alone, which may write over it.
Program steps() {
  const Operand x{0, 16}, y{1}, t{3}, u{4}, v{5}, out{2};
  return {{elementwise(ops.multiply, true, x, y, t), elementwise(ops.add, true, t, t, u),
           elementwise(ops.subtract, true, y, u, v), elementwise(ops.maximum, true, v, x, out)},
          6,
          3};
}

/// Reductions in the middle: squares of distances from the largest of each row, by their sum.
Program like_softmax() {
  const Operand x{0, 16}, out{1, 32}, distance{2}, square{3}, largest{4, 0, true}, sum{5, 0, true};
  Program program{{}, 6, 2};
  program.calls = {reduce(ops.maximum, false, x, largest),
                   elementwise(ops.subtract, false, x, largest, distance),
                   elementwise(ops.multiply, false, distance, distance, square),
                   reduce(ops.add, false, square, sum),
                   elementwise(ops.divide, false, square, sum, out)};
  return program;
}

Program sum_over_an_axis() {
  const Operand x{0, 16}, y{1}, product{3}, sums{2, 32, true};
  return {{elementwise(ops.multiply, false, x, y, product), reduce(ops.add, false, product, sums)},
          4,
          3};
}

/// Partial sums of tiles, which belong to a run.
Program sum_of_all() {
  const Operand x{0, 16}, y{1}, product{3}, sum{2, 32};
  return {
      {elementwise(ops.multiply, true, x, y, product), reduce(ops.add, true, product, sum)}, 4, 3};
}

/// The group of all calls, of which every one joins.
template <typename Group = FusionGroup>
Group group_of(const Program& program) {
  Group group;
  for (const Call& call : program.calls) CHECK(group.add(call.args, call.bases.data()));
  group.leave_out([&](const auto& memory) { return memory.base >= program.unseen; });
  return group;
}

int left_out(const FusionSpace& group) {
  const auto& memories = group.memories();
  return static_cast<int>(
      std::count_if(memories.begin(), memories.end(), [](const auto& m) { return m.unseen; }));
}

/// Memory for the first bases, which begin elsewhere in it for each seed; the others have none.
class Blocks {
 public:
  Blocks(const Program& program, int blocks, int64_t seed)
      : blocks_(blocks), bases_(program.bases, nullptr) {
    for (int b = 0; b < blocks; ++b) {
      blocks_[b].resize(kElements + 64);
      for (size_t i = 0; i < blocks_[b].size(); ++i) {
        blocks_[b][i] = static_cast<float>((seed + b + static_cast<int64_t>(i) * (b + 3)) % 7);
      }
      bases_[b] = reinterpret_cast<char*>(&blocks_[b][4 * (seed % 8)]);
    }
  }
  char* const* bases() const { return bases_.data(); }
  float& first(int base) { return at(bases_[base]); }
  /// In all that is here, around the results too.
  bool equals(const Blocks& other) const {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const size_t bytes = blocks_[b].size() * kItem;
      if (std::memcmp(blocks_[b].data(), other.blocks_[b].data(), bytes) != 0) return false;
    }
    return true;
  }

 private:
  std::vector<std::vector<float>> blocks_;
  std::vector<char*> bases_;
};

void run_one_by_one(const Program& program, const Blocks& blocks) {
  for (const Call& call : program.calls) {
    LoopArgs args = call.placed([&](int number) { return blocks.bases()[number]; });
    run(args);
  }
}

bool runs_like_single_kernels(const Program& program, const FusionPlan& plan,
                              ep::HelperPool* helpers, int64_t seed) {
  Blocks fused(program, program.unseen, seed), single(program, program.bases, seed);
  int failed = -1;
  plan.run(fused.bases(), helpers, &failed);
  run_one_by_one(program, single);
  return fused.equals(single) && failed == -1;
}

template <typename Body>
void in_threads(const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

/// Every other run asks for helpers, who help one run at a time.
void test_many_runs(const Program& program, int unseen, int buffers, ep::HelperPool* helpers) {
  FusionGroup group = group_of(program);
  CHECK(left_out(group) == unseen);
  const FusionPlan plan(std::move(group));
  CHECK(plan.buffers() == buffers);
  bool ok[kThreads] = {};
  in_threads([&](int thread) {
    bool all = true;
    for (int i = 0; i < kRuns; ++i) {
      const int64_t seed = thread * kRuns + i;
      all = runs_like_single_kernels(program, plan, i % 2 ? helpers : nullptr, seed) && all;
    }
    ok[thread] = all;
  });
  CHECK(ok[0] && ok[1] && ok[2] && ok[3]);
}

/// A failure belongs to its run: others at the same time, and later ones, are sound.
void test_failures(ep::HelperPool* helpers) {
  const Operand x{0}, y{1}, t{3}, out{2};
  Program program{{}, 4, 3};
  program.calls = {elementwise(ops.multiply, true, x, y, t),
                   call_of(KernelId::copy, ops.add, true, {t, out})};
  const FusionPlan plan(group_of(program));
  const auto run_badly = [&](int64_t seed, int* failed) {
    Blocks blocks(program, program.unseen, seed);
    blocks.first(0) = -1;
    blocks.first(1) = 1;
    plan.run(blocks.bases(), helpers, failed);
  };
  bool ok[kThreads] = {};
  in_threads([&](int thread) {
    bool all = true;
    for (int i = 0; i < kRuns / 5; ++i) {
      if (thread % 2) {
        all = runs_like_single_kernels(program, plan, helpers, i) && all;
        continue;
      }
      int failed = -1;
      try {
        run_badly(i, &failed);
        all = false;
      } catch (const Error&) {
        all = failed == 1 && all;
      }
    }
    ok[thread] = all;
  });
  CHECK(ok[0] && ok[1] && ok[2] && ok[3]);
  int failed = -1;
  CHECK_ERROR(value, "[copy_positive] got -1", run_badly(0, &failed));
}

/// What shares bytes that are written, elsewhere than in the same place, does not join; the group
/// is what it was.
void test_refused_calls() {
  const Operand x{0}, y{1}, out{2}, next{2, kItem}, far{2, kElements * kItem}, last{3};
  const Call first = elementwise(ops.add, true, x, y, out);
  const Call shifted = elementwise(ops.add, true, next, y, last);
  const Call apart = elementwise(ops.add, true, out, far, last);
  Call half = elementwise(ops.add, true, x, y, last);
  half.args.iteration.rows[0].dim /= 2;
  FusionGroup group;
  CHECK(group.add(first.args, first.bases.data()));
  CHECK(!group.add(half.args, half.bases.data()));
  CHECK(!group.add(shifted.args, shifted.bases.data()));
  CHECK(group.size() == 1 && group.memories().size() == 3);
  CHECK(group.add(apart.args, apart.bases.data()));
  CHECK(group.size() == 2 && group.memories().size() == 4);
}

/// What is not written first, or in several places, is in memory whoever needs it.
void test_what_cannot_be_left_out() {
  const Operand x{0}, y{1}, t{2}, far{2, kElements * kItem}, out{3};
  const Program program{{elementwise(ops.add, true, x, y, t), elementwise(ops.add, true, t, y, far),
                         elementwise(ops.add, true, far, y, out)},
                        4,
                        0};
  const FusionGroup group = group_of(program);
  CHECK(left_out(group) == 1 && group.memories().back().unseen);
}

/// A queue of the only kernel that there is, as it was launched last.
class KernelQueue final : public ep::Stream {
 public:
  explicit KernelQueue(ep::Device& device) : device_(device) {}

  void launch(const ep::DeviceKernel& kernel) override {
    if (kernel.args_bytes == sizeof(args)) std::memcpy(&args, kernel.args, sizeof(args));
    function = kernel.function;
  }
  void launch(const ep::HostKernel&) override {}
  void copy(void*, const void*, size_t, ep::CopyKind) override {}
  void record(ep::Event&) override {}
  void wait(ep::Event&) override {}
  void sync() override {}
  std::optional<Error> async_error() override { return std::nullopt; }
  ep::Device& device() override { return device_; }

  layout::FusedArgs args;
  void* function = nullptr;

 private:
  ep::Device& device_;
};

class KernelDevice final : public ep::Device {
 public:
  KernelDevice() : ep::Device(ofl::Device{}) {}
  ~KernelDevice() override { shutdown(); }

  bool is_host() const override { return false; }
  std::unique_ptr<ep::Stream> create_stream(ep::QueuePriority) override { return nullptr; }
  std::unique_ptr<ep::Event> create_event(ep::EventKind) override { return nullptr; }
  void* alloc(size_t) override { return nullptr; }
  void free(void*, size_t) override {}
  void* alloc_pinned(size_t) override { return nullptr; }
  void free_pinned(void*, size_t) override {}
  ep::MemoryInfo memory_info() override { return {0, 0}; }
  void* host_address(void* ptr) override { return ptr; }
  void* load_kernel(const std::string&, const char*) override { return this; }
};

/// As find_kernel() says: from the second call on it is being made.
void* made_kernel(const cuda::FusionPlan& plan, ep::Device& device) {
  for (int call = 0; call < 2; ++call) CHECK(plan.find_kernel(device) == nullptr);
  cuda::wait_for_background();
  return plan.find_kernel(device);
}

std::vector<char*> far_bases(uintptr_t number) {
  std::vector<char*> bases;
  for (uintptr_t base = 0; base < 4; ++base) {
    bases.push_back(reinterpret_cast<char*>((number * 8 + base + 1) << 20));
  }
  bases.resize(6, bases[0] + 1);  // the others are unseen
  return bases;
}

/// Values are numbered by first use: x, y, t, u, first, second.
bool has_addresses(const layout::FusedArgs& args, const std::vector<char*>& bases) {
  const char* const expected[] = {bases[0] + 16, bases[1], nullptr,
                                  nullptr,       bases[2], bases[3] + 64};
  float scalar;
  std::memcpy(&scalar, args.scalars[0], sizeof(scalar));
  return std::equal(std::begin(expected), std::end(expected), args.data) &&
         args.count == kElements && scalar == 3;
}

void test_launches_on_a_device() {
  KernelDevice device;
  const Program program = chain();
  const std::vector<char*> unknown(6, nullptr);
  const cuda::FusionPlan plan(group_of<cuda::FusionGroup>(program), unknown.data());
  void* const kernel = made_kernel(plan, device);
  CHECK(kernel == &device && left_out(group_of<cuda::FusionGroup>(program)) == 2);
  bool ok[kThreads] = {};
  in_threads([&](int thread) {
    KernelQueue queue(device);
    bool all = true;
    for (int i = 0; i < kRuns; ++i) {
      const std::vector<char*> bases = far_bases(static_cast<uintptr_t>(thread * kRuns + i));
      cuda::Launching launching(queue, "chain");
      all = all && plan.fits(bases.data()) && plan.find_kernel(device) == kernel;
      all = all && plan.launch(launching, kernel, bases.data());
      all = all && queue.function == kernel && has_addresses(queue.args, bases);
    }
    ok[thread] = all;
  });
  CHECK(ok[0] && ok[1] && ok[2] && ok[3]);
}

/// Where a base begins decides which vectors a kernel may move. What is unseen has no base.
void test_what_a_device_plan_fits() {
  const Program program = chain();
  const cuda::FusionGroup group = group_of<cuda::FusionGroup>(program);
  std::vector<char*> bases = far_bases(0);
  const cuda::FusionPlan plan(group, bases.data());
  bases[1] += 4;
  const cuda::FusionPlan shifted(group, bases.data());
  CHECK(!plan.fits(bases.data()) && shifted.fits(bases.data()));
  bases[1] += 60;
  CHECK(plan.fits(bases.data()) && !shifted.fits(bases.data()));
  bases[4] = bases[1] + 4;
  CHECK(plan.fits(bases.data()));
}

}  // namespace
}  // namespace ofl::ops

int main() {
  using namespace ofl::ops;
  ofl::ep::HelperPool helpers(3);
  test_many_runs(chain(), 2, 2, &helpers);
  test_many_runs(steps(), 3, 1, &helpers);
  test_many_runs(like_softmax(), 4, 2, &helpers);
  test_many_runs(sum_over_an_axis(), 1, 1, &helpers);
  test_many_runs(sum_of_all(), 1, 1, &helpers);
  test_failures(&helpers);
  test_refused_calls();
  test_what_cannot_be_left_out();
  cuda::set_kernel_maker([](const cuda::KernelRequest&, const std::string&) { return "image"; });
  test_launches_on_a_device();
  test_what_a_device_plan_fits();
  return ofl::report();
}
