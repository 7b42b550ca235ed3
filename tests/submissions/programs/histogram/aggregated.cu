#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <iostream>
#include <map>
#include <unordered_map>

namespace cg = cooperative_groups;

constexpr int Bins = 256;

template <int N>
__device__ void clear(unsigned int (&counts)[N], const cg::thread_block& block)
{
    for (int i = block.thread_rank(); i < N; i += block.size()) counts[i] = 0;
}

__global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    auto block = cg::this_thread_block();
    __shared__ unsigned int counts[Bins];
    clear(counts, block);
    block.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(counts + data[i], 1u);
    block.sync();
    for (int i = block.thread_rank(); i < Bins; i += block.size())
        if (counts[i] != 0) atomicAdd(bins + i, counts[i]);
}

std::map<int, int> on_host(const std::string& text)
{
    std::map<int, int> seen;
    for (unsigned char c : text) ++seen[c];
    return seen;
}

int main(int argc, char** argv)
{
    std::string text;
    for (std::string line; std::getline(std::cin, line);) text += line + "\n";
    unsigned char* data;
    unsigned int* bins;
    cudaMallocManaged(&data, text.size());
    cudaMallocManaged(&bins, Bins * sizeof *bins);
    std::copy(text.begin(), text.end(), data);
    void* args[] = {&data, &bins};
    int n = text.size();
    histogram<<<16, 256>>>(data, bins, n);
    cudaDeviceSynchronize();
    for (auto [value, count] : on_host(text))
        if (bins[value] != (unsigned)count) std::cout << value << ": " << bins[value] << " != " << count << "\n";
    return cudaFree(data) || cudaFree(bins) || !args[0];
}
