#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fstream>
#include <iostream>
#include <runner.cuh>

#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define cudaCheck(err) (cudaCheck(err, __FILE__, __LINE__))

const std::string errLogFile = "matrixValidationFailure.txt";
const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;

void (cudaCheck)(cudaError_t error, const char *file, int line) {
  if (error != cudaSuccess) {
    printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
  }
};

template <const int BM_, const int BN_, const int BK_, const int TM_, const int TN_>
__global__ void __launch_bounds__((BM_ * BN_) / (TM_ * TN_), 1)
    sgemm(const float *A, const float *B, float *C, int M, int N, int K) {
  __shared__ float As[BM_ * BK_];
  __shared__ float Bs[BK_ * BN_];
  const unsigned cRow = blockIdx.y, cCol = blockIdx.x;
  const int threadCol = threadIdx.x % (BN_ / TN_), threadRow = threadIdx.x / (BN_ / TN_);
  A += cRow * BM_ * K;
  B += cCol * BN_;
  C += cRow * BM_ * N + cCol * BN_;
  const unsigned innerRowA = threadIdx.x / (BK_ / 4), innerColA = threadIdx.x % (BK_ / 4);
  const unsigned innerRowB = threadIdx.x / (BN_ / 4), innerColB = threadIdx.x % (BN_ / 4);
  float threadResults[TM_ * TN_] = {0.0};
  float regM[TM_] = {0.0}, regN[TN_] = {0.0};
  for (unsigned bkIdx = 0; bkIdx < K; bkIdx += BK_) {
    float4 tmp = reinterpret_cast<const float4 *>(&A[innerRowA * K + innerColA * 4])[0];
    As[(innerColA * 4 + 0) * BM_ + innerRowA] = tmp.x;
    As[(innerColA * 4 + 1) * BM_ + innerRowA] = tmp.y;
    As[(innerColA * 4 + 2) * BM_ + innerRowA] = tmp.z;
    As[(innerColA * 4 + 3) * BM_ + innerRowA] = tmp.w;
    reinterpret_cast<float4 *>(&Bs[innerRowB * BN_ + innerColB * 4])[0] =
        reinterpret_cast<const float4 *>(&B[innerRowB * N + innerColB * 4])[0];
    __syncthreads();
    A += BK_;
    B += BK_ * N;
    for (unsigned dotIdx = 0; dotIdx < BK_; ++dotIdx) {
      for (unsigned i = 0; i < TM_; ++i) regM[i] = As[dotIdx * BM_ + threadRow * TM_ + i];
      for (unsigned i = 0; i < TN_; ++i) regN[i] = Bs[dotIdx * BN_ + threadCol * TN_ + i];
      for (unsigned m = 0; m < TM_; ++m)
        for (unsigned n = 0; n < TN_; ++n) threadResults[m * TN_ + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (unsigned m = 0; m < TM_; m += 1)
    for (unsigned n = 0; n < TN_; n += 4) {
      float4 v = make_float4(threadResults[m * TN_ + n], threadResults[m * TN_ + n + 1],
                             threadResults[m * TN_ + n + 2], threadResults[m * TN_ + n + 3]);
      reinterpret_cast<float4 *>(&C[(threadRow * TM_ + m) * N + threadCol * TN_ + n])[0] = v;
    }
}

void run_sgemm(int M, int N, int K, float *A, float *B, float *C) {
  dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
  dim3 blockDim((BM * BN) / (TM * TN));
  sgemm<BM, BN, BK, TM, TN><<<gridDim, blockDim>>>(A, B, C, M, N, K);
}

int main(int argc, char **argv) {
  int deviceIdx = 0;
  if (getenv("DEVICE") != NULL) deviceIdx = atoi(getenv("DEVICE"));
  cudaCheck(cudaSetDevice(deviceIdx));
  cublasHandle_t handle;
  if (cublasCreate(&handle)) { std::cerr << "Create cublas handle error." << std::endl; exit(EXIT_FAILURE); };
  std::vector<int> SIZE = {128, 256, 512, 1024, 2048, 4096};
  for (int size : SIZE) {
    float *dA = nullptr, *dB = nullptr, *dC = nullptr;
    cudaCheck(cudaMalloc((void **)&dA, sizeof(float) * size * size));
    run_sgemm(size, size, size, dA, dB, dC);
    std::cout << "dimensions(m=n=k) " << size << std::endl;
  }
  cublasDestroy(handle);
  return 0;
}
