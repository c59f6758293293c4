// Latency of dependent arithmetic, and the cycles of a scheduler that an instruction of each class takes.
//
// latency: one warp, a chain of instructions each of which needs the one before it.
// interval: 32 warps (8 for each of four schedulers), each with four independent chains.
#include "common.cuh"

constexpr int DEPTH = 128, ROUNDS = 16;

// COUNT instructions of a class, from a value to itself; the compiler does not know its `seed`.
#define CLASS(NAME, TYPE, COUNT, CODE)                                     \
    struct NAME {                                                          \
        using Value = TYPE;                                                \
        static constexpr const char* name = #NAME;                         \
        static constexpr int count = COUNT;                                \
        static __device__ TYPE start(int seed) { return seed; }            \
        static __device__ void step(TYPE& x, TYPE a, TYPE b) { CODE; }     \
    };


CLASS(lop3_iadd3, uint32_t, 2, asm volatile("{.reg .u32 t; xor.b32 t, %0, %1; add.u32 %0, t, %2;}" : "+r"(x) : "r"(a), "r"(b)))
CLASS(lop3, uint32_t, 1, asm volatile("lop3.b32 %0, %0, %1, %2, 0x6a;" : "+r"(x) : "r"(a), "r"(b)))
CLASS(shift, uint32_t, 1, asm volatile("shf.l.wrap.b32 %0, %0, %1, 7;" : "+r"(x) : "r"(a)))
CLASS(imad, uint32_t, 1, asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b)))
CLASS(popc, uint32_t, 1, asm volatile("popc.b32 %0, %0;" : "+r"(x)))
CLASS(fp32_add, float, 1, asm volatile("add.f32 %0, %0, %1;" : "+f"(x) : "f"(a)))
CLASS(fp32_mul, float, 1, asm volatile("mul.f32 %0, %0, %1;" : "+f"(x) : "f"(a)))
CLASS(fp32_fma, float, 1, asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(a), "f"(b)))
CLASS(fp64_add, double, 1, asm volatile("add.f64 %0, %0, %1;" : "+d"(x) : "d"(a)))
CLASS(fp64_fma, double, 1, asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(x) : "d"(a), "d"(b)))
CLASS(fp16x2_fma, uint32_t, 1, asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b)))
CLASS(mufu_ex2, float, 1, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)))
CLASS(mufu_lg2, float, 1, asm volatile("lg2.approx.ftz.f32 %0, %0;" : "+f"(x)))
CLASS(mufu_rsq, float, 1, asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x)))
CLASS(mufu_tanh, float, 1, asm volatile("tanh.approx.f32 %0, %0;" : "+f"(x)))
CLASS(i2f, float, 1, asm volatile("cvt.rn.f32.s32 %0, %1;" : "=f"(x) : "r"(__float_as_int(x))))
CLASS(f2i, uint32_t, 1, asm volatile("cvt.rzi.u32.f32 %0, %1;" : "=r"(x) : "f"(__int_as_float(x))))
CLASS(f32_f64_f32, float, 2, asm volatile("{.reg .f64 d; cvt.f64.f32 d, %0; cvt.rn.f32.f64 %0, d;}" : "+f"(x)))
CLASS(shfl, uint32_t, 1, asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(x)))
CLASS(dp4a, uint32_t, 1, asm volatile("dp4a.u32.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b)))
CLASS(min_max, int, 2, asm volatile("{.reg .s32 t; min.s32 t, %0, %1; max.s32 %0, t, %2;}" : "+r"(x) : "r"(a), "r"(b)))
CLASS(setp_sel, int, 2, asm volatile("{.reg .pred p; setp.lt.s32 p, %0, %1; selp.s32 %0, %1, %2, p;}" : "+r"(x) : "r"(a), "r"(b)))

// Matrix products of a warp, each of which adds to the sum of the one before it.
struct Sum {
    float v[4];
};
#define PRODUCT(NAME, SHAPE)                                                                                        \
    struct NAME {                                                                                                   \
        using Value = Sum;                                                                                          \
        static constexpr const char* name = #NAME;                                                                  \
        static constexpr int count = 1;                                                                             \
        static __device__ Sum start(int seed) { return Sum{{float(seed), 0, 0, 0}}; }                               \
        static __device__ void step(Sum& x, Sum a, Sum b) {                                                         \
            uint32_t p = __float_as_uint(a.v[0]), q = __float_as_uint(b.v[0]);                                      \
            asm volatile("mma.sync.aligned." SHAPE : "+f"(x.v[0]), "+f"(x.v[1]), "+f"(x.v[2]), "+f"(x.v[3])          \
                         : "r"(p), "r"(q));                                                                         \
        }                                                                                                           \
    };
PRODUCT(hmma_16816_f32, "m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%5,%5}, {%4,%5}, {%0,%1,%2,%3};")
PRODUCT(hmma_1688_f32, "m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%4}, {%0,%1,%2,%3};")
PRODUCT(hmma_1688_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%5,%5}, {%4,%5}, {%0,%1,%2,%3};")
PRODUCT(hmma_16816_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%5,%5}, {%4,%5}, {%0,%1,%2,%3};")

struct imma_16832_s8 {
    struct Value {
        int v[4];
    };
    static constexpr const char* name = "imma_16832_s8";
    static constexpr int count = 1;
    static __device__ Value start(int seed) { return Value{{seed, 0, 0, 0}}; }
    static __device__ void step(Value& x, Value a, Value b) {
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%4,%5,%5}, {%4,%5}, {%0,%1,%2,%3};"
            : "+r"(x.v[0]), "+r"(x.v[1]), "+r"(x.v[2]), "+r"(x.v[3])
            : "r"(a.v[0]), "r"(b.v[0]));
    }
};

