// The stride is zero: a division instead of a product.

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = gridDim.x / blockDim.x;
    while (i < n) {
        c[i] = a[i] + b[i];
        i += stride;
    }
}
