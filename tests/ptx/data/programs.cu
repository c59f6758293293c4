// Kernels of our own writing that do what programs of gpusim do that are written by hand.
// programs.ptx is what NVRTC 13.5 makes of them (--gpu-architecture=compute_80 -lineinfo).

extern "C" __global__ void row_sums(const float *a, float *x, float *result, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int j = 0; j < n; ++j) result[i] += a[i * n + j] * x[j];
}

extern "C" __global__ void column_sums(const float *a, float *x, float *result, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n)
    for (int i = 0; i < n; ++i) result[j] += a[i * n + j] * x[i];
}

struct Node { int start, degree; };

extern "C" __global__ void visit(Node *nodes, int *edges, bool *mask, bool *updating, bool *visited,
                                 int *cost, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n && mask[t]) {
    mask[t] = false;
    for (int e = nodes[t].start; e < nodes[t].start + nodes[t].degree; ++e) {
      int target = edges[e];
      if (!visited[target]) {
        cost[target] = cost[t] + 1;
        updating[target] = true;
      }
    }
  }
}

extern "C" __global__ void advance(bool *mask, bool *updating, bool *visited, bool *over, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n && updating[t]) {
    mask[t] = true;
    visited[t] = true;
    *over = true;
    updating[t] = false;
  }
}

#define BLOCK 256

extern "C" __global__ void cheapest(const int *wall, const int *source, int *result, int steps,
                                    int border, int columns, int start) {
  __shared__ int before[BLOCK], now[BLOCK];
  int t = threadIdx.x;
  int x = (BLOCK - 2 * steps) * blockIdx.x - border + t;
  bool inside = x >= 0 && x < columns, computed = inside;
  int first = (BLOCK - 2 * steps) * blockIdx.x - border;
  int least = max(0, -first), most = max(0, min(BLOCK, columns - first) - 1);
  int sum = 0;
  if (inside) before[t] = source[x];
  __syncthreads();
  for (int step = 0; step < steps; ++step) {
    computed = inside && t > step && t < BLOCK - 1 - step;
    if (computed) {
      int cost = min(before[t], min(before[max(t - 1, least)], before[min(t + 1, most)]));
      now[t] = sum = cost + wall[columns * (start + step) + x];
    }
    __syncthreads();
    if (step == steps - 1) break;
    if (computed) before[t] = now[t];
    __syncthreads();
  }
  if (computed) result[x] = sum;
}
