#include <cub/cub.cuh>
#include <cuda_runtime.h>
#include <stdio.h>
#include <vector>
#include <cub/util_allocator.cuh>
#include "test/test_util.h"

using namespace cub;

CachingDeviceAllocator g_allocator(true);
bool g_verbose = false;

__global__ void histogram(const unsigned char *data, unsigned int *bins, int n)
{
    typedef cub::BlockReduce<unsigned int, 256> Sum;
    __shared__ typename Sum::TempStorage storage;
    __shared__ unsigned int mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    unsigned int taken = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        atomicAdd(&mine[data[i]], 1u);
        ++taken;
    }
    unsigned int all = Sum(storage).Sum(taken);
    __syncthreads();
    if (mine[threadIdx.x]) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
    if (threadIdx.x == 0 && all > (unsigned int)n) printf("too many\n");
}

int main(int argc, char **argv)
{
    CommandLineArgs args(argc, argv);
    g_verbose = args.CheckCmdLineFlag("v");
    std::vector<unsigned char> h(1 << 16, 7);
    unsigned char *d;
    int *d_histogram;
    CubDebugExit(g_allocator.DeviceAllocate((void **)&d, h.size()));
    CubDebugExit(g_allocator.DeviceAllocate((void **)&d_histogram, 257 * sizeof(int)));
    void *d_temp_storage = NULL;
    size_t temp_storage_bytes = 0;
    CubDebugExit(DeviceHistogram::HistogramEven(d_temp_storage, temp_storage_bytes, d, d_histogram, 257, 0, 256, (int)h.size()));
    histogram<<<32, 256>>>(d, (unsigned int *)d_histogram, (int)h.size());
    CubDebugExit(cudaDeviceSynchronize());
    return 0;
}
