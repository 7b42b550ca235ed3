// Waits for a limited number of looks, and locks that are given up after some tries: right where a thread that has given
// up does without, and wrong where it goes on as if it had waited. Last, what is reset after others were let go on.

// The first block waits: it has looked for the last time before the second one begins.
// kernel first_block_waits grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void first_block_waits(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) for (int i = 0; i < 1000 && atomicAdd(flag, 0) == 0; i++) {}
        __threadfence();
        __syncthreads();
        out[t] = mid[t];  // <- race
    }
}

// kernel second_block_waits grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void second_block_waits(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) for (int i = 0; i < 1000 && atomicAdd(flag, 0) == 0; i++) {}
        __threadfence();
        __syncthreads();
        out[t] = mid[t];  // <- race
    }
}

// Who has given up computes the values itself.
// kernel computed_instead grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void computed_instead(const int *in, int *mid, int *flag, int *out) {
    __shared__ int came;
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) {
            came = 0;
            for (int i = 0; i < 1000 && !came; i++) came = atomicAdd(flag, 0);
            __threadfence();
        }
        __syncthreads();
        out[t] = came ? mid[t] : in[t];
    }
}

// kernel goes_on_without_the_lock grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout n int32 = np.zeros(1) -> np.array([10])
__device__ void try_often(int *l) {
    for (int i = 0; i < 20; i++) {
        if (atomicCAS(l, 0, 1) == 0) break;
        __nanosleep(10);
    }
    __threadfence();
}
extern "C" __global__ void goes_on_without_the_lock(int *lock, int *n) {
    if (threadIdx.x) return;
    try_often(lock);
    *n += blockIdx.x + 1;  // <- race
    __threadfence();
    atomicExch(lock, 0);
}

// kernel ignores_that_it_has_no_lock grid 3 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout n int32 = np.zeros(1) -> np.array([6])
__device__ bool taken(int *l) {
    bool has = false;
    for (int i = 0; i < 5 && !has; i++) has = atomicCAS(l, 0, 1) == 0;
    __threadfence();
    return has;
}
extern "C" __global__ void ignores_that_it_has_no_lock(int *lock, int *n) {
    if (threadIdx.x) return;
    taken(lock);
    *n += blockIdx.x + 1;  // <- race
    __threadfence();
    atomicExch(lock, 0);
}

// Who has no lock adds to a second counter by an atomic.
// kernel counts_elsewhere grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout n int32 = np.zeros(2) -> _
// inout sum int32 = np.zeros(1) -> np.array([10])
extern "C" __global__ void counts_elsewhere(int *lock, int *n, int *sum) {
    if (threadIdx.x) return;
    if (taken(lock)) {
        n[0] += blockIdx.x + 1;
        __threadfence();
        atomicExch(lock, 0);
    } else {
        atomicAdd(&n[1], blockIdx.x + 1);
    }
    atomicAdd(sum, blockIdx.x + 1);
}

// The last to come lets the others go on and resets the count then: one of them may have come again before.
// kernel reset_after_the_others_go_on grid 2 block 32
// inout bar uint32 = np.zeros(2) -> np.array([0, 2])
// out out int32 = np.ones(2)
extern "C" __global__ void reset_after_the_others_go_on(unsigned *bar, int *out) {
    if (threadIdx.x) return;
    for (unsigned round = 1; round <= 2; ++round) {
        if (atomicAdd(&bar[0], 1u) == gridDim.x - 1) {
            atomicExch(&bar[1], round);
            atomicExch(&bar[0], 0u);
        } else {
            while (atomicAdd(&bar[1], 0u) < round) {}  // <- timeout
        }
        __threadfence();
    }
    out[blockIdx.x] = 1;
}

// kernel reset_before_the_others_go_on grid 2 block 32
// inout bar uint32 = np.zeros(2) -> np.array([0, 2])
// out out int32 = np.ones(2)
extern "C" __global__ void reset_before_the_others_go_on(unsigned *bar, int *out) {
    if (threadIdx.x) return;
    for (unsigned round = 1; round <= 2; ++round) {
        if (atomicAdd(&bar[0], 1u) == gridDim.x - 1) {
            atomicExch(&bar[0], 0u);
            __threadfence();
            atomicExch(&bar[1], round);
        } else {
            while (atomicAdd(&bar[1], 0u) < round) {}
        }
        __threadfence();
    }
    out[blockIdx.x] = 1;
}
