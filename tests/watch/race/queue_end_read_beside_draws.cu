// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "out"]]}
// expect: race error line 13 variable tail
extern "C" __global__ void k(int *out) {
  __shared__ int q[128], tail;
  int t = threadIdx.x;
  if (t == 0) {
    tail = 1;
    q[0] = 5;
  }
  __syncthreads();
  int to = tail;
  // no barrier
  if (t < 2) q[atomicAdd(&tail, 1)] = to + t;
  __syncthreads();
  out[t] = t < tail ? q[t] + to : 0;
}
