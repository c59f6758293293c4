// What launches cost: empty grids, the rate at which blocks begin, kernels behind each other and beside each other.
#include <map>

#include "common.cuh"

__global__ void empty() {}

// When and where each block began and ended: nanoseconds of the GPU, cycles of its SM.
struct Life {
    uint64_t begin, end;
    long long first, last;
    uint32_t sm, padding;
};
__global__ void lives(Life* out, long long cycles) {
    extern __shared__ char unused[];
    if (threadIdx.x == 0) {
        Life life{nanoseconds(), 0, clock64(), 0, sm_number(), 0};
        while (clock64() - life.first < cycles) {
        }
        life.last = clock64();
        life.end = nanoseconds();
        out[blockIdx.x] = life;
    }
}

__global__ void busy(long long cycles) {
    long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void stream(const float4* a, float4* b, size_t count) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) b[i] = a[i];
}

int main() {
    heading();
    double mhz = clock_mhz();
    figure("clock", "", 0, {mhz}, "MHz");
    Life* out = device<Life>(1 << 18);
    CHECK(cudaFuncSetAttribute(lives, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));

    for (int threads : {32, 128, 256, 512, 1024}) {
        for (int blocks : {1, 132, 512, 1024, 2048, 4096, 8192, 16384, 65536, 262144}) {
            std::vector<double> runs;
            for (int run = 0; run < 12; ++run) {
                double us = 1e3 * milliseconds([&] { empty<<<blocks, threads>>>(); });
                if (run > 1) runs.push_back(us);
            }
            figure("empty kernel between events", std::to_string(threads) + " threads", blocks, runs, "us");
        }
    }
    for (int blocks : {1, 132, 4096}) {
        std::vector<double> runs;
        for (int run = 0; run < 6; ++run) {
            double us = 1e3 * milliseconds([&] {
                for (int i = 0; i < 200; ++i) empty<<<blocks, 32>>>();
            });
            if (run) runs.push_back(us / 200);
        }
        figure("empty kernels one behind the other", "32 threads", blocks, runs, "us a kernel");
    }

    // The same in a graph, which the host hands over as a whole.
    cudaStream_t capturing;
    CHECK(cudaStreamCreate(&capturing));
    for (int blocks : {1, 132, 1024, 4096, 8192}) {
        for (int threads : {32, 256}) {
            cudaGraph_t graph;
            cudaGraphExec_t ready;
            CHECK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeGlobal));
            for (int i = 0; i < 500; ++i) empty<<<blocks, threads, 0, capturing>>>();
            CHECK(cudaStreamEndCapture(capturing, &graph));
            CHECK(cudaGraphInstantiate(&ready, graph, 0));
            std::vector<double> runs;
            for (int run = 0; run < 6; ++run) {
                double us = 1e3 * milliseconds([&] { CHECK(cudaGraphLaunch(ready, capturing)); }, capturing);
                if (run) runs.push_back(us / 500 * mhz);
            }
            figure("\"empty kernels of a graph, one behind the other\"", std::to_string(threads) + " threads", blocks, runs, "cycles a kernel");
            CHECK(cudaGraphExecDestroy(ready));
            CHECK(cudaGraphDestroy(graph));
        }
    }

    // From the first begin to the last, of blocks that end at once; and cycles between begins on an SM.
    for (int threads : {32, 128, 256, 1024}) {
        for (int blocks : {132, 1024, 4096, 16384}) {
            std::vector<double> span, apart;
            for (int run = 0; run < 5; ++run) {
                lives<<<blocks, threads>>>(out, 0);
                auto all = host(out, blocks);
                std::map<uint32_t, std::vector<long long>> begins;
                uint64_t first = ~0ull, last = 0;
                for (auto& life : all) {
                    first = std::min(first, life.begin), last = std::max(last, life.begin);
                    begins[life.sm].push_back(life.first);
                }
                if (run) span.push_back((last - first) * mhz / 1e3);
                for (auto& [sm, cycles] : begins) {
                    std::sort(cycles.begin(), cycles.end());
                    for (size_t i = 1; i < cycles.size(); ++i) apart.push_back(double(cycles[i] - cycles[i - 1]));
                }
            }
            figure("first to last begin", std::to_string(threads) + " threads", blocks, span, "cycles");
            if (!apart.empty()) figure("begins on an SM", std::to_string(threads) + " threads", blocks, apart, "cycles");
        }
    }
    // A block an SM at a time (227 KiB of shared memory): from the end of one to the begin of the next.
    for (int threads : {32, 256, 1024}) {
        for (int kib : {100, 227}) {
            std::vector<double> gap;
            int at_once = kib == 227 ? 1 : 2;
            for (int run = 0; run < 5; ++run) {
                lives<<<132 * at_once * 8, threads, kib << 10>>>(out, 4000);
                auto all = host(out, 132 * at_once * 8);
                std::map<uint32_t, std::vector<Life>> on;
                for (auto& life : all) on[life.sm].push_back(life);
                for (auto& [sm, lives] : on) {
                    std::vector<long long> begins, ends;
                    for (auto& life : lives) begins.push_back(life.first), ends.push_back(life.last);
                    std::sort(begins.begin(), begins.end()), std::sort(ends.begin(), ends.end());
                    for (size_t i = at_once; i < begins.size(); ++i) gap.push_back(double(begins[i] - ends[i - at_once]));
                }
            }
            CHECK(cudaGetLastError());
            figure("end of a block to the next begin", std::to_string(threads) + " threads", at_once, gap, "cycles");
        }
    }

    // Two kernels in one stream and in two.
    cudaStream_t streams[2], all;
    for (auto& one : streams) CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&all, cudaStreamNonBlocking));
    cudaEvent_t fork, join;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    size_t count = 16 << 20;
    float4 *a = device<float4>(count), *b = device<float4>(count), *c = device<float4>(count), *d = device<float4>(count);
    for (int blocks : {33, 66, 132, 264, 2112}) {
        for (int which = 0; which < 2; ++which) {
            auto put = [&](int i, cudaStream_t s) {
                if (which == 0) busy<<<blocks, 1024, 0, s>>>(400'000);
                else stream<<<blocks, 1024, 0, s>>>(i ? c : a, i ? d : b, count);
            };
            auto measured = [&](const char* name, const std::function<void()>& work) {
                std::vector<double> runs;
                for (int run = 0; run < 7; ++run) {
                    double us = 1e3 * milliseconds(work, all);
                    if (run) runs.push_back(us);
                }
                figure(name, which == 0 ? "busy for 400000 cycles, 1024 threads" : "copy 256 MiB, 1024 threads", blocks, runs, "us");
            };
            measured("one kernel", [&] { put(0, all); });
            measured("two kernels, one stream", [&] { put(0, all), put(1, all); });
            measured("two kernels, two streams", [&] {
                CHECK(cudaEventRecord(fork, all));
                CHECK(cudaStreamWaitEvent(streams[0], fork, 0));
                put(0, all), put(1, streams[0]);
                CHECK(cudaEventRecord(join, streams[0]));
                CHECK(cudaStreamWaitEvent(all, join, 0));
            });
        }
    }
}
