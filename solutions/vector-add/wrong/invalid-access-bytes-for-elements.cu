// The index counts bytes, but a pointer to float already counts elements.

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int offset = i * (int)sizeof(float);
        c[offset] = a[offset] + b[offset];
    }
}
