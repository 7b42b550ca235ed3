// verdict: compile fail compile-error
// Inline assembly that ends the kernel and defines another.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { asm volatile("ret;\n}\n.visible .entry other() {\n ret;"); C[0] = n; }
