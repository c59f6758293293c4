// Atomics on device memory: additions of a warp's lanes to one word, to words of a line, to lines; from one SM to all.
//
// x: how many of what `variant` says.  Cycles of the SM's clock for one instruction of a warp, of all SMs together.
#include "common.cuh"

constexpr int THREADS = 256, ROUNDS = 64;

template <bool RETURNED>
__global__ void __launch_bounds__(THREADS) adds(uint32_t* words, const int* lanes, int apart, int rounds, uint32_t* out) {
    uint32_t warp = blockIdx.x * (THREADS / 32) + threadIdx.x / 32, sum = threadIdx.x;
    uint32_t* at = words + lanes[threadIdx.x % 32] + (size_t)warp * apart;
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if constexpr (RETURNED) {
                uint32_t old;
                asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(threadIdx.x + i) : "memory");
                sum ^= old;
            } else {
                asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(threadIdx.x + i) : "memory");
            }
        }
    }
    if (RETURNED) out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

// Words at random among `bins`.
__global__ void __launch_bounds__(THREADS) spread(uint32_t* words, uint32_t bins, int rounds) {
    uint32_t thread = blockIdx.x * THREADS + threadIdx.x;
    for (int round = 0; round < rounds * 4; ++round)
        asm volatile("red.global.add.u32 [%0], %1;" ::"l"(words + mixed(thread * 1024 + round) % bins), "r"(1) : "memory");
}

int main() {
    heading();
    double mhz = clock_mhz();
    figure("clock", "", 0, {mhz}, "MHz");
    uint32_t *words = device<uint32_t>(64 << 20), *out = device<uint32_t>(132 * 8 * THREADS);
    int* given = device<int>(32);
    auto point = [&](const std::string& variant, int x, int blocks, int apart, const std::function<int(int)>& word) {
        std::vector<int> lanes(32);
        for (int lane = 0; lane < 32; ++lane) lanes[lane] = word(lane);
        CHECK(cudaMemcpy(given, lanes.data(), 32 * sizeof(int), cudaMemcpyHostToDevice));
        for (bool returned : {false, true}) {
            auto kernel = returned ? adds<true> : adds<false>;
            std::vector<double> runs;
            int rounds = blocks < 16 ? 16 * ROUNDS : ROUNDS;
            for (int run = 0; run < 4; ++run) {  // the difference of two lengths: no launch in it
                double few = milliseconds([&] { kernel<<<blocks, THREADS>>>(words, given, apart, rounds / 4, out); });
                double many = milliseconds([&] { kernel<<<blocks, THREADS>>>(words, given, apart, rounds, out); });
                double warps = blocks * (THREADS / 32) * rounds * 0.75 * 4;
                if (run) runs.push_back((many - few) * 1e3 * mhz / warps);
            }
            figure(returned ? "ATOM.ADD" : "RED.ADD", variant, x, runs, "cycles a warp instruction");
        }
    };
    for (int k = 1; k <= 32; k *= 2) {
        point("words of a line by lane%x, all SMs the same", k, 132, 0, [=](int lane) { return lane % k; });
        point("words of a line by lane%x, a line a warp", k, 132, 32, [=](int lane) { return lane % k; });
        point("words of a line by lane%x, one SM, one warp's line", k, 1, 32, [=](int lane) { return lane % k; });
        point("lines by lane%x, all SMs the same", k, 132, 0, [=](int lane) { return lane % k * 32; });
        point("lines by lane%x, their own of each warp", k, 132, 32 * 32, [=](int lane) { return lane % k * 32; });
        point("lines by lane%x, one SM", k, 1, 32 * 32, [=](int lane) { return lane % k * 32; });
        point("words by lane*x, their own of each warp", k, 132, 32 * 32, [=](int lane) { return lane * k; });
    }
    for (int blocks : {1, 2, 4, 8, 16, 33, 66, 132, 264}) {
        point("one word, x blocks", blocks, blocks, 0, [](int) { return 0; });
        point("a word a lane of one line, x blocks", blocks, blocks, 0, [](int lane) { return lane; });
        point("a word a lane of one line a warp, x blocks", blocks, blocks, 32, [](int lane) { return lane; });
    }
    for (uint32_t bins = 1; bins <= 16 << 20; bins *= 4) {
        std::vector<double> runs;
        for (int run = 0; run < 4; ++run) {
            double few = milliseconds([&] { spread<<<1056, THREADS>>>(words, bins, 2); });
            double many = milliseconds([&] { spread<<<1056, THREADS>>>(words, bins, 8); });
            if (run) runs.push_back((many - few) * 1e3 * mhz / (1056.0 * (THREADS / 32) * 6 * 4));
        }
        figure("RED.ADD", "x bins at random, all SMs", bins, runs, "cycles a warp instruction");
    }
}
