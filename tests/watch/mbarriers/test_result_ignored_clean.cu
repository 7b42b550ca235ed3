// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int* in, int* out) {
  __shared__ __align__(8) unsigned long long filled;
  __shared__ int data[32];
  unsigned bar = (unsigned)__cvta_generic_to_shared(&filled);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(bar) : "memory");
  __syncthreads();
  if (threadIdx.x < 32) {
    data[threadIdx.x] = out[threadIdx.x] = in[threadIdx.x];
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(bar) : "memory");
  } else {
    int done = 0;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(bar) : "memory");
    out[threadIdx.x] = done;
    if (done) out[threadIdx.x] = data[threadIdx.x - 32];
  }
}
