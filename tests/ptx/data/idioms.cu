// Kernels in the idioms of users' code; results are checked in test_idioms.py.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>
#include <cstdio>
#include <cassert>
#include <cstdint>
namespace cg = cooperative_groups;

// block reduce, cub-like
template <typename T, int BLOCK> struct BlockReduce {
  struct Temp { T partial[BLOCK / 32]; };
  Temp &temp;
  __device__ BlockReduce(Temp &t) : temp(t) {}
  template <typename Op> __device__ T reduce(T v, Op op) {
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v = op(v, __shfl_down_sync(0xffffffffu, v, o));
    if ((threadIdx.x & 31) == 0) temp.partial[threadIdx.x >> 5] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
      v = threadIdx.x < BLOCK / 32 ? temp.partial[threadIdx.x] : T(0);
#pragma unroll
      for (int o = 16; o > 0; o >>= 1) v = op(v, __shfl_xor_sync(0xffffffffu, v, o));
    }
    return v;
  }
};
struct Max { template <typename T> __device__ T operator()(T a, T b) const { return a > b ? a : b; } };
struct Sum { template <typename T> __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T, int BLOCK> __device__ void reduce_body(const T *in, T *out, int n) {
  __shared__ typename BlockReduce<T, BLOCK>::Temp temp;
  T s = 0;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) s += in[i];
  T total = BlockReduce<T, BLOCK>(temp).reduce(s, Sum());
  if (threadIdx.x == 0) atomicAdd(out, total);
}
extern "C" __global__ void block_sum_f(const float *in, float *out, int n) { reduce_body<float, 256>(in, out, n); }
extern "C" __global__ void block_sum_d(const double *in, double *out, int n) { reduce_body<double, 128>(in, out, n); }
extern "C" __global__ void block_sum_ll(const unsigned long long *in, unsigned long long *out, int n) { reduce_body<unsigned long long, 64>(in, out, n); }

