// Blocks that poll, with barriers in the loop, for what a block with a higher number does; lanes that take turns.
#include <cuda/atomic>

using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;

// kernel all_see_their_flags grid 2 block 64
// inout flag int32 = np.zeros(64) -> np.ones(64)
// out seen int32 = np.full(64, 64)
extern "C" __global__ void all_see_their_flags(int *flag, int *seen) {
    Flag f(flag[threadIdx.x]);
    if (blockIdx.x == 1) {
        f.store(1, cuda::memory_order_release);
    } else {
        while (!__syncthreads_and(f.load(cuda::memory_order_acquire))) {}
        seen[threadIdx.x] = 64;
    }
}

// kernel one_thread_looks grid 2 block 96
// inout data int32 = np.zeros(96) -> np.arange(96)
// in flag int32 = np.zeros(1)
// out got int32 = np.arange(96)
extern "C" __global__ void one_thread_looks(int *data, int *flag, int *got) {
    __shared__ int go;
    if (blockIdx.x == 1) {
        data[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) Flag(*flag).store(1, cuda::memory_order_release);
        return;
    }
    do {
        __syncthreads();
        if (threadIdx.x == 0) go = Flag(*flag).load(cuda::memory_order_acquire);
        __syncthreads();
    } while (!go);
    got[threadIdx.x] = data[threadIdx.x];
}

// kernel looks_by_atomics grid 3 block 64
// inout flag int32 = np.zeros(1) -> np.array([2])
// out rounds int32 = np.ones(64)
extern "C" __global__ void looks_by_atomics(int *flag, int *rounds) {
    if (blockIdx.x) {
        if (threadIdx.x == 0) atomicAdd(flag, 1);
        return;
    }
    int n = 0, seen;
    do {
        seen = threadIdx.x == 0 && atomicAdd(flag, 0) == 2;
        n++;
    } while (!__syncthreads_or(seen));
    rounds[threadIdx.x] = n > 0;
}

// Two places in turn, so that shared memory changes in each round.
// kernel two_places grid 2 block 64
// in flag int32 = np.zeros(1)
// out done int32 = np.ones(64)
extern "C" __global__ void two_places(int *flag, int *done) {
    __shared__ int go[2];
    if (blockIdx.x == 1) {
        if (threadIdx.x == 0) Flag(*flag).store(1, cuda::memory_order_release);
        return;
    }
    if (threadIdx.x < 2) go[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0;; k ^= 1) {
        if (threadIdx.x == 32) go[k] = 2 * k + Flag(*flag).load(cuda::memory_order_acquire);
        __syncthreads();
        if (go[k] & 1) break;
        if (threadIdx.x == 0) go[k ^ 1] = 4;
        __syncthreads();
    }
    done[threadIdx.x] = 1;
}

// kernel counts_in_shared_memory grid 2 block 64
// in flag int32 = np.zeros(1)
// out rounds int32 = np.array([1])
extern "C" __global__ void counts_in_shared_memory(int *flag, int *rounds) {
    __shared__ int go, count;
    if (blockIdx.x == 1) {
        if (threadIdx.x == 0) Flag(*flag).store(1, cuda::memory_order_release);
        return;
    }
    if (threadIdx.x == 0) count = 0;
    do {
        if (threadIdx.x == 0) {
            go = Flag(*flag).load(cuda::memory_order_acquire);
            count++;
        }
        __syncthreads();
        if (go) break;
        __syncthreads();
    } while (true);
    if (threadIdx.x == 0) *rounds = count > 0;
}

// The first warp looks and tells the others by a named barrier at which they only arrive in return.
// kernel named_barriers grid 2 block 96
// in flag int32 = np.zeros(1)
// out done int32 = np.ones(96)
extern "C" __global__ void named_barriers(int *flag, int *done) {
    __shared__ int go;
    if (blockIdx.x == 1) {
        if (threadIdx.x == 0) Flag(*flag).store(1, cuda::memory_order_release);
        return;
    }
    while (true) {
        if (threadIdx.x < 32) {
            if (threadIdx.x == 0) go = Flag(*flag).load(cuda::memory_order_acquire);
            __syncwarp();
            asm volatile("bar.arrive 1, 96;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 96;" ::: "memory");
        }
        int now = *(volatile int *)&go;
        asm volatile("bar.sync 2, 96;" ::: "memory");
        if (now) break;
    }
    done[threadIdx.x] = 1;
}

