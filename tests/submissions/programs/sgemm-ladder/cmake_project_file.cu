// src/sgemm.cu, built by CMakeLists.txt together with src/main.cpp
#include "sgemm.h"
#include "cuda_utils.hpp"
#include <cuda_runtime.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>

namespace {

constexpr int Tile = 128;
constexpr int Depth = 8;

__device__ __forceinline__ float4 read4(const float* p) { return *reinterpret_cast<const float4*>(p); }

union Vec { float4 v; float f[4]; };

__global__ void __launch_bounds__(256) gemm_kernel(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) float As[Depth][Tile];
    __shared__ __align__(16) float Bs[Depth][Tile];
    const int t = threadIdx.x;
    const float* a = A + (size_t)(blockIdx.y * Tile + t / 2) * k + t % 2 * 4;
    const float* b = B + (size_t)(t / 32) * n + blockIdx.x * Tile + t % 32 * 4;
    const int r = t / 16 * 8, c = t % 16 * 8;
    float acc[8][8];
    for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) acc[i][j] = 0.f;
    for (int p = 0; p < k; p += Depth) {
        Vec va;
        va.v = read4(a + p);
        for (int i = 0; i < 4; ++i) As[t % 2 * 4 + i][t / 2] = va.f[i];
        *reinterpret_cast<float4*>(&Bs[t / 32][t % 32 * 4]) = read4(b + (size_t)p * n);
        __syncthreads();
        for (int d = 0; d < Depth; ++d) {
            float ra[8], rb[8];
            for (int i = 0; i < 8; ++i) { ra[i] = As[d][r + i]; rb[i] = Bs[d][c + i]; }
            for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(ra[i], rb[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j)
            C[(size_t)(blockIdx.y * Tile + r + i) * n + blockIdx.x * Tile + c + j] = acc[i][j];
}

}  // namespace

void Sgemm::launch(const Matrix& A, const Matrix& B, Matrix& C) const
{
    const dim3 grid(C.cols() / Tile, C.rows() / Tile);
    spdlog::info("grid {}x{}", grid.x, grid.y);
    gemm_kernel<<<grid, 256, 0, stream_>>>(A.data(), B.data(), C.data(), C.rows(), C.cols(), A.cols());
    CUDA_CHECK(cudaGetLastError());
}