// ballot compaction with warp-aggregated atomics
extern "C" __global__ void compact(const int *in, int *out, int *count, int n, int pivot) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && in[i] > pivot;
  unsigned mask = __ballot_sync(0xffffffffu, keep);
  int lane = threadIdx.x & 31;
  int base = 0;
  if (mask && lane == __ffs(mask) - 1) base = atomicAdd(count, __popc(mask));
  base = __shfl_sync(0xffffffffu, base, mask ? __ffs(mask) - 1 : 0);
  if (keep) out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
}
// coalesced group aggregated
extern "C" __global__ void compact_cg(const int *in, int *out, int *count, int n, int pivot) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (in[i] > pivot) {
      auto g = cg::coalesced_threads();
      int base;
      if (g.thread_rank() == 0) base = atomicAdd(count, g.size());
      out[g.shfl(base, 0) + g.thread_rank()] = in[i];
    }
  }
}
// tiled partition: segmented softmax with 8 lanes a row
extern "C" __global__ void row_softmax(const float *in, float *out, int rows, int cols) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
  if (row >= rows) return;
  float m = -INFINITY;
  for (int c = tile.thread_rank(); c < cols; c += 8) m = fmaxf(m, __ldg(in + row * cols + c));
  m = cg::reduce(tile, m, cg::greater<float>());
  float s = 0;
  for (int c = tile.thread_rank(); c < cols; c += 8) s += expf(__ldg(in + row * cols + c) - m);
  s = cg::reduce(tile, s, cg::plus<float>());
  for (int c = tile.thread_rank(); c < cols; c += 8) out[row * cols + c] = expf(in[row * cols + c] - m) / s;
}
// cp.async double buffering by pipeline primitives
extern "C" __global__ void stencil_async(const float *in, float *out, int tiles) {
  __shared__ float buf[2][256];
  const float *src = in + (size_t)blockIdx.x * tiles * 256;
  float *dst = out + (size_t)blockIdx.x * tiles * 256;
  __pipeline_memcpy_async(&buf[0][threadIdx.x * 4], src + threadIdx.x * 4, 16);
  __pipeline_commit();
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) {
      __pipeline_memcpy_async(&buf[(t + 1) & 1][threadIdx.x * 4], src + (t + 1) * 256 + threadIdx.x * 4, 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
      float l = buf[t & 1][(i + 255) % 256], r = buf[t & 1][(i + 1) % 256];
      dst[t * 256 + i] = 0.5f * (l + r) - buf[t & 1][i];
    }
    __syncthreads();
  }
}
// atomicCAS loops: double max and a byte add
__device__ double atomic_max(double *a, double v) {
  unsigned long long *p = (unsigned long long *)a, old = *p, assumed;
  do { assumed = old; if (__longlong_as_double(assumed) >= v) break; old = atomicCAS(p, assumed, __double_as_longlong(v)); } while (assumed != old);
  return __longlong_as_double(old);
}
extern "C" __global__ void cas_max(const double *v, const int *bin, double *best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(best + bin[i], v[i]);
}
// dynamic shared memory with switch and noinline functions
__device__ __noinline__ float op_of(int kind, float a, float b) {
  switch (kind) { case 0: return a + b; case 1: return a - b; case 2: return a * b; case 3: return fminf(a, b); case 4: return fmaxf(a, b); case 5: return a; case 6: return b; case 7: return sqrtf(fabsf(a)); default: return 0; }
}
extern "C" __global__ void interpreter(const unsigned char *code, int length, const float *x, float *out, int n) {
  extern __shared__ float stack[];
  int i = blockIdx.x * blockDim.x + threadIdx.x, sp = 0;
  float *mine = stack + threadIdx.x;
  if (i >= n) return;
  for (int pc = 0; pc < length; ++pc) {
    int c = code[pc];
    if (c >= 128) { mine[sp++ * blockDim.x] = x[(c - 128) * n + i]; }
    else { float b = mine[--sp * blockDim.x], a = mine[--sp * blockDim.x]; mine[sp++ * blockDim.x] = op_of(c, a, b); }
  }
  out[i] = mine[0];
}
// local arrays (spills): insertion sort of 24 values with dynamic indexing
extern "C" __global__ void local_sort(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v[24];
  for (int k = 0; k < 24; ++k) v[k] = in[(long long)k * n + i];
  for (int a = 1; a < 24; ++a) { int x = v[a], b = a - 1; while (b >= 0 && v[b] > x) { v[b + 1] = v[b]; --b; } v[b + 1] = x; }
  for (int k = 0; k < 24; ++k) out[(long long)k * n + i] = v[k];
}
// printf and assert
extern "C" __global__ void checked(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  assert(in[i] >= 0);
  if (i == 3) printf("thread %d has %d\n", i, in[i]);
  out[i] = in[i] * 2;
}
// half2 / bfloat16
extern "C" __global__ void half_axpy(const __half2 *x, __half2 *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}
extern "C" __global__ void bf_norm(const __nv_bfloat16 *x, __nv_bfloat16 *y, int cols) {
  const __nv_bfloat162 *row = (const __nv_bfloat162 *)(x + (size_t)blockIdx.x * cols);
  float s = 0;
  for (int c = threadIdx.x; c < cols / 2; c += 32) { float2 f = __bfloat1622float2(row[c]); s += f.x * f.x + f.y * f.y; }
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  float r = rsqrtf(s / cols + 1e-5f);
  for (int c = threadIdx.x; c < cols / 2; c += 32) { float2 f = __bfloat1622float2(row[c]); ((__nv_bfloat162 *)(y + (size_t)blockIdx.x * cols))[c] = __floats2bfloat162_rn(f.x * r, f.y * r); }
}
// 64-bit indices, constant memory, device globals
__constant__ float coeff[9];
__device__ int counter;
__device__ unsigned long long table[64];
extern "C" __global__ void globals(const float *in, float *out, unsigned long long n) {
  for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n; i += (unsigned long long)gridDim.x * blockDim.x) {
    float s = 0;
    for (int k = 0; k < 9; ++k) { long long j = (long long)i + k - 4; if (j >= 0 && j < (long long)n) s += coeff[k] * in[j]; }
    out[i] = s;
    atomicAdd(&table[i % 64], i);
    if (s > 1.f) atomicAdd(&counter, 1);
  }
}
// struct by value, pointer tables, lambda
struct Params { const float *a; float *b; int n; float scale; int stride[3]; };
template <typename F> __device__ void each(int n, F f) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) f(i); }
extern "C" __global__ void by_value(Params p) { each(p.n, [=](int i) { p.b[i * p.stride[1]] = p.a[i * p.stride[0]] * p.scale + p.stride[2]; }); }
// match_any, reduce_sync, funnel shift, brev, clz
extern "C" __global__ void bits(const unsigned *in, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = i < n ? in[i] : 0;
  unsigned peers = __match_any_sync(~0u, v & 7);
  unsigned total = __reduce_add_sync(peers, v);
  unsigned mx = __reduce_max_sync(~0u, v);
  unsigned f = __funnelshift_l(v, total, 5) ^ __brev(v) ^ (__clz(v) << 3) ^ __byte_perm(v, mx, 0x5140);
  if (i < n) out[i] = f + __popc(peers) + __any_sync(~0u, v == mx) + __dp4a((int)v, 0x01010101, 0);
}
// 128-bit products, 64-bit quotients and bits
extern "C" __global__ void wide(const unsigned long long *a, const unsigned long long *b, unsigned long long *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned __int128 p = (unsigned __int128)a[i] * b[i];
  unsigned long long lo = (unsigned long long)p, hi = (unsigned long long)(p >> 64);
  out[i] = lo ^ (hi * 3) ^ (a[i] / (b[i] | 1)) ^ (a[i] % (b[i] | 1)) ^ __popcll(a[i]) ^ ((unsigned long long)__ffsll(b[i]) << 8) ^ __umul64hi(a[i], b[i]) ^ __brevll(a[i]);
}
