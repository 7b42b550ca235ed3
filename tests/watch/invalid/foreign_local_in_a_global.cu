// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: invalid-access error line 10
struct Slot { int *p; };
__device__ Slot slots[64];
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, v[3] = {in[t], in[t + 1], t};
  slots[t].p = &v[in[t] & 1];
  __syncthreads();
  int s = 0;
  if (t == 5) for (int i = 0; i < 4; i++) s += *slots[i].p;
  out[t] = s + v[in[t] & 1];
}
