// Returns before a barrier, and threads that pass a barrier by.

// kernel returns_before_the_barrier grid 2 block 64
// value n int32 = 120
// in a int32 = np.arange(120)
// out y int32 = a + 1
extern "C" __global__ void returns_before_the_barrier(int n, const int *a, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i >= n) return;
  s[t] = a[i];
  __syncthreads();
  y[i] = s[t] + 1;
}

// The guard returns from some threads of the last block; half of each block passes the barrier by.
// kernel passes_by_beside_a_guard grid 2 block 64
// value n int32 = 120
// in a int32 = np.arange(120)
// out y int32 = a + 1
extern "C" __global__ void passes_by_beside_a_guard(int n, const int *a, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i >= n) return;
  s[t] = a[i];
  if (t < 32) {
    s[t] += 1;
    __syncthreads();  // <- barrier-divergence
  } else {
    s[t] += 1;
  }
  y[i] = s[t];
}

// Each block takes one branch as a whole, so none of the threads that are left passes its barrier by.
// kernel whole_blocks_in_branches grid 2 block 64
// value n int32 = 120
// in a int32 = np.arange(120)
// out y int32 = np.where(a < 64, 63 - a, a)
extern "C" __global__ void whole_blocks_in_branches(int n, const int *a, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i >= n || (blockIdx.x == 0 && t == 70)) return;
  s[t] = a[i];
  int r = s[t];
  if (blockIdx.x == 0) {
    __syncthreads();
    r = s[63 - t];
  }
  y[i] = r;
}
