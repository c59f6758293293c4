// More real kernels, which no value of a model was chosen by, and whose cycles were simulated before they were
// measured.  They are run as those of kernels.cu.
#include "harness.cuh"

// ---- rows --------------------------------------------------------------------------------------

// A row of 1024 a block of 256 threads: its maximum, then its sum, over warps and then in shared memory.
__global__ void softmax(const float4* __restrict__ in, float4* __restrict__ out) {
    __shared__ float part[8];
    int t = threadIdx.x, place = blockIdx.x * 256 + t;
    float4 x = in[place];
    float most = fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w));
#pragma unroll
    for (int half = 16; half > 0; half /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, half));
    if (t % 32 == 0) part[t / 32] = most;
    __syncthreads();
    most = part[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) most = fmaxf(most, part[i]);
    x = make_float4(__expf(x.x - most), __expf(x.y - most), __expf(x.z - most), __expf(x.w - most));
    float sum = x.x + x.y + x.z + x.w;
#pragma unroll
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
    __syncthreads();
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    sum = part[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) sum += part[i];
    float scale = __fdividef(1.0f, sum);
    out[place] = make_float4(x.x * scale, x.y * scale, x.z * scale, x.w * scale);
}

// A row of 512 a warp, four vectors a lane under way: mean and variance by shuffles.
__global__ void layer_norm(const float4* __restrict__ in, const float4* __restrict__ weight, float4* __restrict__ out) {
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float4 x[4];
    float sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = in[row * 128 + i * 32 + lane];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        sum += x[i].x + x[i].y + x[i].z + x[i].w;
        squares += x[i].x * x[i].x + x[i].y * x[i].y + x[i].z * x[i].z + x[i].w * x[i].w;
    }
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
        sum += __shfl_xor_sync(~0u, sum, half);
        squares += __shfl_xor_sync(~0u, squares, half);
    }
    float mean = sum / 512, scale = rsqrtf(squares / 512 - mean * mean + 1e-5f);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float4 w = weight[i * 32 + lane];
        out[row * 128 + i * 32 + lane] = make_float4((x[i].x - mean) * scale * w.x, (x[i].y - mean) * scale * w.y,
                                                     (x[i].z - mean) * scale * w.z, (x[i].w - mean) * scale * w.w);
    }
}

// ---- grids -------------------------------------------------------------------------------------

// 32 x 8 columns of a cube a block, from plane to plane: a plane in shared memory, those above and below in registers.
__global__ void __launch_bounds__(256) stencil_planes(const float* __restrict__ a, float* __restrict__ b, int n, int planes) {
    __shared__ float plane[10][34];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty, z = blockIdx.z * planes + 1, pitch = n + 2, layer = pitch * pitch;
    const float* p = a + z * layer + y * pitch + x;
    float below = p[-layer], here = p[0];
    for (int i = 0; i < planes; ++i) {
        float above = p[layer];
        plane[ty][tx] = here;
        if (tx == 1) plane[ty][0] = p[-1];
        if (tx == 32) plane[ty][33] = p[1];
        if (ty == 1) plane[0][tx] = p[-pitch];
        if (ty == 8) plane[9][tx] = p[pitch];
        __syncthreads();
        b[p - a] = 0.14f * (here + below + above + plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx]);
        __syncthreads();
        below = here, here = above, p += layer;
    }
}

// ---- sorting -----------------------------------------------------------------------------------

// 1024 words a block of 512 threads, in shared memory, by 55 steps.
__global__ void bitonic_blocks(uint32_t* words) {
    __shared__ uint32_t own[1024];
    int t = threadIdx.x, first = blockIdx.x * 1024;
    own[t] = words[first + t];
    own[t + 512] = words[first + t + 512];
    __syncthreads();
    for (int size = 2; size <= 1024; size *= 2)
        for (int apart = size / 2; apart > 0; apart /= 2) {
            int low = 2 * t - (t & (apart - 1)), high = low + apart;
            uint32_t x = own[low], y = own[high];
            if ((x > y) == ((low & size) == 0)) own[low] = y, own[high] = x;
            __syncthreads();
        }
    words[first + t] = own[t];
    words[first + t + 512] = own[t + 512];
}

