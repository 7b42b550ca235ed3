// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [{"struct": [["float32", 64], ["float32", 64, "out"], 3], "align": 16}, ["float32", 64, "out"]]}
// expect: clean
struct __align__(16) Job { const float *in; float *work; int scale; };
extern "C" __global__ void k(Job job, float *out) {
  int t = threadIdx.x;
  if (t < 64) job.work[t] = job.in[t] * job.scale;
  out[t] = job.work[t];
}
