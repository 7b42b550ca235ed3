// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: race error line 14 hazard RAW variable data
__device__ void store(int *p, int v) { asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ int load(int *p) { int v; asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
extern "C" __global__ void k(int *data, int *flag, int *out) {
  if (blockIdx.x == 0) {
    data[0] = 7;
    store(flag, 1);
  } else if (blockIdx.x == 1) {
    while (*(volatile int *)flag != 1) {}
    __threadfence_block(); *(volatile int *)flag = 2;
  } else {
    while (load(flag) != 2) {}
    out[0] = data[0];
  }
}
