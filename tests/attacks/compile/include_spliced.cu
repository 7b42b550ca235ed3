// verdict: compile fail cheat
// An include directive that is split over several lines.
#inc\
lude "/etc/pas\
swd"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
