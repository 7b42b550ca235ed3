// Rung 4: 8 x 8 elements per thread: 16 floats from shared memory give 64 products.
//
// A thread's rows and columns are 16 apart, so that neighboring threads always access neighboring
// floats. The tile of A is stored transposed; PITCH puts the 8 x 4 floats that a warp stores at the
// same time into 32 different banks.

#define TILE 128
#define DEPTH 8
#define PITCH (TILE + 4)
#define MINE 8
#define APART (TILE / MINE)

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[DEPTH][PITCH];
    __shared__ float Bs[DEPTH][TILE];
    int row = threadIdx.x / APART;
    int col = threadIdx.x % APART;
    const float* from_a = A + (size_t)blockIdx.y * TILE * k;
    const float* from_b = B + blockIdx.x * TILE;

    float sum[MINE][MINE] = {};
    for (int first = 0; first < k; first += DEPTH) {
        for (int i = 0; i < DEPTH * TILE / 256; ++i) {
            int e = i * 256 + threadIdx.x;
            As[e % DEPTH][e / DEPTH] = from_a[(size_t)(e / DEPTH) * k + first + e % DEPTH];
            Bs[e / TILE][e % TILE] = from_b[(size_t)(first + e / TILE) * n + e % TILE];
        }
        __syncthreads();
        for (int step = 0; step < DEPTH; ++step) {
            float ra[MINE];
            float rb[MINE];
            for (int i = 0; i < MINE; ++i) {
                ra[i] = As[step][row + i * APART];
                rb[i] = Bs[step][col + i * APART];
            }
            for (int i = 0; i < MINE; ++i) {
                for (int j = 0; j < MINE; ++j) {
                    sum[i][j] += ra[i] * rb[j];
                }
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < MINE; ++i) {
        float* to = C + (size_t)(blockIdx.y * TILE + row + i * APART) * n + blockIdx.x * TILE + col;
        for (int j = 0; j < MINE; ++j) {
            to[j * APART] = sum[i][j];
        }
    }
}
