// verdict: compile fail compile-error
// A type whose size doubles at every level.
template <class T, class U> struct pair {};
template <int N> struct tree { typedef pair<typename tree<N - 1>::type, pair<typename tree<N - 1>::type, int>> type; };
template <> struct tree<0> { typedef int type; };
template <class T> __device__ int size(T*) { return sizeof(T); }
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = size((tree<64>::type*)0); }
