// Rung 7: the factors of a step are read from shared memory while the step before is computed.
//
// Two pairs of tiles as in rung 6, and two sets of factors in registers: no product waits for
// shared memory, not even the first after a barrier, because the last step of a phase is computed
// after it. Each iteration of the loop has two phases: `now` is a constant in each, and addresses cost
// nothing.

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

    // Factors of even steps are in ra[0] and rb[0], those of odd steps in ra[1] and rb[1].
    float ra[2][MINE];
    float rb[2][MINE];
    *(float4*)&ra[0][0] = *(const float4*)&As[0][0][row];
    *(float4*)&ra[0][4] = *(const float4*)&As[0][0][row + 32];
    *(float4*)&rb[0][0] = *(const float4*)&Bs[0][0][col];
    *(float4*)&rb[0][4] = *(const float4*)&Bs[0][0][col + 16];

    float sum[MINE][MINE] = {};
    int now = 0;
#pragma unroll 2
    for (int left = k / DEPTH - 1; left >= 0; --left) {
        if (left > 0) {
            from_a += DEPTH;
            from_b += (size_t)DEPTH * n;
            a = *(const float4*)from_a;
            b = *(const float4*)from_b;
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
