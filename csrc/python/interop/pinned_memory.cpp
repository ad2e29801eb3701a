// Tensors of the cpu in pinned memory: copies from and to devices use it as it is, where they would
// stage other memory.
#include "ep/device.h"
#include "python/bind.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"
#include "tensor/sharing.h"

namespace ofl::python {

namespace {

/// The device whose driver pins memory: the thread's default, one that is in use, or the first.
Device pinning_device() {
  const Device chosen = default_device();
  if (ep::backend_of(chosen.type).stages_pageable) return chosen;
  for (const ep::Device* known : known_devices()) {
    if (known->stages_pageable()) return known->id();
  }
  std::string hints;
  for (const ep::Backend& row : ep::backends()) {
    if (row.stages_pageable && row.count() > 0) return {row.type, 0};
    if (row.stages_pageable && row.hint) hints += row.hint();
  }
  fail(ErrorKind::runtime, "[pin_memory] there is no device to pin memory for", hints);
}

PyObject* is_pinned(Arguments given) {
  return PyBool_FromLong(require_tensor(given[0], "is_pinned").storage->is_pinned());
}

PyMethodDef functions[] = {positional<is_pinned, 1>("is_pinned"), {nullptr, nullptr, 0, nullptr}};

}  // namespace

Tensor new_pinned(DType dtype, const Dims& shape) {
  refuse_while_recording("empty of pinned memory");
  return empty_pinned(issuer(), pinning_device(), dtype, shape);
}

void init_pinned_memory(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
