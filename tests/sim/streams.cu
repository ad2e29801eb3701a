// Kernels of streams.cpp.
extern "C" __global__ void fill(float* p, float value, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) p[i] = value;
}

extern "C" __global__ void total(const float* p, float* sum, int count) {
  __shared__ float partial[256];
  float v = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) v += p[i];
  partial[threadIdx.x] = v;
  for (int k = blockDim.x / 2; k; k /= 2) {
    __syncthreads();
    if (threadIdx.x < k) partial[threadIdx.x] += partial[threadIdx.x + k];
  }
  if (threadIdx.x == 0) *sum = partial[0];
}
