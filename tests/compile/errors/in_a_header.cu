// expect: compile-error 6 no operator
#include <algorithm>
struct Pair {
    float a, b;
};
__device__ Pair larger(Pair a, Pair b) { return std::max(a, b); }
extern "C" __global__ void k(Pair* a) { a[0] = larger(a[0], a[1]); }
