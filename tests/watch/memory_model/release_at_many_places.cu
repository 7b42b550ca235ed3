// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 128, "zero"], ["int32", 128, "zero"], ["int32", 128, "out"]]}
// expect: race error line 12 hazard RAW variable data
__device__ void store(int *p, int v) { asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ int load(int *p) { int v; asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
extern "C" __global__ void k(int *data, int *flag, int *out) {
  for (int i = 0; i < 128; ++i)
    if (blockIdx.x == 0) {
      store(&flag[i], 1);
      data[i] = i;
    } else {
      while (load(&flag[i]) == 0) {}
      out[i] = data[i];
    }
}
