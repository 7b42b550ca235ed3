// launch: {"kernel": "splitk", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 64, "zero"], ["int32", 1, "zero"]]}
// expect: clean
struct Semaphore {
  int *lock; bool wait_thread; int state;
  __device__ Semaphore(int *l, int id) : lock(l), wait_thread(id < 0 || id == 0), state(-1) {}
  __device__ void fetch() {
    if (wait_thread) {
      asm volatile("ld.global.acquire.gpu.b32 %0, [%1];\n" : "=r"(state) : "l"(lock));
    }
  }
  __device__ void wait(int status = 0) {
    while (__syncthreads_and(state != status)) fetch();
    __syncthreads();
  }
  __device__ void release(int status = 0) {
    __syncthreads();
    if (wait_thread) {
      asm volatile("st.global.release.gpu.b32 [%0], %1;\n" : : "l"(lock), "r"(status));
    }
  }
};
extern "C" __global__ void splitk(const int *x, int *acc, int *lock) {
  Semaphore s(lock, threadIdx.x);
  s.fetch();
  int v = x[blockIdx.x * 64 + threadIdx.x];
  s.wait(blockIdx.x);
  if (blockIdx.x) v += acc[threadIdx.x];
  acc[threadIdx.x] = v;
  s.release(blockIdx.x + 1);
}
