// Real kernels, each at some sizes: microseconds with cold caches and with warm ones, or, with `once`, each launched
// a single time for a profiler.
//
//     ./kernels            CSV: kernel, size, microseconds cold (median, least, most), warm (the same)
//     ./kernels once       launches all of them, in the same order, and prints only their names
//
// Matrices, graphs and indices come from `mixed`, so that gpusim's program `hardware_kernels` has the same.
#include "harness.cuh"

// ---- streams -----------------------------------------------------------------------------------

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void vector_add4(const float4* a, const float4* b, float4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 x = a[i], y = b[i];
        c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
}

__global__ void copy(const float* a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i];
}

__global__ void copy_grid_stride(const float4* a, float4* b, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) b[i] = a[i];
}

// ---- matrices ----------------------------------------------------------------------------------

// An element of C a thread.
__global__ void gemm_naive(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

// The same, with the sum stored in each iteration, as the arrays might overlap.
__global__ void gemm_stored(const float* a, const float* b, float* c, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    c[row * n + column] *= 0.5f;
#pragma unroll 8
    for (int k = 0; k < n; ++k) c[row * n + column] += 2.0f * a[row * n + k] * b[k * n + column];
}

// Tiles of A and B in shared memory, an element of C a thread.
template <int TILE>
__global__ void gemm_tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// 128 x 128 of C a block of 256 threads, 8 x 8 a thread; tiles of 8 columns of A (transposed) and 8 rows of B.
__global__ void __launch_bounds__(256) gemm_registers(const float* __restrict__ a, const float* __restrict__ b,
                                                       float* __restrict__ c, int n) {
    __shared__ float left[8][128], right[8][128];
    int t = threadIdx.x, tx = t % 16 * 4, ty = t / 16 * 4;
    int row = blockIdx.y * 128, column = blockIdx.x * 128;
    const float* from_a = a + (size_t)(row + t / 2) * n + t % 2 * 4;
    const float* from_b = b + (size_t)(t / 32) * n + column + t % 32 * 4;
    float sum[8][8] = {};
    for (int k = 0; k < n; k += 8) {
        float4 x = *(const float4*)(from_a + k);
        float4 y = *(const float4*)(from_b + (size_t)k * n);
        left[t % 2 * 4 + 0][t / 2] = x.x;
        left[t % 2 * 4 + 1][t / 2] = x.y;
        left[t % 2 * 4 + 2][t / 2] = x.z;
        left[t % 2 * 4 + 3][t / 2] = x.w;
        *(float4*)&right[t / 32][t % 32 * 4] = y;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float p[8], q[8];
            *(float4*)p = *(float4*)&left[i][ty], *(float4*)(p + 4) = *(float4*)&left[i][ty + 64];
            *(float4*)q = *(float4*)&right[i][tx], *(float4*)(q + 4) = *(float4*)&right[i][tx + 64];
#pragma unroll
            for (int m = 0; m < 8; ++m)
#pragma unroll
                for (int o = 0; o < 8; ++o) sum[m][o] += p[m] * q[o];
        }
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < 8; ++m) {
        float* to = c + (size_t)(row + ty + m % 4 + m / 4 * 64) * n + column + tx;
        *(float4*)to = *(float4*)&sum[m][0];
        *(float4*)(to + 64) = *(float4*)&sum[m][4];
    }
}

// Column-major C = A B^T, 128 x 16 of C a block of 128 threads, a row of 16 a thread; 8 columns of B in shared memory.
__global__ void __launch_bounds__(128) gemm_row_tiles(const float* __restrict__ a, const float* __restrict__ b,
                                                       float* __restrict__ c, int n) {
    __shared__ float tile[8][16];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.x * 128 + threadIdx.x, column = blockIdx.y * 16;
    float sum[16] = {};
    for (int k = 0; k < n; k += 8) {
        tile[ty][tx] = b[column + tx + (k + ty) * n];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            float x = a[row + (k + j) * n];
#pragma unroll
            for (int i = 0; i < 16; ++i) sum[i] += x * tile[j][i];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) c[row + (column + i) * n] = sum[i];
}

