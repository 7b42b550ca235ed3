// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "zero"]]}
// expect: lost-update warning line 9 variable n
__device__ volatile int n;
extern "C" __global__ void k(int* calls) {
  if (threadIdx.x) return;
  int seen = n;
  atomicAdd(calls, 1);
  atomicAdd((int*)&n, 1);
  n = seen + 100;
}
