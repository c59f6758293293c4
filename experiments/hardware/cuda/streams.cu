// Bandwidth: of L1 caches, of the L2 cache and of DRAM by footprint; and by how many SMs ask.
#include "common.cuh"

// All blocks read the same `elements`, round and round.
__global__ void __launch_bounds__(1024) same(const double* a, int elements, int rounds, int zero, double* out) {
    double sum = 0;
    for (int round = 0; round < rounds; ++round) {
        a += zero;  // 0, which the compiler does not know
        for (int i = threadIdx.x; i < elements; i += 4 * 1024) {
            double w = a[i], x = i + 1024 < elements ? a[i + 1024] : 0, y = i + 2048 < elements ? a[i + 2048] : 0,
                   z = i + 3072 < elements ? a[i + 3072] : 0;
            sum += w + x + (y + z);
        }
    }
    if (sum == 123.456) *out = sum;
}

// A block reads 512 KiB, four loads a thread under way; the array wraps round.
__global__ void __launch_bounds__(1024) pieces(const double* a, size_t mask, double* out) {
    size_t first = blockIdx.x * (size_t)65536 + threadIdx.x;
    double sum = 0;
#pragma unroll 4
    for (int i = 0; i < 64; ++i) sum += a[(first + i * 1024) & mask];
    if (sum == 123.456) *out = sum;
}

// The same for some pieces one after the other, those of all blocks side by side.
__global__ void __launch_bounds__(1024) long_pieces(const double* a, size_t mask, int count, double* out) {
    double sum = 0;
    for (int piece = 0; piece < count; ++piece) {
        size_t first = (piece * (size_t)gridDim.x + blockIdx.x) * 65536 + threadIdx.x;
#pragma unroll 8
        for (int i = 0; i < 64; ++i) sum += __ldcg(a + ((first + i * 1024) & mask));
    }
    if (sum == 123.456) *out = sum;
}

// All blocks read the same bytes in the same order, once.
__global__ void __launch_bounds__(1024) same_cold(const double* a, int count, double* out) {
    double sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < count; i += 1024) sum += __ldcg(a + i);
    if (sum == 123.456) *out = sum;
}

// An element a thread, of arrays that wrap round.
enum Operation { READ, WRITE, SCALE, TRIAD };
template <int OPERATION>
__global__ void __launch_bounds__(1024) elements(double* a, double* b, double* c, size_t mask, double* out) {
    size_t i = (blockIdx.x * (size_t)1024 + threadIdx.x) & mask;
    if constexpr (OPERATION == READ) {
        double x = a[i];
        if (x == 123.456) *out = x;
    }
    if constexpr (OPERATION == WRITE) c[i] = i;
    if constexpr (OPERATION == SCALE) c[i] = 2 * a[i];
    if constexpr (OPERATION == TRIAD) c[i] = 2 * a[i] + b[i];
}

int main() {
    heading();
    double* out = device<double>(1);
    size_t most = size_t(1) << 30;
    double *a = device<double>(most / 8), *b = device<double>(most / 8), *c = device<double>(most / 8);
    CHECK(cudaMemset(a, 0, most));
    CHECK(cudaMemset(b, 0, most));
    figure("clock", "", 0, {clock_mhz()}, "MHz");
    auto rate = [](double bytes, const std::function<void()>& once, const std::function<void()>& more, double more_bytes) {
        std::vector<double> runs;
        for (int run = 0; run < 6; ++run) {
            double few = milliseconds(once), many = milliseconds(more);
            if (run) runs.push_back((more_bytes - bytes) / (many - few) / 1e6);
        }
        return runs;
    };
    CHECK(cudaFuncSetAttribute(same, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
    for (int kib : {8, 16, 32, 64, 128, 192, 224, 256, 320, 512, 1024}) {
        int count = kib * 128, rounds = 16384 / kib + 1;
        for (int blocks : {1, 132}) {
            auto runs = rate(double(blocks) * count * 8 * rounds, [&] { same<<<blocks, 1024>>>(a, count, rounds, 0, out); },
                             [&] { same<<<blocks, 1024>>>(a, count, 4 * rounds, 0, out); }, 4.0 * blocks * count * 8 * rounds);
            figure("the same bytes for all", std::to_string(blocks) + " SMs", kib * 1024, runs, "GB/s");
        }
    }
    for (size_t mib = 1; mib <= 1024; mib *= 2) {
        size_t mask = mib * 131072 - 1;
        auto runs = rate(5000.0 * 524288, [&] { pieces<<<5000, 1024>>>(a, mask, out); },
                         [&] { pieces<<<20000, 1024>>>(a, mask, out); }, 20000.0 * 524288);
        figure("pieces of 512 KiB", "read", double(mib << 20), runs, "GB/s");
    }
    for (size_t mib = 1; mib <= 1024; mib *= 2) {
        size_t mask = mib * 131072 - 1;
        void (*kernels[])(double*, double*, double*, size_t, double*) = {elements<READ>, elements<WRITE>, elements<SCALE>, elements<TRIAD>};
        const char* names[] = {"read", "write", "scale", "triad"};
        int arrays[] = {1, 1, 2, 3};
        for (int i = 0; i < 4; ++i) {
            double bytes = 1024 * 8.0 * arrays[i];
            auto runs = rate(40000 * bytes, [&] { kernels[i]<<<40000, 1024>>>(a, b, c, mask, out); },
                             [&] { kernels[i]<<<160000, 1024>>>(a, b, c, mask, out); }, 160000 * bytes);
            figure("an element a thread", names[i], double(mib << 20) * arrays[i], runs, "GB/s");
        }
    }
    // By the number of blocks of 1024 threads, one an SM: of 8 MiB (L2 cache), and of 1 GiB (DRAM).
    for (int blocks : {1, 2, 4, 8, 16, 32, 64, 96, 132}) {
        for (size_t mib : {8, 1024}) {
            size_t mask = mib * 131072 - 1;
            auto runs = rate(blocks * 8 * 524288.0, [&] { long_pieces<<<blocks, 1024>>>(a, mask, 8, out); },
                             [&] { long_pieces<<<blocks, 1024>>>(a, mask, 40, out); }, blocks * 40 * 524288.0);
            figure("\"by SMs, of " + std::to_string(mib) + " MiB\"", "read", blocks, runs, "GB/s");
        }
    }
    // Cold bytes that x SMs ask for at once: requests of one line that meet at the L2 cache while it is on its way.
    for (int kib : {1024, 4096, 16384}) {
        for (int blocks : {1, 2, 4, 8, 16, 33, 66, 132}) {
            std::vector<double> runs;
            for (int run = 0; run < 6; ++run) {
                pieces<<<1024, 1024>>>(b, most / 8 - 1, out);  // 512 MiB of another array, so that nothing of this one stays
                double ms = milliseconds([&] { same_cold<<<blocks, 1024>>>(a, kib * 128, out); });
                if (run) runs.push_back(ms * 1e3 * 1980);
            }
            figure("the same cold bytes for all", std::to_string(kib) + " KiB by x SMs", blocks, runs, "cycles between events");
        }
    }
}
