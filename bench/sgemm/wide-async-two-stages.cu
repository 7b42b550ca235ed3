// wide-async.cu with two pairs of tiles and two phases a turn: every address is a constant.

#include <cuda_pipeline.h>

#define ROWS 128
#define COLUMNS 256
#define DEPTH 8
#define STAGES 2
#define PITCH (ROWS + 4)
#define DOWN 8
#define ACROSS 16

extern "C" __global__ void __launch_bounds__(256, 1)
sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[STAGES][DEPTH][PITCH];
    __shared__ float Bs[STAGES][DEPTH][COLUMNS];

    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int row = warp / 4 * 64 + (lane / 8 * 2 + lane % 2) * 4;
    int col = warp % 4 * 64 + lane / 2 % 4 * 4;

    int a_row = threadIdx.x / 8;
    int a_col = threadIdx.x % 8;
    int b_row = threadIdx.x / 32;
    int b_col = threadIdx.x % 32 * 4;
    const float* from_a = A + (size_t)(blockIdx.y * ROWS + a_row) * k + a_col;
    const float* from_b = B + (size_t)b_row * n + blockIdx.x * COLUMNS + b_col;

    int phases = k / DEPTH;
    for (int asked = 0; asked < STAGES - 1; ++asked) {
        if (asked < phases) {
            for (int i = 0; i < ROWS; i += 32) {
                __pipeline_memcpy_async(&As[asked][a_col][a_row + i], from_a + (size_t)i * k, 4);
            }
            __pipeline_memcpy_async(&Bs[asked][b_row][b_col], from_b, 16);
            __pipeline_memcpy_async(&Bs[asked][b_row][b_col + 128], from_b + 128, 16);
            from_a += DEPTH;
            from_b += (size_t)DEPTH * n;
        }
        __pipeline_commit();
    }
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();

    float ra[2][DOWN];
    float rb[2][ACROSS];
    *(float4*)&ra[0][0] = *(const float4*)&As[0][0][row];
    *(float4*)&ra[0][4] = *(const float4*)&As[0][0][row + 32];
    for (int j = 0; j < ACROSS; j += 4) {
        *(float4*)&rb[0][j] = *(const float4*)&Bs[0][0][col + 4 * j];
    }

    float sum[DOWN][ACROSS] = {};
#pragma unroll 2  // a macro is not seen here by every compiler
    for (int phase = 0; phase < phases; ++phase) {
        // Where the phase that is asked for goes, and where the one that is computed lies.
        int then = (phase + STAGES - 1) % STAGES;
        int now = phase % STAGES;
        if (phase + STAGES - 1 < phases) {
            for (int i = 0; i < ROWS; i += 32) {
                __pipeline_memcpy_async(&As[then][a_col][a_row + i], from_a + (size_t)i * k, 4);
            }
            __pipeline_memcpy_async(&Bs[then][b_row][b_col], from_b, 16);
            __pipeline_memcpy_async(&Bs[then][b_row][b_col + 128], from_b + 128, 16);
            from_a += DEPTH;
            from_b += (size_t)DEPTH * n;
        }
        __pipeline_commit();
#pragma unroll
        for (int step = 0; step < DEPTH; ++step) {
            if (step == DEPTH - 1) {
                __pipeline_wait_prior(STAGES - 2);
                __syncthreads();
                now = (phase + 1) % STAGES;
            }
            int next = (step + 1) % DEPTH;
            if (step < DEPTH - 1 || phase + 1 < phases) {
                *(float4*)&ra[next % 2][0] = *(const float4*)&As[now][next][row];
                *(float4*)&ra[next % 2][4] = *(const float4*)&As[now][next][row + 32];
                for (int j = 0; j < ACROSS; j += 4) {
                    *(float4*)&rb[next % 2][j] = *(const float4*)&Bs[now][next][col + 4 * j];
                }
            }
            for (int i = 0; i < DOWN; ++i) {
                for (int j = 0; j < ACROSS; ++j) {
                    sum[i][j] += ra[step % 2][i] * rb[step % 2][j];
                }
            }
        }
    }

    for (int i = 0; i < DOWN; ++i) {
        int down = row + i % 4 + i / 4 * 32;
        float* to = C + (size_t)(blockIdx.y * ROWS + down) * n + blockIdx.x * COLUMNS + col;
        for (int j = 0; j < ACROSS; j += 4) {
            *(float4*)(to + 4 * j) =
                make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
        }
    }
}
