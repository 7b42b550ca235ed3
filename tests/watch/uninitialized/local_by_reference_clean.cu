// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "zero"], 20]}
// expect: clean
__device__ void by_pointer(float *x) { *x = 1; }
__device__ void by_reference(float &x) { x = 2; }
extern "C" __global__ void k(const float *in, float *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  float a, b, c;
  by_pointer(&a);
  by_reference(b);
  auto set = [&] { c = 3; };
  set();
  unsigned lane, kept = 5, seen;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("{ .reg .pred p; setp.lt.u32 p, %1, 5; @p add.u32 %0, %0, 1; }" : "+r"(kept) : "r"(lane));
  asm("mov.u32 %0, 7;" : "+r"(seen));
  out[at] = a + b + c + kept + seen;
}
