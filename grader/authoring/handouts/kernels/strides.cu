// Each thread of one warp reads one float: element stride * tid + first.

extern "C" __global__ void read(const float* x, float* y, int stride, int first)
{
    y[threadIdx.x] = x[stride * threadIdx.x + first];
}
