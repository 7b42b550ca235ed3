// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 4 variable head
__device__ int put(int *place, int value) {
  return atomicExch(place, value);
}
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int head;
  int t = threadIdx.x, before = 0;
  if (t == 0) before = put(&head, in[0]);
  out[t] = before + in[t];
}
