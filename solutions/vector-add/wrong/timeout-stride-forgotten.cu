// A loop over the elements that never moves on.

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = 0;
    while (i < n) {
        c[i] = a[i] + b[i];
        i += stride;
    }
}
