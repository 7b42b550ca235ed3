// refuses __cluster_dims__ at line 2: (thread block clusters)
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(float *x) {
  x[threadIdx.x] = 1;
}
