// The functions of the driver API, as the table lists them. Arguments are the API's; failures are
// thrown.
#pragma once

#include "driver/abi.h"

namespace simcuda::api {

// Driver and devices
void init(unsigned flags);
void driver_version(int* version);
void error_name(int code, const char** name);
void error_string(int code, const char** text);
void get_device(int* device, int ordinal);
void device_count(int* count);
void device_name(char* name, int length, int device);
void device_uuid(Uuid* uuid, int device);
void device_total_memory(size_t* bytes, int device);
void device_attribute(int* value, int attribute, int device);
void device_compute_capability(int* major, int* minor, int device);
void device_pci_bus_id(char* id, int length, int device);
void device_by_pci_bus_id(int* device, const char* id);
void device_can_access_peer(int* can, int device, int peer);
void device_p2p_attribute(int* value, int attribute, int device, int peer);

// Contexts
void primary_retain(Handle* context, int device);
void primary_release(int device);
void primary_reset(int device);
void primary_state(int device, unsigned* flags, int* is_active);
void primary_set_flags(int device, unsigned flags);
void set_current(Handle context);
void get_current(Handle* context);
void push_current(Handle context);
void pop_current(Handle* context);
void get_context_device(int* device);
void get_context_device_v2(int* device, Handle context);
void get_context_flags(unsigned* flags);
void get_context_api_version(Handle context, unsigned* version);
void context_id(Handle context, unsigned long long* id);
void synchronize_context();
void synchronize_context_v2(Handle context);
void stream_priority_range(int* least, int* greatest);
void enable_peer_access(Handle peer, unsigned flags);
void disable_peer_access(Handle peer);

// Streams and events
void create_stream(Handle* stream, unsigned flags);
void create_stream_with_priority(Handle* stream, unsigned flags, int priority);
void destroy_stream(Handle stream);
void synchronize_stream(Handle stream);
Result query_stream(Handle stream);
void stream_wait_event(Handle stream, Handle event, unsigned flags);
void stream_flags(Handle stream, unsigned* flags);
void stream_priority(Handle stream, int* priority);
void stream_id(Handle stream, unsigned long long* id);
void stream_context(Handle stream, Handle* context);
void stream_context_v2(Handle stream, Handle* context, Handle* green_context);
void stream_device(Handle stream, int* device);
void launch_host_function(Handle stream, HostFunction function, void* data);
void create_event(Handle* event, unsigned flags);
void destroy_event(Handle event);
void record_event(Handle event, Handle stream);
void record_context_event(Handle context, Handle event);
void record_event_with_flags(Handle event, Handle stream, unsigned flags);
Result query_event(Handle event);
void synchronize_event(Handle event);
Result event_elapsed_time(float* milliseconds, Handle start, Handle end);

// Capture and graphs
void begin_capture(Handle stream, int mode);
void end_capture(Handle stream, Handle* graph);
void stream_is_capturing(Handle stream, int* status);
void capture_info(Handle stream, int* status, unsigned long long* id, Handle* graph,
                  const Handle** nodes, size_t* count);
void capture_info_v3(Handle stream, int* status, unsigned long long* id, Handle* graph,
                     const Handle** nodes, const EdgeData** edges, size_t* count);
void exchange_capture_mode(int* mode);
void destroy_graph(Handle graph);
void graph_list(Handle graph, Handle* nodes, size_t* count);
void graph_edges(Handle graph, Handle* from, Handle* to, size_t* count);
void graph_edges_v2(Handle graph, Handle* from, Handle* to, EdgeData* data, size_t* count);
void node_type(Handle node, int* type);
void node_dependencies(Handle node, Handle* nodes, size_t* count);
void node_dependencies_v2(Handle node, Handle* nodes, EdgeData* data, size_t* count);
void kernel_node_parameters(Handle node, KernelNodeParameters* parameters);
void set_kernel_node_parameters(Handle node, const KernelNodeParameters* parameters);
void instantiate(Handle* executable, Handle graph, unsigned long long flags);
void destroy_executable(Handle executable);
void upload_graph(Handle executable, Handle stream);
void launch_graph(Handle executable, Handle stream);
void set_executable_kernel(Handle executable, Handle node, const KernelNodeParameters* parameters);
Result update_executable(Handle executable, Handle graph, GraphUpdateInfo* info);

// Memory
void memory_info(size_t* free, size_t* total);
void allocate(DevicePtr* pointer, size_t bytes);
void release(DevicePtr pointer);
void allocate_async(DevicePtr* pointer, size_t bytes, Handle stream);
void release_async(DevicePtr pointer, Handle stream);
void allocate_host(void** pointer, size_t bytes);
void allocate_host_with_flags(void** pointer, size_t bytes, unsigned flags);
void release_host(void* pointer);
void register_host(void* pointer, size_t bytes, unsigned flags);
void unregister_host(void* pointer);
void host_device_pointer(DevicePtr* device, void* host, unsigned flags);
void host_flags(unsigned* flags, void* pointer);
void address_range(DevicePtr* base, size_t* bytes, DevicePtr pointer);
void pointer_attribute(void* value, int attribute, DevicePtr pointer);
void pointer_attributes(unsigned count, int* attributes, void** values, DevicePtr pointer);

// Copies and fills
void copy_h2d(DevicePtr dst, const void* src, size_t bytes);
void copy_d2h(void* dst, DevicePtr src, size_t bytes);
void copy_d2d(DevicePtr dst, DevicePtr src, size_t bytes);
void copy_peer(DevicePtr dst, Handle dst_context, DevicePtr src, Handle src_context, size_t bytes);
void copy(DevicePtr dst, DevicePtr src, size_t bytes);
void copy_h2d_async(DevicePtr dst, const void* src, size_t bytes, Handle stream);
void copy_d2h_async(void* dst, DevicePtr src, size_t bytes, Handle stream);
void copy_d2d_async(DevicePtr dst, DevicePtr src, size_t bytes, Handle stream);
void copy_peer_async(DevicePtr dst, Handle dst_context, DevicePtr src, Handle src_context,
                     size_t bytes, Handle stream);
void copy_async(DevicePtr dst, DevicePtr src, size_t bytes, Handle stream);
void copy_2d(const Copy2D* copy);
void copy_2d_async(const Copy2D* copy, Handle stream);
void fill_8(DevicePtr dst, unsigned char value, size_t count);
void fill_16(DevicePtr dst, unsigned short value, size_t count);
void fill_32(DevicePtr dst, unsigned value, size_t count);
void fill_8_async(DevicePtr dst, unsigned char value, size_t count, Handle stream);
void fill_16_async(DevicePtr dst, unsigned short value, size_t count, Handle stream);
void fill_32_async(DevicePtr dst, unsigned value, size_t count, Handle stream);

// Modules, libraries, launches
void load_module(Handle* module, const void* image);
void load_module_ex(Handle* module, const void* image, unsigned count, int* options, void** values);
void unload_module(Handle module);
void module_function(Handle* function, Handle module, const char* name);
void module_global(DevicePtr* pointer, size_t* bytes, Handle module, const char* name);
void load_library(Handle* library, const void* code, int* jit_options, void** jit_values,
                  unsigned jit_count, int* options, void** values, unsigned count);
void unload_library(Handle library);
void library_kernel(Handle* kernel, Handle library, const char* name);
void library_module(Handle* module, Handle library);
void library_global(DevicePtr* pointer, size_t* bytes, Handle library, const char* name);
void kernel_function(Handle* function, Handle kernel);
void kernel_attribute(int* value, int attribute, Handle kernel, int device);
void set_kernel_attribute(int attribute, int value, Handle kernel, int device);
void function_attribute(int* value, int attribute, Handle function);
void set_function_attribute(Handle function, int attribute, int value);
void set_function_cache_config(Handle function, int config);
void function_module(Handle* module, Handle function);
void function_name(const char** name, Handle function);
void max_active_blocks(int* blocks, Handle function, int block_threads, size_t dynamic_shared);
void max_active_blocks_with_flags(int* blocks, Handle function, int block_threads,
                                  size_t dynamic_shared, unsigned flags);
void max_potential_block_size(int* min_grid, int* block, Handle function,
                              size_t (*shared_of_block)(int), size_t dynamic_shared, int limit);
void launch_kernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Handle stream, void** parameters, void** extra);
void launch_kernel_ex(const LaunchConfig* config, Handle function, void** parameters, void** extra);

}  // namespace simcuda::api
