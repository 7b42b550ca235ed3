// tiled-matmul: 85 points
// Cooperative groups copy the rows of both tiles.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ alignas(16) float a[16][16], b[16][16];
    auto block = cg::this_thread_block();
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16, col = blockIdx.x * 16;
    float s = 0;
    for (int p = 0; p < n; p += 16) {
        for (int r = 0; r < 16; ++r) { cg::memcpy_async(block, a[r], A + (row + r) * n + p, 64); cg::memcpy_async(block, b[r], B + (p + r) * n + col, 64); }
        cg::wait(block);
        for (int k = 0; k < 16; ++k) s += a[ty][k] * b[k][tx];
        block.sync();
    }
    C[(row + ty) * n + col + tx] = s;
}
