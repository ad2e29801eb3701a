#include "tensor/index/index.h"

#include <algorithm>
#include <cstring>

#include "ops/index/places.h"
#include "tensor/layout.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

/// A tensor of the selected shape, seen with the picked dimensions first: as kernels want it.
Tensor picked_first(const Tensor& selected, const Selection& selection) {
  const int picked = selection.picked.size();
  if (selection.place == 0) return selected;
  SmallVector<int, 4> order;
  for (int d = 0; d < picked; ++d) order.push_back(selection.place + d);
  for (int d = 0; d < selected.ndim(); ++d) {
    if (d < selection.place || d >= selection.place + picked) order.push_back(d);
  }
  return permute_view(selected, order);
}

/// The index arrays, broadcast, or the mask: those of the selection, or kept in `made`.
SmallVector<const Tensor*, 4> selectors(const Selection& selection, const char* name,
                                        std::vector<Tensor>* made) {
  if (selection.mask) return {&*selection.mask};
  SmallVector<const Tensor*, 4> arrays;
  made->reserve(selection.arrays.size());
  for (const Tensor& array : selection.arrays) {
    const bool same = array.shape == selection.picked;
    if (!same) made->push_back(broadcast_view(array, selection.picked, name));
    arrays.push_back(same ? &array : &made->back());
  }
  return arrays;
}

void require_elements(const char* name, const Selection& selection) {
  if (selection.mask) return;
  require_elements(name, selection.picked, selection.x.shape, selection.axes.data(),
                   selection.indexed());
}

/// Elements that a read or write goes over.
double work_elements(const Selection& selection, const Dims& selected) {
  double elements = 1;
  for (int64_t d : selected) elements *= static_cast<double>(d);
  return selection.mask ? std::max(elements, double(selection.mask->size())) : elements;
}

/// Selectors that lie in the memory that is written are read from a copy, kept in `made`.
void keep_apart(const Issuer& issuer, const char* name, const Tensor& target,
                SmallVector<const Tensor*, 4>* inputs, std::vector<Tensor>* made) {
  made->reserve(inputs->size());
  for (const Tensor*& input : *inputs) {
    if (overlap(*input, target) == Overlap::none) continue;
    made->push_back(cast_copy(issuer, *input, input->dtype, name));
    input = &made->back();
  }
}

/// Writes `value` (picked dimensions first), or the scalar where it is null.
void write_selected(const Issuer& issuer, const char* name, const Selection& selection,
                    const Dims& selected, const Tensor* value, const Scalar& scalar,
                    int64_t expected) {
  require_elements(name, selection);
  const auto kernel = selection.mask ? ops::KernelId::mask_scatter : ops::KernelId::scatter;
  ArrayPlan plan{name, kernel, {}, {}, {}, {}};
  std::vector<Tensor> views, copies;
  plan.inputs = selectors(selection, name, &views);
  keep_apart(issuer, name, selection.x, &plan.inputs, &copies);
  if (value) plan.inputs.push_back(value);
  plan.outputs = {&selection.x};
  plan.targets = 1;
  plan.elements = work_elements(selection, selected);
  if (selection.mask) {
    plan.attr = {expected};
  } else {
    plan.attr = {static_cast<int64_t>(selection.mode), int64_t(selection.arrays.size())};
    for (int64_t axis : selection.axes) plan.attr.push_back(axis);
  }
  int64_t words[2];
  std::memcpy(words, scalar.bytes, sizeof words);
  for (int64_t word : words) plan.attr.push_back(word);
  submit(issuer, plan);
}

}  // namespace

void require_elements(const char* name, const Dims& picked, const Dims& x, const int64_t* axes,
                      int count) {
  if (element_count(picked) == 0) return;
  for (int k = 0; k < count; ++k) {
    if (x[k] > 0) continue;
    fail(ErrorKind::index, "[", name, "] axis ", axes[k], " has no elements to index");
  }
}

Tensor without_leading(const Tensor& value, int ndim) {
  Tensor trimmed = value;
  while (trimmed.ndim() > ndim && trimmed.shape[0] == 1) {
    Dims rest;
    for (int d = 1; d < trimmed.ndim(); ++d) rest.push_back(trimmed.shape[d]);
    trimmed = *reshape_view(trimmed, rest);
  }
  return trimmed;
}

Dims selected_shape(const Selection& selection) {
  Dims shape;
  const Dims& all = selection.x.shape;
  const int indexed = selection.indexed();
  for (int d = 0; d < selection.place; ++d) shape.push_back(all[indexed + d]);
  for (int64_t d : selection.picked) shape.push_back(d);
  for (int d = indexed + selection.place; d < all.size(); ++d) shape.push_back(all[d]);
  return shape;
}

Selection select_along(const Tensor& x, int axis, const Tensor& indices, ops::OutOfRange mode) {
  Selection selection;
  SmallVector<int, 4> order;
  order.push_back(axis);
  for (int d = 0; d < x.ndim(); ++d) {
    if (d != axis) order.push_back(d);
  }
  selection.x = permute_view(x, order);
  selection.arrays = {indices};
  selection.axes = {axis};
  selection.picked = indices.shape;
  selection.place = axis;
  selection.mode = mode;
  return selection;
}

