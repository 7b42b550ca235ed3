#include <cub/block/block_radix_sort.cuh>

// kernel keys grid 4 block 128
// in x int32 = rng.integers(-1000, 1000, 2048)
// out out int32 = np.sort(x.reshape(4, 512)).ravel()
extern "C" __global__ void keys(const int *in, int *out) {
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  __shared__ typename Sort::TempStorage temp;
  int keys[4], at = (blockIdx.x * 128 + threadIdx.x) * 4;
  for (int i = 0; i < 4; ++i) keys[i] = in[at + i];
  Sort(temp).Sort(keys);
  for (int i = 0; i < 4; ++i) out[at + i] = keys[i];
}

// kernel pairs grid 4 block 64
// in x float32 = rng.normal(0, 9, 1024)
// out out float32 = -np.sort(-x.reshape(4, 256)).ravel()
// out from int32 = np.argsort(-x.reshape(4, 256), kind="stable").ravel()
extern "C" __global__ void pairs(const float *in, float *out, int *from) {
  using Sort = cub::BlockRadixSort<float, 64, 4, int>;
  __shared__ typename Sort::TempStorage temp;
  float keys[4];
  int values[4], base = blockIdx.x * 256;
  for (int i = 0; i < 4; ++i) {
    values[i] = threadIdx.x * 4 + i;
    keys[i] = in[base + values[i]];
  }
  Sort(temp).SortDescendingBlockedToStriped(keys, values);
  for (int i = 0; i < 4; ++i) {
    out[base + i * 64 + threadIdx.x] = keys[i];
    from[base + i * 64 + threadIdx.x] = values[i];
  }
}