struct dmma_884 {
    struct Value {
        double v[2];
    };
    static constexpr const char* name = "dmma_884";
    static constexpr int count = 1;
    static __device__ Value start(int seed) { return Value{{double(seed), 0}}; }
    static __device__ void step(Value& x, Value a, Value b) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(x.v[0]), "+d"(x.v[1])
                     : "d"(a.v[0]), "d"(b.v[0]));
    }
};

template <class C, int CHAINS>
__global__ void __launch_bounds__(1024) chains(int seed, typename C::Value* out, long long* cycles) {
    typename C::Value x[CHAINS], a = C::start(seed + 1), b = C::start(seed + 2);
    for (int c = 0; c < CHAINS; ++c) x[c] = C::start(seed + c + threadIdx.x);
    long long begin = 0;
    for (int round = 0; round < ROUNDS + 1; ++round) {
        if (round == 1) {  // the first brings the code into the instruction cache
            __syncthreads();
            begin = clock64();
        }
#pragma unroll
        for (int i = 0; i < DEPTH / CHAINS; ++i) {
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) C::step(x[c], a, b);
        }
    }
    // What is read of the last values holds the clock back until they are there.
    for (int c = 0; c < CHAINS; ++c) out[c * blockDim.x + threadIdx.x] = x[c];
    __syncthreads();
    if (threadIdx.x == 0) cycles[0] = clock64() - begin;
}

template <class C>
void both() {
    auto* out = device<typename C::Value>(4 * 1024);
    long long* cycles = device<long long>(1);
    std::vector<double> latency, interval;
    for (int run = 0; run < 7; ++run) {
        chains<C, 1><<<1, 32>>>(run, out, cycles);
        latency.push_back(double(host(cycles, 1)[0]) / (ROUNDS * DEPTH * C::count));
        chains<C, 4><<<1, 1024>>>(run, out, cycles);
        interval.push_back(double(host(cycles, 1)[0]) / (ROUNDS * DEPTH * C::count * 8));
    }
    CHECK(cudaGetLastError());
    figure("latency", C::name, 1, latency, "cycles");
    figure("interval", C::name, 32, interval, "cycles of a scheduler");
    CHECK(cudaFree(out));
    CHECK(cudaFree(cycles));
}

__global__ void barriers(long long* cycles) {
    __syncthreads();
    long long begin = clock64();
    for (int i = 0; i < 256; ++i) __syncthreads();
    if (threadIdx.x == 0) cycles[0] = clock64() - begin;
}

int main() {
    heading();
    both<lop3_iadd3>(), both<lop3>(), both<shift>(), both<imad>(), both<popc>(), both<min_max>();
    both<setp_sel>(), both<dp4a>(), both<fp32_add>(), both<fp32_mul>(), both<fp32_fma>(), both<fp16x2_fma>(), both<fp64_add>(), both<fp64_fma>();
    both<mufu_ex2>(), both<mufu_lg2>(), both<mufu_rsq>(), both<mufu_tanh>(), both<i2f>(), both<f2i>();
    both<f32_f64_f32>(), both<shfl>(), both<hmma_16816_f32>(), both<hmma_1688_f32>(), both<hmma_1688_tf32>();
    both<hmma_16816_bf16>(), both<imma_16832_s8>(), both<dmma_884>();
    long long* cycles = device<long long>(1);
    for (int warps = 1; warps <= 32; warps *= 2) {
        std::vector<double> runs;
        for (int run = 0; run < 7; ++run) {
            barriers<<<1, 32 * warps>>>(cycles);
            runs.push_back(host(cycles, 1)[0] / 256.0);
        }
        figure("barrier", "bar_sync", warps, runs, "cycles");
    }
}
