// verdict: compile fail cheat
// Comments between the parts of an include directive.
#/**/include/**/"/etc/passwd"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
