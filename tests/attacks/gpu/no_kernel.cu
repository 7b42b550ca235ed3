// verdict: compile fail compile-error
// The file does not define the requested kernel.
extern "C" __global__ void other(float* C) { C[0] = 1; }
