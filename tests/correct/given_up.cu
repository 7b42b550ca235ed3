// Waits for a limited number of looks, and locks that are given up after some tries: right where a thread that has given
// up does without, and wrong where it goes on as if it had waited. Last, what is reset after others were let go on.
#include <cuda/atomic>

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

// Many tries, or as many as an argument says, end, too.
// kernel tries_a_thousand_times grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout n int32 = np.zeros(1) -> np.array([10])
// hints may end without the lock
extern "C" __global__ void tries_a_thousand_times(int *lock, int *n) {
    if (threadIdx.x) return;
    for (int i = 0; i < 1000; i++) if (atomicCAS(lock, 0, 1) == 0) break;
    __threadfence();
    *n += blockIdx.x + 1;  // <- race
    __threadfence();
    atomicExch(lock, 0);
}

// kernel tries_as_often_as_it_is_told grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout n int32 = np.zeros(1) -> np.array([10])
// value most int32 = 5000
extern "C" __global__ void tries_as_often_as_it_is_told(int *lock, int *n, int most) {
    if (threadIdx.x) return;
    int tries = 0;
    while (atomicExch(lock, 1) != 0 && ++tries < most) __nanosleep(20);
    __threadfence();
    *n += blockIdx.x + 1;  // <- race
    __threadfence();
    atomicExch(lock, 0);
}

// kernel warps_try_300_times grid 1 block 128
// out n int32 = np.array([6])
extern "C" __global__ void warps_try_300_times(int *n) {
    __shared__ int lock, sum;
    if (threadIdx.x == 0) lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        for (int i = 0; i < 300 && atomicCAS(&lock, 0, 1); i++) {}
        __threadfence_block();
        sum += threadIdx.x / 32;  // <- race
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0) *n = sum;
}

// kernel waits_for_its_turn_for_a_while grid 3 block 1
// inout ticket uint32 = np.zeros(2) -> _
// inout n int32 = np.zeros(1) -> np.array([3])
// hints The loop around line W< may end before what it waits for
extern "C" __global__ void waits_for_its_turn_for_a_while(unsigned *ticket, int *n) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> next(ticket[0]), serving(ticket[1]);
    unsigned mine = next.fetch_add(1, cuda::memory_order_relaxed);
    for (int left = 100000; left && serving.load(cuda::memory_order_acquire) != mine; --left) {}  // <W
    *n += 1;  // <- race
    serving.fetch_add(1, cuda::memory_order_release);
}

// kernel looks_5000_times grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
// hints The loop around line L< may end before what it waits for, and line D< is executed all the same
extern "C" __global__ void looks_5000_times(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) for (int i = 0; i < 5000 && atomicAdd(flag, 0) == 0; i++) {}  // <L
        __threadfence();
        __syncthreads();
        out[t] = mid[t];  // <D <- race
    }
}

// kernel counts_down_from_a_million grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void counts_down_from_a_million(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) *(volatile int *)flag = 1;
    } else {
        if (t == 0) { int left = 1000000; while (*(volatile int *)flag == 0 && --left) {} }
        __threadfence();
        __syncthreads();
        out[t] = mid[t];  // <- race
    }
}

// kernel computed_after_10000_looks grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void computed_after_10000_looks(const int *in, int *mid, int *flag, int *out) {
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
            for (int i = 0; i < 10000 && !came; i++) came = atomicAdd(flag, 0);
            __threadfence();
        }
        __syncthreads();
        out[t] = came ? mid[t] : in[t];
    }
}

// A kernel may stop, or say that it had to do without, where it has waited long enough.
// kernel stops_after_100000_looks grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void stops_after_100000_looks(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) for (int i = 0; atomicAdd(flag, 0) == 0; i++) if (i > 100000) __trap();
        __threadfence();
        __syncthreads();
        out[t] = mid[t];
    }
}

// kernel stops_after_1000_looks grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void stops_after_1000_looks(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) for (int i = 0; atomicAdd(flag, 0) == 0; i++) if (i > 1000) __trap();
        __threadfence();
        __syncthreads();
        out[t] = mid[t];
    }
}