// Two sorted arrays of n words become one, 8 words a thread, which looks for its place by halves.
__global__ void merge(const uint32_t* __restrict__ a, const uint32_t* __restrict__ b, uint32_t* __restrict__ out, int n) {
    int place = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    int low = max(0, place - n), high = min(place, n);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[place - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    int i = low, j = place - low;
    uint32_t x = i < n ? a[i] : ~0u, y = j < n ? b[j] : ~0u;
    for (int k = 0; k < 8; ++k) {
        if (x <= y) out[place + k] = x, ++i, x = i < n ? a[i] : ~0u;
        else out[place + k] = y, ++j, y = j < n ? b[j] : ~0u;
    }
}

// ---- tables, points, prices, bodies --------------------------------------------------------------

// A bag of 16 rows of 32 floats a warp, a column a lane, all rows under way.
__global__ void embedding_bag(const int* __restrict__ index, const float* __restrict__ table, float* __restrict__ out) {
    int bag = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += table[index[bag * 16 + i] * 32 + lane];
    out[bag * 32 + lane] = sum;
}

// The nearest of 16 centres of 8 features, which lie feature by feature; centres in shared memory.
__global__ void __launch_bounds__(256) kmeans(const float* __restrict__ points, const float* __restrict__ centres,
                                              int* __restrict__ nearest, int n) {
    __shared__ float4 own[32];
    int t = blockIdx.x * 256 + threadIdx.x;
    if (threadIdx.x < 32) own[threadIdx.x] = ((const float4*)centres)[threadIdx.x];
    float x[8];
#pragma unroll
    for (int f = 0; f < 8; ++f) x[f] = points[f * n + t];
    __syncthreads();
    float least = 1e30f;
    int which = 0;
#pragma unroll
    for (int c = 0; c < 16; ++c) {
        float4 p = own[2 * c], q = own[2 * c + 1];
        float far = (x[0] - p.x) * (x[0] - p.x) + (x[1] - p.y) * (x[1] - p.y) + (x[2] - p.z) * (x[2] - p.z) +
                    (x[3] - p.w) * (x[3] - p.w) + (x[4] - q.x) * (x[4] - q.x) + (x[5] - q.y) * (x[5] - q.y) +
                    (x[6] - q.z) * (x[6] - q.z) + (x[7] - q.w) * (x[7] - q.w);
        if (far < least) least = far, which = c;
    }
    nearest[t] = which;
}

__device__ inline float normal(float d) {
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * __expf(-0.5f * d * d) * k *
                 (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    return d > 0 ? 1.0f - tail : tail;
}

// Prices of a call and a put option a thread.
__global__ void black_scholes(const float* __restrict__ price, const float* __restrict__ strike, const float* __restrict__ years,
                              float* __restrict__ call, float* __restrict__ put) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = price[i], x = strike[i], t = years[i], root = __fsqrt_rn(t);
    float d = __fdividef(__logf(__fdividef(s, x)) + (0.02f + 0.5f * 0.3f * 0.3f) * t, 0.3f * root), e = d - 0.3f * root;
    float p = normal(d), q = normal(e), rest = x * __expf(-0.02f * t);
    call[i] = s * p - rest * q;
    put[i] = rest * (1.0f - q) - s * (1.0f - p);
}

// Forces of all bodies on one a thread, 256 bodies in shared memory at a time.
__global__ void __launch_bounds__(256) nbody(const float4* __restrict__ bodies, float4* __restrict__ forces, int n) {
    __shared__ float4 tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 me = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (int first = 0; first < n; first += 256) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 256; ++k) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            float force = other.w * inverse * inverse * inverse;
            ax += dx * force, ay += dy * force, az += dz * force;
        }
        __syncthreads();
    }
    forces[i] = make_float4(ax, ay, az, 0);
}

