extern "C" __global__ void total(const float4* in, float* out, int n) {
  extern __shared__ float part[];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = in[i];
    sum += v.x + v.y + v.z + v.w;
  }
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) all += part[w];
    atomicAdd(out, all);
  }
}
extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned own[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) atomicAdd(&own[in[t]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) if (own[i]) atomicAdd(&bins[i], own[i]);
}
extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = t < n && in[t] % 3 == 0;
  unsigned votes = __ballot_sync(0xffffffff, keep);
  int lane = threadIdx.x % 32, base = 0;
  if (lane == 0 && votes) base = atomicAdd(count, __popc(votes));
  base = __shfl_sync(0xffffffff, base, 0);
  if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = in[t];
}
struct Pair { float* data; int n; };
__device__ __noinline__ float wave(float x, int n) { float s = 0; for (int i = 0; i < n; ++i) s += sinf(x * i); return s; }
extern "C" __global__ void spectrum(Pair p, double* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float local[8];
  for (int i = 0; i < 8; ++i) local[i] = p.data[(t * 7 + i) % p.n];
  float s = wave(local[t % 8], t % 5);
  out[t] = sqrt((double)s * s + local[(t * 3) % 8]) / (t + 1);
}
