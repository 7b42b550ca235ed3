// More blocks than an H100 has multiprocessors that wait for each other: right where there is room for all at once.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// kernel two_a_multiprocessor grid 264 block 64 cooperative yes
// inout a int32 = np.zeros(264) -> np.full(264, 264)
extern "C" __global__ void two_a_multiprocessor(int *a) {
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0) a[blockIdx.x] = 1;
    grid.sync();
    int sum = 0;
    for (int k = threadIdx.x; k < 264; k += 64) sum += a[k];
    grid.sync();
    if (threadIdx.x == 0) a[blockIdx.x] = 0;
    grid.sync();
    atomicAdd(a + blockIdx.x, sum);
}

// kernel own_barrier grid 264 block 1024
// inout came int32 = [0] -> [264]
// inout a int32 = np.zeros(264) -> np.ones(264)
extern "C" __global__ void own_barrier(int *came, int *a) {
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(came, 1);
        int pause = 8;
        while (*(volatile int *)came < (int)gridDim.x) {
            __nanosleep(pause);
            pause = pause < 256 ? 2 * pause : pause;
        }
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) a[blockIdx.x] = 1;
}

// A multiprocessor has room for two blocks of 1,024 threads.
// kernel no_room_for_all grid 265 block 1024
// inout flag int32 = [0] -> _
// finds timeout error some blocks have not started, and the GPU has no room for them
// hints launch only as many blocks as are resident at once
extern "C" __global__ void no_room_for_all(int *flag) {
    if (threadIdx.x) return;
    if (blockIdx.x == gridDim.x - 1) atomicExch(flag, 1);
    while (atomicAdd(flag, 0) == 0) {}  // <- timeout
}

// kernel room_for_all grid 264 block 1024
// inout flag int32 = [0] -> [1]
extern "C" __global__ void room_for_all(int *flag) {
    if (threadIdx.x) return;
    if (blockIdx.x == gridDim.x - 1) atomicExch(flag, 1);
    while (atomicAdd(flag, 0) == 0) {}
}

// kernel too_many_to_cooperate grid 300 block 1024 cooperative yes
// inout a int32 = np.zeros(300) -> _
// finds launch-failure error a cooperative launch of 300 blocks of 1024 threads (cudaErrorCooperativeLaunchTooLarge)
extern "C" __global__ void too_many_to_cooperate(int *a) {
    cg::this_grid().sync();
    if (threadIdx.x == 0) a[blockIdx.x] = 1;
}
