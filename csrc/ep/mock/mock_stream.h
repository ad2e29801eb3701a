// Event and Stream of a mock device: calls are checked, priced in simulated time and queued.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "ep/device.h"
#include "ep/mock/mock_queue.h"

namespace ofl::ep {

class MockEvent final : public Event {
 public:
  bool done() override;
  void sync() override;
  int64_t reached_at_ns() override;

  /// The point recorded last; nullptr when there is none.
  std::shared_ptr<MockPoint> point();
  void set_point(std::shared_ptr<MockPoint> point);

 private:
  std::mutex mutex_;  // guards point_
  std::shared_ptr<MockPoint> point_;
};

class MockStream;

/// The streams of a device, for after_fork_in_child.
struct MockStreamRegistry {
  std::mutex mutex;  // guards streams
  std::vector<MockStream*> streams;
};

/// The tasks of its kernels. Each launch copies them, and what they cost is what it costs then.
class MockGraph final : public Graph {
 public:
  void add(const HostKernel& kernel);
  void set(int number, const HostKernel& kernel) override;
  /// The tasks as they are to be launched now.
  MockBatch& priced();

 private:
  MockBatch batch_;
  std::vector<double> work_;        // of each kernel
  std::vector<size_t> args_bytes_;  // of each kernel
};

class MockStream final : public Stream {
 public:
  MockStream(Device& device, MockStreamRegistry& registry);
  ~MockStream() override;

  void launch(const HostKernel& kernel) override;
  void begin_capture(Stream* launcher) override;
  std::unique_ptr<Graph> end_capture(std::unique_ptr<Graph> before) override;
  void launch(Graph& graph) override;
  void copy(void* dst, const void* src, size_t bytes, CopyKind kind) override;
  void record(Event& event) override;
  void wait(Event& event) override;
  void sync() override;
  std::optional<Error> async_error() override { return queue_->take_error(); }
  Device& device() override { return device_; }

  /// In the child of a fork: an empty queue, whose thread starts at next use.
  void reset_queue_after_fork();

 private:
  void check_copy(void* dst, const void* src, CopyKind kind) const;
  void refuse_in_capture(const char* what) const;
  std::shared_ptr<MockPoint> push_record();

  Device& device_;
  MockStreamRegistry& registry_;
  std::unique_ptr<MockQueue> queue_;
  std::unique_ptr<MockGraph> captured_;  // while it captures
};

}  // namespace ofl::ep
