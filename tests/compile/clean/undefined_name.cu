extern "C" __global__ void k(float* a, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    a[i] = i;
}
