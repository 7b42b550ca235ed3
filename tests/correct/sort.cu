// Sorting: bitonic, odd-even, by counting, ranks.

// kernel bitonic grid 2 block 64
// inout x int32 = rng.integers(0, 999, 128) -> np.sort(x.reshape(2, 64), 1).ravel()
extern "C" __global__ void bitonic(int *x) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  for (int k = 2; k <= 64; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int o = t ^ j;
      if (o > t) {
        bool up = (t & k) == 0;
        int a = s[t], b = s[o];
        if ((a > b) == up) { s[t] = b; s[o] = a; }
      }
      __syncthreads();
    }
  x[blockIdx.x * 64 + t] = s[t];
}

// kernel bitonic_warp grid 1 block 32
// inout x float32 = rng.random(32) -> np.sort(x)
extern "C" __global__ void bitonic_warp(float *x) {
  int t = threadIdx.x;
  float v = x[t];
  for (int k = 2; k <= 32; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      float o = __shfl_xor_sync(~0u, v, j);
      bool low = (t & j) == 0, up = (t & k) == 0;
      v = (low == up) ? fminf(v, o) : fmaxf(v, o);
    }
  x[t] = v;
}

// kernel odd_even grid 1 block 50
// inout x int32 = rng.permutation(100) -> np.arange(100)
extern "C" __global__ void odd_even(int *x) {
  for (int k = 0; k < 100; k++) {
    int i = 2 * threadIdx.x + (k & 1);
    if (i + 1 < 100 && x[i] > x[i + 1]) { int v = x[i]; x[i] = x[i + 1]; x[i + 1] = v; }
    __syncthreads();
  }
}

// kernel ranks grid 2 block 40
// in x int32 = rng.permutation(80) * 3
// inout y int32 = np.zeros(80) -> np.sort(x)
extern "C" __global__ void ranks(const int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, rank = 0;
  for (int k = 0; k < 80; k++) rank += x[k] < x[i];
  y[rank] = x[i];
}

// kernel counting grid 1 block 64
// in x int32 = rng.integers(0, 16, 64)
// out y int32 = np.sort(x)
extern "C" __global__ void counting(const int *x, int *y) {
  __shared__ int count[16], start[16];
  int t = threadIdx.x;
  if (t < 16) count[t] = 0;
  __syncthreads();
  int mine = atomicAdd(&count[x[t]], 1);
  __syncthreads();
  if (t < 16) { start[t] = 0; for (int k = 0; k < t; k++) start[t] += count[k]; }
  __syncthreads();
  y[start[x[t]] + mine] = x[t];
}

// kernel radix_bit grid 1 block 32
// inout x uint32 = rng.integers(0, 2**16, 32) -> np.sort(x)
extern "C" __global__ void radix_bit(unsigned *x) {
  __shared__ unsigned s[32];
  int t = threadIdx.x;
  unsigned v = x[t];
  for (int bit = 0; bit < 16; bit++) {
    bool one = v >> bit & 1;
    unsigned ones = __ballot_sync(~0u, one), below = (1u << t) - 1;
    int at = one ? __popc(~ones) + __popc(ones & below) : __popc(~ones & below);
    s[at] = v;
    __syncwarp();
    v = s[t];
    __syncwarp();
  }
  x[t] = v;
}
