// Numbers of 8 bits, and atomics on vectors.

#include <cuda_fp16.h>
#include <cuda_fp8.h>

// kernel narrow_and_widen grid 1 block 8
// in x float32 = [0, 1, -3.25, 17, 19, 250, 1000, -0.001]
// out y float32 = [0, 1, -3.25, 16, 20, 256, 448, -0.001953125]
// out z float32 = [0, 1, -3, 16, 20, 256, 1024, -0.0009765625]
extern "C" __global__ void narrow_and_widen(const float *x, float *y, float *z) {
  y[threadIdx.x] = float(__nv_fp8_e4m3(x[threadIdx.x]));
  z[threadIdx.x] = float(__nv_fp8_e5m2(x[threadIdx.x]));
}

// kernel four_at_once grid 1 block 4
// in x float32 = np.arange(16) - 8
// out y float32 = np.arange(16) - 8
extern "C" __global__ void four_at_once(const float4 *x, float4 *y) {
  y[threadIdx.x] = float4(__nv_fp8x4_e4m3(x[threadIdx.x]));
}

// kernel one_of_two_unset grid 1 block 32
// out y uint16 = np.zeros(32)
extern "C" __global__ void one_of_two_unset(unsigned short *y) {
  float a = threadIdx.x, b;
  asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y[threadIdx.x]) : "f"(a), "f"(b));  // <- uninitialized-read
}

// kernel vectors_by_atomics grid 2 block 32
// inout a float32 = np.zeros(4) -> [64, 128, 192, 256]
// inout b float32 = np.zeros(2) -> [np.arange(32).sum() * 2, 64]
// out y int32 = np.ones(64)
extern "C" __global__ void vectors_by_atomics(float4 *a, float2 *b, int *y) {
  float4 old = atomicAdd(a, make_float4(1, 2, 3, 4));
  atomicAdd(b, make_float2(threadIdx.x, 1));
  y[blockIdx.x * 32 + threadIdx.x] = old.y == 2 * old.x && old.w == 4 * old.x;
}

// kernel vector_beside_its_place grid 1 block 2
// inout a float32 = np.zeros(8) -> _
extern "C" __global__ void vector_beside_its_place(float *a) {
  atomicAdd((float4 *)(a + 2 * threadIdx.x), make_float4(1, 2, 3, 4));  // <- invalid-access
}

// kernel vector_read_too_early grid 2 block 1
// inout a float32 = np.zeros(4) -> _
// out y float32 = [1, 1]
extern "C" __global__ void vector_read_too_early(float4 *a, float *y) {
  atomicAdd(a, make_float4(1, 1, 1, 1));  // <- race
  y[blockIdx.x] = a->w;  // <- race
}
