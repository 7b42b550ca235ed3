// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "zero"]]}
// expect: race error
__device__ int lock; __device__ int count;
extern "C" __global__ void k(const int* x, int* y) {
  if (threadIdx.x==0) {
    while(atomicCAS(&lock,0,1));
    __threadfence();
    count+=x[blockIdx.x];
    __threadfence();
    lock=0;
  }
}
