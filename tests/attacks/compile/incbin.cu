// verdict: compile fail compile-error
// Asks the assembler to include a file.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { asm volatile(".incbin \"/etc/passwd\";"); C[0] = n; }
