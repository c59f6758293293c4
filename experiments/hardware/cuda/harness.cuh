// How real kernels are run: arrays of a pool, and each kernel with cold caches and warm ones, or once for a profiler.
#pragma once

#include <cstring>

#include "common.cuh"

constexpr size_t POOL = size_t(1) << 30;
char* pool;
size_t used;

template <class T>
T* take(size_t count) {
    T* at = (T*)(pool + used);
    used += (count * sizeof(T) + 4095) / 4096 * 4096;
    if (used > POOL) fprintf(stderr, "the pool is too small\n"), exit(1);
    return at;
}

template <class T>
T* take(const std::vector<T>& values) {
    T* at = take<T>(values.size());
    CHECK(cudaMemcpy(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return at;
}

float* numbers(size_t count) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = (i * 37 % 101) / 101.0f;
    return take(values);
}

__global__ void read_all(const float4* a, size_t count, float* out) {
    float sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) sum += a[i].x;
    if (sum == 12345.678f) *out = sum;
}

enum { TIMED, ONCE } mode = TIMED;
float4* flush;
constexpr size_t FLUSH = 16 << 20;  // 256 MiB, five times the L2 cache

// A kernel of one size.  `reset` brings back what it changes and is not timed.
void kernel(const char* name, long long size, const std::function<void()>& launch,
            const std::function<void()>& reset = [] {}) {
    if (mode == ONCE) {
        printf("%s,%lld\n", name, size);
        reset();
        launch();
        CHECK(cudaDeviceSynchronize());
        used = 0;
        return;
    }
    std::vector<double> cold, warm;
    reset();
    launch();
    CHECK(cudaDeviceSynchronize());
    for (int run = 0; run < 7; ++run) {
        reset();
        read_all<<<1056, 256>>>(flush, FLUSH, (float*)flush);
        cold.push_back(1e3 * milliseconds(launch));
    }
    for (int run = 0; run < 7; ++run) {
        reset();
        warm.push_back(1e3 * milliseconds(launch));
    }
    CHECK(cudaGetLastError());
    figure(std::string(name) + ",cold", "", size, cold, "us");
    figure(std::string(name) + ",warm", "", size, warm, "us");
    used = 0;
}

// Reads the mode, and makes the pool; prints the heading.
inline void begin_kernels(int argc, char** argv) {
    if (argc > 1 && !strcmp(argv[1], "once")) mode = ONCE;
    CHECK(cudaMalloc(&pool, POOL));
    if (mode == TIMED) {
        CHECK(cudaMalloc(&flush, FLUSH * sizeof(float4)));
        CHECK(cudaMemset(flush, 0, FLUSH * sizeof(float4)));
        printf("kernel,caches,variant,x,median,least,most,runs,unit\n");
        printf("clock,,,0,%.1f,,,1,MHz\n", clock_mhz());
    }
}
