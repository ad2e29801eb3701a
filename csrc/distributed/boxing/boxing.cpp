#include "distributed/boxing/boxing.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "distributed/boxing/mail.h"
#include "distributed/boxing/operators.h"
#include "distributed/boxing/route.h"
#include "distributed/boxing/runs.h"

namespace ofl::distributed {

namespace {

bool is_in(const Placement& placement, int32_t rank) { return placement.parallel_id(rank) >= 0; }

/// The operator of the partial values that a step ends.
PartialOp operator_of(const BoxingStep& step) {
  for (const Sbp& sbp : step.from->sbps()) {
    if (sbp.is_partial()) return sbp.op;
  }
  return PartialOp::sum;
}

/// Carries out one step on one rank.
class Step {
 public:
  Step(const Issuer& issuer, Member& member, const BoxingStep& step, Device home, const Part& part)
      : issuer_(issuer), member_(member), step_(step), home_(home), part_(part) {}

  Tensor run() {
    switch (step_.kind) {
      case StepKind::slice: return sliced();
      case StepKind::place: return placed();
      case StepKind::reduce:
        if (is_added_in_parts(step_.from->placement().grid()[step_.axis], bytes())) {
          return added_in_parts();
        }
        break;
      case StepKind::reduce_scatter:
      case StepKind::move:
      case StepKind::gather:
      case StepKind::exchange: break;
    }
    return exchanged();
  }

 private:
  /// What comes from a peer, or is this rank's own.
  struct Incoming {
    Box box;
    Tensor value;  // of the mail's device, if it is received
    bool is_received;
  };

  int64_t bytes() const { return part_.tensor.size() * static_cast<int64_t>(size_of(part_.dtype)); }
  static Box box_at(const Layout& layout, int32_t rank) {
    return layout.box(layout.placement().parallel_id(rank));
  }
  Box box_of(const Layout& layout) const { return box_at(layout, member_.rank()); }
  Tensor new_tensor(const Dims& shape) const { return empty(issuer_, home_, part_.dtype, shape); }
  Mail mail(const std::vector<int32_t>& ranks) const {
    return Mail(issuer_, member_, ranks, part_.dtype, home_);
  }
  Meaning meaning() const {
    return {kStepKindNames[static_cast<int>(step_.kind)], part_.dtype, step_.from, step_.to};
  }

  Tensor sliced() const {
    const Tensor view = view_of(part_.tensor, box_of(*step_.from), box_of(*step_.to));
    return cast_copy(issuer_, view, part_.dtype, "slice");
  }

  /// The first rank along the axis keeps what all of them have; parts of a split are all kept.
  Tensor placed() const {
    const Sbp& was = step_.from->sbps()[step_.axis];
    const AxisRanks along(step_.from->placement(), step_.axis, member_.rank());
    const bool keeps = was.share == Share::split || along.place == 0;
    const Box whole = box_of(*step_.to);
    const PartialOp op = step_.to->sbps()[step_.axis].op;
    const Tensor result = full(issuer_, home_, part_.dtype, whole.extent, neutral(op, part_.dtype));
    const Box own = box_of(*step_.from);
    if (keeps) assign(issuer_, view_of(result, whole, own), part_.tensor, "place");
    return result;
  }

  /// Large partial values: each rank adds a part of the elements, and the sums go to all.
  Tensor added_in_parts() const {
    const AxisRanks along(step_.from->placement(), step_.axis, member_.rank());
    const auto count = static_cast<int64_t>(along.ranks.size());
    const Tensor flat = flattened(contiguous(issuer_, part_.tensor));
    const Box whole = {Dims(1), Dims{flat.size()}};
    const auto range_of = [&](int64_t k) {
      const Range range = distributed::part_of({0, flat.size()}, count, k);
      return Box{Dims{range.start}, Dims{range.extent}};
    };
    const Box own = range_of(along.place);
    Mail parts = mail(along.ranks);
    std::vector<Tensor> values;
    for (int64_t k = 0; k < count; ++k) {
      if (k == along.place) {
        values.push_back(view_of(flat, whole, own));
      } else {
        parts.send(along.ranks[k], view_of(flat, whole, range_of(k)));
        values.push_back(parts.receive(along.ranks[k], own.extent));
      }
    }
    parts.deliver(meaning());
    for (Tensor& value : values) value = parts.arrived(value);
    const Tensor sum = combine_tree(issuer_, operator_of(step_), std::move(values));

    Mail sums = mail(along.ranks);
    const Tensor gathered = empty(issuer_, sums.device(), part_.dtype, Dims{flat.size()});
    const Tensor own_sum = to_device(issuer_, sum, sums.device(), false);
    for (int64_t k = 0; k < count; ++k) {
      const Tensor range = view_of(gathered, whole, range_of(k));
      if (k == along.place) {
        assign(issuer_, range, own_sum, "gather");
      } else {
        sums.send(along.ranks[k], own_sum);
        sums.receive_into(along.ranks[k], range);
      }
    }
    sums.deliver(meaning());
    return *reshape_view(sums.arrived(gathered), part_.tensor.shape);
  }

