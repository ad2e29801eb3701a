#include "ops/cuda/fusion/prepared.h"

#include <algorithm>

namespace ofl::ops::cuda {

namespace {

/// Ways in which memories begin. A run with yet another one runs the members one by one.
constexpr size_t kMostPlans = 16;

}  // namespace

PreparedGroup::Planned::Planned(const FusionGroup& group, char* const* bases,
                                const std::vector<GivenScalar>& given)
    : plan(group, bases) {
  for (const Scalar* scalar : plan.scalars()) {
    const auto found = std::find_if(given.begin(), given.end(), [scalar](const GivenScalar& each) {
      return each.first == scalar;
    });
    numbers.push_back(found == given.end() ? -1 : found->second);
  }
}

PreparedGroup::PreparedGroup(FusionGroup group, int bases, std::vector<GivenScalar> given)
    : group_(std::move(group)), given_(std::move(given)) {
  const std::vector<char*> allocated(static_cast<size_t>(bases), nullptr);
  first_ = std::make_unique<const Planned>(group_, allocated.data(), given_);
}

/// Null: there are too many.
const PreparedGroup::Planned* PreparedGroup::find(ep::Device& device, char* const* bases) const {
  if (first_->plan.fits(bases)) return first_.get();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& planned : others_) {
    if (planned->plan.fits(bases)) return planned.get();
  }
  if (others_.size() == kMostPlans) return nullptr;
  others_.push_back(std::make_unique<const Planned>(group_, bases, given_));
  others_.back()->plan.make_kernel_soon(device);
  return others_.back().get();
}

bool PreparedGroup::launch(ep::Stream& queue, const char* name, char* const* bases,
                           const Scalar* given) const {
  const Planned* const planned = find(queue.device(), bases);
  void* const kernel = planned ? planned->plan.find_kernel(queue.device()) : nullptr;
  if (!kernel) return false;
  SmallVector<const Scalar*, layout::kFusedScalars> scalars;
  for (const int32_t number : planned->numbers) {
    scalars.push_back(number < 0 ? nullptr : &given[number]);
  }
  Launching launching(queue, name);
  return planned->plan.launch(launching, kernel, bases, scalars.begin());
}

}  // namespace ofl::ops::cuda
