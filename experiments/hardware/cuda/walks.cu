// Walks at once: how long n pages take that no TLB has, touched by all SMs, by some, or by a warp after the other;
// how many loads a warp has under way; and lines that lie a power of two apart.
//
// Memory that was freed empties the TLBs.  What the first touch takes longer than the second is translation.
#include <numeric>
#include <random>

#include "common.cuh"

constexpr size_t KIB = 1 << 10, MIB = 1 << 20, GIB = 1 << 30;

// Each thread loads from some pages, four under way; blocks note when they begin and end, in nanoseconds.
__global__ void touch(const char* memory, const uint64_t* places, int count, uint32_t* out, uint64_t* times) {
    uint64_t begin = nanoseconds();
    uint32_t sum = 0;
    int step = gridDim.x * blockDim.x;
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        sum += __ldcg((const uint32_t*)(memory + places[i]));
    if (sum == 0x12345678) *out = sum;
    __syncthreads();
    if (threadIdx.x == 0) times[2 * blockIdx.x] = begin, times[2 * blockIdx.x + 1] = nanoseconds();
}

// One thread, a page after the other: the time of each first load.
__global__ void touch_each(const char* memory, const uint64_t* places, int count, uint32_t* spent) {
    for (int i = 0; i < count; ++i) {
        const uint32_t* at = (const uint32_t*)(memory + places[i]);
        if (at == nullptr) return;
        long long begin = clock64();
        if (__ldcg(at) == 0x12345678) return;  // never: the time is taken when the value is there
        spent[i] = clock64() - begin;
    }
}

__global__ void read_range(const uint4* memory, size_t count, uint32_t* out) {
    uint32_t sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        sum ^= memory[i].x;
    if (sum == 0x12345678) *out = sum;
}

// One warp: COUNT loads of lines of their own, and then their sum, some times; each load needs the sum before it.
template <int COUNT>
__global__ void under_way(const uint32_t* memory, int rounds, uint32_t* out, long long* cycles) {
    uint32_t sum = 0;
    long long begin = 0;
    for (int round = -4; round < rounds; ++round) {
        if (round == 0) begin = clock64();
        uint32_t values[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; ++i) values[i] = __ldcg(memory + threadIdx.x + 32 * i + sum);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) sum += values[i];  // all are 0
    }
    *cycles = clock64() - begin;
    out[threadIdx.x] = sum;
}

// Each block reads lines `step` words apart, of an array that wraps round.
__global__ void apart(const double* a, size_t step, size_t mask, double* out) {
    size_t first = (blockIdx.x * (size_t)4096 + threadIdx.x) * step;
    double sum = 0;
#pragma unroll 4
    for (int i = 0; i < 16; ++i) sum += __ldcg(a + ((first + i * 256 * step) & mask));
    if (sum == 123.456) *out = sum;
}

