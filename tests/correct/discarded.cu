// Loads of elements without a value: only a use of the value is a mistake, reported at the load.

#include <cub/warp/warp_merge_sort.cuh>
#define LESS struct Less { __device__ bool operator()(int a, int b) const { return a < b; } }
// kernel load_discarded grid 1 block 64
// in a int32 = np.arange(64) * 7
// value n int32 = 40
// out o int32 = [7 * i if i < 40 else -1 for i in range(64)]
extern "C" __global__ void load_discarded(const int *a, int n, int *o) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = a[t];
  __syncthreads();
  int x = s[t];
  o[t] = t < n ? x : -1;
}
// kernel load_kept grid 1 block 64
// in a int32 = np.arange(64) * 7
// value n int32 = 40
// out o int32 = np.zeros(64)
extern "C" __global__ void load_kept(const int *a, int n, int *o) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = a[t];
  __syncthreads();
  int x = s[t];  // <- uninitialized-read
  o[t] = t <= n ? x : -1;
}
// kernel load_replaced grid 1 block 64
// in a float32 = np.arange(64)
// value n int32 = 40
// out o float32 = [2 * i if i < 40 else 3 for i in range(64)]
extern "C" __global__ void load_replaced(const float *a, int n, float *o) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = a[t];
  __syncthreads();
  float x = s[t];
  if (t >= n) x = 1.5f;
  o[t] = x + x;
}
// kernel load_replaced_too_late grid 1 block 64
// in a float32 = np.arange(64)
// value n int32 = 40
// out o float32 = np.zeros(64)
extern "C" __global__ void load_replaced_too_late(const float *a, int n, float *o) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = a[t];
  __syncthreads();
  float x = s[t];  // <- uninitialized-read
  if (t > n) x = 1.5f;
  o[t] = x + x;
}
// kernel merge_ahead grid 1 block 64
// in a int32 = sorted(k * 37 % 100 for k in range(32)) + sorted(k * 53 % 90 for k in range(32))
// out o int32 = sorted(a)
// The next key is loaded before the merge knows whether there is one.
extern "C" __global__ void merge_ahead(const int *a, int *o) {
  __shared__ int s[65];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  if (t) return;
  int i = 0, j = 32, x = s[i], y = s[j];
  for (int q = 0; q < 64; ++q) {
    bool p = j < 64 && (i >= 32 || y < x);
    o[q] = p ? y : x;
    if (p) y = s[++j];
    else x = s[++i];
  }
}
// kernel merge_too_far grid 1 block 64
// in a int32 = sorted(k * 37 % 100 for k in range(32)) + sorted(k * 53 % 90 for k in range(32))
// out o int32 = np.zeros(64)
extern "C" __global__ void merge_too_far(const int *a, int *o) {
  __shared__ int s[80];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  if (t) return;
  int i = 0, j = 32, x = s[i], y = s[j];
  for (int q = 0; q < 64; ++q) {
    bool p = j <= 64 && (i >= 32 || y < x);
    o[q] = p ? y : x;
    if (p) y = s[++j];  // <- uninitialized-read
    else x = s[++i];
  }
}
// kernel merge_sort_of_warps grid 1 block 64
// in a int32 = np.arange(256) * 2654435761 % 1009
// out o int32 = np.sort(a.reshape(2, 128)).reshape(256)
extern "C" __global__ void merge_sort_of_warps(const int *a, int *o) {
  LESS;
  using Sort = cub::WarpMergeSort<int, 4, 32>;
  __shared__ typename Sort::TempStorage temp[2];
  int keys[4];
  for (int k = 0; k < 4; ++k) keys[k] = a[threadIdx.x * 4 + k];
  Sort(temp[threadIdx.x / 32]).Sort(keys, Less());
  for (int k = 0; k < 4; ++k) o[threadIdx.x * 4 + k] = keys[k];
}
