// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int64", 1, "zero"], ["int32", 1, "zero"], ["int32", 3, "zero"], ["int32", 8, "zero"]]}
// expect: clean
// The pointer is to global memory; the index is of the own tile.
extern "C" __global__ void k(int **where, int *ready, int *out, int *data) {
  __shared__ int tile[32];
  int t = threadIdx.x;
  tile[t] = t;
  __syncwarp();
  if (t) return;
  if (blockIdx.x == 0) {
    *where = data + 4;
    __threadfence();
    atomicExch(ready, 1);
  } else {
    while (!atomicAdd(ready, 0)) { }
    __threadfence();
    out[blockIdx.x] = (*where)[1] + tile[5];
  }
}
