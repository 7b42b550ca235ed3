// Every phase loads the first tile of B.

#define TILE 128
#define DEPTH 8
#define MINE 8

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[DEPTH][TILE];
    __shared__ float Bs[DEPTH][TILE];

    // This thread's part of the block's elements: rows from `row`, columns from `col` and from
    // `col` + 64, so that the reads of Bs by a warp are adjacent.
    int row = threadIdx.x / 16 * MINE;
    int col = threadIdx.x % 16 * 4;

    int a_row = threadIdx.x / 2;
    int a_col = threadIdx.x % 2 * 4;
    int b_row = threadIdx.x / 32;
    int b_col = threadIdx.x % 32 * 4;
    const float* from_a = A + (size_t)(blockIdx.y * TILE + a_row) * k + a_col;
    const float* from_b = B + (size_t)b_row * n + blockIdx.x * TILE + b_col;

    float sum[MINE][MINE] = {};
    for (int phase = 0; phase < k / DEPTH; ++phase) {
        float4 a = *(const float4*)(from_a + phase * DEPTH);
        float4 b = *(const float4*)(from_b + 0);
        As[a_col + 0][a_row] = a.x;
        As[a_col + 1][a_row] = a.y;
        As[a_col + 2][a_row] = a.z;
        As[a_col + 3][a_row] = a.w;
        *(float4*)&Bs[b_row][b_col] = b;
        __syncthreads();

#pragma unroll
        for (int step = 0; step < DEPTH; ++step) {
            float4 a_low = *(const float4*)&As[step][row];
            float4 a_high = *(const float4*)&As[step][row + 4];
            float4 b_low = *(const float4*)&Bs[step][col];
            float4 b_high = *(const float4*)&Bs[step][col + 64];
            float ra[MINE] = {a_low.x, a_low.y, a_low.z, a_low.w,
                              a_high.x, a_high.y, a_high.z, a_high.w};
            float rb[MINE] = {b_low.x, b_low.y, b_low.z, b_low.w,
                              b_high.x, b_high.y, b_high.z, b_high.w};
            for (int i = 0; i < MINE; ++i) {
                for (int j = 0; j < MINE; ++j) {
                    sum[i][j] += ra[i] * rb[j];
                }
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < MINE; ++i) {
        float* to = C + (size_t)(blockIdx.y * TILE + row + i) * n + blockIdx.x * TILE + col;
        *(float4*)to = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *(float4*)(to + 64) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}
