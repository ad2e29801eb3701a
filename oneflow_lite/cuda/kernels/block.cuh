// What the threads of a block do together. Blocks have whole warps, 32 at most.

namespace ofl {

/// The sum of the values of the threads before this one; `total` gets that of all. Every thread of
/// the block calls it; `sums` is shared, a word for each warp, and free again when it returns.
template <typename T>
T exclusive_scan(T value, T* sums, T& total) {
  const uint32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T sum = value;
#pragma unroll
  for (uint32 step = 1; step < 32; step *= 2) {
    const T before = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += before;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  T offset = 0, all = 0;
  for (uint32 w = 0; w < warps; ++w) {
    if (w == warp) offset = all;
    all += sums[w];
  }
  __syncthreads();
  total = all;
  return offset + sum - value;
}

}  // namespace ofl
