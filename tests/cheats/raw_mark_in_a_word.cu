// detected race: a reader of text that takes R"( for a raw literal sees no code up to )"
#define fooR(a) 
#define text_of(a) fooR"("
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
#ifdef __CUDACC_DEBUG__
  __syncthreads();
#endif
  x[threadIdx.x] = s[63 - threadIdx.x];
}
#define more )""
