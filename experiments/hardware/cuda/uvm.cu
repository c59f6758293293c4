// Page faults of managed memory: a lone one, regular and random touches, and what prefetching by the driver makes of them.
//
//     ./uvm TEST MEBIBYTES      TEST: lone, next, fresh_lone, stream, random, fresh, threads, batches
//
// A process does one test, as the driver's prefetching looks at what was touched before.  At most 256 MiB.
#include <cstring>
#include <random>

#include "common.cuh"

constexpr size_t KIB = 1 << 10, MIB = 1 << 20;

// One thread reads a word here and there, one after the other, and takes the time of each.
__global__ void touch(const char* memory, const uint64_t* places, int count, uint64_t* spent, uint32_t* out) {
    uint32_t sum = 0;
    for (int i = 0; i < count; ++i) {
        uint64_t begin = nanoseconds();
        uint32_t value = *(volatile const uint32_t*)(memory + places[i]);
        if (value == 0xdeadbeef) return;  // never: the time is taken when the value is there
        spent[i] = nanoseconds() - begin;
        sum += value;
    }
    *out = sum;
}

// Threads each read a word of a page, `page` bytes apart, in order or not.
__global__ void touch_all(const char* memory, const uint64_t* places, int count, uint32_t* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && *(const uint32_t*)(memory + places[i]) == 0xffffffff) *out = i;
}

__global__ void write_all(char* memory, const uint64_t* places, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) *(uint32_t*)(memory + places[i]) = i;
}

// As touch_all, and when each thread had its word.
__global__ void touch_timed(const char* memory, const uint64_t* places, int count, uint64_t* there, uint32_t* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (*(volatile const uint32_t*)(memory + places[i]) == 0xffffffff) *out = i;
    there[i] = nanoseconds();
}

// Threads that went on within 3 us of each other were waiting for one batch of faults: replays come batch by batch.
void batches(char* memory, size_t bytes, size_t apart, bool shuffled, uint32_t* out) {
    memset(memory, 1, bytes);
    std::vector<uint64_t> places(bytes / apart);
    for (size_t i = 0; i < places.size(); ++i) places[i] = i * apart;
    if (shuffled) std::shuffle(places.begin(), places.end(), std::mt19937(1));
    auto *at = device(places), *there = device<uint64_t>(places.size());
    touch_timed<<<(places.size() + 31) / 32, 32>>>(memory, at, places.size(), there, out);
    auto all = host(there, places.size());
    std::sort(all.begin(), all.end());
    std::vector<double> sizes, gaps;
    for (size_t i = 0; i < all.size(); ++i) {
        bool next = i == 0 || all[i] - all[i - 1] > 3000;
        if (next && i) gaps.push_back((all[i] - all[i - size_t(sizes.back())]) / 1e3);
        if (next) sizes.push_back(0);
        ++sizes.back();
    }
    char name[80];
    snprintf(name, sizeof name, "words %zu KiB apart, %s", apart / KIB, shuffled ? "shuffled" : "in order");
    figure("batches", std::string(name) + ": all of them", double(places.size()), {(all.back() - all.front()) / 1e3}, "us");
    figure("batches", std::string(name) + ": how many", double(places.size()), {double(sizes.size())}, "batches");
    figure("batches", std::string(name) + ": threads of one", double(places.size()), sizes, "threads");
    if (gaps.size()) figure("batches", std::string(name) + ": from one to the next", double(places.size()), gaps, "us");
}

int main(int argc, char** argv) {
    std::string test = argc > 1 ? argv[1] : "lone";
    size_t bytes = (argc > 2 ? atoi(argv[2]) : 64) * MIB;
    if (bytes > 256 * MIB) return 1;
    char* memory;
    CHECK(cudaMallocManaged(&memory, bytes));
    bool fresh = test == "fresh" || test == "fresh_lone";
    if (!fresh) memset(memory, 1, bytes);  // the pages are the host's
    std::mt19937 random(1);
    auto* out = device<uint32_t>(1);
    auto launch = [&](std::vector<uint64_t> places, int threads, const char* name, double x) {
        auto* at = device(places);
        double ms = milliseconds([&] {
            int blocks = (places.size() + threads - 1) / threads;
            if (fresh) write_all<<<blocks, threads>>>(memory, at, places.size());
            else touch_all<<<blocks, threads>>>(memory, at, places.size(), out);
        });
        figure(test, name, x, {ms * 1e3}, "us");
    };
    spin<<<1, 1>>>(100'000'000, device<long long>(2));
    CHECK(cudaDeviceSynchronize());

    if (test == "batches") {
        for (size_t apart : {4 * KIB, 64 * KIB})
            for (bool shuffled : {false, true}) batches(memory, bytes, apart, shuffled, out);
    } else if (test == "lone" || test == "next" || test == "fresh_lone") {
        // lone: each in a block of 2 MiB of its own; next: each in the 64 KiB behind those of the one before.
        size_t apart = test == "next" ? 64 * KIB : 2 * MIB;
        std::vector<uint64_t> places;
        for (size_t at = 4 * KIB; at < bytes; at += apart) places.push_back(at);
        if (test != "next") std::shuffle(places.begin(), places.end(), random);
        auto* at = device(places);
        auto* spent = device<uint64_t>(places.size());
        touch<<<1, 1>>>(memory, at, places.size(), spent, out);
        auto all = host(spent, places.size());
        std::vector<double> us;
        for (size_t i = 1; i < all.size(); ++i) us.push_back(all[i] / 1e3);  // the first wakes the driver
        figure(test, "first", 0, {all[0] / 1e3}, "us");
        figure(test, "each", double(apart), us, "us");
        for (size_t i = 0; i < std::min(all.size(), size_t(64)) && test == "next"; ++i) figure(test, "by place", i, {all[i] / 1e3}, "us");
    } else {
        // A warp's touches: 4 KiB apart (stream, fresh), or at random among pages of 4 KiB (random).
        size_t page = 4 * KIB;
        std::vector<uint64_t> places(bytes / page);
        for (size_t i = 0; i < places.size(); ++i) places[i] = i * page;
        if (test == "random") std::shuffle(places.begin(), places.end(), random);
        if (test == "threads") {  // few pages at once: 1, 2, 4 .. each in other blocks of 2 MiB
            size_t block = 0;
            for (int count = 1; block + count <= bytes / (2 * MIB); block += count, count *= 2) {
                std::vector<uint64_t> some;
                for (int i = 0; i < count; ++i) some.push_back((block + i) * 2 * MIB);
                launch(some, 32, "pages at once, each in a block of its own", count);
            }
            memset(memory, 2, bytes);
            for (int count = 1, b = 0; count <= 512 && size_t(b + 1) * 2 * MIB <= bytes; count *= 2, ++b) {
                std::vector<uint64_t> some;
                for (int i = 0; i < count; ++i) some.push_back(b * 2 * MIB + i * page);
                launch(some, 32, "pages of 4 KiB at once, in one block of 2 MiB", count);
            }
        } else {
            launch(places, 32, "all pages of 4 KiB, 32 threads a block", double(bytes));
            launch(places, 32, "all again, resident", double(bytes));
        }
    }
}
