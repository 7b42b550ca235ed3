// refuses surf2Dwrite, in PTX sust at line 3: (surfaces)
extern "C" __global__ void k(cudaSurfaceObject_t s, float *x) {
  surf2Dwrite(x[threadIdx.x], s, threadIdx.x * 4, 0);
}
