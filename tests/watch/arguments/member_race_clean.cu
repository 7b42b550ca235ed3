// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [{"struct": [["float32", 128], ["float32", 1, "inout"]]}]}
// expect: clean
struct Sum { const float *in; float *sum; };
extern "C" __global__ void k(Sum p) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) atomicAdd(p.sum, p.in[i]);
}
