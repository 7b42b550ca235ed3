// expect: compile-error 4 expression must have class type
template <typename T>
__device__ T first(T x) {
    return x.first;
}
extern "C" __global__ void k(float* a) { a[0] = first(a[0]); }
