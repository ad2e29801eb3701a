// Stream capture, and the graphs that it makes.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "driver/api.h"
#include "driver/capture.h"
#include "driver/context.h"
#include "driver/graph.h"

namespace simcuda::api {
namespace {

bool is_legacy(Handle stream) {
  return stream == kNullStream || stream == kLegacyStream || stream == kPerThreadStream;
}

/// The stream, for a look: that at the legacy one invalidates nothing.
std::shared_ptr<Stream> stream_to_look_at(Handle handle) {
  if (is_legacy(handle)) captures().require_legacy_usable(current_context(), false);
  return stream_of(handle);
}

template <typename Item, typename Value>
void write_list(Item* items, size_t* count, const std::vector<Value>& values) {
  require(count != nullptr);
  if (items) {
    const size_t written = std::min(*count, values.size());
    std::copy_n(values.begin(), written, items);
    std::fill(items + written, items + *count, Item{});
    *count = written;
  } else {
    *count = values.size();
  }
}

/// A copy, as nobody changes a node in place.
Node node_of(Handle handle) {
  const auto place = graph_nodes().find(handle);
  require(place != nullptr);
  std::lock_guard lock(place->graph->mutex);
  return place->graph->nodes[place->index];
}

/// What these parameters ask for, in the context of the node that gets them.
TaskPtr task_of(const KernelNodeParameters* given, Context& context) {
  require(given != nullptr);
  const Handle function = given->function ? given->function : given->kernel;
  const SimLaunch shape{{given->grid[0], given->grid[1], given->grid[2]},
                        {given->block[0], given->block[1], given->block[2]},
                        given->shared_bytes,
                        0,
                        nullptr};
  return kernel_task(context,
                     make_launch(context, function, shape, given->kernel_parameters, given->extra));
}

}  // namespace

void begin_capture(Handle handle, int mode) {
  require(mode >= 0 && mode <= 2);
  current_context();
  require(!is_legacy(handle), ERROR_STREAM_CAPTURE_UNSUPPORTED);
  captures().begin(stream_of(handle), static_cast<CaptureMode>(mode));
}

void end_capture(Handle stream, Handle* graph) {
  require(graph != nullptr);
  *graph = nullptr;
  *graph = captures().end(stream_of(stream));
}

void stream_is_capturing(Handle stream, int* status) {
  require(status != nullptr);
  *status = static_cast<int>(captures().info(*stream_to_look_at(stream)).status);
}

void capture_info(Handle stream, int* status, unsigned long long* id, Handle* graph,
                  const Handle** nodes, size_t* count) {
  require(status != nullptr);
  const CaptureInfo info = captures().info(*stream_to_look_at(stream));
  *status = static_cast<int>(info.status);
  if (id) *id = info.id;
  if (graph) *graph = info.graph;
  if (nodes) *nodes = info.nodes;
  if (count) *count = info.count;
}

void capture_info_v3(Handle stream, int* status, unsigned long long* id, Handle* graph,
                     const Handle** nodes, const EdgeData** edges, size_t* count) {
  capture_info(stream, status, id, graph, nodes, count);
  if (edges) *edges = stream_of(stream)->captured_edges.data();
}

void exchange_capture_mode(int* mode) {
  require(mode != nullptr && *mode >= 0 && *mode <= 2);
  CaptureMode& here = thread_capture_mode();
  *mode = static_cast<int>(std::exchange(here, static_cast<CaptureMode>(*mode)));
}

void destroy_graph(Handle handle) {
  require(graphs().find(handle) != nullptr);
  const auto graph = graphs().take(handle);
  graph_nodes().erase_if([&](NodePlace& place) { return place.graph == graph; });
}

void graph_list(Handle handle, Handle* nodes, size_t* count) {
  const auto graph = graphs().find(handle);
  require(graph != nullptr);
  std::vector<Handle> handles;
  {
    std::lock_guard lock(graph->mutex);
    for (const Node& node : graph->nodes) handles.push_back(node.handle);
  }
  write_list(nodes, count, handles);
}

void graph_edges(Handle handle, Handle* from, Handle* to, size_t* count) {
  const auto graph = graphs().find(handle);
  require(graph != nullptr && count != nullptr && !from == !to);
  std::vector<Handle> begins, ends;
  {
    std::lock_guard lock(graph->mutex);
    for (const Node& node : graph->nodes) {
      for (const size_t before : node.after) {
        begins.push_back(graph->nodes[before].handle);
        ends.push_back(node.handle);
      }
    }
  }
  size_t same = *count;
  write_list(from, &same, begins);
  write_list(to, count, ends);
}

void graph_edges_v2(Handle graph, Handle* from, Handle* to, EdgeData* data, size_t* count) {
  graph_edges(graph, from, to, count);
  if (from && data) std::fill_n(data, *count, EdgeData{});
}

void node_type(Handle node, int* type) {
  require(type != nullptr);
  *type = static_cast<int>(node_of(node).task->type);
}

void node_dependencies(Handle handle, Handle* nodes, size_t* count) {
  const Node node = node_of(handle);
  const auto graph = graph_nodes().get(handle)->graph;
  std::vector<Handle> before;
  {
    std::lock_guard lock(graph->mutex);
    for (const size_t other : node.after) before.push_back(graph->nodes[other].handle);
  }
  write_list(nodes, count, before);
}

void node_dependencies_v2(Handle node, Handle* nodes, EdgeData* data, size_t* count) {
  node_dependencies(node, nodes, count);
  if (nodes && data) std::fill_n(data, *count, EdgeData{});
}

void kernel_node_parameters(Handle handle, KernelNodeParameters* parameters) {
  const Node node = node_of(handle);
  require(parameters != nullptr && node.task->type == NodeType::kernel && node.task->launch);
  const Launch& launch = *node.task->launch;
  *parameters = {};
  parameters->function = functions().handle_of(launch.function.get());
  std::copy_n(launch.shape.grid, 3, parameters->grid);
  std::copy_n(launch.shape.block, 3, parameters->block);
  parameters->shared_bytes = launch.shape.shared_bytes;
  parameters->kernel_parameters = const_cast<void**>(node.task->given.data());
}

void set_kernel_node_parameters(Handle handle, const KernelNodeParameters* parameters) {
  const Node node = node_of(handle);
  require(node.task->type == NodeType::kernel);
  TaskPtr task = task_of(parameters, node.task->context);
  const auto place = graph_nodes().get(handle);
  std::lock_guard lock(place->graph->mutex);
  place->graph->nodes[place->index].task = std::move(task);
}

void instantiate(Handle* executable, Handle graph, unsigned long long flags) {
  constexpr unsigned long long kKnown = 1 | 8;  // free memory on launch; priorities of nodes
  require(executable != nullptr);
  require((flags & ~kKnown) == 0, ERROR_NOT_SUPPORTED);
  const auto captured = graphs().find(graph);
  require(captured != nullptr);
  *executable = executables().add(std::make_shared<Executable>(*captured));
}

void destroy_executable(Handle executable) {
  require(executables().find(executable) != nullptr);
  executables().take(executable);
}

void upload_graph(Handle executable, Handle stream) {
  require(executables().find(executable) != nullptr);
  stream_of(stream);
}

void launch_graph(Handle handle, Handle stream_handle) {
  const auto executable = executables().find(handle);
  require(executable != nullptr);
  const auto stream = stream_of(stream_handle);
  if (stream->is_capturing()) captures().refuse(*stream, ERROR_NOT_SUPPORTED);  // a graph in one
  executable->launch(*stream);
}

void set_executable_kernel(Handle handle, Handle node, const KernelNodeParameters* parameters) {
  const auto executable = executables().find(handle);
  require(executable != nullptr);
  executable->set_kernel(node, task_of(parameters, node_of(node).task->context));
}

Result update_executable(Handle handle, Handle graph_handle, GraphUpdateInfo* info) {
  const auto executable = executables().find(handle);
  const auto graph = graphs().find(graph_handle);
  require(executable != nullptr && graph != nullptr && info != nullptr);
  *info = {};
  const UpdateResult result = executable->update(*graph, &info->error_node);
  info->result = static_cast<int>(result);
  return result == UpdateResult::success ? SUCCESS : ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

}  // namespace simcuda::api
