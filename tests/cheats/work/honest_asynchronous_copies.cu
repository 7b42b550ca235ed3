// tiled-matmul: 85 points
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    __shared__ float As[16][16], Bs[16][16];
    unsigned a = (unsigned)__cvta_generic_to_shared(&As[ty][tx]);
    unsigned b = (unsigned)__cvta_generic_to_shared(&Bs[ty][tx]);
    float sum = 0.0f;
    for (int phase = 0; phase < n / 16; ++phase) {
        const float* from = A + row * n + phase * 16 + tx;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(from));
        from = B + (phase * 16 + ty) * n + col;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(b), "l"(from));
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
