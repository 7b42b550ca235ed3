// expect: compile-error 2 texture references are not part of CUDA since version 12
texture<float, 1, cudaReadModeElementType> image;
extern "C" __global__ void k(float* a) { a[0] = tex1Dfetch(image, 0); }
