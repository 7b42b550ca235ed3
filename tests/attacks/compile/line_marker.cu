// verdict: compile fail compile-error
// A line marker that names another file, without the word `line`.
# 1 "/etc/passwd"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = nothing; }
