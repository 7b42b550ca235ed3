// verdict: output fail unwritten-output
// A file that includes itself without end: set aside, no file is opened.
#include "include_itself.cu"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
