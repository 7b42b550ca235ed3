// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: clean
struct Mutex { int *m; __device__ void lock() { while (atomicCAS(m, 0, 1)); __threadfence(); } __device__ void unlock() { __threadfence(); atomicExch(m, 0); } };
extern "C" __global__ void k(int *m, int *n) {
  Mutex mu{m};
  if (threadIdx.x == 0) { mu.lock(); *n += 1; mu.unlock(); }
}
