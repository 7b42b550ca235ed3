// cuRAND's device header: each generator's bits, uniform and normal numbers, 32 threads of 5 each.

#include <curand_kernel.h>

// kernel xorwow grid 2 block 16
// out bits uint32 = np.zeros(160) -> _
// out uniform float32 = np.zeros(160) -> _
// out normal float32 = np.zeros(160) -> _
extern "C" __global__ void xorwow(unsigned *bits, float *uniform, float *normal) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandState state;
  curand_init(1234, id, 0, &state);
  for (int k = id * 5; k < id * 5 + 5; k++) {
    bits[k] = curand(&state);
    uniform[k] = curand_uniform(&state);
    normal[k] = curand_normal(&state);
  }
}

// kernel philox grid 2 block 16
// out bits uint32 = np.zeros(160) -> _
// out uniform float32 = np.zeros(640) -> _
// out normal float32 = np.zeros(320) -> _
extern "C" __global__ void philox(unsigned *bits, float4 *uniform, float2 *normal) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(99, id, 3, &state);
  for (int k = id * 5; k < id * 5 + 5; k++) {
    bits[k] = curand(&state);
    uniform[k] = curand_uniform4(&state);
    normal[k] = curand_normal2(&state);
  }
}

// kernel mrg32k3a grid 2 block 16
// out bits uint32 = np.zeros(160) -> _
// out uniform float64 = np.zeros(160) -> _
// out normal float32 = np.zeros(160) -> _
extern "C" __global__ void mrg32k3a(unsigned *bits, double *uniform, float *normal) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandStateMRG32k3a state;
  curand_init(7, id, 10, &state);
  for (int k = id * 5; k < id * 5 + 5; k++) {
    bits[k] = curand(&state);
    uniform[k] = curand_uniform_double(&state);
    normal[k] = curand_log_normal(&state, 0.5f, 0.25f);
  }
}

// kernel poisson grid 2 block 16
// out few uint32 = np.zeros(160) -> _
// out many uint32 = np.zeros(160) -> _
// out normal float64 = np.zeros(160) -> _
extern "C" __global__ void poisson(unsigned *few, unsigned *many, double *normal) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandState state;
  curand_init(5, 0, id * 100, &state);
  for (int k = id * 5; k < id * 5 + 5; k++) {
    few[k] = curand_poisson(&state, 3.5);
    many[k] = curand_poisson(&state, 5000);
    normal[k] = curand_normal_double(&state);
  }
}

// One thread makes a block's generator, each warp's first thread draws from it in turn, and the
// whole state, with its padding, is kept for the next launch.
// kernel kept grid 2 block 96
// out states uint8 = np.zeros(96) -> _
// out uniform float32 = np.zeros(6) -> _
// out normal float32 = np.zeros(6) -> _
extern "C" __global__ void kept(curandState *states, float *uniform, float *normal) {
  __shared__ curandState state;
  int warp = threadIdx.x / 32, id = blockIdx.x * 3 + warp;
  if (threadIdx.x == 0)
    curand_init(1, blockIdx.x, 0, &state);
  for (int turn = 0; turn < 3; turn++) {
    __syncthreads();
    if (threadIdx.x % 32 == 0 && warp == turn) {
      uniform[id] = curand_uniform(&state);
      normal[id] = curand_normal(&state);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0)
    states[blockIdx.x] = state;
}
