// expect: missing-feature 4 dynamic parallelism
__global__ void child(float* a) { a[0] = 1; }
extern "C" __global__ void k(float* a) {
    child<<<1, 1>>>(a);
}
