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

#define SIDE 16

__device__ __forceinline__ void align(const int *reference, int *scores, int pitch, int penalty,
                                      int left, int bottom, bool corner_first) {
  __shared__ int best[SIDE + 1][SIDE + 1], match[SIDE][SIDE];
  int tx = threadIdx.x, bx = blockIdx.x;
  int corner = SIDE * (pitch * (bottom - bx) + left + bx), inner = corner + pitch + 1 + tx;
  if (corner_first && tx == 0) best[0][0] = scores[corner];
  for (int row = 0; row < SIDE; ++row) match[row][tx] = reference[inner + row * pitch];
  __syncthreads();
  if (!corner_first && tx == 0) best[0][0] = scores[corner];
  best[tx + 1][0] = scores[corner + pitch * (tx + 1)];
  __syncthreads();
  best[0][tx + 1] = scores[corner + 1 + tx];
  __syncthreads();
  for (int step = 0; step < 2 * SIDE - 1; ++step) {
    int first = max(0, step - (SIDE - 1));
    if (tx < SIDE - abs(step - (SIDE - 1))) {
      int x = tx + first + 1, y = step - tx - first + 1;
      int gap = max(best[y][x - 1], best[y - 1][x]) - penalty;
      best[y][x] = max(best[y - 1][x - 1] + match[y - 1][x - 1], gap);
    }
    __syncthreads();
  }
  for (int row = 0; row < SIDE; ++row) scores[inner + row * pitch] = best[row + 1][tx + 1];
}

extern "C" __global__ void grow(const int *reference, int *scores, int pitch, int penalty, int left,
                                int bottom) {
  align(reference, scores, pitch, penalty, left, bottom, true);
}

extern "C" __global__ void shrink(const int *reference, int *scores, int pitch, int penalty, int left,
                                  int bottom) {
  align(reference, scores, pitch, penalty, left, bottom, false);
}

extern "C" __global__ void begin(float *ranks, float *incoming, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) {
    ranks[t] = 1.0f / n;
    incoming[t] = 0;
  }
}

extern "C" __global__ void weigh(const int *row, const int *col, float *data, const int *degrees,
                                 int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int end = row[t + 1];
#pragma unroll 1
  for (int e = row[t]; e < end; ++e) data[e] = 1.0f / max(degrees[col[e]], 1);
}

extern "C" __global__ void pull(const int *row, const int *col, const float *data, const float *ranks,
                                float *incoming, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int end = row[t + 1];
  float sum = 0;
#pragma unroll 1
  for (int e = row[t]; e < end; ++e) sum += data[e] * ranks[col[e]];
  incoming[t] += sum;
}

extern "C" __global__ void update(float *ranks, float *incoming, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) {
    ranks[t] = 0.15 / n + 0.85 * incoming[t];
    incoming[t] = 0;
  }
}
