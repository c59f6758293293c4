// Loads among stores: latency of a load right behind a store; random loads and stores of all SMs in one array or in
// two, by all or by some; a level of a breadth-first search with its stores and without.
#include "common.cuh"

__device__ inline uint32_t clocks() {
    uint32_t t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// The value at an address, from the L1 cache or past it, and the cycles until it is there.
template <bool PAST_L1 = false>
__device__ inline int load(const int* at, uint32_t& spent) {
    int value;
    uint32_t begin = clocks();
    if constexpr (PAST_L1) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    else asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    if (value == 0x7ffffff1) asm volatile("trap;");  // never: the clock is read when the value is there
    spent += clocks() - begin;
    return value;
}

__device__ inline void store(int* at, int value) { asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory"); }

// ---- one warp ----------------------------------------------------------------------------------

enum Target { NOTHING, SAME_WORD, SAME_SECTOR, SAME_LINE, OTHER_LINE, NEW_LINES };

// A store, then a load of a line that is in the L1 cache; lanes 8 lines apart.
__global__ void after_store(int* words, int target, int lanes, int rounds, uint32_t* out) {
    if ((int)threadIdx.x >= lanes) return;
    int* at = words + threadIdx.x * 256;
    uint32_t spent = 0;
    load(at, spent), load(at + 8, spent);
    spent = 0;
    for (int round = 0; round < rounds; ++round) {
        if (target == SAME_WORD) store(at, round);
        if (target == SAME_SECTOR) store(at + 1, round);
        if (target == SAME_LINE) store(at + 16, round);
        if (target == OTHER_LINE) store(at + 64, round);
        if (target == NEW_LINES) store(at + (1 << 16) + round * (1 << 13), round);
        load(at, spent);
    }
    if (threadIdx.x == 0) *out = spent;
}

// ---- all SMs -----------------------------------------------------------------------------------

enum Where { SAME, OTHER_PLACE, OTHER_ARRAY };

// Four lanes of a warp load at random, one after the other, and `percent` of the time store: to where they loaded, to
// another place of the array, or to another array.  Each SM has an array of its own if `apart` is not 0.
template <bool PAST_L1>
__global__ void mixture(int* loaded, int* other, uint32_t words, uint32_t apart, int where, uint32_t percent, int rounds, uint32_t* sums) {
    if (threadIdx.x % 32 >= 4) return;
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, spent = 0, begin = clocks();
    loaded += size_t(blockIdx.x) * apart, other += size_t(blockIdx.x) * apart;
    for (int round = 0; round < rounds; ++round) {
        uint32_t x = mixed(thread * 64 + round), place = x & (words - 1), y = mixed(x + 1);
        int value = load<PAST_L1>(loaded + place, spent);
        if (y % 100 < percent) store(where == OTHER_ARRAY ? other + place : loaded + (where == SAME ? place : y & (words - 1)), value);
    }
    atomicAdd(sums, spent / rounds);
    atomicAdd(sums + 1, (clocks() - begin) / rounds);
}

enum Split { NO_SPLIT, BY_WARP, BY_SM, BY_HALF };

// As above with an array that all share, but some only load from it and the others, which load from another array, store
// to it: every other warp, every other SM, or one half of the blocks.
template <bool PAST_L1>
__global__ void roles(int* shared, int* other, uint32_t words, int split, int rounds, uint32_t* sums) {
    if (threadIdx.x % 32 >= 4) return;
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, spent = 0;
    int number = split == BY_WARP ? threadIdx.x / 32 % 2 : split == BY_SM ? blockIdx.x % 2 : blockIdx.x >= gridDim.x / 2;
    bool loads = split == NO_SPLIT || number == 0, stores = split == NO_SPLIT || number == 1;
    for (int round = 0; round < rounds; ++round) {
        uint32_t x = mixed(thread * 64 + round), y = mixed(x + 1);
        int value = load<PAST_L1>((loads ? shared : other) + (x & (words - 1)), spent);
        if (stores) store(shared + (y & (words - 1)), value);
    }
    atomicAdd(sums + !loads, spent / rounds);
}

// ---- breadth-first search ----------------------------------------------------------------------

enum Stores { ALL, NONE, ELSEWHERE, NO_BOUND, BOUND_ALONE };

// A level, as bfs_level of kernels.cu: with its stores and the load of the row's end behind each, or without some of it.
template <int STORES>
__global__ void bfs(const int* row, const int* column, int* level, int* mark, int now, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && level[v] == now) {
        int last = row[v + 1];
        for (int j = row[v]; j < last; ++j) {
            int u = column[j];
            if (*(volatile int*)(level + u) < 0) {
                if (STORES == ALL || STORES == NO_BOUND) store(level + u, now + 1);
                if (STORES == ELSEWHERE) store(mark + u, now + 1);
                if (STORES == NONE) asm volatile("" ::"r"(u) : "memory");
                if (STORES != NO_BOUND && STORES != NONE) last = *(volatile const int*)(row + v + 1);
            }
        }
    }
}

__global__ void read_all(const float4* a, size_t count, float* out) {
    float sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) sum += a[i].x;
    if (sum == 12345.678f) *out = sum;
}

