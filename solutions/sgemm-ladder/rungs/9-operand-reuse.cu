// Rung 9: the products of a step are ordered so that each shares a factor with the one before.
//
// Like rung 8, but a thread computes the rows of its products alternately from left to right and from
// right to left, so that consecutive rows share a factor of B. A factor that the next product uses too
// is not read from the registers again: the assembler marks it with .reuse.
#include <cuda_pipeline.h>

#define TILE 128
#define DEPTH 8
#define PITCH (TILE + 4)
#define MINE 8

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[2][DEPTH][PITCH];
    __shared__ float Bs[2][DEPTH][TILE];

    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int row = warp / 4 * 64 + (lane / 8 * 2 + lane % 2) * 4;
    int col = warp % 4 * 32 + lane / 2 % 4 * 4;

    int a_row = threadIdx.x / 8;
    int a_col = threadIdx.x % 8;
    int b_row = threadIdx.x / 32;
    int b_col = threadIdx.x % 32 * 4;
    const float* from_a = A + (size_t)(blockIdx.y * TILE + a_row) * k + a_col;
    const float* from_b = B + (size_t)b_row * n + blockIdx.x * TILE + b_col;

    int phases = k / DEPTH;
    if (phases > 0) {
        for (int i = 0; i < TILE; i += 32) {
            __pipeline_memcpy_async(&As[0][a_col][a_row + i], from_a + (size_t)i * k, 4);
        }
        __pipeline_memcpy_async(&Bs[0][b_row][b_col], from_b, 16);
        from_a += DEPTH;
        from_b += (size_t)DEPTH * n;
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();

    // Factors of even steps are in ra[0] and rb[0], those of odd steps in ra[1] and rb[1].
    float ra[2][MINE];
    float rb[2][MINE];
    *(float4*)&ra[0][0] = *(const float4*)&As[0][0][row];
    *(float4*)&ra[0][4] = *(const float4*)&As[0][0][row + 32];
    *(float4*)&rb[0][0] = *(const float4*)&Bs[0][0][col];
    *(float4*)&rb[0][4] = *(const float4*)&Bs[0][0][col + 16];

    float sum[MINE][MINE] = {};
#pragma unroll 2
    for (int phase = 0; phase < phases; ++phase) {
        int now = phase % 2;
        int then = 1 - now;
        if (phase + 1 < phases) {
            for (int i = 0; i < TILE; i += 32) {
                __pipeline_memcpy_async(&As[then][a_col][a_row + i], from_a + (size_t)i * k, 4);
            }
            __pipeline_memcpy_async(&Bs[then][b_row][b_col], from_b, 16);
            from_a += DEPTH;
            from_b += (size_t)DEPTH * n;
        }
        __pipeline_commit();
#pragma unroll
        for (int step = 0; step < DEPTH; ++step) {
            if (step == DEPTH - 1) {
                __pipeline_wait_prior(0);
                __syncthreads();
                now = then;
            }
            int next = (step + 1) % DEPTH;
            if (step < DEPTH - 1 || phase + 1 < phases) {
                *(float4*)&ra[next % 2][0] = *(const float4*)&As[now][next][row];
                *(float4*)&ra[next % 2][4] = *(const float4*)&As[now][next][row + 32];
                *(float4*)&rb[next % 2][0] = *(const float4*)&Bs[now][next][col];
                *(float4*)&rb[next % 2][4] = *(const float4*)&Bs[now][next][col + 16];
            }
            for (int i = 0; i < MINE; ++i) {
                for (int s = 0; s < MINE; ++s) {
                    int j = i % 2 ? MINE - 1 - s : s;
                    sum[i][j] += ra[step % 2][i] * rb[step % 2][j];
                }
            }
        }
    }

    for (int i = 0; i < MINE; ++i) {
        int down = row + i % 4 + i / 4 * 32;
        float* to = C + (size_t)(blockIdx.y * TILE + down) * n + blockIdx.x * TILE + col;
        *(float4*)to = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *(float4*)(to + 16) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}
