// verdict: output fail unwritten-output
// Includes a header of the host: set aside, no file is opened.
#include <fcntl.h>
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
