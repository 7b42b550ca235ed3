// verdict: compile fail compile-error
// Inline assembly that is not valid.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { asm volatile("this is } no { PTX ;;; \x01"); C[0] = n; }
