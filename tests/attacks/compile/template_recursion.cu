// verdict: compile fail compile-error
// Endless template recursion.
template <int N> struct deep { static const int value = deep<N + 1>::value + deep<N + 2>::value; };
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = deep<0>::value; }