__global__ void empty() {}

int main(int argc, char** argv) {
    begin_kernels(argc, argv);
    constexpr int KI = 1 << 10, MI = 1 << 20;
    kernel("empty", 132, [=] { empty<<<132, 256>>>(); });
    for (int rows : {KI, 4 * KI}) {
        auto *a = (float4*)numbers(rows * KI), *b = (float4*)take<float>(rows * KI);
        kernel("softmax", rows, [=] { softmax<<<rows, 256>>>(a, b); });
    }
    for (int rows : {2 * KI, 8 * KI}) {
        auto *a = (float4*)numbers(rows * 512), *w = (float4*)numbers(512), *b = (float4*)take<float>(rows * 512);
        kernel("layer_norm", rows, [=] { layer_norm<<<rows / 8, 256>>>(a, w, b); });
    }
    for (int n : {64, 128}) {
        int size = (n + 2) * (n + 2) * (n + 2);
        float *a = numbers(size), *b = take<float>(size);
        kernel("stencil_planes", n, [=] { stencil_planes<<<dim3(n / 32, n / 8, n / 16), dim3(32, 8)>>>(a, b, n, 16); });
    }
    for (int n : {128 * KI, 512 * KI}) {
        std::vector<uint32_t> words(n);
        for (int i = 0; i < n; ++i) words[i] = mixed(i);
        auto *a = take(words), *saved = take(words);
        kernel("bitonic_blocks", n, [=] { bitonic_blocks<<<n / KI, 512>>>(a); },
               [=] { CHECK(cudaMemcpy(a, saved, n * sizeof(int), cudaMemcpyDeviceToDevice)); });
    }
    for (int n : {128 * KI, 512 * KI}) {  // of each of both
        std::vector<uint32_t> left(n), right(n);
        for (int i = 0; i < n; ++i) left[i] = mixed(i), right[i] = mixed(n + i);
        std::sort(left.begin(), left.end()), std::sort(right.begin(), right.end());
        auto *a = take(left), *b = take(right), *out = take<uint32_t>(2 * n);
        kernel("merge", n, [=] { merge<<<n / 1024, 256>>>(a, b, out, n); });
    }
    for (int bags : {4 * KI, 16 * KI}) {
        std::vector<int> index(bags * 16);
        for (int i = 0; i < bags * 16; ++i) index[i] = mixed(i) % (256 * KI);
        auto* where = take(index);
        float *table = numbers(256 * KI * 32), *out = take<float>(bags * 32);
        kernel("embedding_bag", bags, [=] { embedding_bag<<<bags / 8, 256>>>(where, table, out); });
    }
    for (int n : {128 * KI, 512 * KI}) {
        float *points = numbers(8 * n), *centres = numbers(128);
        int* nearest = take<int>(n);
        kernel("kmeans", n, [=] { kmeans<<<n / 256, 256>>>(points, centres, nearest, n); });
    }
    for (int n : {256 * KI, MI}) {
        std::vector<float> years(n), prices(n);
        for (int i = 0; i < n; ++i) years[i] = 0.25f + mixed(i) % 1000 * 0.01f, prices[i] = 5 + mixed(i + 1) % 1000 * 0.03f;
        float *s = take(prices), *x = take(prices), *t = take(years), *call = take<float>(n), *put = take<float>(n);
        kernel("black_scholes", n, [=] { black_scholes<<<n / 256, 256>>>(s, x, t, call, put); });
    }
    for (int n : {KI, 4 * KI}) {
        auto *bodies = (float4*)numbers(4 * n), *forces = (float4*)take<float>(4 * n);
        kernel("nbody", n, [=] { nbody<<<n / 256, 256>>>(bodies, forces, n); });
    }
}
