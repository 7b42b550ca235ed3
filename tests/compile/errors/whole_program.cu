// expect: compile-error 12 this is a whole program
// hint: delete line 4 (#include <iostream>), lines 12-16 (run: a kernel launch), lines 18-23 (main)
#include <cuda_runtime.h>
#include <iostream>

extern "C" __global__ void k(float* a, int n) {
    int i = threadIdx.x;
    if (i < n) a[i] = i;
}

// the host's part
void run(float* a, int n) {
    // launch
    k<<<1, n>>>(a, n);
    cudaDeviceSynchronize();
}

int main() {
    float* a;
    cudaMalloc(&a, 4);
    run(a, 1);
    std::cout << "}";
}
