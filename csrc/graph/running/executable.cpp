#include "graph/running/executable.h"

#include "base/error.h"
#include "graph/running/replay.h"

namespace ofl::graph {

namespace {

/// "(2, 3) float32 cpu": of errors.
std::string type_str(DType dtype, const Dims& shape, Device device) {
  return concat(shape_str(shape), " ", name_of(dtype), " on ", device.str());
}

}  // namespace

Executable::Executable(vm::VirtualMachine& machine, std::string name, const ProgramParts& program,
                       std::vector<Tensor> bound)
    : machine_(machine),
      name_(std::move(name)),
      inputs_(program.inputs),
      bound_(std::move(bound)),
      lowered_(lower(machine, program)) {
  for (const Step& step : lowered_.steps) cost_ += step.cost;
  for (int64_t i = 0; i < lowered_.input_count; ++i) {
    if (lowered_.bases[i].is_written) written_inputs_.push_back(i);
  }
}

void Executable::check(const Tensor* const* arguments, int count) const {
  const int expected = static_cast<int>(inputs_.size() - bound_.size());
  if (count != expected) {
    fail(ErrorKind::value, "[", name_, "] expected ", expected, " arguments, got ", count);
  }
  for (int i = 0; i < count; ++i) {
    const Value& type = inputs_[i];
    const Tensor& x = *arguments[i];
    const bool fits = x.dtype == type.dtype && x.shape == type.shape && x.strides == type.strides &&
                      x.device() == type.device;
    if (!fits) {
      fail(ErrorKind::value, "[", name_, "] argument ", i, " is ",
           type_str(x.dtype, x.shape, x.device()), ", expected ",
           type_str(type.dtype, type.shape, type.device), ", with the strides of the program");
    }
  }
}

/// What one input is written to, no other one may see: the program was made for memories apart.
void Executable::check_apart(const Tensor* const* given) const {
  for (const int64_t i : written_inputs_) {
    require_writable(name_.c_str(), *given[i]);
    for (int64_t k = 0; k < lowered_.input_count; ++k) {
      if (k == i || overlap(*given[i], *given[k]) == Overlap::none) continue;
      fail(ErrorKind::value, "[", name_, "] writes to input ", i,
           ", which shares its memory with input ", k, "; copy one of them first");
    }
  }
}

std::vector<Tensor> Executable::run(const Issuer& issuer, const Tensor* const* arguments,
                                    int count, const Scalar* scalars) const {
  check(arguments, count);
  SmallVector<const Tensor*, 16> given;
  for (int i = 0; i < count; ++i) given.push_back(arguments[i]);
  for (const Tensor& x : bound_) given.push_back(&x);
  check_apart(given.data());
  if (machine_.may_act_at_once() && machine_.is_small(cost_) && inline_run()) {
    if (auto results = inline_run()->run(issuer, lowered_, given.data(), scalars)) {
      inline_runs_.fetch_add(1, std::memory_order_relaxed);
      return std::move(*results);
    }
  }
  issued_runs_.fetch_add(1, std::memory_order_relaxed);
  return issue(issuer, given.data(), scalars);
}

namespace {

/// The memories of one run, by base.
struct Frame {
  const Lowered& lowered;
  const Tensor* const* given;
  std::vector<StorageRef> storages;

  Tensor bound(const Placed& placed) const {
    const int64_t b = placed.base;
    const int64_t start = lowered.is_input(b) ? lowered.start_of(b, *given[b]) : 0;
    return Lowered::bound(placed, storages[b], start);
  }
};

void issue_loops(const Issuer& issuer, const Step& step, const Tensor* operands,
                 const Scalar* scalars) {
  LoopPlan plan = *step.loops;
  for (const GivenScalar& given : step.given) plan.args.scalars[given.place] = scalars[given.slot];
  for (size_t k = 0; k < step.operands.size(); ++k) {
    plan.operands[k] = step.operands[k].base < 0 ? nullptr : &operands[k];
  }
  submit(issuer, plan);
}

void issue_arrays(const Issuer& issuer, const Step& step, const Tensor* operands) {
  ArrayPlan plan = *step.arrays;
  const int inputs = plan.inputs.size();
  for (int k = 0; k < inputs; ++k) plan.inputs[k] = &operands[k];
  for (int k = 0; k < plan.outputs.size(); ++k) plan.outputs[k] = &operands[inputs + k];
  submit(issuer, plan);
}

}  // namespace

std::vector<Tensor> Executable::issue(const Issuer& issuer, const Tensor* const* given,
                                      const Scalar* scalars) const {
  Frame frame{lowered_, given, std::vector<StorageRef>(lowered_.bases.size())};
  for (int64_t b = 0; b < lowered_.input_count; ++b) frame.storages[b] = given[b]->storage;
  for (size_t i = 0; i < lowered_.steps.size(); ++i) {
    const Step& step = lowered_.steps[i];
    const Issuer from{machine_, step.site ? step.site : issuer.site};
    std::vector<Tensor> operands(step.operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      const int64_t b = step.operands[k].base;
      if (b < 0) continue;
      const Base& base = lowered_.bases[b];
      if (!frame.storages[b]) {
        frame.storages[b] =
            StorageRef::adopt(TensorStorage::make(*base.state, base.bytes, from.site));
      }
      operands[k] = frame.bound(step.operands[k]);
    }
    switch (step.kind) {
      case Step::Kind::loops: issue_loops(from, step, operands.data(), scalars); break;
      case Step::Kind::arrays: issue_arrays(from, step, operands.data()); break;
      case Step::Kind::transfer: transfer_to(from, operands[0], operands[1]); break;
      case Step::Kind::allocate: allocate(from, operands[0]); break;
    }
    operands.clear();  // what nobody needs any more is let go, as by a program that drops it
    for (const Placed& operand : step.operands) {
      if (operand.base < 0) continue;
      const Base& base = lowered_.bases[operand.base];
      if (base.last == static_cast<int64_t>(i) && !base.is_result) {
        frame.storages[operand.base].reset();
      }
    }
  }
  std::vector<Tensor> results;
  for (const Placed& placed : lowered_.results) results.push_back(frame.bound(placed));
  return results;
}

}  // namespace ofl::graph
