#include "ep/mock/mock_stream.h"

#include <algorithm>
#include <cstring>

#include "ep/mock/mock_knobs.h"
#include "ep/mock/mock_memory.h"

namespace ofl::ep {

namespace {

struct CopyInfo {
  const char* name;
  std::atomic<double> MockKnobs::* bandwidth;
};

constexpr CopyInfo kCopies[] = {{"h2d", &MockKnobs::h2d},
                                {"d2h", &MockKnobs::d2h},
                                {"d2d", &MockKnobs::d2d},
                                {"peer", &MockKnobs::d2d}};

const CopyInfo& info(CopyKind kind) { return kCopies[static_cast<int>(kind)]; }

int64_t seconds_to_ns(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

// Time for `amount` at `rate` a second, where rate 0 means no limit.
int64_t price_ns(double amount, double rate) { return rate > 0 ? seconds_to_ns(amount / rate) : 0; }

// Uniform in [0, jitter) by xorshift64*, seeded for each thread.
int64_t random_delay_ns() {
  const double jitter = mock_knobs().jitter;
  if (jitter <= 0) return 0;
  static std::atomic<uint64_t> seeds{1};
  thread_local uint64_t state = seeds.fetch_add(1) * 0x9e3779b97f4a7c15;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  const double fraction = static_cast<double>((state * 0x2545f4914f6cdd1d) >> 11) / 0x1p53;
  return seconds_to_ns(jitter * fraction);
}

MockTask make_task(MockTaskKind kind) {
  MockTask task;
  task.kind = kind;
  task.ready_at_ns = now_ns();
  task.delay_ns = random_delay_ns();
  return task;
}

MockEvent& mock_event(const Device& device, Event& event) {
  if (auto* own = dynamic_cast<MockEvent*>(&event)) return *own;
  fail(ErrorKind::runtime, "[", device.id().str(), "] event ", &event, " is of another backend");
}

}  // namespace

bool MockEvent::done() {
  const std::shared_ptr<MockPoint> last = point();
  return last == nullptr || last->is_reached();
}

void MockEvent::sync() {
  if (const std::shared_ptr<MockPoint> last = point()) last->wait();
}

int64_t MockEvent::reached_at_ns() {
  const std::shared_ptr<MockPoint> last = point();
  return last == nullptr ? 0 : last->reached_at_ns();
}

std::shared_ptr<MockPoint> MockEvent::point() {
  std::lock_guard<std::mutex> lock(mutex_);
  return point_;
}

void MockEvent::set_point(std::shared_ptr<MockPoint> point) {
  std::lock_guard<std::mutex> lock(mutex_);
  point_.swap(point);
}

MockStream::MockStream(Device& device, MockStreamRegistry& registry)
    : device_(device), registry_(registry), queue_(std::make_unique<MockQueue>(device.id().str())) {
  std::lock_guard<std::mutex> lock(registry_.mutex);
  registry_.streams.push_back(this);
}

MockStream::~MockStream() {
  std::lock_guard<std::mutex> lock(registry_.mutex);
  auto& streams = registry_.streams;
  streams.erase(std::find(streams.begin(), streams.end(), this));
}

void MockGraph::add(const HostKernel& kernel) {
  MockTask task = make_task(MockTaskKind::kernel);
  task.run = kernel.run;
  batch_.add(std::move(task), kernel.args, kernel.args_bytes);
  work_.push_back(kernel.work);
  args_bytes_.push_back(kernel.args_bytes);
}

void MockGraph::set(int number, const HostKernel& kernel) {
  const MockTask& task = batch_.tasks.at(static_cast<size_t>(number));
  if (task.run != kernel.run || args_bytes_[number] != kernel.args_bytes) {
    fail(ErrorKind::runtime, "[graph] kernel ", number, " is another one than was captured");
  }
  std::memcpy(batch_.args.data() + task.args_offset, kernel.args, kernel.args_bytes);
  work_[number] = kernel.work;
}

MockBatch& MockGraph::priced() {
  const double compute = mock_knobs().compute;
  const int64_t now = now_ns();
  for (size_t i = 0; i < batch_.tasks.size(); ++i) {
    MockTask& task = batch_.tasks[i];
    task.ready_at_ns = now;
    task.launch_ns = i == 0 ? seconds_to_ns(mock_knobs().launch_latency) : 0;
    task.delay_ns = random_delay_ns();
    task.duration_ns = price_ns(work_[i], compute);
  }
  return batch_;
}

void MockStream::begin_capture(Stream*) {
  refuse_in_capture("a second capture");
  captured_ = std::make_unique<MockGraph>();
}

std::unique_ptr<Graph> MockStream::end_capture(std::unique_ptr<Graph>) {
  if (!captured_) fail(ErrorKind::runtime, "[", device_.id().str(), "] the queue captures nothing");
  return std::move(captured_);
}

void MockStream::launch(Graph& graph) {
  refuse_in_capture("a graph");
  if (count_down(mock_knobs().faults.launch)) fail_injected(device_, "a launch");
  queue_->push(static_cast<MockGraph&>(graph).priced());
}

void MockStream::refuse_in_capture(const char* what) const {
  if (captured_) fail(ErrorKind::runtime, "[", device_.id().str(), "] ", what, " in a capture");
}

void MockStream::launch(const HostKernel& kernel) {
  if (captured_) return captured_->add(kernel);
  if (count_down(mock_knobs().faults.launch)) fail_injected(device_, "a launch");
  MockTask task = make_task(MockTaskKind::kernel);
  task.run = kernel.run;
  task.launch_ns = seconds_to_ns(mock_knobs().launch_latency);
  task.duration_ns = price_ns(kernel.work, mock_knobs().compute);
  queue_->push(std::move(task), kernel.args, kernel.args_bytes);
}

void MockStream::copy(void* dst, const void* src, size_t bytes, CopyKind kind) {
  refuse_in_capture("a copy");
  if (count_down(mock_knobs().faults.copy)) fail_injected(device_, "a copy");
  if (bytes == 0) return;
  check_copy(dst, src, kind);
  MockTask task = make_task(MockTaskKind::copy);
  task.dst = mock_untag(dst);
  task.src = mock_untag(src);
  task.bytes = bytes;
  task.duration_ns = price_ns(static_cast<double>(bytes), mock_knobs().*info(kind).bandwidth);
  queue_->push(std::move(task));
}

void MockStream::check_copy(void* dst, const void* src, CopyKind kind) const {
  const std::optional<int> own = device_.id().index;
  const auto check = [&](const char* side, const void* ptr, bool is_right, const char* wanted) {
    if (is_right) return;
    fail(ErrorKind::runtime, "[", device_.id().str(), "] ", info(kind).name, " copy: ", side, " ",
         describe_memory(ptr), ", expected ", wanted);
  };
  const auto to = mock_owner(dst), from = mock_owner(src);
  if (kind == CopyKind::peer) {
    check("dst", dst, to.has_value(), "memory of a mock device");
    check("src", src, from.has_value(), "memory of a mock device");
    check("src", src, (to == own) != (from == own), "one side here and one on another device");
    return;
  }
  const std::string here = "memory of " + device_.id().str();
  const bool dst_is_host = kind == CopyKind::d2h, src_is_host = kind == CopyKind::h2d;
  check("dst", dst, dst_is_host ? !to : to == own, dst_is_host ? "host memory" : here.c_str());
  check("src", src, src_is_host ? !from : from == own, src_is_host ? "host memory" : here.c_str());
}

void MockStream::record(Event& event) {
  MockEvent& own = mock_event(device_, event);
  if (count_down(mock_knobs().faults.event)) fail_injected(device_, "an event record");
  own.set_point(push_record());
}

void MockStream::wait(Event& event) {
  refuse_in_capture("a wait");
  std::shared_ptr<MockPoint> point = mock_event(device_, event).point();
  if (point == nullptr || point->queue() == queue_.get() || point->is_reached()) return;
  MockTask task = make_task(MockTaskKind::wait);
  task.point = std::move(point);
  queue_->push(std::move(task));
}

void MockStream::sync() {
  if (queue_->is_started()) push_record()->wait();
}

std::shared_ptr<MockPoint> MockStream::push_record() {
  refuse_in_capture("an event, or a wait for the queue");
  auto point = std::make_shared<MockPoint>(queue_.get());
  MockTask task = make_task(MockTaskKind::record);
  task.point = point;
  queue_->push(std::move(task));
  return point;
}

// The old queue is leaked: its thread does not exist in the child, so its std::thread cannot be
// joined, nor its condition variable (with a sleeper) destroyed.
void MockStream::reset_queue_after_fork() {
  queue_.release();
  queue_ = std::make_unique<MockQueue>(device_.id().str());
}

}  // namespace ofl::ep
