// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [{"struct": [["float32", 128], ["float32", 1, "inout"]]}]}
// expect: race error line 6 variable p0.1
struct Sum { const float *in; float *sum; };
extern "C" __global__ void k(Sum p) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) p.sum[0] += p.in[i];
}
