__global__ void scale(const float *x, float *y, float factor, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) y[t] = factor * x[t];
}
