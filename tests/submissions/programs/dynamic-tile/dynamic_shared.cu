#include <cstdio>
#include <cuda_runtime.h>
#include <vector>
#include <string>

#define gpuErrchk(x) do { auto e = (x); if (e) { std::printf("%s\n", cudaGetErrorString(e)); std::abort(); } } while (false)

extern __shared__ float shared_mem[];

static int largestTile(const cudaDeviceProp& p)
{
    int t = 1;
    while ((t + 1) * (t + 1) <= p.maxThreadsPerBlock && 8 * (t + 1) * (t + 1) <= (int)p.sharedMemPerBlock) t++;
    return t;
}

__global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k, int tile)
{
    float* As = &shared_mem[0];
    float* Bs = &shared_mem[tile * tile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
    float sum = 0.f;
    for (int p = 0; p < (k + tile - 1) / tile; ++p) {
        As[ty * tile + tx] = (row < m && p * tile + tx < k) ? A[row * k + p * tile + tx] : 0.f;
        Bs[ty * tile + tx] = (col < n && p * tile + ty < k) ? B[(p * tile + ty) * n + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < tile; ++i) sum += As[ty * tile + i] * Bs[i * tile + tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}

__global__ void choose_tile(int max_threads, int shared_bytes, int* tile)
{
    int t = 1;
    while ((t + 1) * (t + 1) <= max_threads && (t + 1) * (t + 1) * 2 * sizeof(float) <= shared_bytes) ++t;
    *tile = t;
}

int main(int argc, const char* argv[])
{
    cudaDeviceProp prop;
    gpuErrchk(cudaGetDeviceProperties(&prop, 0));
    std::vector<std::string> args(argv, argv + argc);
    const int tile = largestTile(prop);
    int *d_tile, chosen = 0;
    gpuErrchk(cudaMalloc(&d_tile, sizeof(int)));
    choose_tile<<<1, 1>>>(prop.maxThreadsPerBlock, prop.sharedMemPerBlock, d_tile);
    gpuErrchk(cudaMemcpy(&chosen, d_tile, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%s: host %d, device %d\n", prop.name, tile, chosen);
    matmul<<<dim3(4, 4), dim3(tile, tile), 2 * tile * tile * sizeof(float)>>>(0, 0, 0, 0, 0, 0, tile);
    return cudaDeviceSynchronize();
}
