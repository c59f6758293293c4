// Kernels whose PTX has what few others have: each once gave a wrong result, or none.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

// NVCC's division asks with addc for the carry of a difference.
extern "C" __global__ void wide_division(const unsigned long long* a, const unsigned long long* b, unsigned long long* out) {
    int i = threadIdx.x;
    unsigned __int128 p = (unsigned __int128)a[i] * b[i], q = p / (b[i] >> 7 | 1);
    out[2 * i] = (unsigned long long)q;
    out[2 * i + 1] = (unsigned long long)(q >> 64);
}

// Two calls whose parameters have one name and different widths.
struct Pair { unsigned long long state, step; };
__device__ __noinline__ unsigned draw(Pair* r) { r->state = r->state * 6364136223846793005ull + r->step; return r->state >> 33; }
__device__ __noinline__ unsigned steps(unsigned x) { unsigned n = 0; while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; ++n; } return n; }
extern "C" __global__ void calls_of_two_kinds(const unsigned* seed, unsigned* out) {
    int i = threadIdx.x;
    Pair r = {seed[i], 2ull * i + 1};
    out[i] = draw(&r) ^ draw(&r);
    out[64 + i] = steps(seed[i] % 1000 + 1);
}

// Arguments of 8 and 16 bits are given as 32, and taken with their sign.
struct Mixed { signed char a, b; short c; int d; };
__device__ __noinline__ int scaled(signed char a, short b, unsigned char c) { return a * 1000000 + b * 7 + c; }
__device__ __noinline__ Mixed turned(Mixed x, signed char k) { Mixed r = {(signed char)(x.b + k), x.a, (short)(x.c * 2), x.d + x.c}; return r; }
extern "C" __global__ void narrow_arguments(const int* x, int* out) {
    int i = threadIdx.x, v = x[i];
    Mixed m = {(signed char)v, (signed char)(v >> 3), (short)(v * 7), i};
    m = turned(turned(m, 5), -3);
    out[i] = scaled((signed char)v, (short)(v >> 2), (unsigned char)(v >> 1));
    out[64 + i] = m.a * 1000 + m.b;
    out[128 + i] = m.c + 3 * m.d;
}

// Offsets that bring a shared address back above 0; of every other tile half is filled with zeros.
extern "C" __global__ void mirrored(const float4* a, float4* out, int tiles) {
    __shared__ float4 buffer[3][64];
    int t = threadIdx.x;
    for (int s = 0; s < 2; ++s) {
        __pipeline_memcpy_async(&buffer[s][t], a + s * 64 + t, 16);
        __pipeline_commit();
    }
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < tiles; ++k) {
        if (k + 2 < tiles) __pipeline_memcpy_async(&buffer[(k + 2) % 3][t], a + (k + 2) * 64 + t, 16, k & 1 ? 8 : 0);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        float4 v = buffer[k % 3][63 - t];
        sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
        __syncthreads();
    }
    out[t] = sum;
}

// Comparisons of pairs, and bytes side by side.
extern "C" __global__ void pairs(const __half2* a, const __half2* b, unsigned* out, const unsigned* x, const unsigned* y) {
    int i = threadIdx.x;
    out[i] = __hlt2_mask(a[i], b[i]);
    __half2 ones = __heq2(a[i], b[i]);
    out[32 + i] = *reinterpret_cast<unsigned*>(&ones);
    out[64 + i] = __hbge2(a[i], b[i]) + 2 * __hbneu2(a[i], b[i]);
    out[96 + i] = __vabsdiffu4(x[i], y[i]);
    out[128 + i] = __vsadu4(x[i], y[i]);
}
