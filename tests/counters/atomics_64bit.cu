// launch: {"kernel": "atomics_64bit", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["uint64", 160, "zeros"], ["uint64", 128, "out"]]}
extern "C" __global__ void atomics_64bit(const int *in, unsigned long long *sum, unsigned long long *old) {
  int i = blockIdx.x * 64 + threadIdx.x;
  old[i] = atomicAdd(&sum[i + (in[i] & 31)], 1ull) * 0;
}
