// verdict: compile fail compile-error
// The kernel that is asked for is not there.
extern "C" __global__ void other(float* C) { C[0] = 1; }
