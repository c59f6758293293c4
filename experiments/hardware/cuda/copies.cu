// Lines that some SMs load and others store to: what a store takes whose line is in the L2 cache's other partition, too.
//
// Blocks 0 .. stores-1 store, the next `loads` load past the L1 cache, four lanes a warp, each a word of a line at random
// (or, `apart`, the loads are of other lines).  SMs in between do nothing.
#include "common.cuh"

constexpr int WARPS = 16, LANES = 4, LINE = 32;

__device__ inline uint32_t now() {
    uint32_t t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

__global__ void __launch_bounds__(WARPS * 32) both(uint32_t* words, uint32_t mask, uint32_t shift, int stores, int loads,
                                                   int rounds, unsigned long long* sums, uint32_t* stop) {
    uint32_t x = mixed(blockIdx.x * WARPS * 32 + threadIdx.x);
    if (threadIdx.x % 32 >= LANES || int(blockIdx.x) >= stores + loads) return;
    uint32_t begin = now();
    auto place = [&] {
        x = x * 1664525 + 1013904223;
        return words + (x >> 6 & mask) * LINE + (x >> 27);
    };
    if (int(blockIdx.x) < stores) {
#pragma unroll 4
        for (int round = 0; round < rounds; ++round)
            asm volatile("st.global.u32 [%0], %1;" ::"l"(place()), "r"(x) : "memory");
        __threadfence();
        atomicAdd(sums, (unsigned long long)(now() - begin));
        atomicExch(stop, 1);
    } else {
        uint32_t count = 0, sum = 0;
        do {
            for (int i = 0; i < 4; ++i, ++count) {
                uint32_t value;
                asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(place() + shift) : "memory");
                x += value & 1 & sum, sum += value & 1;
            }
        } while (int(count) < rounds && !*(volatile uint32_t*)stop);
        atomicAdd(sums + 1, (unsigned long long)(now() - begin)), atomicAdd(sums + 2, (unsigned long long)count);
    }
}

int main() {
    heading();
    figure("clock", "", 0, {clock_mhz()}, "MHz");
    uint32_t* words = device<uint32_t>(64 << 20);
    CHECK(cudaMemset(words, 0, size_t(256) << 20));
    auto* sums = device<unsigned long long>(3);
    auto* stop = device<uint32_t>(1);
    for (uint32_t lines : {1, 8, 64, 512, 4096, 32768})
        for (int stores : {0, 1, 8, 66})
            for (int loads : {0, 1, 8, 66})
                for (int apart = 0; apart < 2; ++apart) {
                    if ((apart && (!loads || !stores)) || stores + loads == 0) continue;
                    std::vector<double> each[2];
                    int rounds = stores ? 512 : 64;
                    for (int run = 0; run < 4; ++run) {
                        CHECK(cudaMemset(sums, 0, 24));
                        CHECK(cudaMemset(stop, 0, 4));
                        both<<<132, WARPS * 32>>>(words, lines - 1, apart ? 32 << 20 : 0, stores, loads, stores ? rounds : 64, sums, stop);
                        auto got = host(sums, 3);
                        if (!run) continue;
                        if (stores) each[0].push_back(double(stores) * WARPS * LANES * rounds / (double(got[0]) / (stores * WARPS * LANES)));
                        if (loads) each[1].push_back(double(got[1]) / got[2]);
                    }
                    char name[120];
                    snprintf(name, sizeof name, "%u lines, %d SMs store, x load %s", lines, stores, apart ? "other lines" : "the same lines");
                    if (stores) figure("copies", std::string(name) + ": stores", loads, each[0], "stores a cycle");
                    if (loads) figure("copies", std::string(name) + ": a load", loads, each[1], "cycles");
                }
}
