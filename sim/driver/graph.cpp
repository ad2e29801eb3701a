#include "driver/graph.h"

#include <algorithm>
#include <random>
#include <utility>

#include "driver/config.h"

namespace simcuda {
namespace {

WorkKind kind_of(NodeType type) {
  switch (type) {
    case NodeType::copy: return WorkKind::copy;
    case NodeType::fill: return WorkKind::fill;
    default: return WorkKind::kernel;
  }
}

void run_task(const Task& task) {
  if (task.type == NodeType::host) {
    if (!task.context.is_dead()) task.run();
    return;
  }
  task.context.perform(kind_of(task.type), [&] {
    try {
      task.run();
    } catch (const Failure&) {
      task.context.kill(ERROR_ILLEGAL_ADDRESS, "a node of a graph: memory that is not there");
    }
  });
}

/// In a random one of the orders that the nodes allow, as a device is free to.
void run_nodes(const std::vector<Node>& nodes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<size_t> waits_for(nodes.size()), ready;
  std::vector<std::vector<size_t>> before(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    waits_for[i] = nodes[i].after.size();
    for (const size_t other : nodes[i].after) before[other].push_back(i);
    if (waits_for[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const size_t i = ready.back();
    ready.pop_back();
    run_task(*nodes[i].task);
    for (const size_t other : before[i]) {
      if (--waits_for[other] == 0) ready.push_back(other);
    }
  }
}

uint64_t next_seed() {
  static std::atomic<uint64_t> count{0};
  return static_cast<uint64_t>(config().seed) * 1000003 + ++count;
}

}  // namespace

TaskPtr kernel_task(Context& context, Launch launch) {
  auto kept = std::make_shared<const Launch>(std::move(launch));
  auto made = std::make_shared<Task>(Task{NodeType::kernel, context, nullptr, kept, {}});
  made->given = kept->parameters.given();
  made->run = [&context, kept] {
    Arguments arguments = kept->parameters.translated(context);
    run_kernel(context, *kept, arguments, Clock::now());
  };
  return made;
}

TaskPtr task(NodeType type, Context& context, std::function<void()> run) {
  return std::make_shared<Task>(Task{type, context, std::move(run), nullptr, {}});
}

size_t add_node(const std::shared_ptr<Graph>& graph, TaskPtr task, std::vector<size_t> after) {
  std::lock_guard lock(graph->mutex);
  const size_t index = graph->nodes.size();
  const Handle handle = graph_nodes().add(std::make_shared<NodePlace>(NodePlace{graph, index}));
  graph->nodes.push_back({std::move(task), std::move(after), handle});
  return index;
}

bool Graph::has_any(const NodePredicate& predicate) {
  std::lock_guard lock(mutex);
  return std::any_of(nodes.begin(), nodes.end(), predicate);
}

bool Executable::has_any(const NodePredicate& predicate) {
  std::lock_guard lock(mutex_);
  return std::any_of(nodes_.begin(), nodes_.end(), predicate);
}

Executable::Executable(Graph& graph) {
  std::lock_guard lock(graph.mutex);
  nodes_ = graph.nodes;
}

void Executable::launch(Stream& stream) {
  auto point = std::make_shared<Point>();
  std::lock_guard lock(mutex_);
  // What it does now: later changes are for later launches.
  auto operation = [nodes = nodes_, previous = last_, point, seed = next_seed()] {
    if (previous) previous->wait();
    run_nodes(nodes, seed);
    point->reach();
  };
  stream.context.enqueue(stream, std::move(operation));
  last_ = std::move(point);
}

void Executable::set_kernel(Handle handle, TaskPtr task) {
  std::lock_guard lock(mutex_);
  const auto node = std::find_if(nodes_.begin(), nodes_.end(),
                                 [handle](const Node& each) { return each.handle == handle; });
  require(node != nodes_.end() && node->task->type == NodeType::kernel);
  require(&node->task->context == &task->context);
  node->task = std::move(task);
}

UpdateResult Executable::update(Graph& graph, Handle* error_node) {
  std::scoped_lock lock(mutex_, graph.mutex);
  *error_node = nullptr;
  if (graph.nodes.size() != nodes_.size()) return UpdateResult::topology_changed;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node &mine = nodes_[i], &other = graph.nodes[i];
    *error_node = other.handle;
    if (mine.after != other.after) return UpdateResult::topology_changed;
    if (mine.task->type != other.task->type) return UpdateResult::node_type_changed;
    if (&mine.task->context != &other.task->context) {
      return mine.task->type == NodeType::kernel ? UpdateResult::unsupported_function_change
                                                 : UpdateResult::parameters_changed;
    }
  }
  *error_node = nullptr;
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i].task = graph.nodes[i].task;
  return UpdateResult::success;
}

HandleTable<Graph>& graphs() {
  static auto* const table = new HandleTable<Graph>;
  return *table;
}

HandleTable<NodePlace>& graph_nodes() {
  static auto* const table = new HandleTable<NodePlace>;
  return *table;
}

HandleTable<Executable>& executables() {
  static auto* const table = new HandleTable<Executable>;
  return *table;
}

}  // namespace simcuda
