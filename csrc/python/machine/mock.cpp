// The knobs of mock devices.
#include <pybind11/stl.h>

#include "ep/mock/mock_knobs.h"
#include "python/bind.h"
#include "vm/devices/device_table.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

struct KnobRow {
  const char* name;
  double (*get)(const ep::MockKnobs&);
  void (*set)(ep::MockKnobs&, double);
};

#define OFL_KNOB(field)                                                   \
  {#field, [](const ep::MockKnobs& k) { return double(k.field.load()); }, \
   [](ep::MockKnobs& k, double v) { k.field.store(v); }}
#define OFL_FAULT(field)                                                                 \
  {"fail_" #field, [](const ep::MockKnobs& k) { return double(k.faults.field.load()); }, \
   [](ep::MockKnobs& k, double v) { k.faults.field.store(int64_t(v)); }}

const KnobRow kKnobs[] = {
    {"devices", [](const ep::MockKnobs& k) { return double(k.devices); },
     [](ep::MockKnobs& k, double v) {
       if (v < 0 || v > vm::kMaxDevicesPerType) {
         fail(ErrorKind::value, "[mock] devices must be 0 to ", vm::kMaxDevicesPerType, ", got ",
              v);
       }
       k.devices = int(v);
     }},
    {"capacity", [](const ep::MockKnobs& k) { return double(k.capacity.load()); },
     [](ep::MockKnobs& k, double v) { k.capacity.store(uint64_t(v)); }},
    OFL_KNOB(h2d),
    OFL_KNOB(d2h),
    OFL_KNOB(d2d),
    OFL_KNOB(launch_latency),
    OFL_KNOB(compute),
    OFL_KNOB(jitter),
    OFL_FAULT(alloc),
    OFL_FAULT(launch),
    OFL_FAULT(copy),
    OFL_FAULT(event),
};
#undef OFL_KNOB
#undef OFL_FAULT

void mock_configure(const std::map<std::string, double>& values) {
  for (const auto& [name, value] : values) {
    const KnobRow* row = nullptr;
    for (const KnobRow& each : kKnobs) row = each.name == name ? &each : row;
    if (!row) fail(ErrorKind::value, "[mock] no knob named ", name);
    if (!(value >= 0))
      fail(ErrorKind::value, "[mock] ", name, " must not be negative, got ", value);
    row->set(ep::mock_knobs(), value);
  }
}

py::dict mock_knobs() {
  py::dict values;
  for (const KnobRow& row : kKnobs) values[row.name] = row.get(ep::mock_knobs());
  return values;
}

}  // namespace

void bind_mock_functions(py::module_& m) {
  m.def("mock_configure", &mock_configure);
  m.def("mock_knobs", &mock_knobs);
}

}  // namespace ofl::python