// kernel one_warp_votes grid 2 block 32
// inout flag int32 = np.zeros(32) -> np.ones(32)
// out done int32 = np.ones(32)
extern "C" __global__ void one_warp_votes(int *flag, int *done) {
    Flag f(flag[threadIdx.x]);
    if (blockIdx.x == 1) {
        f.store(1, cuda::memory_order_release);
        return;
    }
    __shared__ int seen[32];
    do {
        __syncwarp();
        seen[threadIdx.x] = f.load(cuda::memory_order_acquire);
        __syncwarp();
    } while (!__all_sync(~0u, seen[threadIdx.x ^ 1]));
    done[threadIdx.x] = 1;
}

// kernel phases_of_an_mbarrier grid 2 block 64
// in flag int32 = np.zeros(1)
// out done int32 = np.ones(64)
#include <cuda/barrier>
extern "C" __global__ void phases_of_an_mbarrier(int *flag, int *done) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int go;
    if (blockIdx.x == 1) {
        if (threadIdx.x == 0) Flag(*flag).store(1, cuda::memory_order_release);
        return;
    }
    if (threadIdx.x == 0) init(&bar, 64);
    __syncthreads();
    do {
        bar.arrive_and_wait();
        if (threadIdx.x == 0) go = Flag(*flag).load(cuda::memory_order_acquire);
        bar.arrive_and_wait();
    } while (!go);
    done[threadIdx.x] = 1;
}

// Each block waits for the next one, the last for none.
// kernel from_the_last_block grid 6 block 64
// in flag int32 = np.zeros(7)
// out order int32 = np.arange(6)[::-1]
extern "C" __global__ void from_the_last_block(int *flag, int *order) {
    int next = blockIdx.x + 1 < gridDim.x, go;
    do {
        go = 1;
        if (threadIdx.x == 0 && next) go = Flag(flag[blockIdx.x + 1]).load(cuda::memory_order_acquire);
    } while (!__syncthreads_and(go));
    if (threadIdx.x == 0) {
        order[blockIdx.x] = gridDim.x - 1 - blockIdx.x;
        Flag(flag[blockIdx.x]).store(1, cuda::memory_order_release);
    }
}

// Lanes of one warp that wait for each other in turn.
// kernel turns_of_threads grid 1 block 128
// out sums int32 = np.cumsum(np.arange(128))
extern "C" __global__ void turns_of_threads(int *sums) {
    __shared__ volatile int turn;
    __shared__ int sum;
    if (threadIdx.x == 0) turn = sum = 0;
    __syncthreads();
    while (turn != threadIdx.x) {}
    __threadfence_block();
    sum += threadIdx.x;
    sums[threadIdx.x] = sum;
    __threadfence_block();
    turn = threadIdx.x + 1;
}

// kernel turns_downwards grid 2 block 64
// inout turn int32 = np.zeros(1) -> np.array([128])
// out order int32 = np.arange(128)[::-1]
extern "C" __global__ void turns_downwards(int *turn, int *order) {
    int me = 127 - (blockIdx.x * 64 + threadIdx.x), seen;
    Flag now(*turn);
    while ((seen = now.load(cuda::memory_order_acquire)) != me) {}
    order[127 - me] = seen;
    now.store(me + 1, cuda::memory_order_release);
}

// kernel tickets_of_threads grid 1 block 64
// inout lock uint32 = np.zeros(2) -> np.array([64, 64])
// inout n int32 = np.zeros(1) -> np.array([64])
extern "C" __global__ void tickets_of_threads(unsigned *lock, int *n) {
    unsigned me = atomicAdd(&lock[0], 1);
    while (atomicAdd(&lock[1], 0) != me) {}
    __threadfence();
    *n += 1;
    __threadfence();
    atomicAdd(&lock[1], 1);
}

