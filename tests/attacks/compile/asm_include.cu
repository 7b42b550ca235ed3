// verdict: compile fail compile-error
// The assembler is asked to read a file.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { asm volatile(".include \"/etc/passwd\""); C[0] = n; }
