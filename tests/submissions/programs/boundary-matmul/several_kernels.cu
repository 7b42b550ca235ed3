#include <iostream>
#include <iomanip>
#include <fstream>
#include <cuda_runtime.h>
#include <curand_kernel.h>
#include <nvToolsExt.h>

#define T 16
#ifndef REPEAT
#define REPEAT 10
#endif

using std::cout; using std::endl; using std::setw;

__global__ void setup_kernel(curandState *state, unsigned long seed)
{
    int id = threadIdx.x + blockIdx.x * blockDim.x;
    curand_init(seed, id, 0, &state[id]);
}

__global__ void generate(curandState *state, float *data, int n)
{
    int id = threadIdx.x + blockIdx.x * blockDim.x;
    if (id < n) data[id] = curand_uniform(&state[id]);
}

__global__ void transpose(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[x * h + y] = in[y * w + x];
}

__global__ void matmul(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float sA[T * T], sB[T * T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    int me = threadIdx.y * T + threadIdx.x;
    float acc = 0;
    int steps = (k + T - 1) / T;
    for (int s = 0; s < steps; s++) {
        int ka = s * T + threadIdx.x, kb = s * T + threadIdx.y;
        sA[me] = (row < m && ka < k) ? A[row * k + ka] : 0;
        sB[me] = (col < n && kb < k) ? B[kb * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++) acc += sA[threadIdx.y * T + i] * sB[i * T + threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = acc;
}

int main()
{
    curandState *states;
    float *A, *B, *C;
    cudaMalloc(&states, 10000 * sizeof(curandState));
    cudaMalloc(&A, 40000); cudaMalloc(&B, 40000); cudaMalloc(&C, 40000);
    setup_kernel<<<40, 256>>>(states, 1234ULL);
    generate<<<40, 256>>>(states, A, 10000);
    nvtxRangePushA("matmul");
    for (int i = 0; i < REPEAT; i++) matmul<<<dim3(7, 7), dim3(T, T)>>>(A, B, C, 100, 100, 100);
    nvtxRangePop();
    std::ofstream csv("result.csv");
    csv << setw(8) << cudaDeviceSynchronize() << endl;
    cout << "done" << endl;
}
