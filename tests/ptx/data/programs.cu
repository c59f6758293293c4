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

#define TILE 16

extern "C" __global__ void temperatures(const float *power, const float *source, float *result,
                                        int steps, int border, int n, float gain, float lateral,
                                        float vertical) {
  __shared__ float now[TILE][TILE], own_power[TILE][TILE], next[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int left = (TILE - 2 * steps) * blockIdx.x - border, top = (TILE - 2 * steps) * blockIdx.y - border;
  int x = left + tx, y = top + ty;
  bool inside = x >= 0 && x < n && y >= 0 && y < n, computed = inside;
  int west = max(tx - 1, max(0, -left)), east = min(tx + 1, max(0, min(TILE, n - left) - 1));
  int north = max(ty - 1, max(0, -top)), south = min(ty + 1, max(0, min(TILE, n - top) - 1));
  float warmer = 0;
  if (inside) {
    now[ty][tx] = source[n * y + x];
    own_power[ty][tx] = power[n * y + x];
  }
  __syncthreads();
  for (int step = 0; step < steps; ++step) {
    computed = inside && tx > step && tx < TILE - 1 - step && ty > step && ty < TILE - 1 - step;
    if (computed) {
      float own = now[ty][tx];
      float flow = (now[south][tx] + now[north][tx] + now[ty][east] + now[ty][west] - 4 * own) * lateral;
      next[ty][tx] = warmer = own + gain * (own_power[ty][tx] + flow + (80 - own) * vertical);
    }
    __syncthreads();
    if (step == steps - 1) break;
    if (computed) now[ty][tx] = next[ty][tx];
    __syncthreads();
  }
  if (computed) result[n * y + x] = warmer;
}
