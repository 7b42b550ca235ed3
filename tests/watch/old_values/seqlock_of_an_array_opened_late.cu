// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], 4]}
// expect: race error variable seq
__device__ int load(int *p) { int v; asm volatile("ld.relaxed.gpu.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ void store(int *p, int v) { asm volatile("st.relaxed.gpu.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
__device__ int seq, data[8];
extern "C" __global__ void k(int *out, int size) {
  if (blockIdx.x == 0) {
    for (int n = 1; n < 3; n++) {
      store(&seq, 2 * n - 1);
#pragma unroll 1
      for (int i = 0; i < size; i++) store(&data[i], n);
      __threadfence();
      store(&seq, 2 * n);
    }
  } else {
    int first, sum;
    do {
      first = load(&seq);
      __threadfence();
      sum = 0;
#pragma unroll 1
      for (int i = 0; i < size; i++) sum += load(&data[i]);
      __threadfence();
    } while (first != load(&seq) || first % 2);
    out[0] = sum % size;
  }
}
