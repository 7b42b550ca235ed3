// The inputs are cut to the precision of float16: close, yet wrong.

// Keeps the 10 fraction bits that float16 and TF32 have, of the 23 that float32 has.
__device__ float shortened(float x)
{
    return __int_as_float(__float_as_int(x) & ~0x1fff);
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = shortened(a[i]) + shortened(b[i]);
    }
}
