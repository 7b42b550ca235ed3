// verdict: compile fail cheat
// Writes the `#` of a directive as a trigraph.
??=include "/etc/passwd"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
