// Graphs: work with an order in part, captured from streams, and launched as a whole as often as
// wanted.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/context.h"
#include "driver/launch.h"
#include "driver/objects.h"

namespace simcuda {

/// CUgraphNodeType.
enum class NodeType : int { kernel = 0, copy = 1, fill = 2, host = 3 };

/// What a node does, each time that it runs. Never changed: another one takes its place.
struct Task {
  NodeType type;
  Context& context;
  std::function<void()> run;
  std::shared_ptr<const Launch> launch;  // of a kernel
  std::vector<void*> given;              // its parameters
};

using TaskPtr = std::shared_ptr<const Task>;

/// A kernel: its pointers are looked at each time, as their memory may have gone.
TaskPtr kernel_task(Context& context, Launch launch);
/// `run` may throw a Failure, which kills the context.
TaskPtr task(NodeType type, Context& context, std::function<void()> run);

/// In an order in which they may run: each comes after those that it waits for.
struct Node {
  TaskPtr task;
  std::vector<size_t> after;
  Handle handle;
};

using NodePredicate = std::function<bool(const Node&)>;

struct Graph {
  explicit Graph(const Context& its_context) : context(its_context) {}
  bool has_any(const NodePredicate& predicate);

  const Context& context;  // in which it was captured
  std::mutex mutex;        // guards nodes
  std::vector<Node> nodes;
};

/// A node of a graph that is there.
struct NodePlace {
  std::shared_ptr<Graph> graph;
  size_t index;
};

/// Adds a node, which gets a handle.
size_t add_node(const std::shared_ptr<Graph>& graph, TaskPtr task, std::vector<size_t> after);

/// CUgraphExecUpdateResult.
enum class UpdateResult : int {
  success = 0,
  topology_changed = 2,
  node_type_changed = 3,
  parameters_changed = 5,
  unsupported_function_change = 7,
};

/// A graph that can be launched. Its launches run one after the other.
class Executable {
 public:
  explicit Executable(Graph& graph);

  void launch(Stream& stream);
  /// For later launches. `node` is one of the graph that this was made of; fails with
  /// INVALID_VALUE.
  void set_kernel(Handle node, TaskPtr task);
  /// Takes over what the nodes of a graph of the same shape do; on a difference, where it is.
  UpdateResult update(Graph& graph, Handle* error_node);
  bool has_any(const NodePredicate& predicate);

 private:
  std::mutex mutex_;  // guards the fields below
  std::vector<Node> nodes_;
  std::shared_ptr<Point> last_;  // behind the last launch
};

HandleTable<Graph>& graphs();
HandleTable<NodePlace>& graph_nodes();
HandleTable<Executable>& executables();

}  // namespace simcuda