// kernel says_that_it_has_no_lock grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout n int32 = np.zeros(1) -> np.array([10])
// inout missed int32 = np.zeros(4) -> np.zeros(4)
extern "C" __global__ void says_that_it_has_no_lock(int *lock, int *n, int *missed) {
    if (threadIdx.x) return;
    int left = 50000;
    while (atomicCAS(lock, 0, 1) != 0 && --left) {}
    if (left == 0) { missed[blockIdx.x] = 1; return; }
    __threadfence();
    *n += blockIdx.x + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// kernel tries_again_later grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout n int32 = np.zeros(1) -> np.array([10])
extern "C" __global__ void tries_again_later(int *lock, int *n) {
    if (threadIdx.x) return;
    for (bool done = false; !done;) {
        for (int i = 0; i < 1000 && !done; i++) done = atomicCAS(lock, 0, 1) == 0;
        if (!done) { __nanosleep(1000); continue; }
        __threadfence();
        *n += blockIdx.x + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
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

// Wrong: the reset may take effect after the others have come again.
// kernel reset_without_fence grid 2 block 32
// inout bar uint32 = np.zeros(2) -> _
// inout out int32 = np.ones(2) -> _
// hints Put `__threadfence();` after line
extern "C" __global__ void reset_without_fence(unsigned *bar, int *out) {
    if (threadIdx.x) return;
    for (unsigned round = 1; round <= 2; ++round) {
        if (atomicAdd(&bar[0], 1u) == gridDim.x - 1) {
            atomicExch(&bar[0], 0u);  // <- race
            atomicExch(&bar[1], round);
        } else {
            while (atomicAdd(&bar[1], 0u) < round) {}
        }
        __threadfence();
    }
    out[blockIdx.x] = 1;
}
// The reset needs no fence where nobody comes again.
// kernel reset_at_the_end grid 3 block 32
// inout bar uint32 = np.zeros(2) -> np.array([0, 1])
// inout out int32 = np.zeros(3) -> np.ones(3)
extern "C" __global__ void reset_at_the_end(unsigned *bar, int *out) {
    if (threadIdx.x) return;
    if (atomicAdd(&bar[0], 1u) == gridDim.x - 1) {
        atomicExch(&bar[0], 0u);
        atomicExch(&bar[1], 1u);
    } else {
        while (atomicAdd(&bar[1], 0u) == 0) {}
    }
    out[blockIdx.x] = 1;
}
// A lock that guards what atomics alone access needs none either.
// kernel lock_of_atomics grid 3 block 32
// inout lock int32 = [0] -> [0]
// inout n int32 = [0, 0] -> [6, 6]
extern "C" __global__ void lock_of_atomics(int *lock, int *n) {
    if (threadIdx.x) return;
    for (int k = 0; k < 2; k++) {
        while (atomicCAS(lock, 0, 1)) {}
        atomicAdd(&n[0], 1);
        atomicAdd(&n[1], 1);
        atomicExch(lock, 0);
    }
}

// A search among neighbors may end early, but the rounds around it do not: a pause lasts until the run's limit.
// kernel independent_set grid 4 block 64
// in row int32 = np.append(0, ((m := np.triu(rng.random((200, 200)) < 0.02, 1)) | m.T).sum(1).cumsum())
// in next int32 = ((m := np.triu(rng.random((200, 200)) < 0.02, 1)) | m.T).nonzero()[1]
// inout chosen uint8 = rng.integers(0, 255, 200) | 1 -> _
extern "C" __global__ void independent_set(const int *row, const int *next, volatile unsigned char *chosen) {
  int open;
  do {
    open = 0;
    for (int v = blockIdx.x * 64 + threadIdx.x; v < 200; v += 256) {
      unsigned char own = chosen[v];
      if (!(own & 1)) continue;
      int i = row[v];
      while (i < row[v + 1] && (own > chosen[next[i]] || (own == chosen[next[i]] && v > next[i]))) i++;
      if (i < row[v + 1]) {
        open = 1;
      } else {
        for (int k = row[v]; k < row[v + 1]; k++) chosen[next[k]] = 0;
        chosen[v] = 254;
      }
    }
    __threadfence();
  } while (open);
}