// Lanes of a warp arrive by one atomic, and other threads wait for too few of them.
// kernel arrivals_half_awaited grid 1 block 64
// in x int32 = np.arange(32)
// out y int32 = np.zeros(32) -> _
// hints lanes of a warp may execute line a< one after the other
extern "C" __global__ void arrivals_half_awaited(const int *x, int *y) {
  __shared__ int arrived, s[32];
  int t = threadIdx.x;
  if (t == 0) arrived = 0;
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];  // <- race
    __threadfence_block();
    atomicAdd(&arrived, 1);  // <a
  } else {
    while (atomicAdd(&arrived, 0) < 16) {}
    __threadfence_block();
    y[t - 32] = s[63 - t];  // <- race
  }
}

// kernel arrivals_all_awaited grid 1 block 64
// in x int32 = np.arange(32)
// out y int32 = np.arange(31, -1, -1)
extern "C" __global__ void arrivals_all_awaited(const int *x, int *y) {
  __shared__ int arrived, s[32];
  int t = threadIdx.x;
  if (t == 0) arrived = 0;
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];
    __threadfence_block();
    atomicAdd(&arrived, 1);
  } else {
    while (atomicAdd(&arrived, 0) < 32) {}
    __threadfence_block();
    y[t - 32] = s[63 - t];
  }
}

// kernel first_arrival_awaited grid 1 block 64
// in x int32 = np.arange(32)
// out y int32 = np.zeros(32) -> _
extern "C" __global__ void first_arrival_awaited(const int *x, int *y) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> arrived;
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t == 0) arrived.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];  // <- race
    arrived.fetch_add(1, cuda::memory_order_release);
  } else {
    while (arrived.load(cuda::memory_order_acquire) < 1) {}
    y[t - 32] = s[63 - t];  // <- race
  }
}

// kernel first_lane_arrives grid 1 block 64
// in x int32 = np.arange(32)
// out y int32 = np.arange(31, -1, -1)
extern "C" __global__ void first_lane_arrives(const int *x, int *y) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> arrived;
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t == 0) arrived.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];
    __syncwarp();
    if (t == 0) arrived.fetch_add(1, cuda::memory_order_release);
  } else {
    while (arrived.load(cuda::memory_order_acquire) < 1) {}
    y[t - 32] = s[63 - t];
  }
}

// kernel bit_of_another_lane grid 2 block 32
// inout g int32 = np.zeros(32) -> _
// inout bits uint32 = [0] -> [0xffffffff]
// out y int32 = np.zeros(32) -> _
extern "C" __global__ void bit_of_another_lane(int *g, unsigned *bits, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    g[t] = t + 1;  // <- race
    __threadfence();
    atomicOr(bits, 1u << t);
  } else {
    while ((atomicAdd(bits, 0) & 1u << t) == 0) {}
    __threadfence();
    y[t] = g[31 - t];  // <- race
  }
}

// kernel bit_of_the_lane grid 2 block 32
// inout g int32 = np.zeros(32) -> np.arange(1, 33)
// inout bits uint32 = [0] -> [0xffffffff]
// out y int32 = np.arange(32, 0, -1)
extern "C" __global__ void bit_of_the_lane(int *g, unsigned *bits, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    g[t] = t + 1;
    __threadfence();
    atomicOr(bits, 1u << t);
  } else {
    while ((atomicAdd(bits, 0) & 1u << (31 - t)) == 0) {}
    __threadfence();
    y[t] = g[31 - t];
  }
}

// The data is atomic too: too early a look gives another output, and no race.
// kernel atomic_data_too_early grid 2 block 32 orders wrong
// inout g int32 = np.zeros(32) -> np.arange(1, 33)
// inout arrived int32 = [0] -> [32]
// out y int32 = np.arange(32, 0, -1)
extern "C" __global__ void atomic_data_too_early(int *g, int *arrived, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    atomicExch(g + t, t + 1);
    __threadfence();
    atomicAdd(arrived, 1);
  } else {
    while (atomicAdd(arrived, 0) < 1) {}
    __threadfence();
    y[t] = atomicAdd(g + 31 - t, 0);
  }
}

// kernel atomic_data_in_time grid 2 block 32
// inout g int32 = np.zeros(32) -> np.arange(1, 33)
// inout arrived int32 = [0] -> [32]
// out y int32 = np.arange(32, 0, -1)
extern "C" __global__ void atomic_data_in_time(int *g, int *arrived, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    atomicExch(g + t, t + 1);
    __threadfence();
    atomicAdd(arrived, 1);
  } else {
    while (atomicAdd(arrived, 0) < 32) {}
    __threadfence();
    y[t] = atomicAdd(g + 31 - t, 0);
  }
}

