// Neighboring threads access elements that are a whole grid apart: correct, but uncoalesced.

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = threadIdx.x * gridDim.x + blockIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