void search(int n, float4* flush) {
    std::vector<int> row(n + 1), column(8 * n), level(n, -1);
    for (int i = 0; i <= n; ++i) row[i] = 8 * i;
    for (int j = 0; j < 8 * n; ++j) column[j] = mixed(j) % n;
    int *rows = device(row), *columns = device(column), *levels = device<int>(n), *mark = device<int>(n);
    level[0] = 0;
    std::vector<int> frontier{0};
    const char* names[] = {"stores", "no stores", "stores to another array", "stores, the row not again", "the row again, no stores"};
    void (*kernels[])(const int*, const int*, int*, int*, int, int) = {bfs<ALL>, bfs<NONE>, bfs<ELSEWHERE>, bfs<NO_BOUND>, bfs<BOUND_ALONE>};
    for (int now = 0; now < 8; ++now) {
        for (int stores = 0; stores < 5 && now >= 3; ++stores)
            for (bool cold : {true, false}) {
                std::vector<double> runs;
                for (int run = 0; run < 8; ++run) {
                    CHECK(cudaMemcpy(levels, level.data(), n * sizeof(int), cudaMemcpyHostToDevice));
                    if (cold) read_all<<<1056, 256>>>(flush, 16 << 20, (float*)flush);
                    double ms = milliseconds([&] { kernels[stores]<<<n / 256, 256>>>(rows, columns, levels, mark, now, n); });
                    if (run) runs.push_back(1e3 * ms);
                }
                char name[120];
                snprintf(name, sizeof name, "%d vertices, %s, %s", n, names[stores], cold ? "cold" : "warm");
                figure("search", name, now, runs, "us a level");
            }
        std::vector<int> next;
        for (int v : frontier)
            for (int j = row[v]; j < row[v + 1]; ++j)
                if (level[column[j]] < 0) level[column[j]] = now + 1, next.push_back(column[j]);
        frontier = next;
    }
    for (int* one : {rows, columns, levels, mark}) CHECK(cudaFree(one));
}

int main() {
    heading();
    figure("clock", "", 0, {clock_mhz()}, "MHz");
    int *words = device<int>(64 << 20), *other = device<int>(16 << 20);
    uint32_t* sums = device<uint32_t>(16);
    CHECK(cudaMemset(words, 0, size_t(256) << 20));
    CHECK(cudaMemset(other, 0, size_t(64) << 20));
    const char* targets[] = {"nothing", "the same word", "the same sector", "another sector of the line", "another line", "new lines"};
    for (int lanes : {1, 4, 32})
        for (int target = 0; target < 6; ++target) {
            std::vector<double> runs;
            for (int run = 0; run < 4; ++run) {
                int rounds = 256;
                after_store<<<1, 32>>>(words, target, lanes, rounds, sums);
                CHECK(cudaDeviceSynchronize());
                if (run) runs.push_back(double(host(sums, 1)[0]) / rounds);
            }
            figure("load behind a store", std::string("a store to ") + targets[target], lanes, runs, "cycles a load");
        }
    const char* places[] = {"the same word", "another place", "another array"};
    auto mix = [&](bool past_l1, uint32_t kib, int sms, bool own, int warps, int where, int percent) {
        std::vector<double> loads, rounds;
        auto kernel = past_l1 ? mixture<true> : mixture<false>;
        for (int run = 0; run < 4; ++run) {
            CHECK(cudaMemset(sums, 0, 8));
            kernel<<<sms, warps * 32>>>(words, other, kib * 256, own ? kib * 256 : 0, where, percent, 64, sums);
            auto got = host(sums, 2);
            double lanes = double(sms) * warps * 4;
            if (run) loads.push_back(got[0] / lanes), rounds.push_back(got[1] / lanes);
        }
        char name[160];
        snprintf(name, sizeof name, "%u KiB%s, %d SMs of %d warps, loads %s the L1 cache, stores to %s", kib, own ? " each" : "", sms,
                 warps, past_l1 ? "past" : "by", places[where]);
        figure("mixture", name, percent, loads, "cycles a load");
        figure("mixture", name, percent, rounds, "cycles a round");
    };
    for (uint32_t kib : {64, 256, 1024, 4096, 16384})
        for (int warps : {8, 32})
            for (int where = 0; where < 3; ++where)
                for (bool past_l1 : {false, true})
                    for (int percent : {0, 20, 100}) mix(past_l1, kib, 132, false, warps, where, percent);
    for (int sms : {1, 2, 4, 16, 66, 132})
        for (int where = 0; where < 3; ++where)
            for (bool own : {true, false}) mix(false, 64, sms, own, 32, where, 100);
    const char* splits[] = {"all do both", "warps load or store", "SMs load or store", "halves load or store"};
    for (uint32_t kib : {64, 256, 1024, 4096})
        for (int warps : {8, 32})
            for (bool past_l1 : {false, true})
                for (int split = 0; split < 4; ++split) {
                    std::vector<double> loads[2];
                    auto kernel = past_l1 ? roles<true> : roles<false>;
                    for (int run = 0; run < 4; ++run) {
                        CHECK(cudaMemset(sums, 0, 8));
                        kernel<<<132, warps * 32>>>(words, other, kib * 256, split, 64, sums);
                        auto got = host(sums, 2);
                        for (int role = 0; role < 2 && run; ++role) loads[role].push_back(got[role] / (132.0 * warps * (split ? 2 : 4)));
                    }
                    char name[160];
                    snprintf(name, sizeof name, "%u KiB, x warps, loads %s the L1 cache, %s: of those that ", kib, past_l1 ? "past" : "by", splits[split]);
                    figure("roles", std::string(name) + "load", warps, loads[0], "cycles a load");
                    if (split) figure("roles", std::string(name) + "store", warps, loads[1], "cycles a load");
                }
    auto* flush = (float4*)device<char>(size_t(256) << 20);
    CHECK(cudaMemset(flush, 0, size_t(256) << 20));
    for (int n : {1 << 16, 1 << 18, 1 << 20}) search(n, flush);
}
