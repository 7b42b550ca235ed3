// Rung 7 with phases of 16 steps: half the barriers, and twice the registers for what is on its
// way.

#define TILE 128
#define DEPTH 16
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

    int a_row = threadIdx.x / 2;
    int a_col = threadIdx.x % 2 * 4;
    int b_row = threadIdx.x / 32;
    int b_col = threadIdx.x % 32 * 4;
    const float* from_a = A + (size_t)(blockIdx.y * TILE + a_row) * k + a_col;
    const float* from_b = B + (size_t)b_row * n + blockIdx.x * TILE + b_col;

    // A last phase of 8 steps is filled up with zeros.
    float4 zero = make_float4(0, 0, 0, 0);
    float4 a = *(const float4*)from_a;
    float4 b = *(const float4*)from_b;
    float4 a_more = k > 8 ? *(const float4*)(from_a + 8) : zero;
    float4 b_more = k > 8 ? *(const float4*)(from_b + (size_t)8 * n) : zero;
    As[0][a_col + 0][a_row] = a.x;
    As[0][a_col + 1][a_row] = a.y;
    As[0][a_col + 2][a_row] = a.z;
    As[0][a_col + 3][a_row] = a.w;
    As[0][a_col + 8][a_row] = a_more.x;
    As[0][a_col + 9][a_row] = a_more.y;
    As[0][a_col + 10][a_row] = a_more.z;
    As[0][a_col + 11][a_row] = a_more.w;
    *(float4*)&Bs[0][b_row][b_col] = b;
    *(float4*)&Bs[0][b_row + 8][b_col] = b_more;
    __syncthreads();

    // Factors of even steps in ra[0] and rb[0], of odd ones in ra[1] and rb[1].
    float ra[2][MINE];
    float rb[2][MINE];
    *(float4*)&ra[0][0] = *(const float4*)&As[0][0][row];
    *(float4*)&ra[0][4] = *(const float4*)&As[0][0][row + 32];
    *(float4*)&rb[0][0] = *(const float4*)&Bs[0][0][col];
    *(float4*)&rb[0][4] = *(const float4*)&Bs[0][0][col + 16];

    float sum[MINE][MINE] = {};
    int now = 0;
    for (int left = k - DEPTH; left > -DEPTH; left -= DEPTH) {
        if (left > 0) {
            from_a += DEPTH;
            from_b += (size_t)DEPTH * n;
            a = *(const float4*)from_a;
            b = *(const float4*)from_b;
            a_more = left > 8 ? *(const float4*)(from_a + 8) : zero;
            b_more = left > 8 ? *(const float4*)(from_b + (size_t)8 * n) : zero;
        }
#pragma unroll
        for (int step = 0; step < DEPTH; ++step) {
            if (step == DEPTH - 1) {
                now = 1 - now;
                As[now][a_col + 0][a_row] = a.x;
                As[now][a_col + 1][a_row] = a.y;
                As[now][a_col + 2][a_row] = a.z;
                As[now][a_col + 3][a_row] = a.w;
                As[now][a_col + 8][a_row] = a_more.x;
                As[now][a_col + 9][a_row] = a_more.y;
                As[now][a_col + 10][a_row] = a_more.z;
                As[now][a_col + 11][a_row] = a_more.w;
                *(float4*)&Bs[now][b_row][b_col] = b;
                *(float4*)&Bs[now][b_row + 8][b_col] = b_more;
                __syncthreads();
            }
            int next = (step + 1) % DEPTH;
            *(float4*)&ra[next % 2][0] = *(const float4*)&As[now][next][row];
            *(float4*)&ra[next % 2][4] = *(const float4*)&As[now][next][row + 32];
            *(float4*)&rb[next % 2][0] = *(const float4*)&Bs[now][next][col];
            *(float4*)&rb[next % 2][4] = *(const float4*)&Bs[now][next][col + 16];
            for (int i = 0; i < MINE; ++i) {
                for (int j = 0; j < MINE; ++j) {
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
