// Threads that return before a barrier, which does not wait for them.

// A bounds return before the missing barrier: threads that left take no part in it.

// kernel returned_load_lacks_barrier grid 2 block 64
// in a float32 = rng.integers(0, 9, 100)
// out b float32 = [a[i] + a[i ^ 32] if (i ^ 32) < 100 else a[i] for i in range(100)]
// value n int32 = 100
// hints Put __syncthreads() between line X< and line Y<.
extern "C" __global__ void returned_load_lacks_barrier(const float *a, float *b, int n)
{
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i >= n) return;
  s[t] = a[i];  // <X
  b[i] = (i ^ 32) < n ? s[t] + s[t ^ 32] : s[t];  // <Y <- race
}

// kernel returned_load_has_barrier grid 2 block 64
// in a float32 = rng.integers(0, 9, 100)
// out b float32 = [a[i] + a[i ^ 32] if (i ^ 32) < 100 else a[i] for i in range(100)]
// value n int32 = 100
extern "C" __global__ void returned_load_has_barrier(const float *a, float *b, int n)
{
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i >= n) return;
  s[t] = a[i];
  __syncthreads();
  b[i] = (i ^ 32) < n ? s[t] + s[t ^ 32] : s[t];
}

// kernel returned_lanes_lack_barrier grid 2 block 32
// in a float32 = rng.integers(0, 9, 50)
// out b float32 = a + a.reshape(-1, 2)[:, ::-1].ravel()
// value n int32 = 50
// hints Put __syncwarp() between line X< and line Y<.
extern "C" __global__ void returned_lanes_lack_barrier(const float *a, float *b, int n)
{
  __shared__ float s[32];
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (i >= n) return;
  s[t] = a[i];  // <X
  b[i] = s[t] + s[t ^ 1];  // <Y <- race
}

// kernel returned_twice_lacks_second_barrier grid 2 block 64
// in a float32 = rng.integers(0, 9, 100)
// out b float32 = [2 * a[j] if (j := i ^ 32) < 100 else 0 for i in range(100)]
// value n int32 = 100
// hints Put __syncthreads() between line X< and line Y<.
extern "C" __global__ void returned_twice_lacks_second_barrier(const float *a, float *b, int n)
{
  __shared__ float s[64], d[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? a[i] : 0;
  if (i >= n) return;
  __syncthreads();
  d[t] = s[t] + s[t];  // <X
  float v = (i ^ 32) < n ? d[t ^ 32] : 0;  // <Y <- race
  b[i] = v;
}

// The threads behind the last element return before the load: their elements of the tile have no
// value.

// kernel returned_before_load grid 2 block 64
// in a float32 = rng.integers(0, 9, 100)
// inout b float32 = np.zeros(len(a)) -> _
// value n int32 = 100
// hints Threads return in line R< before they write their elements of `s`, and line X< reads these.
// hints return only after line B<, and store 0 where there is no data.
extern "C" __global__ void returned_before_load(const float *a, float *b, int n)
{
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i >= n) return;  // <R
  s[t] = a[i];
  __syncthreads();  // <B
  b[i] = s[t] + s[63];  // <X <- uninitialized-read
}

// kernel returned_behind_load grid 2 block 64
// in a float32 = rng.integers(0, 9, 100)
// out b float32 = [a[i] + (a[63] if i < 64 else 0) for i in range(100)]
// value n int32 = 100
extern "C" __global__ void returned_behind_load(const float *a, float *b, int n)
{
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? a[i] : 0;
  __syncthreads();
  if (i >= n) return;
  b[i] = s[t] + s[63];
}

// kernel returned_before_tiles grid 2,2 block 8,8
// in A float32 = rng.integers(0, 5, (12, 20))
// in B float32 = rng.integers(0, 5, (20, 13))
// inout C float32 = np.zeros((12, 13)) -> _
// hints Threads return in line R< before they write their elements of `as`, and line X< reads these.
// hints return only after line L<, and store 0 where there is no data.
extern "C" __global__ void returned_before_tiles(const float *A, const float *B, float *C)
{
  __shared__ float as[8][8], bs[8][8];
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (y >= 12 || x >= 13) return;  // <R
  float sum = 0;
  for (int k = 0; k < 24; k += 8) {
    as[threadIdx.y][threadIdx.x] = k + threadIdx.x < 20 ? A[y * 20 + k + threadIdx.x] : 0;
    bs[threadIdx.y][threadIdx.x] = k + threadIdx.y < 20 ? B[(k + threadIdx.y) * 13 + x] : 0;
    __syncthreads();
    for (int j = 0; j < 8; j++)
      sum += as[threadIdx.y][j] * bs[j][threadIdx.x];  // <X <- uninitialized-read
    __syncthreads();
  }  // <L
  C[y * 13 + x] = sum;
}

// A halo that no thread loads: the return above is right, since its threads would not load it.

// kernel halo_without_load grid 2 block 32
// in a float32 = rng.integers(0, 9, 50)
// inout b float32 = np.zeros(len(a)) -> _
// value n int32 = 50
// hints Write `s` before this line: load every element that is read, and store 0 where there is no
extern "C" __global__ void halo_without_load(const float *a, float *b, int n)
{
  __shared__ float s[34];
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (i >= n) return;
  s[t + 1] = a[i];
  __syncthreads();
  b[i] = s[t] + s[t + 1];  // <- uninitialized-read
}
