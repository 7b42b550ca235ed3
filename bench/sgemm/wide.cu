// Rung 7 with 128 x 256 elements a block and 8 x 16 a thread: 24 floats from shared memory make
// 128 products, where 16 make 64. One block of 256 threads fits a multiprocessor. n is a multiple
// of 256 and the launch has n / 256 x m / 128 blocks.

#define ROWS 128
#define COLUMNS 256
#define DEPTH 8
#define PITCH (ROWS + 4)
#define DOWN 8
#define ACROSS 16

extern "C" __global__ void __launch_bounds__(256, 1)
sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[2][DEPTH][PITCH];
    __shared__ float Bs[2][DEPTH][COLUMNS];

    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int row = warp / 4 * 64 + (lane / 8 * 2 + lane % 2) * 4;
    int col = warp % 4 * 64 + lane / 2 % 4 * 4;

    int a_row = threadIdx.x / 2;
    int a_col = threadIdx.x % 2 * 4;
    int b_row = threadIdx.x / 32;
    int b_col = threadIdx.x % 32 * 4;
    const float* from_a = A + (size_t)(blockIdx.y * ROWS + a_row) * k + a_col;
    const float* from_b = B + (size_t)b_row * n + blockIdx.x * COLUMNS + b_col;

    float4 a = *(const float4*)from_a;
    float4 b = *(const float4*)from_b;
    float4 b_right = *(const float4*)(from_b + 128);
    As[0][a_col + 0][a_row] = a.x;
    As[0][a_col + 1][a_row] = a.y;
    As[0][a_col + 2][a_row] = a.z;
    As[0][a_col + 3][a_row] = a.w;
    *(float4*)&Bs[0][b_row][b_col] = b;
    *(float4*)&Bs[0][b_row][b_col + 128] = b_right;
    __syncthreads();

    // Factors of even steps in ra[0] and rb[0], of odd ones in ra[1] and rb[1].
    float ra[2][DOWN];
    float rb[2][ACROSS];
    *(float4*)&ra[0][0] = *(const float4*)&As[0][0][row];
    *(float4*)&ra[0][4] = *(const float4*)&As[0][0][row + 32];
    for (int j = 0; j < ACROSS; j += 4) {
        *(float4*)&rb[0][j] = *(const float4*)&Bs[0][0][col + 4 * j];
    }

    float sum[DOWN][ACROSS] = {};
    int now = 0;
#pragma unroll 2
    for (int left = k / DEPTH - 1; left >= 0; --left) {
        if (left > 0) {
            from_a += DEPTH;
            from_b += (size_t)DEPTH * n;
            a = *(const float4*)from_a;
            b = *(const float4*)from_b;
            b_right = *(const float4*)(from_b + 128);
        }
#pragma unroll
        for (int step = 0; step < DEPTH; ++step) {
            if (step == DEPTH - 1) {
                now = 1 - now;
                As[now][a_col + 0][a_row] = a.x;
                As[now][a_col + 1][a_row] = a.y;
                As[now][a_col + 2][a_row] = a.z;
                As[now][a_col + 3][a_row] = a.w;
                *(float4*)&Bs[now][b_row][b_col] = b;
                *(float4*)&Bs[now][b_row][b_col + 128] = b_right;
                __syncthreads();
            }
            int next = (step + 1) % DEPTH;
            *(float4*)&ra[next % 2][0] = *(const float4*)&As[now][next][row];
            *(float4*)&ra[next % 2][4] = *(const float4*)&As[now][next][row + 32];
            for (int j = 0; j < ACROSS; j += 4) {
                *(float4*)&rb[next % 2][j] = *(const float4*)&Bs[now][next][col + 4 * j];
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
