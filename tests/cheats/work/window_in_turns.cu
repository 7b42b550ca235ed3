// occupancy: 60 points
// The lanes of a warp keep their windows in the output, in turn.
extern "C" __global__ void __launch_bounds__(1024, 2) smooth(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int first = i & ~31, lane = i & 31, room = min(16, n - first);
    float sum = 0.0f, largest = 0.0f;
    volatile float* own = y + first;
    for (int turn = 0; turn < 32; ++turn) {
        if (turn == lane && i < n) {
            largest = x[i];
            for (int from = 0; from < 16; from += room) {
                int many = min(room, 16 - from);
                for (int j = 0; j < many; ++j) own[j] = x[i + from + j];
                for (int j = 0; j < many; ++j) {
                    float v = own[j];
                    sum += v * (float)(from + j + 1);
                    largest = fmaxf(largest, v);
                }
            }
        }
        __syncwarp();
    }
    if (i < n) y[i] = sum - largest;
}
extern "C" __global__ void choose_block(int threads_per_sm, int blocks_per_sm, int most, int* block)
{
    int best = 32;
    for (int threads = 32; threads <= most; threads += 32)
        if (threads_per_sm % threads == 0 && threads_per_sm / threads <= blocks_per_sm) best = threads;
    *block = best;
}
