#include "graph/planning/additions.h"

#include <algorithm>
#include <utility>

#include "graph/memory/assigns.h"
#include "ops/product/gemm.h"

namespace ofl::graph {

namespace {

constexpr int64_t kNone = -1;

bool is_product(const Step& step) {
  return step.loops && step.loops->args.kernel == ops::KernelId::matmul;
}

/// The sum of two tensors.
bool is_sum(const Step& step) {
  if (!step.loops || step.loops->args.kernel != ops::KernelId::elementwise) return false;
  const ops::OpDef* const op = step.loops->args.op;
  return op && op->adds && op->nin == 2 && step.operands[0].base >= 0 && step.operands[1].base >= 0;
}

bool lies_alike(const Tensor& x, const Tensor& y) {
  return x.dtype == y.dtype && x.shape == y.shape && x.strides == y.strides && x.offset == y.offset;
}

/// A sum that a product may make; operands of it by their places.
struct Found {
  int64_t sum, product;
  int accumulator, part;
};

/// Each write in place by a sum makes a new value, so that the analysis sees what is read before it
/// and what after.
class Adding {
 public:
  explicit Adding(Lowered* lowered)
      : lowered_(*lowered), maker_(lowered->bases.size(), kNone), value_(lowered->bases.size()) {}

  /// The notes, in the order of the program.
  std::vector<AdditionNote> run() {
    for (size_t b = 0; b < value_.size(); ++b) value_[b] = new_value(static_cast<int64_t>(b));
    for (size_t i = 0; i < lowered_.steps.size(); ++i) look_at(static_cast<int64_t>(i));
    if (!found_.empty()) decide();
    std::sort(notes_.begin(), notes_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<AdditionNote> notes;
    for (const auto& [step, note] : notes_) notes.push_back(note);
    return notes;
  }

 private:
  void decide() {
    for (size_t b = 0; b < value_.size(); ++b) {
      const bool is_result = lowered_.bases[b].is_result;
      if (is_result && !lowered_.is_input(b)) values_.kinds[value_[b]] = ValueKind::result;
    }
    const Integers one_lane(lowered_.steps.size(), 0);
    const AddTo decided = addto(accesses_, additions_, values_, one_lane, {});
    take(decided.reasons);
  }

  int64_t new_value(int64_t base) {
    const int64_t value = values_.count();
    values_.classes.push_back(value);
    values_.kinds.push_back(lowered_.is_input(base) ? ValueKind::given : ValueKind::temporary);
    values_.places.push_back(0);
    return value;
  }

  void look_at(int64_t i) {
    const Step& step = lowered_.steps[i];
    const Found found = is_sum(step) ? sum_of_product(i) : Found{i, kNone, 0, 0};
    const char* const refusal = found.product < 0 ? nullptr : why_not(found);
    const bool is_candidate = found.product >= 0 && !refusal;
    if (refusal) notes_.push_back({i, {step.site, false, refusal}});
    const int last = static_cast<int>(step.operands.size()) - 1;
    const int64_t accumulator = is_candidate ? value_of(step, found.accumulator) : kNone;
    const int64_t part = is_candidate ? value_of(step, found.part) : kNone;
    for (size_t k = 0; k < step.operands.size(); ++k) {
      if (step.operands[k].base >= 0 && !step.writes[k]) touch(step, k, Access::read);
    }
    if (is_candidate && step.operands[last].base == step.operands[found.accumulator].base) {
      value_[step.operands[last].base] = new_value(step.operands[last].base);
    }
    for (size_t k = 0; k < step.operands.size(); ++k) {
      if (step.operands[k].base < 0 || !step.writes[k]) continue;
      touch(step, k, Access::write);
      maker_[step.operands[k].base] = i;
    }
    accesses_.end_row();
    if (!is_candidate) return;
    found_.push_back(found);
    additions_.push_back({i, accumulator, part, value_of(step, last)});
  }

  int64_t value_of(const Step& step, size_t k) const { return value_[step.operands[k].base]; }
  void touch(const Step& step, size_t k, Access how) { accesses_.add({value_of(step, k), how}); }

  /// The term that a product made last is the part.
  Found sum_of_product(int64_t i) const {
    const Step& step = lowered_.steps[i];
    Found found{i, kNone, 0, 0};
    for (int k = 0; k < 2; ++k) {
      const int64_t maker = maker_[step.operands[k].base];
      if (maker <= found.product || !is_product(lowered_.steps[maker])) continue;
      found = {i, maker, 1 - k, k};
    }
    return found;
  }

  /// A reason against the addition that the analysis does not know; null: the analysis decides.
  const char* why_not(const Found& found) const {
    const Step& sum = lowered_.steps[found.sum];
    const Step& product = lowered_.steps[found.product];
    const Placed& result = sum.operands.back();
    const Placed& made = product.operands.back();
    if (!lowered_.bases[made.base].state->device.runs_host_kernels()) {
      return "the products of the device do not add";
    }
    const auto reason = [](Reason reason) { return kReasons[static_cast<int>(reason)].text; };
    for (const int k : {found.accumulator, found.part}) {
      const Placed& term = sum.operands[k];
      if (term.layout.dtype != result.layout.dtype) return "the terms have other dtypes";
      if (term.layout.shape != result.layout.shape) return reason(Reason::broadcast);
      const bool is_whole = lowered_.bases[term.base].bytes == lowered_.bases[result.base].bytes &&
                            lies_alike(term.layout, result.layout);
      if (!is_whole) return reason(Reason::at_another_place);
    }
    const ops::LoopArgs& args = product.loops->args;
    const bool is_same = made.layout.dtype == result.layout.dtype &&
                         made.layout.offset == result.layout.offset &&
                         made.layout.size() == result.layout.size();
    if (!is_same) return reason(Reason::at_another_place);
    const bool is_empty = result.layout.size() == 0 || args.attr[1] == 0;
    return is_empty || !ops::can_add_product(args) ? "no product of these matrices adds" : nullptr;
  }

  void take(const std::vector<Reason>& reasons) {
    std::vector<int64_t> home(lowered_.bases.size());
    for (size_t b = 0; b < home.size(); ++b) home[b] = static_cast<int64_t>(b);
    std::vector<bool> is_gone(lowered_.steps.size());
    for (size_t i = 0; i < found_.size(); ++i) {
      const bool is_added = reasons[i] == Reason::allowed;
      const Found& found = found_[i];
      const Step& sum = lowered_.steps[found.sum];
      const char* const text = kReasons[static_cast<int>(reasons[i])].text;
      notes_.push_back({found.sum, {sum.site, is_added, text}});
      if (!is_added) continue;
      const int64_t accumulator = home[sum.operands[found.accumulator].base];
      home[sum.operands.back().base] = accumulator;
      home[sum.operands[found.part].base] = accumulator;
      lowered_.steps[found.product].loops->args.attr[3] = 1;
      is_gone[found.sum] = true;
    }
    move(home);
    remove(is_gone);
  }

  /// Bases that are others now; all that refers to them follows.
  void move(const std::vector<int64_t>& home) {
    for (size_t b = 0; b < home.size(); ++b) {
      Base& base = lowered_.bases[home[b]];
      base.is_result = base.is_result || lowered_.bases[b].is_result;
      if (home[b] != static_cast<int64_t>(b)) lowered_.bases[b].is_result = false;
    }
    for (Step& step : lowered_.steps) {
      for (Placed& operand : step.operands) {
        if (operand.base >= 0) operand.base = home[operand.base];
      }
    }
    for (Placed& result : lowered_.results) result.base = home[result.base];
  }

  void remove(const std::vector<bool>& is_gone) {
    std::vector<Step> steps;
    for (size_t i = 0; i < is_gone.size(); ++i) {
      if (!is_gone[i]) steps.push_back(std::move(lowered_.steps[i]));
    }
    lowered_.steps = std::move(steps);
    lowered_.find_uses();
  }

  Lowered& lowered_;
  std::vector<int64_t> maker_;  // of each base: the step that wrote it last
  Integers value_;              // of each base: the value that it holds now
  Values values_;
  Accesses accesses_;
  std::vector<Addition> additions_;
  std::vector<Found> found_;                             // of each addition
  std::vector<std::pair<int64_t, AdditionNote>> notes_;  // with the step of the sum
};

}  // namespace

void add_into_accumulators(Lowered* lowered) { lowered->additions = Adding(lowered).run(); }

}  // namespace ofl::graph
