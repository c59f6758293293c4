// What all programs here share: checked calls, a figure with its spread, clocks, and a hash that numpy can repeat.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t error_ = (call);                                                       \
        if (error_ != cudaSuccess) {                                                       \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                  \
                    cudaGetErrorString(error_));                                           \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

// A row of the CSV files: the median of some runs, the least and the most of them.
inline void figure(const std::string& test, const std::string& variant, double x,
                   std::vector<double> runs, const char* unit) {
    std::sort(runs.begin(), runs.end());
    printf("%s,\"%s\",%.10g,%.6g,%.6g,%.6g,%zu,%s\n", test.c_str(), variant.c_str(), x,
           runs[runs.size() / 2], runs.front(), runs.back(), runs.size(), unit);
    fflush(stdout);
}

inline void heading() { printf("test,variant,x,median,least,most,runs,unit\n"); }

// The last step of MurmurHash3: mixes the bits of a number.
__host__ __device__ inline uint32_t mixed(uint32_t h) {
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}

__device__ inline uint64_t nanoseconds() {
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__device__ inline uint32_t sm_number() {
    uint32_t n;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(n));
    return n;
}

// Cycles and nanoseconds of one thread that does nothing else for about `cycles`.
__global__ void spin(long long cycles, long long* spent) {
    long long begin = clock64();
    uint64_t from = nanoseconds();
    while (clock64() - begin < cycles) {
    }
    spent[0] = clock64() - begin;
    spent[1] = (long long)(nanoseconds() - from);
}

// The clock of an SM, in MHz, as it is now; the card is woken first.
inline double clock_mhz() {
    long long* spent;
    CHECK(cudaMallocHost(&spent, 2 * sizeof(long long)));
    spin<<<1, 1>>>(200'000'000, spent);
    spin<<<1, 1>>>(20'000'000, spent);
    CHECK(cudaDeviceSynchronize());
    double mhz = 1e3 * spent[0] / spent[1];
    CHECK(cudaFreeHost(spent));
    return mhz;
}

// Milliseconds of what `work` puts into a stream, between two events.
inline double milliseconds(const std::function<void()>& work, cudaStream_t stream = 0) {
    static cudaEvent_t begin = nullptr, end = nullptr;
    if (!begin) {
        CHECK(cudaEventCreate(&begin));
        CHECK(cudaEventCreate(&end));
    }
    CHECK(cudaEventRecord(begin, stream));
    work();
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    return ms;
}

template <class T>
T* device(size_t count) {
    T* made;
    CHECK(cudaMalloc(&made, count * sizeof(T)));
    return made;
}

template <class T>
T* device(const std::vector<T>& values) {
    T* made = device<T>(values.size());
    CHECK(cudaMemcpy(made, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return made;
}

template <class T>
std::vector<T> host(const T* values, size_t count) {
    std::vector<T> made(count);
    CHECK(cudaMemcpy(made.data(), values, count * sizeof(T), cudaMemcpyDeviceToHost));
    return made;
}
