// Switches the observers on and off, and hands what they have seen to Python as plain tuples.
#include "python/machine/profiler.h"

#include <pybind11/pybind11.h>

#include "distributed/world/collective.h"
#include "profiler/benchmark.h"
#include "profiler/trace_recorder.h"
#include "python/bind.h"
#include "python/errors.h"
#include "python/issue_site.h"
#include "python/runtime.h"
#include "tensor/finite.h"
#include "vm/board/running_scope.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

TraceRecorder& recorder() {
  static TraceRecorder* the_recorder = new TraceRecorder;  // workers may still be telling it
  return *the_recorder;
}

py::object shape_of(const vm::Description& description) {
  if (description.ndim < 0) return py::none();
  py::tuple shape(description.ndim);
  for (int d = 0; d < description.ndim; ++d) shape[d] = description.dims[d];
  return shape;
}

py::object site_of(vm::SiteId id) {
  return py::reinterpret_steal<py::object>(checked(site_tuple(id)));
}

py::tuple to_tuple(const TraceRecord& r) {
  const py::object dtype =
      r.description.dtype ? py::object(py::str(r.description.dtype)) : py::object(py::none());
  // Groups of steps have numbers apart from those of instructions.
  const auto group = static_cast<int64_t>(r.description.group);
  return py::make_tuple(kRecordKindNames[static_cast<int>(r.kind)], r.lane, r.begin_ns, r.end_ns,
                        r.seq, r.name, shape_of(r.description), dtype, r.bytes, site_of(r.site),
                        r.other_seq, r.kind == RecordKind::step ? -group : group,
                        r.description.saved_bytes, r.segment, r.is_measured);
}

Benchmark& benchmark() {
  static Benchmark* the_benchmark = new Benchmark;  // workers may still be telling it
  return *the_benchmark;
}

/// Adds or removes it, unless that has been done. With the GIL.
void set_observed(vm::Observer& observer, bool* is_on, bool on) {
  if (std::exchange(*is_on, on) == on) return;
  vm::VirtualMachine& machine = runtime().machine;
  on ? machine.add_observer(observer) : machine.remove_observer(observer);
}

/// While nothing is in flight each instruction is seen whole: wait_until_idle() comes before.
void record(bool on) {
  static bool is_on = false;
  set_observed(recorder(), &is_on, on);
  distributed::record_collectives(on);
}

void set_benchmark(bool on) {
  static bool is_on = false;
  set_naive(NaiveReason::benchmark, on);
  set_observed(benchmark(), &is_on, on);
}

void check_nan_inf(bool on) {
  static ResultChecker* checker = new ResultChecker;  // other threads may be asking it
  static bool is_on = false;
  set_observed(*checker, &is_on, on);
}

py::list benchmark_rows() {
  py::list rows;
  for (const auto& [name, row] : benchmark().rows()) {
    rows.append(py::make_tuple(name, row.calls, row.ns, row.bytes));
  }
  return rows;
}

/// The recording lacks what is in flight, or has a part of it.
py::dict profile_stop() {
  record(false);
  const Trace trace = recorder().take();
  py::list lanes, records;
  for (size_t i = 0; i < trace.lanes.size(); ++i) {
    lanes.append(
        py::make_tuple(i, trace.lanes[i].name, trace.lanes[i].stream ? "stream" : "thread"));
  }
  for (const TraceRecord& record : trace.records) records.append(to_tuple(record));
  py::dict result, collectives;
  for (const auto& [seq, rank, group, number] : distributed::take_collectives()) {
    collectives[py::int_(seq)] = py::make_tuple(rank, group, number);
  }
  result["lanes"] = lanes;
  result["records"] = records;
  result["collectives"] = collectives;
  return result;
}

/// For an operation of that name.
void wait_until_idle(const std::string& op) {
  if (vm::RunningScope::any()) {
    fail(ErrorKind::runtime, "[", op, "] called inside a function, which is in flight itself");
  }
  runtime().machine.drain(std::nullopt);
}

void drop_records() {
  recorder().take();
  distributed::take_collectives();
}

}  // namespace

void lock_observers() {
  recorder().mutex().lock();
  benchmark().mutex().lock();
}

void unlock_observers() {
  benchmark().mutex().unlock();
  recorder().mutex().unlock();
}

void bind_profiler(py::module_& m) {
  m.def("wait_until_idle", &wait_until_idle);
  m.def("profile_start", [] {
    record(false);
    drop_records();
    record(true);
  });
  m.def("profile_stop", &profile_stop);
  m.def("profile_drop", [] {
    record(false);
    drop_records();
  });
  m.def("check_nan_inf", &check_nan_inf);
  m.def("benchmark", &set_benchmark);
  m.def("benchmark_rows", &benchmark_rows);
  m.def("benchmark_clear", [] { benchmark().clear(); });
}

}  // namespace ofl::python
