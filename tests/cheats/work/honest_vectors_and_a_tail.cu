// vector-add: 100 points
// Vectors of four, and the elements that fill no vector one by one.
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int quads = n / 4;
    if (i < quads) {
        float4 x = ((const float4*)a)[i];
        float4 y = ((const float4*)b)[i];
        ((float4*)c)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    int rest = 4 * quads + i;
    if (rest < n) {
        c[rest] = a[rest] + b[rest];
    }
}
