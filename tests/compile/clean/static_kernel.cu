static __global__ void k(float* a) { a[0] = 1; }
namespace {
__global__ void other(float* a) { a[0] = 2; }
}