  static Tensor flattened(const Tensor& x) { return *reshape_view(x, Dims{x.size()}); }

  /// Pieces from rank to rank, by their boxes.
  Tensor exchanged() const {
    const Route& route = route_of(step_, member_.rank(), part_.dtype);
    Mail mail = this->mail(route.ranks);
    for (const Leg& leg : route.sends) {
      mail.send(leg.piece.rank, view_of(part_.tensor, route.before, leg.piece.box), leg.by);
    }
    Tensor result;
    std::vector<std::vector<Incoming>> incoming;
    if (route.is_after) incoming = prepare(route, &mail, &result);
    mail.deliver(meaning());
    if (route.is_after) finish(mail, incoming, &result);
    return result;
  }

  /// What arrives, by boxes. Pieces that are whole go straight into the result, where they lie
  /// there in long runs.
  std::vector<std::vector<Incoming>> prepare(const Route& route, Mail* mail, Tensor* result) const {
    const std::vector<Leg>& legs = route.receives;
    std::vector<std::vector<Incoming>> incoming;
    const auto is_another_value = [](const Leg& leg) { return leg.piece.part > 0; };
    const bool is_partial = std::any_of(legs.begin(), legs.end(), is_another_value);
    if (!is_partial || legs.empty() || legs.front().piece.box.extent != route.after.extent) {
      *result = new_tensor(route.after.extent);
    }
    const bool is_direct = !is_partial && home_ == mail->device();
    for (const auto& [piece, by] : legs) {
      const bool is_received = piece.rank != member_.rank();
      Tensor value;
      if (!is_received) {
        value = view_of(part_.tensor, route.before, piece.box);
      } else {
        if (is_direct) value = view_of(*result, route.after, piece.box);
        if (value.storage && lies_in_runs(value, by)) {
          mail->receive_into(piece.rank, value, by);
        } else {
          value = mail->receive(piece.rank, piece.box.extent, by);
        }
      }
      const Box& box = piece.box;
      const auto same = std::find_if(incoming.begin(), incoming.end(), [&box](const auto& others) {
        return others.front().box == box;
      });
      auto& others = same == incoming.end() ? incoming.emplace_back() : *same;
      others.push_back({box, value, is_received});
    }
    return incoming;
  }

  void finish(const Mail& mail, const std::vector<std::vector<Incoming>>& incoming,
              Tensor* result) const {
    const Box whole = box_of(*step_.to);
    for (const std::vector<Incoming>& parts : incoming) {
      const bool is_there = parts.size() == 1 && parts[0].is_received && result->storage &&
                            parts[0].value.storage.get() == result->storage.get();
      if (is_there) continue;
      std::vector<Tensor> values;
      for (const Incoming& part : parts) values.push_back(mail.arrived(part.value));
      const Tensor value = combine_tree(issuer_, operator_of(step_), std::move(values));
      if (result->storage) {
        assign(issuer_, view_of(*result, whole, parts[0].box), value, "unpack");
      } else {
        *result = value;
      }
    }
  }

  const Issuer& issuer_;
  Member& member_;
  const BoxingStep& step_;
  const Device home_;
  const Part& part_;
};

}  // namespace

void require_values(const Sbps& sbps, DType dtype, const char* op) {
  if (dtype == DType::b1) return;
  for (const Sbp& sbp : sbps) {
    if (!sbp.is_partial() || (sbp.op != PartialOp::any && sbp.op != PartialOp::all)) continue;
    fail(ErrorKind::type, "[", op, "] ", sbp.str(), " is of bools, got ", name_of(dtype),
         "; x.astype('bool') makes them");
  }
}

Tensor view_of(const Tensor& x, const Box& whole, const Box& part) {
  Tensor view = x;
  view.shape = part.extent;
  if (part.elements() == 0) return view;
  for (int d = 0; d < x.ndim(); ++d) view.offset += (part.start[d] - whole.start[d]) * x.strides[d];
  return view;
}

Part box(const Issuer& issuer, Member& member, const Layout& from, const Layout& to, Device home,
         const Part& part) {
  Part at = part;
  for (const BoxingStep& step : plan_boxing(from, to)) {
    const bool takes_part =
        is_in(step.from->placement(), member.rank()) || is_in(step.to->placement(), member.rank());
    at.tensor = takes_part ? Step(issuer, member, step, home, at).run() : Tensor();
  }
  return at;
}

}  // namespace ofl::distributed
