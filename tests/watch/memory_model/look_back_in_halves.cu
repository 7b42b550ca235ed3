// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 192], ["int32", 192, "out"]]}
// expect: race error


__device__ unsigned long long states[64]; __device__ unsigned ticket;

__device__ int block_scan(int v, int* s) {  // inclusive
  int t = threadIdx.x; s[t] = v; __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) { int a = t >= d ? s[t-d] : 0; __syncthreads(); s[t] += a; __syncthreads(); }
  return s[t];
}

__device__ void put(unsigned long long* p, unsigned long long w) { ((volatile unsigned*)p)[0] = (unsigned)w; ((volatile unsigned*)p)[1] = (unsigned)(w >> 32); }
__device__ unsigned long long get(unsigned long long* p) { return *(volatile unsigned long long*)p; }

extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[128]; __shared__ int part, before;
  if (threadIdx.x == 0) part = atomicAdd(&ticket, 1);
  __syncthreads();
  int i = part * blockDim.x + threadIdx.x;
  int v = block_scan(x[i], s);
  if (threadIdx.x == blockDim.x - 1) {
    int sum = 0;
    if (part > 0) {
      put(&states[part], (1ull << 32) | (unsigned)v);
      for (int p = part - 1; p >= 0;) {
        unsigned long long w = get(&states[p]);
        if ((w >> 32) == 0) continue;
        sum += (int)w;
        if ((w >> 32) == 2) break;
        --p;
      }
    }
    put(&states[part], (2ull << 32) | (unsigned)(sum + v));
    before = sum;
  }
  __syncthreads();
  y[i] = before + v;
}
