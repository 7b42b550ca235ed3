// vector-add: 100 points
// Vectors of four: a quarter of the threads add four elements each.
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    if (threadIdx.x >= 64) return;
    int i = blockIdx.x * 256 + 4 * threadIdx.x;
    if (i + 3 < n) {
        float4 x = *(const float4*)&a[i], y = *(const float4*)&b[i];
        *(float4*)&c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    } else {
        for (int j = i; j < n; ++j) c[j] = a[j] + b[j];
    }
}
