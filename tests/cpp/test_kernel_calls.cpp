// Kernel calls as values: one call of each form is launched over many tables of bases, by several
// threads, and makes what a call made for the purpose makes. Run under ThreadSanitizer
// and AddressSanitizer. The table of kernels is the test's own.
#include <string>
#include <thread>
#include <vector>

#include "ep/cpu/cpu_device.h"
#include "ep_support.h"
#include "ops/launch.h"
#include "ops/loops.h"

namespace ofl::ops {
namespace {

constexpr int64_t kElements = 48, kItem = sizeof(int64_t), kLaunches = 100;

int64_t& at(char* data) { return *reinterpret_cast<int64_t*>(data); }

void require_positive(int64_t value, const KernelArgs& args) {
  if (value < 0) fail(ErrorKind::value, "[", args.name, "] got ", value);
}

/// out[i] = in0[i] * in1[i]
void multiply(const LoopArgs& args) {
  require_positive(at(args.data[0]), args);
  for_each_row(args.iteration, args.iteration.ndim, args.data,
               [](char* const* data) { at(data[2]) = at(data[0]) * at(data[1]); });
}

/// out[i] = in0[attr[0] - i] * in1[i]
void multiply_backwards(const ArrayArgs& args) {
  require_positive(at(args.input(0).data), args);
  for (int64_t i = 0; i < args.output(0).shape[0]; ++i) {
    at(args.output(0).data + i * kItem) =
        at(args.input(0).data + (args.attr[0] - i) * kItem) * at(args.input(1).data + i * kItem);
  }
}

constexpr Kernel kLoops(KernelId::elementwise, "multiply", 1, Pattern::elementwise,
                        LoopForm{multiply});
constexpr Kernel kArrays(KernelId::accumulate, "multiply_backwards", 1, Pattern::opaque,
                         ArrayForm{multiply_backwards});

}  // namespace

const Kernel kKernels[] = {kLoops,  kLoops,  kLoops,  kLoops,  kLoops,  kLoops,  kLoops,  kArrays,
                           kArrays, kArrays, kArrays, kArrays, kArrays, kArrays, kArrays, kArrays,
                           kArrays, kArrays, kArrays, kArrays, kArrays, kArrays, kArrays, kArrays,
                           kArrays, kArrays, kArrays, kArrays, kArrays, kArrays, kArrays, kArrays,
                           kArrays, kArrays, kArrays, kArrays, kArrays, kArrays, kArrays, kArrays};

namespace {

/// What one launch works on. The second block holds both inputs, one after the other; the first one
/// gets the result behind one element that stays as it is.
class Blocks {
 public:
  Blocks(ep::Device& device, int64_t seed) : device_(device) {
    for (char*& base : bases_) base = static_cast<char*>(device.alloc(kBytes));
    for (int64_t i = 0; i < 2 * kElements; ++i) element(1, i) = seed + i * i;
    for (int64_t i = 0; i < 2 * kElements; ++i) element(0, i) = -1;
  }
  Blocks(const Blocks&) = delete;
  ~Blocks() {
    for (char* base : bases_) device_.free(base, kBytes);
  }
  int64_t& element(int base, int64_t i) {
    return at(static_cast<char*>(device_.host_address(bases_[base])) + i * kItem);
  }
  char* base(int number) const { return bases_[number]; }

 private:
  static constexpr size_t kBytes = 2 * kElements * kItem;