__global__ void transpose_naive(const float* a, float* b, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8) b[x * n + y + i] = a[(y + i) * n + x];
}

template <int PITCH>
__global__ void transpose_tiled(const float* a, float* b, int n) {
    __shared__ float tile[32][PITCH];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = a[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8) b[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

// ---- matrix times vector, convolution ----------------------------------------------------------

// A row a thread: lanes a row apart.
__global__ void matvec_rows(const float* __restrict__ a, const float* __restrict__ x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 8
    for (int j = 0; j < n; ++j) sum += a[i * n + j] * x[j];
    y[i] = sum;
}

// A column a thread: lanes beside each other.
__global__ void matvec_columns(const float* __restrict__ a, const float* __restrict__ x, float* y, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 8
    for (int i = 0; i < n; ++i) sum += a[i * n + j] * x[i];
    y[j] = sum;
}

__global__ void convolution3x3(const float* a, float* b, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1) {
        const float* p = a + y * n + x;
        b[y * n + x] = 0.2f * p[-n - 1] - 0.3f * p[-n] + 0.4f * p[-n + 1] + 0.5f * p[-1] + 0.6f * p[0] + 0.7f * p[1] -
                       0.8f * p[n - 1] - 0.9f * p[n] + 0.1f * p[n + 1];
    }
}

// ---- reduction, scan ---------------------------------------------------------------------------

// Blocks of 256 threads, four loads a thread under way, then a tree in shared memory.
__global__ void reduction(const float* a, float* sums, int n) {
    __shared__ float part[256];
    float sum = 0;
    int step = gridDim.x * 256, i = blockIdx.x * 256 + threadIdx.x;
    for (; i + 3 * step < n; i += 4 * step) sum += a[i] + a[i + step] + a[i + 2 * step] + a[i + 3 * step];
    for (; i < n; i += step) sum += a[i];
    part[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

// Inclusive sums of each block of 256 elements, doubling the distance in shared memory.
__global__ void scan_blocks(const int* a, int* b, int* sums, int n) {
    __shared__ int part[2][256];
    int i = blockIdx.x * 256 + threadIdx.x, t = threadIdx.x, now = 0;
    part[0][t] = i < n ? a[i] : 0;
    __syncthreads();
#pragma unroll
    for (int distance = 1; distance < 256; distance *= 2) {
        part[1 - now][t] = part[now][t] + (t >= distance ? part[now][t - distance] : 0);
        now = 1 - now;
        __syncthreads();
    }
    if (i < n) b[i] = part[now][t];
    if (t == 255) sums[blockIdx.x] = part[now][t];
}

__global__ void scan_add(int* b, const int* sums, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (blockIdx.x > 0 && i < n) b[i] += sums[blockIdx.x - 1];
}

// ---- sparse matrices ---------------------------------------------------------------------------

// A row a thread.
__global__ void spmv_row(const int* row, const int* column, const float* value, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
        for (int j = row[i]; j < row[i + 1]; ++j) sum += value[j] * x[column[j]];
        y[i] = sum;
    }
}

// A row a warp.
__global__ void spmv_warp(const int* row, const int* column, const float* value, const float* x, float* y, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i < n) {
        float sum = 0;
        for (int j = row[i] + lane; j < row[i + 1]; j += 32) sum += value[j] * x[column[j]];
        for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(~0u, sum, half);
        if (lane == 0) y[i] = sum;
    }
}

// ---- stencils ----------------------------------------------------------------------------------

__global__ void stencil5(const float* a, float* b, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1) {
        int i = y * n + x;
        b[i] = 0.2f * (a[i] + a[i - 1] + a[i + 1] + a[i - n] + a[i + n]);
    }
}