namespace {

/// Gives `selected` strides with which the picked dimensions are outside the others in memory.
void lay_out_picked(const Selection& selection, Tensor* selected) {
  const int indexed = selection.indexed(), picked = selection.picked.size();
  Tensor rest = selection.x;
  rest.shape = rest.strides = {};
  for (int d = indexed; d < selection.x.ndim(); ++d) {
    rest.shape.push_back(selection.x.shape[d]);
    rest.strides.push_back(selection.x.strides[d]);
  }
  auto stride = static_cast<int64_t>(size_of(selected->dtype));
  const Dims others = strides_as_it_lies(rest, rest.shape, stride);
  for (int64_t extent : rest.shape) stride *= std::max<int64_t>(extent, 1);
  for (int d = 0; d < others.size(); ++d) {
    selected->strides[d < selection.place ? d : d + picked] = others[d];
  }
  for (int d = picked - 1; d >= 0; --d) {
    selected->strides[selection.place + d] = stride;
    stride *= std::max<int64_t>(selection.picked[d], 1);
  }
}

Tensor selected_into(const Issuer& issuer, const char* name, const Selection& selection,
                     Tensor&& made) {
  Tensor result = std::move(made);
  const auto kernel = selection.mask ? ops::KernelId::mask_gather : ops::KernelId::gather;
  ArrayPlan plan{name, kernel, {&selection.x}, {}, {}, {}};
  std::vector<Tensor> views;
  for (const Tensor* selector : selectors(selection, name, &views)) {
    plan.inputs.push_back(selector);
  }
  Tensor lined;  // the result as the kernel wants it
  if (selection.place) lined = picked_first(result, selection);
  plan.outputs = {selection.place ? &lined : &result};
  if (!selection.mask) {
    plan.attr = {static_cast<int64_t>(selection.mode)};
    for (int64_t axis : selection.axes) plan.attr.push_back(axis);
  }
  plan.elements = work_elements(selection, result.shape);
  submit(issuer, plan);
  return result;
}

Tensor make_selected(const Selection& selection, vm::SiteId site) {
  return make_tensor(selection.x.storage->state(), selection.x.dtype, selected_shape(selection),
                     site);
}

}  // namespace

Tensor take(const Issuer& issuer, const char* name, const Selection& selection) {
  require_elements(name, selection);
  return selected_into(issuer, name, selection, make_selected(selection, issuer.site));
}

Tensor gather(const Issuer& issuer, const char* name, const Selection& selection) {
  require_elements(name, selection);
  Tensor made = make_selected(selection, issuer.site);
  lay_out_picked(selection, &made);
  return selected_into(issuer, name, selection, std::move(made));
}

void scatter(const Issuer& issuer, const char* name, const Selection& selection,
             const Tensor& value) {
  require_same_device(name, selection.x.device(), value.device());
  require_writable(name, selection.x);
  Dims shape = selected_shape(selection);
  Tensor source = without_leading(value, shape.size());
  Selection sized = selection;
  int64_t expected = -1;
  if (selection.mask && selection.picked[0] < 0) {
    const int place = source.ndim() - shape.size() + selection.place;
    const int64_t given = place >= 0 ? source.shape[place] : 1;
    if (source.ndim() > static_cast<int>(shape.size())) {
      fail(ErrorKind::value, "[", name, "] expected values of at most ", shape.size(),
           " dimensions for the mask, got shape ", shape_str(source.shape));
    }
    if (given != 1) expected = given;
    sized.picked[0] = given;
    shape = selected_shape(sized);
  }
  if (source.dtype != selection.x.dtype || overlap(source, selection.x) != Overlap::none) {
    source = cast_copy(issuer, source, selection.x.dtype, name);
  }
  Tensor lined = picked_first(broadcast_view(source, shape, name), sized);
  if (selection.mask && sized.picked[0] == 1) lined.strides[0] = 0;  // serves any number of places
  write_selected(issuer, name, sized, shape, &lined, Scalar{}, expected);
}

void scatter(const Issuer& issuer, const char* name, const Selection& selection,
             const Scalar& value) {
  require_writable(name, selection.x);
  Selection sized = selection;
  if (selection.mask) sized.picked = {1};
  write_selected(issuer, name, sized, selected_shape(sized), nullptr, value, -1);
}

constexpr int64_t kCountedHere = 16384;  // elements: some microseconds

std::optional<int64_t> count_nonzero_here(const Issuer& issuer, const Tensor& x) {
  if (issuer.sink || !x.storage->on_host() || x.size() > kCountedHere) return std::nullopt;
  const vm::Operand read{&x.storage->dependence(), vm::Access::read};
  vm::InlineScope here(issuer.machine.window(), &read, 1);
  if (!here) return std::nullopt;
  issuer.machine.note_look();
  return ops::count_nonzero({x.address(), x.dtype, x.shape, x.strides});
}

Tensor count_nonzero(const Issuer& issuer, const char* name, const Tensor& x) {
  Tensor count = make_tensor(x.storage->state(), DType::i64, {}, issuer.site);
  submit(issuer, {name, ops::KernelId::count_nonzero, {&x}, {&count}, {}, {}});
  return count;
}

Tensor nonzero(const Issuer& issuer, const char* name, const Tensor& x, int64_t count) {
  Tensor coordinates = make_tensor(x.storage->state(), DType::i64, {x.ndim(), count}, issuer.site);
  submit(issuer, {name, ops::KernelId::nonzero, {&x}, {&coordinates}, {}, {}});
  return coordinates;
}

}  // namespace ofl
