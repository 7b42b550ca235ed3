// launch: {"kernel": "branches", "grid": [2, 1, 1], "block": [48, 1, 1], "args": [["int32", 96], ["int32", 96, "out"], 96]}
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int thrice(int x) { return 3 * x; }
__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
typedef int (*unary)(int);
__device__ unary table[2] = {twice, thrice};
extern "C" __global__ void branches(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i], y = 0;
  switch (x & 7) {
    case 0: y = x * 3; break;
    case 1: y = x ^ 0x55; break;
    case 2: y = x >> 2; break;
    case 3: y = factorial(x & 7); break;
    case 4: y = -x; break;
    case 5: y = table[i & 1](x); break;
    case 6: for (int k = 0; k < (i & 15); ++k) { if (k == 9) break; if (k & 1) continue; y += k * x; } break;
    default: while (x > 0) { x = (x & 1) ? x - 1 : x / 2; ++y; }
  }
  out[i] = y;
}
