// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int64", 2, "zero"], ["int32", 2, "zero"]]}
// expect: invalid-access error line 15 variable value
extern "C" __global__ void k(unsigned long long *mail, int *out) {
  __shared__ int value;
  if (threadIdx.x) return;
  value = blockIdx.x + 5;
  if (blockIdx.x == 0) {
    __threadfence();
    atomicExch(mail, (unsigned long long)&value);
    while (!atomicAdd(mail + 1, 0ull)) { }
  } else {
    int *there;
    while (!(there = (int *)atomicAdd(mail, 0ull))) { }
    __threadfence();
    out[0] = *there;
    __threadfence();
    atomicExch(mail + 1, 1ull);
  }
}
