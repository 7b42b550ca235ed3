#include <cub/block/block_merge_sort.cuh>
// CUB's serial merge loads the next key before it checks whether there is one. The last thread reads
// keys_shared[ITEMS_PER_TILE], an element that no thread writes, and then does not use the value.
// initcheck does not report it, because it checks only global memory.
// Therefore this kernel fills the storage first:
// tests/watch/uninitialized/cub_merge_sort.cu is the same kernel without this step.
struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};

// kernel merge_keys grid 2 block 64
// in x int32 = rng.permutation(256)
// out out int32 = np.sort(x.reshape(2, 128)).ravel()
extern "C" __global__ void merge_keys(const int *in, int *out) {
  using Sort = cub::BlockMergeSort<int, 64, 2>;
  __shared__ typename Sort::TempStorage temp;
  for (int i = threadIdx.x; i < sizeof(temp) / 4; i += 64) ((int *)&temp)[i] = 0;
  __syncthreads();
  int keys[2], at = (blockIdx.x * 64 + threadIdx.x) * 2;
  for (int i = 0; i < 2; ++i) keys[i] = in[at + i];
  Sort(temp).Sort(keys, Less());
  for (int i = 0; i < 2; ++i) out[at + i] = keys[i];
}
