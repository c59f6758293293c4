// Latency of dependent loads by footprint: caches with 128 B between nodes, TLBs with up to 64 MiB; and how many
// random loads the whole GPU makes a second.
//
// A chain goes in random order through at most 2^20 nodes, each somewhere in a place of `stride` bytes of its own
// (a whole line, so that nodes that are pages apart are not in one set of a cache).
#include <chrono>
#include <cstring>
#include <random>

#include "common.cuh"

constexpr size_t KIB = 1 << 10, MIB = 1 << 20, GIB = 1 << 30;
constexpr size_t LINE = 128, MOST_NODES = 1 << 20, LOADS = 16384;


__global__ void link(char* memory, const uint64_t* places, size_t count) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count) *(uint64_t*)(memory + places[i]) = (uint64_t)(memory + places[(i + 1) % count]);
}

// The first `lead` loads are not timed.  What the last load brought is where the next launch begins.
template <bool PAST_L1>
__global__ void follow(uint64_t* start, size_t lead, size_t loads, long long* cycles) {
    uint64_t at = *start;
    for (size_t i = 0; i < lead; ++i) {
        if constexpr (PAST_L1) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
        else asm volatile("ld.global.u64 %0, [%0];" : "+l"(at));
    }
    long long begin = clock64();
#pragma unroll 8
    for (size_t i = 0; i < loads; ++i) {
        if constexpr (PAST_L1) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
        else asm volatile("ld.global.u64 %0, [%0];" : "+l"(at));
    }
    *start = at;
    cycles[0] = clock64() - begin;
}

struct Chase {
    char* memory;
    uint64_t *places, *start;
    long long* cycles;
    std::mt19937_64 random{1};

    // Links a new chain; returns its nodes in their order.
    std::vector<uint64_t> lay(size_t footprint, size_t stride) {
        size_t slots = footprint / stride, count = std::min(slots, MOST_NODES);
        std::vector<uint64_t> order(count);
        if (count == slots) {
            for (size_t i = 0; i < count; ++i) order[i] = i;
        } else {  // one in each of `count` equal parts
            for (size_t i = 0; i < count; ++i) {
                size_t begin = i * slots / count, end = (i + 1) * slots / count;
                order[i] = begin + random() % (end - begin);
            }
        }
        std::shuffle(order.begin(), order.end(), random);
        for (auto& place : order) place = place * stride + random() % (stride / LINE) * LINE;
        CHECK(cudaMemcpy(places, order.data(), count * sizeof(uint64_t), cudaMemcpyHostToDevice));
        link<<<(count + 255) / 256, 256>>>(memory, places, count);
        uint64_t first = (uint64_t)memory + order[0];
        CHECK(cudaMemcpy(start, &first, sizeof(first), cudaMemcpyHostToDevice));
        return order;
    }

    // Cycles of a load, of `chains` chains.
    std::vector<double> run(size_t footprint, size_t stride, bool past_l1, int chains) {
        auto kernel = past_l1 ? follow<true> : follow<false>;
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
        std::vector<double> runs;
        for (int i = 0; i < chains; ++i) {
            size_t lap = lay(footprint, stride).size(), loads = std::min(std::max(lap, (size_t)4096), LOADS);
            kernel<<<1, 1>>>(start, lap, loads, cycles);  // a lap warms what can be kept
            runs.push_back(double(host(cycles, 1)[0]) / loads);
        }
        CHECK(cudaGetLastError());
        return runs;
    }
};

// A lap whose loads are timed one by one.
__global__ void timed(uint64_t* start, int loads, uint32_t* spent) {
    uint64_t at = *start;
    for (int i = 0; i < loads; ++i) {
        long long begin = clock64();
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
        if (at == 0) return;  // never: the time is taken when the value is there
        spent[i] = clock64() - begin;
    }
    *start = at;
}

__global__ void read_range(const uint4* memory, size_t count, uint32_t* out) {
    uint32_t sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        sum ^= memory[i].x;
    if (sum == 0x12345678) *out = sum;
}

