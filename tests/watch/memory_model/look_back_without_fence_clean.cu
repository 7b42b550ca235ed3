// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 192], ["int32", 192, "out"]]}
// expect: clean


struct State { int flag, sum, prefix; };
__device__ State states[64]; __device__ unsigned ticket;

__device__ int block_scan(int v, int* s) {  // inclusive
  int t = threadIdx.x; s[t] = v; __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) { int a = t >= d ? s[t-d] : 0; __syncthreads(); s[t] += a; __syncthreads(); }
  return s[t];
}

extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[128]; __shared__ int part, before;
  if (threadIdx.x == 0) part = atomicAdd(&ticket, 1);
  __syncthreads();
  int i = part * blockDim.x + threadIdx.x;
  int v = block_scan(x[i], s);
  if (threadIdx.x == blockDim.x - 1) {
    volatile State* st = states;
    if (part == 0) {
      st[0].prefix = v; __threadfence(); st[0].flag = 2; before = 0;
    } else {
      st[part].sum = v; __threadfence(); st[part].flag = 1;
      int sum = 0;
      for (int p = part - 1; p >= 0;) {
        int f = st[p].flag;
        if (f == 0) continue;
        __threadfence();
        if (f == 2) { sum += st[p].prefix; break; }
        sum += st[p].sum; --p;
      }
      before = sum;
      st[part].prefix = sum + v; __threadfence(); st[part].flag = 2;
    }
  }
  __syncthreads();
  y[i] = before + v;
}
