// Kernels that share variables, and take structures: what a host gives them is tested.
// users.ptx is what NVRTC 13.5 makes of them (--gpu-architecture=compute_80 -lineinfo).
#include <cuda_fp16.h>

__device__ int counter;

__global__ void count(const int *x, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n && x[t] > 3) atomicAdd(&counter, 1);
}

__global__ void counted(int *out) { out[threadIdx.x] = counter; }

struct Inner {
  short first;
  double second;
};

struct Image {
  int width;
  float scale[4];
  Inner inner;
  const float *from;
  float *to;
  unsigned char bias;
};

extern "C" __global__ void scaled(Image image) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= image.width) return;
  image.to[t] = image.from[t] * image.scale[t % 4] + image.bias + image.inner.first * (float)image.inner.second;
}

extern "C" __global__ void halved(__half2 *x, __half factor) {
  x[threadIdx.x] = __hmul2(__half2half2(factor), x[threadIdx.x]);
}

struct Nothing {};

template <typename T, int N, typename U> __global__ void filled(T *out, U) { out[threadIdx.x] = N; }
template __global__ void filled<float, 3, Nothing>(float *, Nothing);