  ep::Device& device_;
  char* bases_[2];
};

template <typename Args>
KernelCall<Args> unplaced();

template <>
KernelCall<LoopArgs> unplaced() {
  KernelCall<LoopArgs> call;
  call.args.kernel = KernelId::elementwise;
  call.args.iteration.operands = 3;
  call.args.iteration.ndim = 2;
  call.args.iteration.rows[0] = {kElements / 4, {4 * kItem, 4 * kItem, 4 * kItem}};
  call.args.iteration.rows[1] = {4, {kItem, kItem, kItem}};
  return call;
}

template <>
KernelCall<ArrayArgs> unplaced() {
  KernelCall<ArrayArgs> call;
  call.args.kernel = KernelId::accumulate;
  call.args.operands.assign(3, {nullptr, DType::i64, {kElements}, {kItem}});
  call.args.inputs = 2;
  call.args.attr = {kElements - 1};
  return call;
}

/// Operands by base and offset; those of one block share a base.
template <typename Args>
KernelCall<Args> shared_bases() {
  KernelCall<Args> call = unplaced<Args>();
  call.args.name = "shared";
  call.bases = {1, 1, 0};
  call.args.address(1) = reinterpret_cast<char*>(kElements * kItem);
  call.args.address(2) = reinterpret_cast<char*>(kItem);
  return call;
}

/// A call for one launch: a base for each operand.
template <typename Args>
bool launch_fresh(ep::Stream& queue, Blocks& blocks) {
  KernelCall<Args> call = unplaced<Args>();
  call.bases = {0, 1, 2};
  char* const bases[] = {blocks.base(1), blocks.base(1) + kElements * kItem,
                         blocks.base(0) + kItem};
  std::optional<Error> error;
  const std::shared_ptr<InFlight> in_flight = launch(queue, call, bases, &error);
  queue.sync();
  return !error;
}

template <typename Args>
int64_t expected(Blocks& blocks, int64_t i) {
  const int64_t first = std::is_same_v<Args, LoopArgs> ? i : kElements - 1 - i;
  return blocks.element(1, first) * blocks.element(1, kElements + i);
}

template <typename Args>
bool is_made(Blocks& blocks) {
  for (int64_t i = 0; i < kElements; ++i) {
    if (blocks.element(0, i + 1) != expected<Args>(blocks, i)) return false;
  }
  return blocks.element(0, 0) == -1 && blocks.element(0, kElements + 1) == -1;
}

/// Launches it over many blocks; neither the call nor the tables of bases outlive that.
template <typename Args>
bool launch_often(ep::Device& device, std::unique_ptr<const KernelCall<Args>> own,
                  const KernelCall<Args>& call) {
  const auto queue = ep::stream_of(device);
  std::vector<std::unique_ptr<Blocks>> all;
  std::vector<std::optional<Error>> errors(kLaunches);
  std::vector<std::shared_ptr<InFlight>> in_flight;
  for (int64_t i = 0; i < kLaunches; ++i) {
    all.push_back(std::make_unique<Blocks>(device, i));
    char* const bases[] = {all[i]->base(0), all[i]->base(1)};
    in_flight.push_back(launch(*queue, call, bases, &errors[i]));
  }
  own.reset();
  queue->sync();
  bool ok = true;
  for (int64_t i = 0; i < kLaunches; ++i) {
    Blocks fresh(device, i);
    ok = ok && launch_fresh<Args>(*queue, fresh) && !errors[i];
    ok = ok && is_made<Args>(*all[i]) && is_made<Args>(fresh);
  }
  return ok;
}

template <typename Args>
void test_many_bases(ep::Device& device) {
  auto call = std::make_unique<const KernelCall<Args>>(shared_bases<Args>());
  const KernelCall<Args>& launched = *call;
  CHECK(launch_often<Args>(device, std::move(call), launched));
}

template <typename Args>
void test_several_threads(ep::Device& device) {
  constexpr int kThreads = 3;
  const KernelCall<Args> call = shared_bases<Args>();
  bool ok[kThreads] = {};
  std::vector<std::thread> threads;
  for (bool& own : ok) {
    threads.emplace_back([&] { own = launch_often<Args>(device, nullptr, call); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(ok[0] && ok[1] && ok[2]);
}

/// A failure belongs to its launch: the call can be launched again.
template <typename Args>
void test_failure(ep::Device& device) {
  const auto queue = ep::stream_of(device);
  const KernelCall<Args> call = shared_bases<Args>();
  Blocks bad(device, -5), good(device, 5);
  char* const bad_bases[] = {bad.base(0), bad.base(1)};
  char* const good_bases[] = {good.base(0), good.base(1)};
  std::optional<Error> errors[2];
  const auto launch_bad = [&] {
    const auto in_flight = launch(*queue, call, bad_bases, &errors[0]);
    queue->sync();
    if (errors[0]) throw Error(*errors[0]);
  };
  CHECK_ERROR(value, "[shared] got -5", launch_bad());
  CHECK(errors[0].has_value() == !device.is_host());
  const auto in_flight = launch(*queue, call, good_bases, &errors[1]);
  queue->sync();
  CHECK(!errors[1] && is_made<Args>(good) && bad.element(0, 1) == -1);
}

/// An operand without a base is a scalar of the call.
void test_scalar(ep::Device& device) {
  const auto queue = ep::stream_of(device);
  KernelCall<LoopArgs> call = shared_bases<LoopArgs>();
  call.bases[1] = -1;
  for (int d = 0; d < 2; ++d) call.args.iteration.rows[d].strides[1] = 0;
  at(reinterpret_cast<char*>(call.args.scalars[1].bytes)) = 3;
  Blocks blocks(device, 1);
  char* const bases[] = {blocks.base(0), blocks.base(1)};
  std::optional<Error> error;
  for (int round = 0; round < 2; ++round) launch(*queue, call, bases, &error);
  queue->sync();
  CHECK(!error && blocks.element(0, 5) == 3 * blocks.element(1, 4));
}

template <typename Args>
void test_form(ep::Device& device) {
  test_many_bases<Args>(device);
  test_several_threads<Args>(device);
  test_failure<Args>(device);
}

void test_device(std::unique_ptr<ep::Device> device) {
  test_form<LoopArgs>(*device);
  test_form<ArrayArgs>(*device);
  test_scalar(*device);
}

}  // namespace
}  // namespace ofl::ops

int main() {
  ofl::ops::test_device(ofl::ep::make_cpu_device());
  ofl::ops::test_device(ofl::ep::make_mock_device(0));
  return ofl::report();
}
