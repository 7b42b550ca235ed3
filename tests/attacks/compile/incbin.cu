// verdict: compile fail compile-error
// The assembler is asked to put a file in.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { asm volatile(".incbin \"/etc/passwd\";"); C[0] = n; }
