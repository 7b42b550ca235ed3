// C = A B: A is m x k, B is k x n, C is m x n, row-major floats; m and n are multiples of 128, k of
// 8, and all arrays start at multiples of 16 bytes.
//
// The launch has n / 128 x m / 128 blocks of 256 threads along x: a block makes 128 x 128 elements
// of C, a thread 8 x 8 of them.

#define TILE 128
#define DEPTH 8
#define MINE 8

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    // TODO: two tiles in shared memory, DEPTH x TILE each; that of A is stored
    // transposed, so that a thread's rows are neighbours.

    // This thread's part of the block's elements: rows from `row`, columns from `col` and from
    // `col` + 64, so that a warp's reads of Bs are neighbours.
    int row = threadIdx.x / 16 * MINE;
    int col = threadIdx.x % 16 * 4;

    // TODO: which four floats of A and of B this thread loads in each phase.

    float sum[MINE][MINE] = {};
    for (int phase = 0; phase < k / DEPTH; ++phase) {
        // TODO: load the tiles with one float4 of each matrix a thread; wait; for each
        // of the DEPTH steps read 8 floats of each tile into registers and add their
        // 64 products to sum; wait.
    }

    for (int i = 0; i < MINE; ++i) {
        float* to = C + (size_t)(blockIdx.y * TILE + row + i) * n + blockIdx.x * TILE + col;
        *(float4*)to = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *(float4*)(to + 64) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}
