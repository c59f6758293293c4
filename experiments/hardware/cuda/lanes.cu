// What the lanes of a warp cost each other: L1 hits by stride and by rows, shared memory by pattern, and
// latencies of single accesses.
//
// Cycles of the SM for one instruction of a warp, in the mean over 32 warps that have many under way.
#include "common.cuh"

constexpr int THREADS = 1024, WARPS = THREADS / 32;

// ---- L1 cache ----------------------------------------------------------------------------------

template <int WORD>
__device__ inline uint32_t load(const char* at) {
    uint32_t a, b, c, d;
    if constexpr (WORD == 4) {
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(a) : "l"(at));
        return a;
    } else if constexpr (WORD == 8) {
        asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "l"(at));
        return a ^ b;
    } else {
        asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at));
        return a ^ b ^ c ^ d;
    }
}

// Each thread loads the same eight elements in each round, `first` and others behind it.  That `zero` is 0 the
// compiler does not know, which would else load them once.
template <int WORD>
__global__ void __launch_bounds__(THREADS) l1_loads(const char* array, const int* first, int rounds, int zero,
                                                    uint32_t* out, long long* cycles) {
    constexpr int offsets[8] = {0, 4, 8, 12, 20, 16, 24, 28};
    const char* at = array + (size_t)first[threadIdx.x] * WORD;
    uint32_t sum = 0;
    long long begin = 0;
    for (int round = -2; round < rounds; ++round) {
        if (round == 0) {
            __syncthreads();
            begin = clock64();
        }
        uint32_t values[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] = load<WORD>(at + offsets[i] * WORD);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum ^= values[i];
        at += zero;
    }
    out[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) cycles[0] = clock64() - begin;
}

template <int WORD>
void l1_point(const char* test, int x, const std::vector<int>& first) {
    static char* array = device<char>(1 << 20);
    static uint32_t* out = device<uint32_t>(THREADS);
    static long long* cycles = device<long long>(1);
    CHECK(cudaFuncSetAttribute(l1_loads<WORD>, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
    int *given = device(first), rounds = 32;
    std::vector<double> runs;
    for (int run = 0; run < 5; ++run) {
        l1_loads<WORD><<<1, THREADS>>>(array, given, rounds, 0, out, cycles);
        runs.push_back(double(host(cycles, 1)[0]) / (rounds * 8 * WARPS));
    }
    CHECK(cudaGetLastError());
    CHECK(cudaFree(given));
    figure(test, std::to_string(WORD) + " B", x, runs, "cycles a warp load");
}

template <int WORD>
void l1_curves() {
    for (int stride = 0; stride <= 65; ++stride) {
        if (size_t(64 * stride + 32) * WORD > 200 << 10) continue;  // it has to fit into the cache
        std::vector<int> first(THREADS);
        for (int t = 0; t < THREADS; ++t) first[t] = t % 64 * stride;
        l1_point<WORD>("l1_stride", stride, first);
    }
    for (int width = 1; width <= 64; width *= 2) {
        std::vector<int> first(THREADS);
        for (int t = 0; t < THREADS; ++t) first[t] = t % width % 64 + (t / width % 32 + 1) * 1538;
        l1_point<WORD>("l1_rows_of_1538", width, first);
    }
    for (int lines = 1; lines <= 32; ++lines) {  // lanes spread over some whole lines, a word in each
        std::vector<int> first(THREADS);
        for (int t = 0; t < THREADS; ++t) first[t] = (t % lines * 128 + t % 32 * 4 / 16 * 16) / WORD;
        l1_point<WORD>("l1_lines", lines, first);
    }
}

// ---- shared memory -----------------------------------------------------------------------------

enum Kind { LDS32, LDS64, LDS128, STS32, STS64, STS128, LDSM1, LDSM2, LDSM4, STSM1, STSM2, STSM4, ATOMS, ATOMS_RETURN, KINDS };
const char* const KIND_NAMES[] = {"LDS.32", "LDS.64", "LDS.128", "STS.32", "STS.64", "STS.128", "LDSM.x1",
                                  "LDSM.x2", "LDSM.x4", "STSM.x1", "STSM.x2", "STSM.x4", "ATOMS.ADD", "ATOMS.ADD returned"};
const int KIND_BYTES[] = {4, 8, 16, 4, 8, 16, 16, 16, 16, 16, 16, 16, 4, 4};

template <int KIND>
__device__ inline void touch(uint32_t at, uint32_t& sum) {
    uint32_t a = 0, b = 0, c = 0, d = 0;
    if constexpr (KIND == LDS32) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(at));
    if constexpr (KIND == LDS64) asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    if constexpr (KIND == LDS128)
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    if constexpr (KIND == STS32) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(sum));
    if constexpr (KIND == STS64) asm volatile("st.shared.v2.u32 [%0], {%1,%1};" ::"r"(at), "r"(sum));
    if constexpr (KIND == STS128) asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(at), "r"(sum));
    if constexpr (KIND == LDSM1) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at));
    if constexpr (KIND == LDSM2)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    if constexpr (KIND == LDSM4)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                     : "r"(at));
    if constexpr (KIND == STSM1) asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(sum));
    if constexpr (KIND == STSM2) asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%1};" ::"r"(at), "r"(sum));
    if constexpr (KIND == STSM4)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%1,%1,%1};" ::"r"(at), "r"(sum));
    if constexpr (KIND == ATOMS) asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(sum));
    if constexpr (KIND == ATOMS_RETURN) asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(a) : "r"(at), "r"(sum));
    sum ^= a ^ b ^ c ^ d;
}

