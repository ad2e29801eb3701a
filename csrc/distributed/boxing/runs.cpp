#include "distributed/boxing/runs.h"

namespace ofl::distributed {

namespace {

/// A message costs about as much as to copy so many bytes there and back.
constexpr int64_t kLeastBytes = 8 << 10;
/// Messages of a piece. Each has two requests to the transport, and many make it slow.
constexpr int64_t kMost = 64;

/// The first of the dimensions whose elements make a run.
int first_of_run(const Tensor& x, int64_t run) {
  int first = x.ndim();
  for (int64_t elements = 1; elements < run; elements *= x.shape[first]) --first;
  return first;
}

}  // namespace

int64_t message_size(const Box& piece, const Box& of_sender, const Box& of_receiver, DType dtype) {
  const int64_t all = piece.elements();
  int64_t run = 1;
  for (int d = piece.extent.size() - 1; d >= 0; --d) {
    const int64_t extent = piece.extent[d];
    run *= extent;
    if (extent != of_sender.extent[d] || extent != of_receiver.extent[d]) break;
  }
  const bool is_long = run * static_cast<int64_t>(size_of(dtype)) >= kLeastBytes;
  return is_long && all <= kMost * run ? run : all;
}

bool lies_in_runs(const Tensor& x, int64_t run) {
  auto expected = static_cast<int64_t>(size_of(x.dtype));
  for (int d = x.ndim() - 1; d >= first_of_run(x, run); --d) {
    if (x.shape[d] == 1) continue;
    if (x.strides[d] != expected) return false;
    expected *= x.shape[d];
  }
  return true;
}

std::vector<Tensor> runs_of(const Tensor& x, int64_t run) {
  const int first = first_of_run(x, run);
  std::vector<Tensor> runs;
  Tensor one = x;
  one.shape = Dims{run};
  one.strides = Dims{static_cast<int64_t>(size_of(x.dtype))};
  Dims at(first);
  for (int64_t left = run ? x.size() / run : 0; left > 0; --left) {
    one.offset = x.offset;
    for (int d = 0; d < first; ++d) one.offset += at[d] * x.strides[d];
    runs.push_back(one);
    for (int d = first - 1; d >= 0 && ++at[d] == x.shape[d]; --d) at[d] = 0;
  }
  return runs;
}

}  // namespace ofl::distributed
