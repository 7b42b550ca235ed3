// Rung 6: the tiles of the next phase are loaded while this phase is computed.
//
// There are two pairs of tiles. While a phase reads one pair, the next phase's numbers are loaded from
// global memory into registers and stored in the other pair, so one barrier per phase is enough.
// A warp computes 64 x 32 elements: its lanes share more of what they read than those of a 16 x 128
// strip. Rows of As have 4 floats of padding, so that transposed stores have no bank conflicts.

#define TILE 128
#define DEPTH 8
#define PITCH (TILE + 4)
#define MINE 8

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[2][DEPTH][PITCH];
    __shared__ float Bs[2][DEPTH][TILE];

    // Neighboring lanes read the same floats of Bs, every other pair of lanes the same of As: the
    // read of half a warp then has no bank conflict.
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int row = warp / 4 * 64 + (lane / 8 * 2 + lane % 2) * 4;
    int col = warp % 4 * 32 + lane / 2 % 4 * 4;

    int a_row = threadIdx.x / 2;
    int a_col = threadIdx.x % 2 * 4;
    int b_row = threadIdx.x / 32;
    int b_col = threadIdx.x % 32 * 4;
    const float* from_a = A + (size_t)(blockIdx.y * TILE + a_row) * k + a_col;
    const float* from_b = B + (size_t)b_row * n + blockIdx.x * TILE + b_col;

    float4 a = *(const float4*)from_a;
    float4 b = *(const float4*)from_b;
    As[0][a_col + 0][a_row] = a.x;
    As[0][a_col + 1][a_row] = a.y;
    As[0][a_col + 2][a_row] = a.z;
    As[0][a_col + 3][a_row] = a.w;
    *(float4*)&Bs[0][b_row][b_col] = b;
    __syncthreads();

    float sum[MINE][MINE] = {};
    int now = 0;
    for (int left = k / DEPTH - 1; left >= 0; --left) {
        if (left > 0) {
            from_a += DEPTH;
            from_b += (size_t)DEPTH * n;
            a = *(const float4*)from_a;
            b = *(const float4*)from_b;
        }
#pragma unroll
        for (int step = 0; step < DEPTH; ++step) {
            float4 a_low = *(const float4*)&As[now][step][row];
            float4 a_high = *(const float4*)&As[now][step][row + 32];
            float4 b_low = *(const float4*)&Bs[now][step][col];
            float4 b_high = *(const float4*)&Bs[now][step][col + 16];
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
        now = 1 - now;
        if (left > 0) {
            As[now][a_col + 0][a_row] = a.x;
            As[now][a_col + 1][a_row] = a.y;
            As[now][a_col + 2][a_row] = a.z;
            As[now][a_col + 3][a_row] = a.w;
            *(float4*)&Bs[now][b_row][b_col] = b;
        }
        __syncthreads();
    }

    for (int i = 0; i < MINE; ++i) {
        int down = row + i % 4 + i / 4 * 32;
        float* to = C + (size_t)(blockIdx.y * TILE + down) * n + blockIdx.x * TILE + col;
        *(float4*)to = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *(float4*)(to + 16) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}