template <int KIND>
__global__ void __launch_bounds__(THREADS) shared_accesses(const int* lanes, int rounds, int zero, uint32_t* out,
                                                           long long* cycles) {
    __shared__ __align__(128) char words[48 << 10];
    for (int i = threadIdx.x; i < (48 << 10) / 4; i += blockDim.x) ((uint32_t*)words)[i] = i;
    uint32_t at = (uint32_t)__cvta_generic_to_shared(words) + lanes[threadIdx.x % 32];
    uint32_t sum[8];
    for (int i = 0; i < 8; ++i) sum[i] = threadIdx.x + i;
    long long begin = 0;
    for (int round = -1; round < rounds; ++round) {
        if (round == 0) {
            __syncthreads();
            begin = clock64();
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) touch<KIND>(at + i * 1024, sum[i]);  // the same banks
        at += zero;
    }
    for (int i = 1; i < 8; ++i) sum[0] ^= sum[i];
    out[threadIdx.x] = sum[0];
    __syncthreads();
    if (threadIdx.x == 0) cycles[0] = clock64() - begin;
}

template <int KIND>
void shared_point(const std::string& pattern, int x, const std::function<int(int)>& element) {
    static uint32_t* out = device<uint32_t>(THREADS);
    static long long* cycles = device<long long>(1);
    std::vector<int> lanes(32);
    for (int lane = 0; lane < 32; ++lane) lanes[lane] = element(lane) * KIND_BYTES[KIND];
    int *given = device(lanes), rounds = 16;
    std::vector<double> runs;
    for (int run = 0; run < 3; ++run) {
        shared_accesses<KIND><<<1, THREADS>>>(given, rounds, 0, out, cycles);
        runs.push_back(double(host(cycles, 1)[0]) / (rounds * 8 * WARPS));
    }
    CHECK(cudaGetLastError());
    CHECK(cudaFree(given));
    figure(std::string("shared ") + KIND_NAMES[KIND], pattern, x, runs, "cycles a warp access");
}

template <int KIND>
void shared_patterns() {
    for (int k = 0; k <= 33; ++k) shared_point<KIND>("lane*x", k, [=](int lane) { return lane * k; });
    for (int k = 1; k <= 32; k *= 2) {
        shared_point<KIND>("lane%x", k, [=](int lane) { return lane % k; });
        shared_point<KIND>("lane/x", k, [=](int lane) { return lane / k; });
        shared_point<KIND>("(lane%x)*32", k, [=](int lane) { return lane % k * 32; });
    }
    shared_point<KIND>("lane^x", 1, [](int lane) { return lane ^ 1; });
    shared_point<KIND>("31-lane", 0, [](int lane) { return 31 - lane; });
    if constexpr (KIND + 1 < KINDS) shared_patterns<KIND + 1>();
}

// ---- latencies ---------------------------------------------------------------------------------