int main() {
    heading();
    double mhz = clock_mhz();
    figure("clock", "", 0, {mhz}, "MHz");
    size_t most = 64 * GIB;
    char* memory = device<char>(most);
    uint32_t* out = device<uint32_t>(1024);
    uint64_t* places = device<uint64_t>(32768);
    long long* cycles = device<long long>(1);
    CHECK(cudaMemset(memory, 0, 256 * MIB));
    std::mt19937_64 random(1);
    auto empty_tlbs = [] {
        char* other = device<char>(256 * MIB);
        CHECK(cudaMemset(other, 0, 1));
        CHECK(cudaFree(other));
        CHECK(cudaDeviceSynchronize());
    };
    uint64_t* times = device<uint64_t>(4096);
    uint32_t* spent = device<uint32_t>(64);
    // Cycles from the first begin of a block to the last end.
    auto span = [&](int blocks) {
        auto all = host(times, 2 * blocks);
        uint64_t first = all[0], last = all[1];
        for (int i = 0; i < blocks; ++i) first = std::min(first, all[2 * i]), last = std::max(last, all[2 * i + 1]);
        return double(last - first) * mhz / 1e3;
    };
    // x pages; `blocks` of `threads`, 0 blocks: a thread a page.  Of the last 64 pages each is touched alone before.
    auto pages = [&](const char* variant, int count, size_t stride, int blocks, int threads, bool tables_cold, double x) {
        std::vector<double> alone, first, second;
        for (int run = 0; run < 6; ++run) {
            std::vector<uint64_t> order(count);
            std::iota(order.begin(), order.end(), uint64_t(0));
            std::shuffle(order.begin(), order.end(), random);
            for (auto& place : order) place = place * stride + random() % (stride / 128) * 128;
            CHECK(cudaMemcpy(places, order.data(), count * sizeof(uint64_t), cudaMemcpyHostToDevice));
            int controls = count >= 256 ? 64 : 0, rest = count - controls;
            int grid = blocks ? blocks : (rest + threads - 1) / threads;
            auto work = [&](int some) { touch<<<grid, threads>>>(memory, places, some, out, times); };
            work(count);  // the lines are in the L2 cache now
            empty_tlbs();
            if (tables_cold) read_range<<<1056, 256>>>((const uint4*)memory, 256 * MIB / 16, out);
            if (controls) touch_each<<<1, 1>>>(memory, places + rest, controls, spent);
            work(rest);
            double cold = span(grid);
            work(rest);
            double warm = span(grid);
            CHECK(cudaGetLastError());
            if (!run) continue;
            first.push_back(cold), second.push_back(warm);
            if (!controls) continue;
            auto each = host(spent, controls);
            std::sort(each.begin(), each.end());
            alone.push_back(each[controls / 2]);
        }
        std::string name = std::string(variant) + (tables_cold ? ", lines and tables in DRAM" : ", lines and tables in the L2 cache");
        if (!alone.empty()) figure("first touch of a page alone", name, x, alone, "cycles");
        figure("first touch of pages", name, x, first, "cycles from first begin to last end");
        figure("second touch of pages", name, x, second, "cycles from first begin to last end");
    };
    for (bool tables_cold : {false, true}) {
        for (int count = 32; count <= 32768; count *= 4)
            pages("x pages of 2 MiB, a thread each", count, 2 * MIB, 0, 32, tables_cold, count);
        for (int count = 32; count <= 2048; count *= 2)
            pages("x pages 32 MiB apart, a thread each", count, 32 * MIB, 0, 32, tables_cold, count);
        for (int blocks : {1, 2, 4, 8, 16, 32, 64, 132})
            pages("16384 pages of 2 MiB, x blocks of 1024 threads", 16384, 2 * MIB, blocks, 1024, tables_cold, blocks);
        for (int blocks : {1, 2, 4, 8, 16, 32, 64})
            pages("2048 pages 32 MiB apart, x warps of blocks of their own", 2048, 32 * MIB, blocks, 32, tables_cold, blocks);
    }

    auto warp = [&]<int COUNT>(std::integral_constant<int, COUNT>) {
        std::vector<double> runs;
        for (int run = 0; run < 5; ++run) {
            under_way<COUNT><<<1, 32>>>((const uint32_t*)memory, 256, out, cycles);
            runs.push_back(host(cycles, 1)[0] / 256.0);
        }
        figure("\"loads of a warp, then their sum\"", "past L1, a line each", COUNT, runs, "cycles a round");
    };
    warp(std::integral_constant<int, 1>{}), warp(std::integral_constant<int, 2>{}), warp(std::integral_constant<int, 4>{});
    warp(std::integral_constant<int, 6>{}), warp(std::integral_constant<int, 8>{}), warp(std::integral_constant<int, 12>{});
    warp(std::integral_constant<int, 16>{}), warp(std::integral_constant<int, 24>{}), warp(std::integral_constant<int, 32>{});
    warp(std::integral_constant<int, 48>{}), warp(std::integral_constant<int, 64>{}), warp(std::integral_constant<int, 96>{});

    for (size_t stride = 8; stride <= MIB; stride *= 2) {
        size_t bytes = stride * 4096;  // as many lines in all
        size_t step = stride / 8, mask = bytes / 8 - 1;
        std::vector<double> runs;
        for (int run = 0; run < 5; ++run) {
            double few = milliseconds([&] { apart<<<1320, 256>>>((const double*)memory, step, mask, (double*)out); });
            double many = milliseconds([&] { apart<<<6600, 256>>>((const double*)memory, step, mask, (double*)out); });
            if (run) runs.push_back(5280.0 * 256 * 16 / (many - few) / 1e6);
        }
        figure("words apart", "4096 words of 8 bytes, x bytes apart, in the L2 cache", stride, runs, "1e9 words a second");
    }
    for (size_t stride = 128; stride <= 64 * KIB; stride *= 2) {
        size_t bytes = std::min(most, stride << 22);
        std::vector<double> runs;
        for (int run = 0; run < 4; ++run) {
            double few = milliseconds([&] { apart<<<256, 256>>>((const double*)memory, stride / 8, bytes / 8 - 1, (double*)out); });
            double many = milliseconds([&] { apart<<<1280, 256>>>((const double*)memory, stride / 8, bytes / 8 - 1, (double*)out); });
            if (run) runs.push_back(1024.0 * 256 * 16 / (many - few) / 1e6);
        }
        figure("words apart", "4 Mi words of 8 bytes, x bytes apart", stride, runs, "1e9 words a second");
    }
}
