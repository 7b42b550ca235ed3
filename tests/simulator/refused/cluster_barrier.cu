// refuses barrier.cluster.arrive at line 4: (thread block clusters)
extern "C" __global__ void k(float *x) {
  x[threadIdx.x] = 1;
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
