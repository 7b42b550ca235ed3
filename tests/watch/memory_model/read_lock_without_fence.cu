// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "zero"]]}
// expect: race error
__device__ int rw; __device__ int data;
extern "C" __global__ void k(const int* x, int* y) {
  if(threadIdx.x) return;
  if(blockIdx.x&1) {
    while(atomicCAS(&rw,0,-1)!=0);
    __threadfence();
    data+=x[0];
    __threadfence();
    atomicExch(&rw,0);
  }
  else {
    int v;
    while(true) {
      v=*(volatile int*)&rw;
      if(v>=0 && atomicCAS(&rw,v,v+1)==v) break;
    }
    __threadfence();
    y[blockIdx.x]=data;
    atomicSub(&rw,1);
  }
}