// Each thread loads (or changes, as GUPS does) words at places that it computes, eight of them under way.
template <bool UPDATE>
__global__ void scattered(uint32_t* table, size_t lines, int rounds, uint32_t* out) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            uint32_t bits = mixed(thread * 256 + round * 8 + i);
            size_t line = (size_t)(((unsigned __int128)(((uint64_t)bits << 32) | mixed(bits ^ 0x9e3779b9u)) * lines) >> 64);
            if constexpr (UPDATE) atomicXor(table + line * 32 + bits % 32, bits);
            else sum ^= table[line * 32 + bits % 32];
        }
    }
    if (!UPDATE) out[thread] = sum;
}

int main(int argc, char** argv) {
    size_t most = argc > 1 ? atoi(argv[1]) * GIB : 64 * GIB;
    auto began = std::chrono::steady_clock::now();
    heading();
    Chase chase{device<char>(most), device<uint64_t>(MOST_NODES), device<uint64_t>(1), device<long long>(1)};
    figure("clock", "", 0, {clock_mhz()}, "MHz");

    for (double footprint = 1024; footprint <= 16.0 * GIB; footprint *= footprint < 100 * MIB ? 1.19 : 1.6) {
        size_t bytes = size_t(footprint) / LINE * LINE;
        figure("chase", "128 B", double(bytes), chase.run(bytes, LINE, false, footprint < 100 * MIB ? 3 : 1), "cycles");
    }
    // Few nodes lie in few slices of the L2 cache, some nearer than others: means over as many chains as make 4096 nodes.
    for (size_t stride : {64 * KIB, 512 * KIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB}) {
        size_t last = 0;
        for (double nodes = 4; nodes <= 32768; nodes *= nodes < 64 ? 2 : 1.25) {
            size_t count = size_t(nodes), bytes = count * stride;
            if (bytes == last || bytes > most) continue;
            last = bytes;
            int chains = std::min(std::max(size_t(4096) / count, size_t(3)), size_t(48));
            auto runs = chase.run(bytes, stride, true, chains);
            double sum = 0;
            for (double one : runs) sum += one;
            figure("tlb median", std::to_string(stride / KIB) + " KiB", double(bytes), runs, "cycles");
            figure("tlb mean", std::to_string(stride / KIB) + " KiB", double(bytes), {sum / runs.size()}, "cycles");
        }
    }
    // First loads of pages: after memory was freed, which empties the TLBs, and again.
    uint32_t* out = device<uint32_t>(1 << 20);
    uint32_t* spent = device<uint32_t>(1 << 16);
    for (size_t stride : {2 * MIB, 32 * MIB, 512 * MIB}) {
        int count = std::min(most / stride, size_t(2048));
        for (int run = 0; run < 3; ++run) {
            for (const char* lines : {"lines in the L2 cache", "lines in DRAM"}) {
                chase.lay(count * stride, stride);
                if (!strcmp(lines, "lines in DRAM")) read_range<<<1056, 256>>>((const uint4*)chase.memory, 512 * MIB / 16, out);
                CHECK(cudaDeviceSynchronize());
                char* other = device<char>(256 * MIB);
                CHECK(cudaMemset(other, 0, 1));
                CHECK(cudaFree(other));
                for (const char* lap : {"first lap", "second lap"}) {
                    timed<<<1, 1>>>(chase.start, count, spent);
                    auto all = host(spent, count);
                    std::vector<double> cycles(all.begin(), all.end());
                    std::sort(cycles.begin(), cycles.end());
                    std::string name = std::string(lap) + ", " + lines + ", a page each " + std::to_string(stride / MIB) + " MiB";
                    for (int part : {5, 25, 50, 75, 95})
                        figure("first touches", name + ", run " + std::to_string(run), part, {cycles[count * part / 100]}, "cycles at a percentile");
                }
            }
        }
    }
    for (size_t bytes = MIB; bytes <= most; bytes *= 2) {
        for (bool update : {false, true}) {
            std::vector<double> rates;
            for (int run = 0; run < 4; ++run) {
                double ms = milliseconds([&] {
                    auto kernel = update ? scattered<true> : scattered<false>;
                    kernel<<<2048, 512>>>((uint32_t*)chase.memory, bytes / LINE, 2, out);
                });
                if (run) rates.push_back(2048.0 * 512 * 16 / ms / 1e6);
            }
            figure("random", update ? "update" : "load", double(bytes), rates, "1e9 words a second");
        }
    }
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    fprintf(stderr, "chase: %.1f s\n", seconds);
}
