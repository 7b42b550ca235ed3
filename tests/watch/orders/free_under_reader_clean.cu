// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["uint64", 1, "zero"], ["int32", 2, "zero"], ["int32", 2, "out"]]}
// expect: clean
extern "C" __global__ void k(unsigned long long *p, int *flag, int *out) {
  if (blockIdx.x == 0) {
    int *a = (int *)malloc(16); a[0] = 5; __threadfence();
    atomicExch(p, (unsigned long long)a);
    while (atomicAdd(&flag[0], 0) == 0) {}
    __threadfence();
    free(a);
  } else {
    int *a; while (!(a = (int *)atomicAdd(p, 0ull))) {} __threadfence();
    out[0] = a[0];
    __threadfence();
    atomicExch(&flag[0], 1);
  }
}
