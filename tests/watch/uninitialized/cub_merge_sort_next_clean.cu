// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
// CUB's serial merge loads the next key before it checks whether there is one. The last thread reads
// keys_shared[ITEMS_PER_TILE], an element that no thread writes, and then does not use the value.
// The value is followed to its use: no output, branch or address has it.
// initcheck checks only global memory.
#include <cub/block/block_merge_sort.cuh>
struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
extern "C" __global__ void k(const int *in, int *out) {
  using Sort = cub::BlockMergeSort<int, 64, 2>;
  __shared__ typename Sort::TempStorage temp;
  int keys[2], at = (blockIdx.x * 64 + threadIdx.x) * 2;
  for (int i = 0; i < 2; ++i) keys[i] = in[at + i];
  Sort(temp).Sort(keys, Less());
  for (int i = 0; i < 2; ++i) out[at + i] = keys[i];
}
