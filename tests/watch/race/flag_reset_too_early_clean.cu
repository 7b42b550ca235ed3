// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "zero"]]}
// expect: clean
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int changed;
  int t=threadIdx.x;
  int v=x[t];
  for (int it=0;it<5;++it) {
    if(t==0) changed=0;
    __syncthreads();
    if ((v>>it)&1) changed=1;
    __syncthreads();
    int c=changed;
    __syncthreads();
    if(!c) break;
    y[t]+=c;
  }
}
