// refuses prefetch.tensormap at line 3: (the tensor memory accelerator)
extern "C" __global__ void k(float *x) {
  asm volatile("prefetch.tensormap [%0];" :: "l"(x) : "memory");
  x[threadIdx.x] = 1;
}
