// verdict: compile fail compile-error
// A #line directive: messages would name another file.
#line 1 "/etc/passwd"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = nothing; }