__global__ void stencil7(const float* a, float* b, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1 && z > 0 && z < n - 1) {
        int i = (z * n + y) * n + x;
        b[i] = 0.14f * (a[i] + a[i - 1] + a[i + 1] + a[i - n] + a[i + n] + a[i - n * n] + a[i + n * n]);
    }
}

// ---- histograms, gathers, graphs ---------------------------------------------------------------

__global__ void histogram_global(const uint32_t* a, uint32_t* bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[a[i] & 255], 1u);
}

__global__ void histogram_shared(const uint32_t* a, uint32_t* bins, int n) {
    __shared__ uint32_t own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&own[a[i] & 255], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__global__ void gather(const int* index, const float* table, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[index[i]];
}

__global__ void gups(uint64_t* table, uint32_t mask, int updates) {
    uint32_t t = blockIdx.x * blockDim.x + threadIdx.x, x = mixed(t);
    for (int i = 0; i < updates; ++i) {
        x = mixed(x + i);
        table[x & mask] ^= x;
    }
}

// A vertex a thread; those of this level mark their neighbours of none.
__global__ void bfs_level(const int* row, const int* column, int* level, int now, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && level[v] == now) {
        for (int j = row[v]; j < row[v + 1]; ++j) {
            int u = column[j];
            if (level[u] < 0) level[u] = now + 1;
        }
    }
}

__global__ void empty() {}

// ---- inputs ------------------------------------------------------------------------------------

struct Csr {
    std::vector<int> row, column;
};

// Sixteen entries a row around the diagonal.
Csr banded(int n) {
    Csr made{{0}, {}};
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < 16; ++j) made.column.push_back(std::min(std::max(i + 4 * j - 30, 0), n - 1));
        made.row.push_back(made.column.size());
    }
    return made;
}

// Rows of 4, 8, .. 2048 entries, each length half as often as the one before it; columns at random.
Csr power_law(int n) {
    Csr made{{0}, {}};
    for (int i = 0; i < n; ++i) {
        int zeros = 0;
        for (uint32_t bits = mixed(i + 1); zeros < 9 && !(bits & 1); bits >>= 1) ++zeros;
        for (int j = 0; j < 4 << zeros; ++j) made.column.push_back(mixed(i * 2048u + j) % n);
        made.row.push_back(made.column.size());
    }
    return made;
}

// Eight neighbours each, at random.
Csr random_graph(int n) {
    Csr made{{0}, {}};
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < 8; ++j) made.column.push_back(mixed(i * 8u + j) % n);
        made.row.push_back(made.column.size());
    }
    return made;
}

