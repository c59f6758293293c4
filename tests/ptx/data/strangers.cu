// Kernels as they are written elsewhere: their results are held against numpy's.
// strangers.ptx is what NVRTC 13.5 makes of them (--gpu-architecture=compute_80 -lineinfo).
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>

template <typename T, int N> struct Sum {
  T value[N];
  __device__ void add(const T *p) { for (int i = 0; i < N; ++i) value[i] += p[i]; }
};

extern "C" __global__ void templates(const float *x, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  Sum<float, 4> sum{};
  for (int k = 0; k < 3; ++k) sum.add(x + (t * 3 + k) * 4);
  out[t] = sum.value[0] + sum.value[1] + sum.value[2] + sum.value[3];
}

extern "C" __global__ void local_array(const float *x, const int *index, float *out) {
  float a[16];
  int t = threadIdx.x;
  for (int i = 0; i < 16; ++i) a[i] = i * x[t];
  out[t] = a[index[t]];
}

extern "C" __global__ void cases(const int *m, volatile int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  switch (m[t]) {
  case 0: out[t] = t; break;
  case 1: out[t] = t * t; out[t] += 1; break;
  case 2: out[t] = t - 7; break;
  case 3: out[t] = t ^ 85; out[t] *= 3; break;
  case 4: out[t] = t << 3; break;
  case 5: out[t] = -t; break;
  default: out[t] = 99;
  }
}

__device__ __noinline__ float step(float a, const float *p, int i) { return a * p[i] + 1; }

extern "C" __global__ void calls(const float *p, float *out) {
  int t = threadIdx.x;
  float s = 0;
  for (int i = 0; i < 4; ++i) s += step(s, p, t * 4 + i);
  out[t] = s;
}

extern "C" __global__ void prints(int *out) {
  int t = threadIdx.x;
  if (t == 0) printf("hello %d %f\n", t, 1.5);
  out[t] = t;
}

extern "C" __global__ void asserts(const int *x, int *out) {
  int t = threadIdx.x;
  assert(x[t] < 40);
  out[t] = x[t];
}

extern "C" __global__ void assembly(const uint32_t *x, uint32_t *out) {
  int t = threadIdx.x;
  uint32_t v = x[t], a, b, c;
  asm("mad.lo.u32 %0, %1, 3, 7;" : "=r"(a) : "r"(v));
  asm volatile("{.reg .u32 t1; mov.u32 t1, %1; shf.r.wrap.b32 %0, t1, t1, 8;}" : "=r"(b) : "r"(v));
  asm volatile("{.reg .f32 t1; cvt.rn.f32.u32 t1, %1; mov.b32 %0, t1;}" : "=r"(c) : "r"(v & 255));
  for (int i = 0; i < 3; ++i)
    asm volatile("{.reg .pred q; setp.gt.u32 q, %0, 10; @q bra OVER; add.u32 %0, %0, 1; OVER: }"
                 : "+r"(a));
  asm volatile("{.reg .pred q; setp.gt.u32 q, %0, 5; @q bra OVER; mov.u32 %0, 77; OVER: }" : "+r"(a));
  out[t] = a, out[32 + t] = b, out[64 + t] = c;
}

extern "C" __global__ void halves(const __half2 *x, __half2 *out) {
  int t = threadIdx.x;
  out[t] = __hfma2(x[t], x[t], __float2half2_rn(1.f));
}

extern "C" __global__ void votes(const int *x, uint32_t *out) {
  int t = threadIdx.x, v = x[t];
  out[t] = __ballot_sync(~0u, v > 2);
  out[64 + t] = __match_any_sync(~0u, v);
  out[128 + t] = __reduce_add_sync(~0u, v);
  out[192 + t] = __shfl_xor_sync(~0u, v, 5);
}

extern "C" __global__ void divisions(const long long *a, const long long *b, long long *out) {
  int t = threadIdx.x;
  out[t] = a[t] / b[t];
  out[32 + t] = a[t] % b[t];
  out[64 + t] = __mul64hi(a[t], b[t]);
}

__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int counter;

extern "C" __global__ void variables(float *out) {
  extern __shared__ char raw[];
  float *s = (float *)raw;
  s[threadIdx.x] = weights[threadIdx.x & 3];
  __syncthreads();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + 0 * atomicAdd(&counter, 1);
}

extern "C" __global__ void atomics(const int *x, int *i, unsigned long long *u, double *d) {
  int v = x[threadIdx.x];
  atomicAdd(i, v); atomicSub(i + 1, v); atomicMax(i + 2, v); atomicMin(i + 3, v);
  atomicOr(i + 4, 1 << v); atomicAnd(i + 5, v); atomicXor(i + 6, v);
  int old = i[7], assumed;
  do { assumed = old; old = atomicCAS(i + 7, assumed, assumed + v); } while (assumed != old);
  atomicAdd(u, (unsigned long long)v);
  atomicAdd(d, (double)v);
}

__device__ int lock;

extern "C" __global__ void spin(volatile int *out) {
  while (atomicCAS(&lock, 0, 1)) {}
  *out = *out + 1;
  __threadfence();
  atomicExch(&lock, 0);
}

extern "C" __global__ void matrices(const half *a, const half *b, float *c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  load_matrix_sync(fc, c, 16, mem_row_major);
  load_matrix_sync(fa, a, 16);
  load_matrix_sync(fb, b, 16);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(c, fc, 16, mem_row_major);
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursion(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x); }

extern "C" __global__ void allocates(int *out) {
  int *p = (int *)malloc(16);
  p[0] = threadIdx.x;
  out[threadIdx.x] = p[0];
  free(p);
}

extern "C" __global__ void texture(cudaTextureObject_t t, const float *x, float *out) {
  out[threadIdx.x] = x[tex1Dfetch<int>(t, threadIdx.x)];
}
