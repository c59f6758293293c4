// Slices of the L2 cache: which lines lie in one, by the atomics that wait for each other; what an atomic takes by its
// sectors, words and lanes; and a burst of atomics behind which a kernel ends.
#include "common.cuh"

constexpr int THREADS = 256, LINE = 32, LINES = 256;

// Warps add to the word of their lane in one of two lines (even and odd warps), `rounds` times.
__global__ void __launch_bounds__(THREADS) adds(uint32_t* words, const int* lanes, int first, int second, int rounds) {
    int lane = lanes[threadIdx.x % 32];
    uint32_t* at = words + (threadIdx.x / 32 % 2 ? second : first) * LINE + lane;
    for (int round = 0; round < rounds && lane >= 0; ++round)
        asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(1) : "memory");
}

// Each thread adds once, block by block to the same words, `apart` words from line to line.
__global__ void __launch_bounds__(THREADS) once(uint32_t* words, int lines, int apart) {
    uint32_t* at = words + threadIdx.x / 32 % lines * apart + threadIdx.x % 32;
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(1) : "memory");
}

__global__ void __launch_bounds__(THREADS) nothing(uint32_t* words) {
    if (threadIdx.x == 1000) *words = 1;
}

int main() {
    heading();
    double mhz = clock_mhz();
    figure("clock", "", 0, {mhz}, "MHz");
    uint32_t* words = device<uint32_t>(16 << 20);
    int* given = device<int>(32);
    auto lanes_are = [&](const std::function<int(int)>& word) {
        std::vector<int> lanes(32);
        for (int lane = 0; lane < 32; ++lane) lanes[lane] = word(lane);
        CHECK(cudaMemcpy(given, lanes.data(), 32 * sizeof(int), cudaMemcpyHostToDevice));
    };
    auto cycles = [&](int first, int second, int runs, int rounds) {  // the difference of two lengths: no launch in it
        std::vector<double> all;
        for (int run = 0; run <= runs; ++run) {
            double few = milliseconds([&] { adds<<<132, THREADS>>>(words, given, first, second, rounds); });
            double many = milliseconds([&] { adds<<<132, THREADS>>>(words, given, first, second, 3 * rounds); });
            if (run) all.push_back((many - few) * 1e3 * mhz / (132 * (THREADS / 32) * 2 * rounds));
        }
        return all;
    };

    // A line is in the slice of the first one before it with which it takes turns.
    lanes_are([](int lane) { return lane ? -1 : 0; });
    std::vector<int> first, number(LINES);
    double alone = cycles(0, 0, 3, 32)[1];
    figure("pairs", "a line alone", 0, cycles(0, 0, 3, 32), "cycles a warp instruction");
    for (int j = 1; j < 64; ++j) figure("pairs", "lines 0 and x", j, cycles(0, j, 3, 32), "cycles a warp instruction");
    for (int line = 0; line < LINES; ++line) {
        size_t slice = 0;
        while (slice < first.size() && cycles(first[slice], line, 1, 16)[0] < 0.75 * alone) ++slice;
        if (slice == first.size()) first.push_back(line);
        figure("slice", "of line x", line, {double(slice)}, "number");
    }

    for (int sectors : {1, 2, 4})
        for (int each : {1, 2, 4, 8})
            for (int same = 1; sectors * each * same <= 32; same *= 2) {
                lanes_are([=](int lane) {
                    int word = lane / same;
                    return word < sectors * each ? word / each * 8 + word % each : -1;
                });
                char name[80];
                snprintf(name, sizeof name, "%d sectors, %d words of each, x lanes a word, sector by sector", sectors, each);
                figure("passes", name, same, cycles(0, 0, 3, 64), "cycles a warp instruction");
                lanes_are([=](int lane) {
                    int word = lane / same;
                    return word < sectors * each ? word % sectors * 8 + word / sectors : -1;
                });
                snprintf(name, sizeof name, "%d sectors, %d words of each, x lanes a word, in turns", sectors, each);
                figure("passes", name, same, cycles(0, 0, 3, 64), "cycles a warp instruction");
            }

    for (int blocks : {132, 264, 528, 1056, 2112}) {
        auto burst = [&](const char* name, const std::function<void()>& launch) {
            std::vector<double> runs;
            for (int run = 0; run < 8; ++run) {
                double us = 1e3 * milliseconds([&] { for (int i = 0; i < 16; ++i) launch(); }) / 16;
                if (run) runs.push_back(us * mhz);
            }
            figure("burst", name, blocks, runs, "cycles a kernel");
        };
        burst("no atomics", [&] { nothing<<<blocks, THREADS>>>(words); });
        for (int lines : {1, 2, 4, 8}) {
            char name[64];
            snprintf(name, sizeof name, "%d lines beside each other", lines);
            burst(name, [&] { once<<<blocks, THREADS>>>(words, lines, LINE); });
            snprintf(name, sizeof name, "%d lines, 4 KiB and a line apart", lines);
            burst(name, [&] { once<<<blocks, THREADS>>>(words, lines, 33 * LINE); });
        }
    }
}
