// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 192], ["int32", 192, "out"]]}
// expect: clean


__device__ unsigned long long states[64]; __device__ unsigned ticket;

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
  int total = s[blockDim.x - 1];
  if (threadIdx.x < 32) {
    int lane = threadIdx.x;
    volatile unsigned long long* st = states;
    if (lane == 0) st[part] = ((part ? 1ull : 2ull) << 32) | (unsigned)total;
    int sum = 0;
    if (part > 0) {
      for (int base = part - 1;; base -= 32) {
        int p = base - lane;
        unsigned long long w;
        do { w = p >= 0 ? st[p] : 2ull << 32; } while (__any_sync(~0u, (w >> 32) == 0));
        unsigned done = __ballot_sync(~0u, (w >> 32) == 2);
        int first = __ffs(done) - 1;
        int add = (first < 0 || lane <= first) ? (int)w : 0;
        for (int o = 16; o; o /= 2) add += __shfl_down_sync(~0u, add, o);
        sum += __shfl_sync(~0u, add, 0);
        if (done) break;
      }
      if (lane == 0) st[part] = (2ull << 32) | (unsigned)(sum + total);
    }
    if (lane == 0) before = sum;
  }
  __syncthreads();
  y[i] = before + v;
}
