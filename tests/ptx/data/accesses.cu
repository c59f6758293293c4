// Kernels whose accesses the tests know by hand. accesses.ptx is what NVRTC 13.5 makes of them
// (--gpu-architecture=compute_80 -lineinfo).

extern "C" __global__ void strided(const int *in, int *out, int step, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t * step < n) out[t] = in[t * step];
}

extern "C" __global__ void divergent(const int *odd, const int *even, int *out) {
  int t = threadIdx.x;
  int value = 0;
  if (t % 2) {
    for (int i = 0; i < 2; ++i) value = odd[t + value];
  } else {
    value = even[t + 64];
    if (t == 4) value += even[t];
  }
  out[t] = value;
}

extern "C" __global__ void loop(const int *begin, const int *list, int *out) {
  int t = threadIdx.x, sum = 0;
#pragma unroll 1
  for (int e = begin[t]; e < begin[t + 1]; ++e) sum += list[e];
  out[t] = sum;
}

extern "C" __global__ void vectors(const float4 *in, double2 *out) {
  float4 v = in[threadIdx.x];
  out[threadIdx.x] = make_double2(v.x + v.y, v.z + v.w);
}

extern "C" __global__ void atomics(const int *in, int *bins, int *total) {
  int t = threadIdx.x;
  int place = atomicAdd(&bins[in[t] & 7], 1);
  atomicMax(total, place);
}

extern "C" __global__ void shuffled(const int *in, int *out) {
  int t = threadIdx.x;
  int index = __shfl_xor_sync(0xffffffff, in[t], 1);
  out[index] = __popc(__ballot_sync(0xffffffff, index > 4));
}

extern "C" __global__ void transpose(const float *in, float *out) {
  __shared__ float tile[32][32];
  for (int y = threadIdx.y; y < 32; y += blockDim.y) tile[y][threadIdx.x] = in[y * 32 + threadIdx.x];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += blockDim.y) out[y * 32 + threadIdx.x] = tile[threadIdx.x][y];
}

__constant__ int steps[4] = {3, 1, 2, 0};

extern "C" __global__ void constants(const char *in, char *out) {
  int t = threadIdx.x;
  out[t] = in[t * 4 + steps[t % 4]];
}

extern "C" __global__ void spilled(const int *in, int *out, int n) {
  int own[16];
  for (int i = 0; i < 16; ++i) own[i] = in[i];
  out[threadIdx.x] = own[(threadIdx.x * n) & 15];
}

extern "C" __global__ void coherent(volatile int *flag, const int *__restrict__ in, int *out) {
  int seen = *flag;
  out[threadIdx.x] = __ldg(in + threadIdx.x) + __ldcg(in + threadIdx.x + 32) + seen;
}

__device__ int total;

extern "C" __global__ void generic(int **lists, int which) {
  __shared__ int own[32];
  own[threadIdx.x] = threadIdx.x;
  int *place = which ? own : lists[blockIdx.x];
  place[threadIdx.x] += 2;
  __syncthreads();
  atomicAdd(&total, own[threadIdx.x]);
}

extern "C" __global__ void copied(const int *in, int *out) {
  __shared__ int own[64];
  unsigned to = (unsigned)__cvta_generic_to_shared(&own[threadIdx.x]);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + threadIdx.x));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  out[threadIdx.x] = own[63 - threadIdx.x];
}
