#include <cuda_runtime.h>
#include <cuda_occupancy.h>
#include <iostream>
#include <cstdlib>

#define WINDOW 16
#define CHECK(x) check((x), #x, __FILE__, __LINE__)

template <typename T>
void check(T err, const char* const func, const char* const file, int const line)
{
    if (err != cudaSuccess) {
        std::cerr << "CUDA Runtime Error at: " << file << ":" << line << std::endl;
        std::cerr << cudaGetErrorString(err) << " " << func << std::endl;
        std::exit(EXIT_FAILURE);
    }
}

__global__ void __launch_bounds__(1024, 2) smooth(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float weighted = 0.0f, top = x[i];
#pragma unroll
        for (int j = 0; j < WINDOW; ++j) {
            float v = x[i + j];
            weighted += v * (j + 1);
            top = max(top, v);
        }
        y[i] = weighted - top;
    }
}

__global__ void choose_block(int threads_per_sm, int blocks_per_sm, int most, int* block)
{
    int found = 32;
    for (int t = most / 32 * 32; t >= 32; t -= 32)
        if (threads_per_sm % t == 0 && threads_per_sm / t <= blocks_per_sm) { found = t; break; }
    *block = found;
}

int main()
{
    int numBlocks, blockSize = 512, device, minGrid, best;
    cudaDeviceProp prop;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&prop, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&numBlocks, smooth, blockSize, 0));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&minGrid, &best, smooth, 0, 0));
    int activeWarps = numBlocks * blockSize / prop.warpSize;
    int maxWarps = prop.maxThreadsPerMultiProcessor / prop.warpSize;
    std::cout << "Occupancy: " << (double)activeWarps / maxWarps * 100 << "%" << std::endl;
    int* d;
    CHECK(cudaMalloc(&d, sizeof(int)));
    choose_block<<<1, 1>>>(prop.maxThreadsPerMultiProcessor, prop.maxBlocksPerMultiProcessor, prop.maxThreadsPerBlock, d);
    smooth<<<minGrid, best>>>(nullptr, nullptr, 0);
    CHECK(cudaDeviceSynchronize());
}
