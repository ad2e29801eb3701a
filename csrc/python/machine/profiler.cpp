// Switches the trace on and off and hands it to Python as plain tuples.
#include "profiler/trace_recorder.h"

#include <pybind11/pybind11.h>

#include "python/bind.h"
#include "python/issue_site.h"
#include "python/runtime.h"

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
  if (id == 0) return py::none();
  const Site known = site(id);
  return py::make_tuple(known.file, known.line);
}

py::tuple to_tuple(const TraceRecord& r) {
  const py::object dtype =
      r.description.dtype ? py::object(py::str(r.description.dtype)) : py::object(py::none());
  return py::make_tuple(kRecordKindNames[static_cast<int>(r.kind)], r.lane, r.begin_ns, r.end_ns,
                        r.seq, r.name, shape_of(r.description), dtype, r.bytes, site_of(r.site),
                        r.other_seq, r.description.group, r.description.saved_bytes);
}

/// Observers change while nothing is in flight, so that each instruction is seen whole.
void set_observer(vm::Observer* observer) {
  runtime().machine.drain(std::nullopt);
  runtime().machine.set_observer(observer);
}

/// Without `wait`, what is in flight is not, or only in part, in the recording.
py::dict profile_stop(bool wait) {
  if (wait) runtime().machine.drain(std::nullopt);
  runtime().machine.set_observer(nullptr);
  const Trace trace = recorder().take();
  py::list lanes, records;
  for (size_t i = 0; i < trace.lanes.size(); ++i) {
    lanes.append(
        py::make_tuple(i, trace.lanes[i].name, trace.lanes[i].stream ? "stream" : "thread"));
  }
  for (const TraceRecord& record : trace.records) records.append(to_tuple(record));
  py::dict result;
  result["lanes"] = lanes;
  result["records"] = records;
  return result;
}

}  // namespace

void bind_profiler(py::module_& m) {
  m.def("profile_start", [] {
    set_observer(nullptr);
    recorder().take();
    set_observer(&recorder());
  });
  m.def("profile_stop", &profile_stop);
}

}  // namespace ofl::python
