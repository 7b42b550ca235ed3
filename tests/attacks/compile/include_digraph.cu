// verdict: compile fail cheat
// A number sign in two characters.
%:include "/etc/passwd"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