// kernel polled_into_shared_memory grid 2 block 64
// inout mark int32 = np.zeros(1,np.int32) -> np.array([8])
// inout rows int32 = np.zeros(512,np.int32) -> _
// inout seen int32 = np.zeros(64,np.int32) -> _
// out y int32 = np.arange(64) * 8 + 28
extern "C" __global__ void polled_into_shared_memory(volatile int *mark, int *rows, int *seen, int *y) {
    __shared__ int last;
    int t = threadIdx.x, sum = 0, have = 0;
    for (int r = 0; r < 8 && !blockIdx.x; r++) {
        rows[r * 64 + t] = t + r;
        __threadfence();
        __syncthreads();
        if (t == 0) *mark = r + 1;
    }
    for (int r = 0; r < 8 && blockIdx.x; r++) {
        if (r >= have) {
            __syncthreads();
            if (t == 0) {
                while ((last = *mark) <= r) __nanosleep(32);
                __threadfence();
            }
            __syncthreads();
            have = last;
        }
        sum += rows[r * 64 + t];
    }
    if (blockIdx.x) y[t] = sum;
}

// kernel polled_into_shared_memory_unfenced grid 2 block 64
// inout mark int32 = np.zeros(1,np.int32) -> np.array([8])
// inout rows int32 = np.zeros(512,np.int32) -> _
// inout seen int32 = np.zeros(64,np.int32) -> _
// out y int32 = np.arange(64) * 8 + 28
extern "C" __global__ void polled_into_shared_memory_unfenced(volatile int *mark, int *rows, int *seen, int *y) {
    __shared__ int last;
    int t = threadIdx.x, sum = 0, have = 0;
    for (int r = 0; r < 8 && !blockIdx.x; r++) {
        rows[r * 64 + t] = t + r;
        __threadfence();
        __syncthreads();
        if (t == 0) *mark = r + 1;
    }
    for (int r = 0; r < 8 && blockIdx.x; r++) {
        if (r >= have) {
            __syncthreads();
            if (t == 0)
                while ((last = *mark) <= r) __nanosleep(32);
            __syncthreads();
            have = last;
        }
        sum += rows[r * 64 + t];  // <- race
    }
    if (blockIdx.x) y[t] = sum;
}

// kernel each_look_is_kept grid 2 block 64
// inout mark int32 = np.zeros(1,np.int32) -> np.array([8])
// inout rows int32 = np.zeros(512,np.int32) -> _
// inout seen int32 = np.zeros(64,np.int32) -> _
// out y int32 = np.arange(64) * 8 + 28
extern "C" __global__ void each_look_is_kept(volatile int *mark, int *rows, int *seen, int *y) {
    __shared__ int last;
    int t = threadIdx.x, sum = 0, have = 0;
    for (int r = 0; r < 8 && !blockIdx.x; r++) {
        rows[r * 64 + t] = t + r;
        __threadfence();
        __syncthreads();
        if (t == 0) *mark = r + 1;
    }
    for (int r = 0; r < 8 && blockIdx.x; r++) {
        if (r >= have) {
            __syncthreads();
            if (t == 0) {
                int n = 0, m;
                do {
                    m = *mark;  // <- race
                    seen[n++ & 63] = m;
                } while (m <= r);
                last = m;
                __threadfence();
            }
            __syncthreads();
            have = last;
        }
        sum += rows[r * 64 + t];
    }
    if (blockIdx.x) y[t] = sum;
}

// Blocks stop drawing parts once one has found the value: how many they draw depends on when they look.
// kernel search_until_found grid 4 block 32
// in x int32 = np.arange(4096) * 7 % 1000
// inout best int32 = np.array([2147483647]) -> np.array([857])
// inout part int32 = np.zeros(1) -> _
extern "C" __global__ void search_until_found(const int *x, int *best, int *part) {
  __shared__ int own;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) own = atomicAdd(part, 1);
    __syncthreads();
    int base = own * 64;
    if (base >= 4096 || base > Flag(*best).load(cuda::memory_order_relaxed)) break;
    for (int i = threadIdx.x; i < 64; i += 32)
      if (x[base + i] == 999) atomicMin(best, base + i);
  }
}
