extern "C" __global__ void bfs(const int* row, const int* col, const int* level, int* next, int* over, int depth, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n && level[t] == depth)
    for (int e = row[t]; e < row[t + 1]; ++e) {
      int v = col[e];
      if (level[v] < 0) { next[v] = depth + 1; *over = 1; }
    }
}