int main(int argc, char** argv) {
    begin_kernels(argc, argv);
    auto blocks = [](int n, int threads) { return (n + threads - 1) / threads; };
    constexpr int KI = 1 << 10, MI = 1 << 20;

    for (int n : {1, 132, 1024, 4096, 8192, 65536}) kernel("empty", n, [=] { empty<<<n, 256>>>(); });
    for (int n : {64 * KI, MI, 4 * MI, 16 * MI, 64 * MI}) {
        float *a = numbers(n), *b = numbers(n), *c = take<float>(n);
        kernel("vector_add", n, [=] { vector_add<<<n / 256, 256>>>(a, b, c, n); });
    }
    for (int n : {MI, 4 * MI, 16 * MI, 64 * MI}) {
        float *a = numbers(n), *b = numbers(n), *c = take<float>(n);
        kernel("vector_add4", n, [=] { vector_add4<<<n / 1024, 256>>>((float4*)a, (float4*)b, (float4*)c, n / 4); });
    }
    for (int n : {MI, 4 * MI, 16 * MI, 64 * MI}) {
        float *a = numbers(n), *b = take<float>(n);
        kernel("copy", n, [=] { copy<<<n / 256, 256>>>(a, b, n); });
    }
    for (int n : {4 * MI, 16 * MI, 64 * MI}) {
        float *a = numbers(n), *b = take<float>(n);
        kernel("copy_grid_stride", n, [=] { copy_grid_stride<<<1056, 256>>>((float4*)a, (float4*)b, n / 4); });
    }
    for (int n : {128, 256, 512, 1024, 2048}) {
        float *a = numbers(n * n), *b = numbers(n * n), *c = take<float>(n * n);
        kernel("gemm_naive", n, [=] { gemm_naive<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(a, b, c, n); });
    }
    for (int n : {128, 256, 512, 1024}) {
        float *a = numbers(n * n), *b = numbers(n * n), *c = take<float>(n * n);
        kernel("gemm_stored", n, [=] { gemm_stored<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(a, b, c, n); });
    }
    for (int n : {256, 512, 1024, 2048}) {
        float *a = numbers(n * n), *b = numbers(n * n), *c = take<float>(n * n);
        kernel("gemm_tiled_16", n, [=] { gemm_tiled<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n); });
    }
    for (int n : {256, 512, 1024, 2048}) {
        float *a = numbers(n * n), *b = numbers(n * n), *c = take<float>(n * n);
        kernel("gemm_tiled_32", n, [=] { gemm_tiled<32><<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, c, n); });
    }
    for (int n : {512, 1024, 2048, 4096}) {
        float *a = numbers(n * n), *b = numbers(n * n), *c = take<float>(n * n);
        kernel("gemm_registers", n, [=] { gemm_registers<<<dim3(n / 128, n / 128), 256>>>(a, b, c, n); });
    }
    for (int n : {256, 512, 1024, 2048}) {
        float *a = numbers(n * n), *b = numbers(n * n), *c = take<float>(n * n);
        kernel("gemm_row_tiles", n, [=] { gemm_row_tiles<<<dim3(n / 128, n / 16), 128>>>(a, b, c, n); });
    }
    for (int n : {512, 1024, 2048, 4096, 8192}) {
        float *a = numbers(n * n), *b = take<float>(n * n);
        kernel("transpose_naive", n, [=] { transpose_naive<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(a, b, n); });
        a = numbers(n * n), b = take<float>(n * n);
        kernel("transpose_tiled_32", n, [=] { transpose_tiled<32><<<dim3(n / 32, n / 32), dim3(32, 8)>>>(a, b, n); });
        a = numbers(n * n), b = take<float>(n * n);
        kernel("transpose_tiled_33", n, [=] { transpose_tiled<33><<<dim3(n / 32, n / 32), dim3(32, 8)>>>(a, b, n); });
    }
    for (int n : {1024, 2048, 4096, 8192}) {
        float *a = numbers(n * n), *x = numbers(n), *y = take<float>(n);
        kernel("matvec_rows", n, [=] { matvec_rows<<<n / 256, 256>>>(a, x, y, n); });
        a = numbers(n * n), x = numbers(n), y = take<float>(n);
        kernel("matvec_columns", n, [=] { matvec_columns<<<n / 256, 256>>>(a, x, y, n); });
        a = numbers(n * n);
        float* b = take<float>(n * n);
        kernel("convolution3x3", n, [=] { convolution3x3<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(a, b, n); });
    }
    for (int n : {MI, 4 * MI, 16 * MI, 64 * MI}) {
        float *a = numbers(n), *sums = take<float>(1056);
        kernel("reduction", n, [=] { reduction<<<1056, 256>>>(a, sums, n); });
    }
    for (int n : {MI, 4 * MI, 16 * MI}) {
        int *a = (int*)numbers(n), *b = take<int>(n), *sums = take<int>(n / 256);
        kernel("scan_blocks", n, [=] { scan_blocks<<<n / 256, 256>>>(a, b, sums, n); });
        b = take<int>(n), sums = take<int>(n / 256);
        kernel("scan_add", n, [=] { scan_add<<<n / 256, 256>>>(b, sums, n); });
    }
    for (int n : {16 * KI, 64 * KI, 256 * KI}) {
        for (int law = 0; law < 2; ++law) {
            Csr csr = law ? power_law(n) : banded(n);
            auto arrays = [&] {
                return std::make_tuple(take(csr.row), take(csr.column), numbers(csr.column.size()), numbers(n), take<float>(n));
            };
            auto [row, column, value, x, y] = arrays();
            kernel(law ? "spmv_row_power_law" : "spmv_row_banded", n,
                   [=, r = row, j = column, v = value, p = x, q = y] { spmv_row<<<n / 256, 256>>>(r, j, v, p, q, n); });
            std::tie(row, column, value, x, y) = arrays();
            kernel(law ? "spmv_warp_power_law" : "spmv_warp_banded", n,
                   [=, r = row, j = column, v = value, p = x, q = y] { spmv_warp<<<n / 8, 256>>>(r, j, v, p, q, n); });
        }
    }
    for (int n : {512, 1024, 2048, 4096, 8192}) {
        float *a = numbers(n * n), *b = take<float>(n * n);
        kernel("stencil5", n, [=] { stencil5<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(a, b, n); });
    }
    for (int n : {64, 128, 256}) {
        float *a = numbers(n * n * n), *b = take<float>(n * n * n);
        kernel("stencil7", n, [=] { stencil7<<<dim3(n / 32, n / 8, n), dim3(32, 8)>>>(a, b, n); });
    }
    for (int n : {MI, 4 * MI, 16 * MI}) {
        for (int skewed = 0; skewed < 2; ++skewed) {
            std::vector<uint32_t> values(n);
            for (int i = 0; i < n; ++i) values[i] = skewed && mixed(i + 7) % 2 ? 0 : mixed(i);
            auto *a = take(values), *bins = take<uint32_t>(256);
            kernel(skewed ? "histogram_global_skewed" : "histogram_global", n, [=] { histogram_global<<<528, 256>>>(a, bins, n); });
            a = take(values), bins = take<uint32_t>(256);
            kernel(skewed ? "histogram_shared_skewed" : "histogram_shared", n, [=] { histogram_shared<<<528, 256>>>(a, bins, n); });
        }
    }
    for (int n : {MI, 4 * MI, 16 * MI, 64 * MI}) {
        std::vector<int> index(n);
        for (int i = 0; i < n; ++i) index[i] = mixed(i) & (n - 1);
        auto *where = take(index);
        float *table = numbers(n), *out = take<float>(n);
        kernel("gather", n, [=] { gather<<<n / 256, 256>>>(where, table, out, n); });
    }
    for (int n : {MI, 4 * MI, 16 * MI, 64 * MI}) {
        auto* table = (uint64_t*)take<uint64_t>(n);
        kernel("gups", n, [=] { gups<<<1024, 256>>>(table, n - 1, 8); });
    }
    for (int n : {64 * KI, 256 * KI, MI}) {
        Csr csr = random_graph(n);
        for (int now = 0; now < 12; ++now) {
            std::vector<int> level(n, -1);
            level[0] = 0;
            std::vector<int> frontier{0};
            int reached = 0;
            for (int l = 0; l < now; ++l) {
                std::vector<int> next;
                for (int v : frontier)
                    for (int j = csr.row[v]; j < csr.row[v + 1]; ++j)
                        if (level[csr.column[j]] < 0) level[csr.column[j]] = l + 1, next.push_back(csr.column[j]);
                frontier = next;
            }
            reached = frontier.size();
            if (!reached) break;
            auto *row = take(csr.row), *column = take(csr.column), *saved = take(level), *levels = take<int>(n);
            static char name[32];
            snprintf(name, sizeof name, "bfs_level_%d", now);
            kernel(name, n, [=] { bfs_level<<<blocks(n, 256), 256>>>(row, column, levels, now, n); },
                   [=] { CHECK(cudaMemcpy(levels, saved, n * sizeof(int), cudaMemcpyDeviceToDevice)); });
        }
    }
}