template <int KIND>
__global__ void shared_chase(long long* cycles, uint32_t* out) {
    __shared__ __align__(16) uint32_t words[4];
    uint32_t base = (uint32_t)__cvta_generic_to_shared(words);
    words[0] = words[1] = words[2] = words[3] = KIND == ATOMS_RETURN ? 0 : base;
    __syncthreads();
    uint32_t at = base, b, c, d;
    long long begin = clock64();
#pragma unroll 8
    for (int i = 0; i < 512; ++i) {
        if constexpr (KIND == LDS32) asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(at));
        if constexpr (KIND == LDS64) asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%0];" : "+r"(at), "=r"(b));
        if constexpr (KIND == LDS128)
            asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%0];" : "+r"(at), "=r"(b), "=r"(c), "=r"(d));
        if constexpr (KIND == LDSM1) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%0];" : "+r"(at));
        if constexpr (KIND == LDSM4)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%0];" : "+r"(at), "=r"(b), "=r"(c), "=r"(d));
        if constexpr (KIND == ATOMS_RETURN) {
            asm volatile("atom.shared.add.u32 %0, [%1], 0;" : "=r"(b) : "r"(at));
            at = base + b;
        }
    }
    out[threadIdx.x] = at;
    if (threadIdx.x == 0) cycles[0] = clock64() - begin;
}

template <int KIND>
void shared_latency() {
    long long* cycles = device<long long>(1);
    uint32_t* out = device<uint32_t>(32);
    std::vector<double> runs;
    for (int run = 0; run < 7; ++run) {
        shared_chase<KIND><<<1, 32>>>(cycles, out);
        runs.push_back(host(cycles, 1)[0] / 512.0);
    }
    CHECK(cudaGetLastError());
    figure("latency", KIND_NAMES[KIND], 1, runs, "cycles");
}

// A pointer that points to itself, by one thread or by a warp; with a cache operator.
enum Way { WEAK, CG, CV, ATOM_ADD, ATOM_CAS };
template <int WAY>
__global__ void word_chase(uint64_t* word, long long* cycles) {
    uint64_t at = (uint64_t)word;
    long long begin = 0;
    for (int i = -8; i < 512; ++i) {
        if (i == 0) begin = clock64();
        if constexpr (WAY == WEAK) asm volatile("ld.global.u64 %0, [%0];" : "+l"(at));
        if constexpr (WAY == CG) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
        if constexpr (WAY == CV) asm volatile("ld.volatile.global.u64 %0, [%0];" : "+l"(at));
        if constexpr (WAY == ATOM_ADD) asm volatile("atom.global.add.u64 %0, [%0], 0;" : "+l"(at));
        if constexpr (WAY == ATOM_CAS) asm volatile("atom.global.cas.b64 %0, [%0], 0, 1;" : "+l"(at));
    }
    if (at == 1) word[1] = at;
    if (threadIdx.x == 0) cycles[0] = clock64() - begin;
}

template <int WAY>
void word_latency(const char* name) {
    uint64_t* words = device<uint64_t>(1 << 20);
    long long* cycles = device<long long>(1);
    std::vector<double> runs;
    for (int place = 0; place < 33; ++place) {  // other lines, in other slices of the L2 cache
        uint64_t* word = words + place * 3217;
        uint64_t value = (uint64_t)word;
        CHECK(cudaMemcpy(word, &value, 8, cudaMemcpyHostToDevice));
        word_chase<WAY><<<1, 1>>>(word, cycles);
        runs.push_back(host(cycles, 1)[0] / 512.0);
    }
    CHECK(cudaGetLastError());
    figure("latency", name, 1, runs, "cycles");
    CHECK(cudaFree(words));
}

int main() {
    heading();
    shared_latency<LDS32>(), shared_latency<LDS64>(), shared_latency<LDS128>(), shared_latency<LDSM1>();
    shared_latency<LDSM4>(), shared_latency<ATOMS_RETURN>();
    word_latency<WEAK>("LDG"), word_latency<CG>("LDG.cg"), word_latency<CV>("LDG.volatile");
    word_latency<ATOM_ADD>("ATOM.ADD"), word_latency<ATOM_CAS>("ATOM.CAS");
    l1_curves<4>(), l1_curves<8>(), l1_curves<16>();
    shared_patterns<0>();
}
