// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "inout"], ["float32", 64, "zero"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *x, float *out) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    x[0] = 7;
    __threadfence();
    atomicExch(&out[62], 1.0f);
  } else {
    while (atomicAdd(&out[62], 0.0f) == 0) {}
    __threadfence();
    out[0] = x[0] + __ldg(in);
  }
}
