// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
#include <cuda_runtime.h>
__device__ void both(int a, int &twice, long long &thrice) { twice = 2 * a; thrice = 3ll * a; }
template <class T> __device__ T larger(T a, T b) { T most; most = a; if (b > a) most = b; return most; }
constexpr __device__ int squared(int a) { return a * a; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    float s, c;
    double fraction, whole;
    int twice; long long thrice; int *p, **pp;
    unsigned lane, (wrapped), array[2], exponent_;
    int exponent;
    sincosf(in[threadIdx.x], &s, &c);
    fraction = modf(in[threadIdx.x] + 0.5, &whole);
    both(n, twice, thrice);
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    wrapped = lane + 1; array[0] = array[1] = wrapped;
    p = &exponent; pp = &p;
    frexpf(s + c, *pp);
    exponent_ = array[lane & 1];
    auto f = [&](int a) { int local; if (a) local = a; else local = 1; return local; };
    switch (n) { case 5: { int inner; inner = 3; twice += inner; break; } default: twice = 0; }
    out[threadIdx.x] = larger(twice, (int)thrice) + fraction + whole + *p + f(n) + exponent_ + squared(n);
}
