// refuses surf1Dread, in PTX suld at line 3: (surfaces)
extern "C" __global__ void k(cudaSurfaceObject_t s, float *x) {
  x[threadIdx.x] = surf1Dread<float>(s, threadIdx.x * 4);
}
