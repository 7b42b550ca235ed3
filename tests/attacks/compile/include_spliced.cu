// verdict: compile fail cheat
// The directive and the name go over line ends.
#inc\
lude "/etc/pas\
swd"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
