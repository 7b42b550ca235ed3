// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: clean
struct View { int *data; int n; };
__device__ __noinline__ int sum(const View *v) { int s = 0; for (int i = 0; i < v->n; i++) s += v->data[i]; return s; }
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, own[4]; __shared__ int sh[64];
  for (int i = 0; i < 4; i++) own[i] = in[t + i];
  sh[t] = in[t];
  __syncthreads();
  View a = {in[t] & 1 ? own : sh, 4};
  out[t] = sum(&a) + sum(&a);
}
