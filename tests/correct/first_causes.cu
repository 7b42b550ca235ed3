// What a finding says first: the cause, and a fix that a run with it has confirmed. Behind some wrong kernels is a right
// one that looks alike.

// A fence of the block does not order other blocks.
// kernel narrow_release grid 2 block 32
// inout flag int32 = np.zeros(1) -> _
// inout data int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(1) -> _
// hints Line a< orders the threads of one block, and other blocks access this. Call __threadfence() there, not __thr
extern "C" __global__ void narrow_release(int *flag, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence_block();  // <a
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = *data;  // <- race
    }
}

// kernel narrow_acquire grid 2 block 32
// inout flag int32 = np.zeros(1) -> _
// inout data int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(1) -> _
// hints Line a< orders the threads of one block
extern "C" __global__ void narrow_acquire(volatile int *flag, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) {}
        __threadfence_block();  // <a
        *out = *data;  // <- race
    }
}

// kernel narrow_lock grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// hints Lines a< and b< order the threads of one block
extern "C" __global__ void narrow_lock(int *lock, int *sum) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence_block();  // <a
    *sum = *sum + 1;  // <- race
    __threadfence_block();  // <b
    atomicExch(lock, 0);
}

// kernel narrow_fence_in_assembly grid 2 block 32
// inout flag int32 = np.zeros(1) -> _
// inout data int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(1) -> _
// hints Line a< orders the threads of one block, and other blocks access this. Use the scope `.gpu` there.
extern "C" __global__ void narrow_fence_in_assembly(int *flag, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42;
        asm volatile("fence.acq_rel.cta;" ::: "memory");  // <a
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = *data;  // <- race
    }
}

// kernel narrow_ticket grid 4 block 32
// inout count uint32 = np.zeros(1) -> _
// inout part int32 = np.zeros(4) -> _
// inout out int32 = np.zeros(1) -> _
// hints Line a< orders the threads of one block
extern "C" __global__ void narrow_ticket(unsigned *count, int *part, int *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = blockIdx.x;
        __threadfence_block();  // <a
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += part[i];  // <- race
        *out = sum;
    }
}

// Another fence of the block is for the threads of the block.
// kernel narrow_and_wide grid 2 block 64
// inout flag int32 = np.zeros(1) -> _
// inout data int32 = np.zeros(1) -> _
// out out int32 = np.full(1, 42)
extern "C" __global__ void narrow_and_wide(int *flag, int *data, int *out) {
    __shared__ int value, ready;
    int t = threadIdx.x;
    if (t == 0) ready = 0;
    __syncthreads();
    if (blockIdx.x == 0) {
        if (t == 32) {
            value = 42;
            __threadfence_block();
            atomicExch_block(&ready, 1);
        } else if (t == 0) {
            while (atomicAdd_block(&ready, 0) == 0) {}
            __threadfence_block();
            *data = value;
            __threadfence();
            atomicExch(flag, 1);
        }
    } else if (t == 0) {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = *data;
    }
}

// One fence is missing, and only that one is named.
// kernel release_is_missing grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// hints Call __threadfence() before line a<. A run with that does not have this race.
extern "C" __global__ void release_is_missing(int *lock, int *sum) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum = *sum + 1;  // <- race
    atomicExch(lock, 0);  // <a
}

// A lock that a plain store gives up.
// kernel unlocked_plainly grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// hints Line a< writes plainly what other threads read or update meanwhile. Write it in line a< by an atomic such as ato
extern "C" __global__ void unlocked_plainly(int *lock, int *sum) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) {}  // <- race
    __threadfence();
    *sum = *sum + 1;
    __threadfence();
    *lock = 0;  // <a <- race
}

// kernel unlocked_plainly_by_a_function grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// hints Write it in line a< by an atomic such as atomicExch. A run with that
__device__ void take(int *lock) {
    while (atomicExch(lock, 1) != 0) {}  // <- race
    __threadfence();
}
__device__ void give(int *lock) {
    __threadfence();
    *lock = 0;  // <a <- race
}
extern "C" __global__ void unlocked_plainly_by_a_function(int *lock, int *sum) {
    if (threadIdx.x) return;
    take(lock);
    *sum = *sum + 1;
    give(lock);
}

// kernel unlocked_plainly_in_a_block grid 1 block 128
// inout out int32 = np.zeros(1) -> _
// hints Write it in line a< by an atomic such as atomicExch. A run with that
extern "C" __global__ void unlocked_plainly_in_a_block(int *out) {
    __shared__ int lock, sum;
    if (threadIdx.x == 0) lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {}  // <- race
        __threadfence_block();
        sum = sum + 1;
        __threadfence_block();
        lock = 0;  // <a <- race
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}

// kernel unlocked_plainly_behind_a_barrier grid 4 block 64
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(64) -> _
// hints Write it in line a< by an atomic such as atomicExch. A run with that
extern "C" __global__ void unlocked_plainly_behind_a_barrier(int *lock, int *sum) {
    if (threadIdx.x == 0) while (atomicCAS(lock, 0, 1) != 0) {}  // <- race
    __syncthreads();
    __threadfence();
    sum[threadIdx.x] += 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *lock = 0;  // <a <- race
}

// kernel unlocked_through_volatile grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout sum int32 = np.zeros(1) -> np.full(1, 4)
extern "C" __global__ void unlocked_through_volatile(int *lock, int *sum) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum = *sum + 1;
    __threadfence();
    *(volatile int *)lock = 0;
}

// A wait by a plain read.
// kernel waits_plainly grid 2 block 32
// inout flag int32 = np.zeros(1) -> _
// inout data int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(1) -> _
// hints Line a< waits for another thread by a plain read, which the compiler may do only once, before the loop. Read it
extern "C" __global__ void waits_plainly(int *flag, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (*flag == 0);  // <a <- race
        __threadfence();
        *out = *data;
    }
}

// kernel waits_plainly_without_a_fence grid 2 block 32
// inout flag int32 = np.zeros(1) -> _
// inout data int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(1) -> _
// hints Line a< waits for another thread by a plain read
extern "C" __global__ void waits_plainly_without_a_fence(int *flag, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (*flag == 0);  // <a <- race
        *out = *data;
    }
}

// kernel signaled_plainly grid 2 block 32
// inout flag int32 = np.zeros(1) -> _
// inout data int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(1) -> _
// hints Write it in line a< by an atomic such as atomicExch. A run with that
extern "C" __global__ void signaled_plainly(int *flag, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence();
        *flag = 1;  // <a
    } else {
        while (*(volatile int *)flag == 0) {}  // <- race
        __threadfence();
        *out = *data;
    }
}

// kernel signals_and_waits_plainly grid 1 block 64
// inout out int32 = np.zeros(1) -> _
// hints Write it in line a< by an atomic such as atomicExch, and read it in line b< by atomicAdd of 0
extern "C" __global__ void signals_and_waits_plainly(int *out) {
    __shared__ int flag, data;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = 42;
        __threadfence_block();
        flag = 1;  // <a
    } else if (threadIdx.x == 32) {
        while (flag == 0) {}  // <b <- race
        __threadfence_block();
        *out = data;
    }
}

// A value that is tested before the lock is taken.
// kernel checked_before_the_lock grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout best int32 = np.zeros(1) -> _
// in in int32 = np.arange(4)
// hints Line a< reads `best` before line b< takes the lock, and line c< writes it where that value allows it
extern "C" __global__ void checked_before_the_lock(int *lock, int *best, const int *in) {
    if (threadIdx.x) return;
    int v = in[blockIdx.x];
    if (v > *best) {  // <a
        while (atomicCAS(lock, 0, 1) != 0) {}  // <b
        __threadfence();
        *best = v;  // <c <- race
        __threadfence();
        atomicExch(lock, 0);
    }
}

// kernel checked_before_the_lock_of_a_block grid 1 block 128
// inout out int32 = np.zeros(1) -> _
// hints Take the lock before line a<.
extern "C" __global__ void checked_before_the_lock_of_a_block(int *out) {
    __shared__ int lock, best;
    if (threadIdx.x == 0) lock = best = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0 && (int)threadIdx.x > best) {  // <a
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence_block();
        best = threadIdx.x;  // <- race
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = best;
}

// kernel checked_twice grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout ready int32 = np.zeros(1) -> _
// inout table int32 = np.zeros(8) -> _
// inout out int32 = np.zeros(4) -> _
// hints Write it in line b< by an atomic such as atomicExch, and read it in line a< by atomicAdd of 0
extern "C" __global__ void checked_twice(int *lock, int *ready, int *table, int *out) {
    if (threadIdx.x) return;
    if (*ready == 0) {  // <a <- race
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        if (*ready == 0) {
            for (int i = 0; i < 8; i++) table[i] = i * i;
            __threadfence();
            *ready = 1;  // <b
        }
        __threadfence();
        atomicExch(lock, 0);
    }
    out[blockIdx.x] = table[blockIdx.x];
}

// kernel checked_twice_with_atomics grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout ready int32 = np.zeros(1) -> np.ones(1)
// inout table int32 = np.zeros(8) -> np.arange(8) ** 2
// out out int32 = np.arange(4) ** 2
extern "C" __global__ void checked_twice_with_atomics(int *lock, int *ready, int *table, int *out) {
    if (threadIdx.x) return;
    if (atomicAdd(ready, 0) == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        if (*(volatile int *)ready == 0) {
            for (int i = 0; i < 8; i++) table[i] = i * i;
            __threadfence();
            atomicExch(ready, 1);
        }
        __threadfence();
        atomicExch(lock, 0);
    }
    __threadfence();
    out[blockIdx.x] = table[blockIdx.x];
}

// A lock that a thread goes on without.
// kernel lock_given_up_after_tries grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// hints The loop around line a< may end without the lock, and line b< is executed all the same.
extern "C" __global__ void lock_given_up_after_tries(int *lock, int *sum) {
    if (threadIdx.x) return;
    for (int i = 0; i < 8 && atomicCAS(lock, 0, 1) != 0; i++) {}  // <a
    __threadfence();
    *sum = *sum + 1;  // <b <- race
    __threadfence();
    atomicExch(lock, 0);
}

// kernel lock_given_up_by_a_break grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// hints The loop around line a< may end without the lock
extern "C" __global__ void lock_given_up_by_a_break(int *lock, int *sum) {
    if (threadIdx.x) return;
    int tries = 0;
    while (atomicCAS(lock, 0, 1) != 0) {  // <a
        if (++tries > 4) break;
    }
    __threadfence();
    sum[0] += blockIdx.x;  // <- race
    __threadfence();
    atomicExch(lock, 0);
}

// kernel lock_given_up_in_a_block grid 1 block 128
// inout out int32 = np.zeros(1) -> _
// hints The loop around line a< may end without the lock
extern "C" __global__ void lock_given_up_in_a_block(int *out) {
    __shared__ int lock, sum;
    if (threadIdx.x == 0) lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        for (int i = 0; i < 2; i++) if (atomicCAS(&lock, 0, 1) == 0) break;  // <a
        __threadfence_block();
        sum = sum + 1;  // <- race
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}

// kernel lock_not_tested grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// hints Line a< does not test what atomicCAS returns: the lock may be another thread's.
extern "C" __global__ void lock_not_tested(int *lock, int *sum) {
    if (threadIdx.x) return;
    atomicCAS(lock, 0, 1);  // <a
    __threadfence();
    *sum = *sum + 1;  // <- race
    __threadfence();
    atomicExch(lock, 0);
}

// kernel locks_of_two_names grid 4 block 32
// inout locks int32 = np.zeros(4) -> _
// inout sum int32 = np.zeros(1) -> _
// hints The lock of line a< does not order these accesses. Let each thread that accesses `sum` take this lock
extern "C" __global__ void locks_of_two_names(int *locks, int *sum) {
    if (threadIdx.x) return;
    while (atomicCAS(&locks[blockIdx.x], 0, 1) != 0) {}  // <a
    __threadfence();
    *sum = *sum + 1;  // <- race
    __threadfence();
    atomicExch(&locks[blockIdx.x], 0);
}

// kernel lock_taken_inside_a_loop grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout sum int32 = np.zeros(1) -> np.full(1, 4)
extern "C" __global__ void lock_taken_inside_a_loop(int *lock, int *sum) {
    if (threadIdx.x) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *sum = *sum + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// An update through a helper's pointer.
// kernel raised_by_a_function grid 2 block 64
// inout n int32 = np.zeros(1) -> _
// hints reads `n`, and line a< writes it where that value allows it: two steps
__device__ void raise(int *p, int v) {
    int old = *p;
    if (v > old) *p = v;  // <a <- race
}
extern "C" __global__ void raised_by_a_function(int *n) { raise(n, threadIdx.x + 64 * blockIdx.x); }

// kernel reserved_by_a_function grid 2 block 64
// inout n int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(128) -> _
// hints computes and writes it back: two steps
template <class T> __device__ T reserve(T *p, T n) {
    T base = *p;
    *p = base + n;  // <- race
    return base;
}
extern "C" __global__ void reserved_by_a_function(int *n, int *out) { out[reserve(n, 1) % 128] = threadIdx.x; }

// A barrier in a branch: races follow from it.
// kernel odd_even_sort grid 1 block 64
// inout a int32 = np.arange(64)[::-1].copy() -> _
// finds race error hazard on shared `s[
// hints Put the barrier after line b<, outside the `if` of line a<, so that all threads of the block reach it. A run with
extern "C" __global__ void odd_even_sort(int *a) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    for (int r = 0; r < 64; r++) {
        int i = 2 * t + (r & 1);
        if (i + 1 < 64) {  // <a
            if (s[i] > s[i + 1]) { int x = s[i]; s[i] = s[i + 1]; s[i + 1] = x; }  // <- race
            __syncthreads();  // <- barrier-divergence
        }  // <b
    }
    __syncthreads();
    a[t] = s[t];  // <- race
}

// kernel odd_even_sort_of_a_warp grid 1 block 32
// inout a int32 = np.arange(64)[::-1].copy() -> _
// hints Put the barrier after line b<, outside the `if` of line a<
extern "C" __global__ void odd_even_sort_of_a_warp(int *a) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = a[t];
    s[t + 32] = a[t + 32];
    __syncthreads();
    for (int r = 0; r < 64; r++) {
        int i = 2 * t + (r & 1);
        if (i + 1 < 64) {  // <a
            if (s[i] > s[i + 1]) { int x = s[i]; s[i] = s[i + 1]; s[i + 1] = x; }  // <- race
            __syncthreads();  // <- barrier-divergence
        }  // <b
    }
    a[t] = s[t];
    a[t + 32] = s[t + 32];
}

// kernel odd_even_sort_until_sorted grid 1 block 64
// inout a int32 = np.arange(128)[::-1].copy() -> _
// hints outside the `if` of line a<
extern "C" __global__ void odd_even_sort_until_sorted(int *a) {
    __shared__ int s[128];
    __shared__ int changed;
    int t = threadIdx.x;
    s[t] = a[t];
    s[t + 64] = a[t + 64];
    if (t == 0) changed = 0;
    __syncthreads();
    for (int r = 0; r < 128; r++) {
        int i = 2 * t + (r & 1);
        if (i + 1 < 128) {  // <a
            if (s[i] > s[i + 1]) {  // <- race
                int x = s[i];  // <- race
                s[i] = s[i + 1];  // <- race
                s[i + 1] = x;  // <- race
                atomicAdd(&changed, 1);
            }
            __syncthreads();  // <- barrier-divergence
        }
    }
    a[t] = s[t];
    a[t + 64] = s[t + 64];
}

// kernel one_thread_passes_by grid 1 block 64
// inout a int32 = np.arange(64) -> _
// hints Put the barrier after line a<, outside the `if` of line a<
extern "C" __global__ void one_thread_passes_by(int *a) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = a[t];
    if (t != 63) __syncthreads();  // <a <- barrier-divergence
    if (t < 63) a[t] = s[t + 1];
}

// kernel sum_with_a_barrier_in_the_branch grid 1 block 128
// inout a int32 = np.ones(128) -> _
// hints Put the barrier after line b<, outside the `if` of line a<
extern "C" __global__ void sum_with_a_barrier_in_the_branch(int *a) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    for (int d = 64; d > 0; d /= 2)
        if (t < d) {  // <a
            s[t] += s[t + d];
            __syncthreads();  // <- barrier-divergence
        }  // <b
    if (t == 0) a[0] = s[0];
}

// One barrier in the place of two would leave a race: no place is named.
// kernel scan_with_barriers_in_the_branch grid 1 block 64
// inout a int32 = np.ones(64) -> _
// hints Only some enter the `if` of line I<. Let all threads of the block enter it
extern "C" __global__ void scan_with_barriers_in_the_branch(int *a) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        if (t >= d) {  // <I
            int x = s[t - d];
            __syncthreads();  // <- barrier-divergence
            s[t] += x;
            __syncthreads();  // <- barrier-divergence
        }
    }
    a[t] = s[t];
}

// kernel odd_even_sort_with_a_barrier_for_all grid 1 block 64
// inout a int32 = np.arange(128)[::-1].copy() -> np.arange(128)
extern "C" __global__ void odd_even_sort_with_a_barrier_for_all(int *a) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[t];
    s[t + 64] = a[t + 64];
    __syncthreads();
    for (int r = 0; r < 128; r++) {
        int i = 2 * t + (r & 1);
        if (i + 1 < 128 && s[i] > s[i + 1]) { int x = s[i]; s[i] = s[i + 1]; s[i + 1] = x; }
        __syncthreads();
    }
    a[t] = s[t];
    a[t + 64] = s[t + 64];
}

// Accesses in two branches of a loop: threads leave it in different rounds, so that no barrier fits.
// kernel table_read_before_it_is_written grid 1 block 64
// in k int32 = np.arange(64) % 16
// inout out int32 = np.zeros(64) -> _
// hints No barrier fits between the branches of one `if`. Let the writer set an atomic flag after the access
extern "C" __global__ void table_read_before_it_is_written(const int *k, int *out) {
    __shared__ int keys[32], values[32];
    int t = threadIdx.x;
    if (t < 32) keys[t] = -1;
    __syncthreads();
    int key = k[t], h = key * 7 % 32;
    while (true) {
        int old = atomicCAS(&keys[h], -1, key);
        if (old == -1) {
            values[h] = key * 3;
            out[t] = key * 3;
            break;
        } else if (old == key) {
            out[t] = values[h];  // <- race
            break;
        }
        h = (h + 1) % 32;
    }
}

// kernel table_read_behind_the_loop grid 1 block 64
// in k int32 = np.arange(64) % 16
// inout out int32 = np.zeros(64) -> _
// hints Put __syncthreads() between line a< and line b<.
extern "C" __global__ void table_read_behind_the_loop(const int *k, int *out) {
    __shared__ int keys[32], values[32];
    int t = threadIdx.x;
    if (t < 32) keys[t] = -1;
    __syncthreads();
    int key = k[t], h = key * 7 % 32;
    for (;;) {
        int old = atomicCAS(&keys[h], -1, key);
        if (old == -1) { values[h] = key * 3; break; }
        if (old == key) break;
        h = (h + 1) % 32;
    }  // <a
    out[t] = values[h];  // <b <- race
}

// kernel roles_with_one_barrier grid 1 block 64
// inout a int32 = np.arange(64) -> _
// hints Put __syncthreads() between two `if` statements: the first with the branch of line a<, the second with that of
extern "C" __global__ void roles_with_one_barrier(int *a) {
    __shared__ int s[32];
    int t = threadIdx.x;
    for (int r = 0; r < 4; r++) {
        if (t < 32) {
            s[t] = a[t] + r;  // <a
        } else {
            a[t] += s[t - 32];  // <- race
        }
        __syncthreads();
    }
}

// kernel roles_without_barriers grid 1 block 64
// inout a int32 = np.arange(64) -> _
// hints Put another one behind both, before the next iteration of the loop.
extern "C" __global__ void roles_without_barriers(int *a) {
    __shared__ int s[32];
    int t = threadIdx.x;
    for (int r = 0; r < 4; r++) {
        if (t >= 32) a[t] += s[t - 32];  // <- race
        else s[t] = a[t] + r;
    }
}

// kernel roles_with_two_barriers grid 1 block 64
// inout a int32 = np.arange(64) -> np.concatenate([np.arange(32), np.arange(32, 64) + 4 * np.arange(32) + 6])
extern "C" __global__ void roles_with_two_barriers(int *a) {
    __shared__ int s[32];
    int t = threadIdx.x;
    for (int r = 0; r < 4; r++) {
        if (t < 32) s[t] = a[t] + r;
        __syncthreads();
        if (t >= 32) a[t] += s[t - 32];
        __syncthreads();
    }
}

// Bit-fields and bytes, for which there is no atomic.
// kernel bit_fields_of_one_word grid 1 block 64
// inout out int32 = np.zeros(64) -> _
// hints Line a< writes the bit-field `low`: it reads the whole word, and writes it back
struct Fields { unsigned low : 4; unsigned high : 4; };
extern "C" __global__ void bit_fields_of_one_word(int *out) {
    __shared__ Fields s;
    int t = threadIdx.x;
    if (t == 0) { s.low = 1; s.high = 0; }
    __syncthreads();
    if (t == 0) s.low = 3;  // <a
    if (t == 32) s.high = 5;  // <- race
    __syncthreads();
    out[t] = s.low + s.high;
}

// kernel bit_fields_of_an_array grid 1 block 64
// inout out int32 = np.zeros(64) -> _
// hints writes the bit-field `
extern "C" __global__ void bit_fields_of_an_array(int *out) {
    __shared__ Fields s[32];
    int t = threadIdx.x;
    if (t < 32) { s[t].low = 1; s[t].high = 0; }
    __syncthreads();
    if (t < 32) s[t].low = t;  // <- race
    else s[t - 32].high = t;  // <- race
    __syncthreads();
    out[t] = s[t % 32].low + s[t % 32].high;
}

// kernel bit_fields_between_blocks grid 2 block 32
// inout b uint32 = np.zeros(1) -> _
// hints change the word by atomicOr and atomicAnd.
extern "C" __global__ void bit_fields_between_blocks(Fields *b) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) b->low = 3;  // <- race
    else b->high = 4;  // <- race
}

// kernel words_of_their_own grid 1 block 64
// out out int32 = np.full(64, 8)
struct Words { unsigned low : 4; unsigned : 0; unsigned high : 4; };
extern "C" __global__ void words_of_their_own(int *out) {
    __shared__ Words s;
    int t = threadIdx.x;
    if (t == 0) s.low = 3;
    if (t == 32) s.high = 5;
    __syncthreads();
    out[t] = s.low + s.high;
}

// kernel bytes_counted grid 2 block 64
// in in uint8 = np.arange(128) % 8
// inout bins uint8 = np.zeros(8) -> _
// hints No atomic adds to 8 bits: use elements of 32 bits (int, unsigned)
extern "C" __global__ void bytes_counted(const unsigned char *in, unsigned char *bins) {
    bins[in[blockIdx.x * 64 + threadIdx.x]]++;  // <- race
}

// kernel shorts_counted grid 1 block 64
// in in uint8 = np.arange(64) % 8
// inout bins int32 = np.zeros(8) -> _
// hints No atomic adds to 16 bits
extern "C" __global__ void shorts_counted(const unsigned char *in, int *bins) {
    __shared__ short s[8];
    int t = threadIdx.x;
    if (t < 8) s[t] = 0;
    __syncthreads();
    s[in[t]] += 1;  // <- race
    __syncthreads();
    if (t < 8) bins[t] = s[t];
}

// kernel bits_set_plainly grid 2 block 64
// inout m uint32 = np.zeros(4) -> _
// hints Use one atomic, such as atomicOr, for each update.
extern "C" __global__ void bits_set_plainly(unsigned *m) {
    int t = blockIdx.x * 64 + threadIdx.x;
    m[t / 32] |= 1u << (t % 32);  // <- race
}

// kernel bytes_beside_each_other grid 1 block 64
// in in uint8 = np.arange(64)
// out out uint8 = np.arange(64)[::-1] + 1
extern "C" __global__ void bytes_beside_each_other(const unsigned char *in, unsigned char *out) {
    __shared__ unsigned char s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    s[t]++;
    __syncthreads();
    out[t] = s[63 - t];
}

// A slot that is given back before it is read, and a signal before what it tells of.
// kernel slot_given_back_early grid 2 block 32
// in in int32 = np.arange(32)
// inout q int32 = np.zeros(4) -> _
// inout ends int32 = np.zeros(2) -> _
// inout out int32 = np.zeros(32) -> _
// hints Line a< signals other threads before line b< accesses `q`: they may access it in between. Put the statement of l
extern "C" __global__ void slot_given_back_early(const int *in, int *q, volatile int *ends, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int i = 0; i < 32; i++) {
            while (ends[1] - ends[0] >= 4) {}
            __threadfence();
            q[i % 4] = in[i];  // <- race
            __threadfence();
            ends[1] = i + 1;
        }
    } else {
        for (int i = 0; i < 32; i++) {
            while (ends[1] <= i) {}
            __threadfence();
            ends[0] = i + 1;  // <a
            __threadfence();
            out[i] = q[i % 4];  // <b <- race
        }
    }
}

// kernel slot_given_back_early_in_a_block grid 1 block 64
// in in int32 = np.arange(32)
// inout out int32 = np.zeros(32) -> _
// hints after line b<, and call __threadfence_block() before it. A run with that does not have this race.
extern "C" __global__ void slot_given_back_early_in_a_block(const int *in, int *out) {
    __shared__ int q[4], head, tail;
    if (threadIdx.x == 0) head = tail = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 32; i++) {
            while (atomicAdd(&tail, 0) - atomicAdd(&head, 0) >= 4) {}
            __threadfence_block();
            q[i % 4] = in[i];  // <- race
            __threadfence_block();
            atomicAdd(&tail, 1);
        }
    } else if (threadIdx.x == 32) {
        for (int i = 0; i < 32; i++) {
            while (atomicAdd(&tail, 0) <= i) {}
            __threadfence_block();
            atomicAdd(&head, 1);
            out[i] = q[i % 4];  // <b <- race
        }
    }
}

// kernel slot_flag_cleared_early grid 2 block 32
// in in int32 = np.arange(32)
// inout q int32 = np.zeros(4) -> _
// inout full int32 = np.zeros(4) -> _
// inout out int32 = np.zeros(32) -> _
// hints Line a< signals other threads before line b< accesses `q`
extern "C" __global__ void slot_flag_cleared_early(const int *in, int *q, int *full, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int i = 0; i < 32; i++) {
            while (atomicAdd(&full[i % 4], 0) == 1) {}
            __threadfence();
            q[i % 4] = in[i];  // <- race
            __threadfence();
            atomicExch(&full[i % 4], 1);
        }
    } else {
        for (int i = 0; i < 32; i++) {
            while (atomicAdd(&full[i % 4], 0) == 0) {}
            __threadfence();
            atomicExch(&full[i % 4], 0);  // <a
            out[i] = q[i % 4];  // <b <- race
        }
    }
}

// kernel slot_given_back_early_by_a_store grid 2 block 32
// in in int32 = np.arange(32)
// inout q int32 = np.zeros(4) -> _
// inout ends int32 = np.zeros(2) -> _
// inout out int32 = np.zeros(32) -> _
// hints Put the statement of line a< after line b<. A run with that does not have this race.
#include <cuda/atomic>
extern "C" __global__ void slot_given_back_early_by_a_store(const int *in, int *q, int *ends, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> head(ends[0]), tail(ends[1]);
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int i = 0; i < 32; i++) {
            while (i - head.load(cuda::memory_order_acquire) >= 4) {}
            q[i % 4] = in[i];  // <- race
            tail.store(i + 1, cuda::memory_order_release);
        }
    } else {
        for (int i = 0; i < 32; i++) {
            while (tail.load(cuda::memory_order_acquire) <= i) {}
            head.store(i + 1, cuda::memory_order_release);  // <a
            out[i] = q[i % 4];  // <b <- race
        }
    }
}

// kernel signaled_before_the_write grid 2 block 32
// inout flag int32 = np.zeros(1) -> _
// inout data int32 = np.zeros(8) -> _
// inout out int32 = np.zeros(1) -> _
// hints Line a< signals other threads before line b< accesses `data`
extern "C" __global__ void signaled_before_the_write(int *flag, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        __threadfence();
        atomicExch(flag, 1);  // <a
        for (int i = 0; i < 8; i++) data[i] = i;  // <b <- race
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        int sum = 0;
        for (int i = 0; i < 8; i++) sum += data[i];  // <- race
        *out = sum;
    }
}

// kernel unlocked_before_the_write grid 4 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// hints Line a< signals other threads before line b< accesses `sum`
extern "C" __global__ void unlocked_before_the_write(int *lock, int *sum) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    int old = *sum;  // <- race
    atomicExch(lock, 0);  // <a
    *sum = old + 1;  // <b <- race
}

// A request is signaled before the answer is read, which another signal tells of.
// kernel requested_and_answered grid 2 block 32
// inout flags int32 = np.zeros(2) -> np.ones(2)
// inout data int32 = np.zeros(1) -> _
// out out int32 = np.full(1, 7)
extern "C" __global__ void requested_and_answered(int *flags, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        atomicExch(&flags[0], 1);
        while (atomicAdd(&flags[1], 0) == 0) {}
        __threadfence();
        *out = *data;
    } else {
        while (atomicAdd(&flags[0], 0) == 0) {}
        *data = 7;
        __threadfence();
        atomicExch(&flags[1], 1);
    }
}

// kernel requested_and_answered_without_release grid 2 block 32
// inout flags int32 = np.zeros(2) -> _
// inout data int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(1) -> _
// hints Call __threadfence() before line a<.
extern "C" __global__ void requested_and_answered_without_release(int *flags, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        atomicExch(&flags[0], 1);
        while (atomicAdd(&flags[1], 0) == 0) {}
        __threadfence();
        *out = *data;  // <- race
    } else {
        while (atomicAdd(&flags[0], 0) == 0) {}
        *data = 7;
        atomicExch(&flags[1], 1);  // <a
    }
}

// Barriers of shared memory: what the waits and arrivals do wrong.
// kernel result_of_a_wait_ignored grid 1 block 64
// in in int32 = np.arange(64)
// inout out int32 = np.zeros(64) -> _
// hints Line a< goes on before the phase has ended
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/ptx>
__device__ void mbarrier_begin(unsigned b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
__device__ void mbarrier_arrive(unsigned b) { asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" :: "r"(b) : "memory"); }
__device__ int mbarrier_try(unsigned b, int parity) {
    int ok;
    asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n selp.s32 %0, 1, 0, p; }" : "=r"(ok) : "r"(b), "r"(parity) : "memory");
    return ok;
}
extern "C" __global__ void result_of_a_wait_ignored(const int *in, int *out) {
    __shared__ alignas(8) unsigned long long bar;
    __shared__ int s[64];
    int t = threadIdx.x;
    unsigned b = __cvta_generic_to_shared(&bar);
    if (t == 0) mbarrier_begin(b, 64);
    __syncthreads();
    s[t] = in[t];
    mbarrier_arrive(b);
    mbarrier_try(b, 0);  // <a
    out[t] = s[63 - t];  // <- race
}

// kernel result_of_a_token_ignored grid 1 block 64
// in in int32 = np.arange(64)
// inout out int32 = np.zeros(64) -> _
// hints Line a< goes on before the phase has ended
extern "C" __global__ void result_of_a_token_ignored(const int *in, int *out) {
    __shared__ alignas(8) uint64_t bar;
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t == 0) cuda::ptx::mbarrier_init(&bar, 64);
    __syncthreads();
    s[t] = in[t];
    uint64_t token = cuda::ptx::mbarrier_arrive(&bar);
    cuda::ptx::mbarrier_try_wait(&bar, token);  // <a
    out[t] = s[63 - t];  // <- race
}

// kernel one_parity_in_all_rounds grid 1 block 64
// in in int32 = np.arange(256)
// inout out int32 = np.zeros(256) -> _
// hints Line a< waits for parity 0 in each round of the loop of line b<. Phases have parity 0 and 1 in turn
extern "C" __global__ void one_parity_in_all_rounds(const int *in, int *out) {
    __shared__ alignas(8) unsigned long long bar;
    __shared__ int s[64];
    int t = threadIdx.x;
    unsigned b = __cvta_generic_to_shared(&bar);
    if (t == 0) mbarrier_begin(b, 64);
    __syncthreads();
    for (int r = 0; r < 4; r++) {  // <b
        s[t] = in[r * 64 + t];
        mbarrier_arrive(b);
        while (!mbarrier_try(b, 0)) {}  // <a <- timeout
        out[r * 64 + t] = s[63 - t];  // <- race
        __syncthreads();
    }
}

// kernel one_parity_of_the_producers grid 1 block 64
// in in int32 = np.arange(256)
// inout out int32 = np.zeros(256) -> _
// hints Line a< waits for parity 1 in each round
extern "C" __global__ void one_parity_of_the_producers(const int *in, int *out) {
    __shared__ alignas(8) unsigned long long full, empty;
    __shared__ int s[32];
    int t = threadIdx.x;
    unsigned f = __cvta_generic_to_shared(&full), e = __cvta_generic_to_shared(&empty);
    if (t == 0) { mbarrier_begin(f, 32); mbarrier_begin(e, 32); }
    __syncthreads();
    if (t < 32) {
        for (int r = 0; r < 4; r++) {
            while (!mbarrier_try(e, 1)) {}  // <a
            s[t] = in[r * 32 + t];
            mbarrier_arrive(f);
        }
    } else {
        for (int r = 0; r < 4; r++) {
            while (!mbarrier_try(f, r & 1)) {}  // <- timeout
            out[r * 32 + t - 32] = s[63 - t];
            mbarrier_arrive(e);
        }
    }
}

// kernel one_parity_of_each_barrier grid 1 block 64
// in in int32 = np.arange(128)
// out out int32 = np.arange(128).reshape(2, 64)[:, ::-1].ravel()
extern "C" __global__ void one_parity_of_each_barrier(const int *in, int *out) {
    __shared__ alignas(8) unsigned long long bars[2];
    __shared__ int s[2][64];
    int t = threadIdx.x;
    unsigned b = __cvta_generic_to_shared(bars);
    if (t == 0) { mbarrier_begin(b, 64); mbarrier_begin(b + 8, 64); }
    __syncthreads();
    for (int r = 0; r < 2; r++) {
        s[r][t] = in[r * 64 + t];
        mbarrier_arrive(b + 8 * r);
        while (!mbarrier_try(b + 8 * r, 0)) {}
        out[r * 64 + t] = s[r][63 - t];
    }
}

// kernel left_and_arrives_again grid 1 block 64
// inout out int32 = np.zeros(64) -> _
// hints A thread leaves the barrier in line a< (arrive_and_drop), and arrives at it again later.
extern "C" __global__ void left_and_arrives_again(int *out) {
    using barrier_t = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(8) unsigned char raw[sizeof(barrier_t)];
    __shared__ int s[64];
    barrier_t &bar = *reinterpret_cast<barrier_t *>(raw);
    int t = threadIdx.x;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    if (t == 63) bar.arrive_and_drop();  // <a
    else bar.arrive_and_wait();
    s[t] = t;
    bar.arrive_and_wait();  // <- timeout
    out[t] = s[63 - t];  // <- race
}

// kernel counted_below_zero grid 1 block 64
// inout out int32 = np.zeros(64) -> _
// hints A latch is counted below 0. Initialize it with the number of all arrivals
extern "C" __global__ void counted_below_zero(int *out) {
    using latch_t = cuda::latch<cuda::thread_scope_block>;
    __shared__ alignas(8) unsigned char raw[sizeof(latch_t)];
    __shared__ int s[64];
    latch_t &latch = *reinterpret_cast<latch_t *>(raw);
    int t = threadIdx.x;
    if (t == 0) new (&latch) latch_t(64);
    __syncthreads();
    for (int r = 0; r < 2; r++) {
        s[t] = t + r;
        latch.arrive_and_wait();  // <- timeout
        out[t] += s[63 - t];
    }
}

// kernel counted_to_zero grid 1 block 64
// out out int32 = np.arange(64)[::-1]
extern "C" __global__ void counted_to_zero(int *out) {
    using latch_t = cuda::latch<cuda::thread_scope_block>;
    __shared__ alignas(8) unsigned char raw[sizeof(latch_t)];
    __shared__ int s[64];
    latch_t &latch = *reinterpret_cast<latch_t *>(raw);
    int t = threadIdx.x;
    if (t == 0) new (&latch) latch_t(64);
    __syncthreads();
    s[t] = t;
    latch.arrive_and_wait();
    out[t] = s[63 - t];
}

// A barrier of the grid that a block never reaches, or reaches less often.
// kernel grid_left_by_a_block grid 4 block 32 cooperative yes
// inout a int32 = np.zeros(4) -> _
// hints Block (2, 0, 0) never comes here. Let all threads of all blocks call it equally often
#include <cooperative_groups.h>
extern "C" __global__ void grid_left_by_a_block(int *a) {
    if (threadIdx.x == 0) a[blockIdx.x] = 1;
    if (blockIdx.x == 2) return;
    cooperative_groups::this_grid().sync();  // <- timeout
    if (threadIdx.x == 0) a[blockIdx.x] += 1;
}

// kernel grid_in_unequal_rounds grid 4 block 32 cooperative yes
// inout a int32 = np.zeros(4) -> _
// hints Block (1, 0, 0) comes here 3 times, the other blocks twice.
extern "C" __global__ void grid_in_unequal_rounds(int *a) {
    for (int r = 0; r < 2 + (blockIdx.x == 1); r++) {
        if (threadIdx.x == 0) a[blockIdx.x] = r;
        cooperative_groups::this_grid().sync();  // <- timeout
    }
}

// kernel counter_missed_by_a_block grid 4 block 32
// inout n uint32 = np.zeros(1) -> _
// inout a int32 = np.zeros(4) -> _
// hints Block (2, 0, 0) never comes there.
extern "C" __global__ void counter_missed_by_a_block(unsigned *n, int *a) {
    if (blockIdx.x == 2) return;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(n, 1);
        while (atomicAdd(n, 0) < gridDim.x) {}  // <- timeout
        __threadfence();
    }
    __syncthreads();
    a[blockIdx.x] = 1;
}

// kernel counter_not_raised_by_a_block grid 4 block 32
// inout n uint32 = np.zeros(1) -> _
// hints Block (3, 0, 0) never comes there.
extern "C" __global__ void counter_not_raised_by_a_block(unsigned *n) {
    if (threadIdx.x == 0) {
        if (blockIdx.x != 3) atomicAdd(n, 1);
        while (atomicAdd(n, 0) < gridDim.x) {}  // <- timeout
    }
}

// kernel counter_raised_by_all grid 4 block 32
// inout n uint32 = np.zeros(1) -> np.full(1, 4)
extern "C" __global__ void counter_raised_by_all(unsigned *n) {
    if (threadIdx.x == 0) {
        atomicAdd(n, 1);
        while (atomicAdd(n, 0) < gridDim.x) {}
    }
}

// Asynchronous copies that are not committed before the wait.
// kernel copies_not_committed grid 1 block 32
// in in int32 = np.arange(32)
// inout out int32 = np.zeros(32) -> _
// hints The wait of line a< covers committed copies only. Commit the copies between the last of them and this wait
#include <cuda_pipeline.h>
extern "C" __global__ void copies_not_committed(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &in[t], 4);
    __pipeline_wait_prior(0);  // <a
    __syncthreads();
    out[t] = s[31 - t];  // <- race
}

// kernel stages_not_committed grid 1 block 64
// in in int32 = np.arange(256)
// inout out int32 = np.zeros(64) -> _
// hints The wait of line a< covers committed copies only.
extern "C" __global__ void stages_not_committed(const int *in, int *out) {
    __shared__ int s[2][64];
    int t = threadIdx.x, sum = 0;
    __pipeline_memcpy_async(&s[0][t], &in[t], 4);
    __pipeline_commit();
    for (int k = 0; k < 4; k++) {
        if (k < 3) __pipeline_memcpy_async(&s[(k + 1) % 2][t], &in[(k + 1) * 64 + t], 4);  // <- race
        __pipeline_wait_prior(1);  // <a
        __syncthreads();
        sum += s[k % 2][63 - t];  // <- race
        __syncthreads();
    }
    out[t] = sum;
}

// A wait that leaves the newest group in flight is no copy that is not committed.
// kernel newest_group_left grid 1 block 32
// in in int32 = np.arange(32)
// inout out int32 = np.zeros(32) -> _
// hints Let it leave at most 0: __pipeline_wait_prior(0)
extern "C" __global__ void newest_group_left(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &in[t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[t] = s[31 - t];  // <- race
}

// kernel stages_committed grid 1 block 64
// in in int32 = np.arange(256)
// out out int32 = np.arange(256).reshape(4, 64)[:, ::-1].sum(0)
extern "C" __global__ void stages_committed(const int *in, int *out) {
    __shared__ int s[2][64];
    int t = threadIdx.x, sum = 0;
    __pipeline_memcpy_async(&s[0][t], &in[t], 4);
    __pipeline_commit();
    for (int k = 0; k < 4; k++) {
        if (k < 3) __pipeline_memcpy_async(&s[(k + 1) % 2][t], &in[(k + 1) * 64 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[k % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

// A barrier is missing, and a lock above has nothing to do with it.
// kernel lock_beside_a_missing_barrier grid 2 block 64
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(128) -> _
// hints Put __syncthreads() between line a< and line b<.
extern "C" __global__ void lock_beside_a_missing_barrier(int *lock, int *sum, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        *sum = *sum + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
    s[t] = t;  // <a
    out[blockIdx.x * 64 + t] = s[63 - t];  // <b <- race
}

// kernel branches_in_a_loop_that_all_leave grid 1 block 96
// inout a int32 = np.arange(96) -> _
// hints Put __syncthreads() between two `if` statements
extern "C" __global__ void branches_in_a_loop_that_all_leave(int *a) {
    __shared__ int s[48];
    int t = threadIdx.x;
    for (int r = 0; r < 8; r++) {
        if (r == 4) break;
        if (t < 48) {
            s[t] = a[t] + r;
        } else {
            a[t] += s[t - 48];  // <- race
        }
        __syncthreads();
    }
}

// The pair of threads that is found is in one warp, but warps conflict there, too.
// kernel bins_read_by_other_warps grid 2 block 64
// in x int32 = np.arange(128)
// inout y int32 = np.zeros(16) -> _
// hints Put __syncthreads() between line a< and line b<
extern "C" __global__ void bins_read_by_other_warps(const int *x, int *y) {
    __shared__ int bins[16];
    int t = threadIdx.x;
    if (t < 16) bins[t] = 0;
    __syncthreads();
    int bin = x[blockIdx.x * 64 + t] * 7 % 16;
    atomicAdd(&bins[bin], 1);  // <a
    int u = 63 - t;
    if (u < 16)                    // <b
        atomicAdd(y + u, bins[u]);  // <- race
}

// kernel maximum_read_by_other_warps grid 1 block 96
// in x int32 = np.arange(96)
// inout y int32 = np.zeros(96) -> _
// hints Put __syncthreads() between line a< and line b<
extern "C" __global__ void maximum_read_by_other_warps(const int *x, int *y) {
    __shared__ int most[2];
    int t = threadIdx.x;
    if (t < 2) most[t] = 0;
    __syncthreads();
    atomicMax(&most[t % 2], x[t]);  // <a
    y[t] = most[(t + 1) % 2];       // <b <- race
}

// In other rounds other warps access the elements, behind a barrier.
// kernel neighbors_of_one_warp grid 1 block 64
// in x int32 = np.arange(64)
// inout y int32 = np.zeros(64) -> _
// hints Put __syncwarp() between line a< and line b<
extern "C" __global__ void neighbors_of_one_warp(const int *x, int *y) {
    __shared__ int s[64];
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round < 2; round++) {
        int at = (t + 32 * round) % 64;
        s[at] = x[at];        // <a
        sum += s[at ^ 1];     // <b <- race
        __syncthreads();
    }
    y[t] = sum;
}

// Both threads of a pair exchange its elements.
// kernel pairs_sorted_by_both grid 1 block 64
// in x int32 = np.arange(64)
// inout y int32 = np.zeros(64) -> _
// hints Lines a< and b< exchange two elements of `s`, and several threads do so with the same elements at once.
extern "C" __global__ void pairs_sorted_by_both(const int *x, int *y) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t] * 37 % 64;
    __syncthreads();
    for (int d = 32; d; d /= 2) {
        int p = t ^ d;
        if (s[t] > s[p]) {
            int kept = s[t];
            s[t] = s[p];  // <a <- race
            s[p] = kept;  // <b
        }
        __syncthreads();
    }
    y[t] = s[t];
}

// kernel turned_by_all_threads grid 2 block 32
// inout a float32 = np.arange(64) -> _
// hints Lines a< and b< exchange two elements of `a`
extern "C" __global__ void turned_by_all_threads(float *a) {
    int i = blockIdx.x * 32 + threadIdx.x;
    float own = a[i], other = a[63 - i];
    a[i] = other;     // <a <- race
    a[63 - i] = own;  // <b
}

// kernel transposed_by_all_threads grid 1 block 8,8
// inout a int32 = np.arange(64) -> _
// hints Lines a< and b< exchange two elements of `a`
__device__ void exchange(int &a, int &b) {
    int t = a;
    a = b;  // <a <- race
    b = t;  // <b
}

extern "C" __global__ void transposed_by_all_threads(int *a) {
    int x = threadIdx.x, y = threadIdx.y;
    exchange(a[y * 8 + x], a[x * 8 + y]);
}

// kernel sums_and_differences_by_both grid 1 block 64
// inout a int32 = np.arange(64) -> _
// hints Lines a< and b< exchange two elements of `a`
extern "C" __global__ void sums_and_differences_by_both(int *a) {
    int t = threadIdx.x, p = t ^ 32;
    int own = a[t], other = a[p];
    a[t] = own + other;  // <a <- race
    a[p] = own - other;  // <b
}

// Without a barrier between rounds a barrier is what is missing, though elements are exchanged.
// kernel rounds_of_exchanges grid 1 block 128
// in x int32 = np.arange(128)
// inout y int32 = np.zeros(128) -> _
// hints Put __syncthreads() after line a<, before the next iteration of the loop reaches line b<
extern "C" __global__ void rounds_of_exchanges(const int *x, int *y) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        int p = t ^ d;
        if (t < p) {          // <b
            int kept = s[t];  // <- race
            s[t] = s[p];
            s[p] = kept;
        }  // <a
    }
    __syncthreads();
    y[t] = s[t];
}

// kernel turned_by_half_of_the_threads grid 2 block 32
// inout a float32 = np.arange(64) -> np.arange(64)[::-1]
extern "C" __global__ void turned_by_half_of_the_threads(float *a) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i >= 32) return;
    float own = a[i], other = a[63 - i];
    a[i] = other;
    a[63 - i] = own;
}

// kernel one_parity_in_inline_assembly grid 1 block 64
// in in int32 = np.arange(256)
// inout out int32 = np.zeros(256) -> _
// hints Line a< waits for parity 0 in each round of the loop of line b<. Phases have parity 0 and 1 in turn
extern "C" __global__ void one_parity_in_inline_assembly(const int *in, int *out) {
    __shared__ alignas(8) unsigned long long bar;
    __shared__ int s[2][64];
    int t = threadIdx.x;
    unsigned b = __cvta_generic_to_shared(&bar), done;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(b) : "memory");
    __syncthreads();
    for (int r = 0; r < 4; r++) {  // <b
        s[r & 1][t] = in[r * 64 + t];
        asm volatile("{.reg .b64 q; mbarrier.arrive.shared.b64 q, [%0];}" ::"r"(b) : "memory");  // <- barrier-divergence
        do {
            asm volatile(  // <a
                "{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                : "=r"(done)
                : "r"(b), "r"(0)
                : "memory");  // <- timeout
        } while (!done);
        out[r * 64 + t] = s[r & 1][63 - t];  // <- uninitialized-read
    }
}

// The parity changes with the round.
// kernel parity_of_the_round_in_assembly grid 1 block 64
// in in int32 = np.arange(256)
// out out int32 = np.arange(256).reshape(4, 64)[:, ::-1].ravel()
extern "C" __global__ void parity_of_the_round_in_assembly(const int *in, int *out) {
    __shared__ alignas(8) unsigned long long bar;
    __shared__ int s[2][64];
    int t = threadIdx.x;
    unsigned b = __cvta_generic_to_shared(&bar), done;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(b) : "memory");
    __syncthreads();
    for (int r = 0; r < 4; r++) {
        s[r & 1][t] = in[r * 64 + t];
        asm volatile("{.reg .b64 q; mbarrier.arrive.shared.b64 q, [%0];}" ::"r"(b) : "memory");
        do {
            asm volatile(
                "{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                : "=r"(done)
                : "r"(b), "r"(r & 1)
                : "memory");
        } while (!done);
        out[r * 64 + t] = s[r & 1][63 - t];
    }
}

// More copies are in flight than there are buffers, though each is waited for.
// kernel prefetch_of_four_into_three grid 1 block 32
// in x int32 = np.arange(256)
// inout y int32 = np.zeros(32) -> _
// hints The copy of line a< writes `s` while an earlier one to the same place is in flight
#include <cuda/pipeline>
extern "C" __global__ void prefetch_of_four_into_three(const int *x, int *y) {
    __shared__ int s[3][32];
    int t = threadIdx.x, sum = 0;
    auto pipe = cuda::make_pipeline();
    for (int next = 0, k = 0; k < 8; k++) {
        for (; next < 8 && next < k + 4; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&s[next % 3][t], x + 32 * next + t, sizeof(int), pipe);  // <a <- race
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += s[k % 3][t];
        pipe.consumer_release();
    }
    y[t] = sum;
}

// kernel prefetch_of_three_into_three grid 1 block 32
// in x int32 = np.arange(256)
// out y int32 = np.arange(256).reshape(8, 32).sum(0)
extern "C" __global__ void prefetch_of_three_into_three(const int *x, int *y) {
    __shared__ int s[3][32];
    int t = threadIdx.x, sum = 0;
    auto pipe = cuda::make_pipeline();
    for (int next = 0, k = 0; k < 8; k++) {
        for (; next < 8 && next < k + 3; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&s[next % 3][t], x + 32 * next + t, sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += s[k % 3][t];
        pipe.consumer_release();
    }
    y[t] = sum;
}

using device_int = cuda::atomic_ref<int, cuda::thread_scope_device>;
__device__ constexpr auto relaxed_order = cuda::memory_order_relaxed;
__device__ constexpr auto acquired = cuda::memory_order_acquire, released = cuda::memory_order_release;

// The flag of a sum is set before the sum is stored, by one lane of a warp.
// kernel prefix_announced_early grid 4 block 32
// in x int32 = np.arange(128)
// inout y int32 = np.zeros(128) -> _
// inout state int32 = np.zeros(8) -> _
// hints Line a< signals other threads before line b< accesses `state`: they may access it in between.
extern "C" __global__ void prefix_announced_early(const int *x, int *y, int *state) {
    int t = threadIdx.x, b = blockIdx.x, sum = x[b * 32 + t], before = 0;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(~0u, sum, d);
        if (t >= d) sum += other;
    }
    if (t == 31) {
        device_int flag(state[4 + b]);
        if (b) {
            device_int last(state[3 + b]);
            while (!last.load(acquired)) {}
            before = state[b - 1];  // <- race
        }
        flag.store(1, released);  // <a
        state[b] = before + sum;  // <b
    }
    before = __shfl_sync(~0u, before, 31);
    y[b * 32 + t] = before + sum;
}

// kernel prefix_announced_in_time grid 4 block 32
// in x int32 = np.arange(128)
// out y int32 = np.arange(128).cumsum()
// inout state int32 = np.zeros(8) -> _
extern "C" __global__ void prefix_announced_in_time(const int *x, int *y, int *state) {
    int t = threadIdx.x, b = blockIdx.x, sum = x[b * 32 + t], before = 0;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(~0u, sum, d);
        if (t >= d) sum += other;
    }
    if (t == 31) {
        device_int flag(state[4 + b]);
        if (b) {
            device_int last(state[3 + b]);
            while (!last.load(acquired)) {}
            before = state[b - 1];
        }
        state[b] = before + sum;
        flag.store(1, released);
    }
    before = __shfl_sync(~0u, before, 31);
    y[b * 32 + t] = before + sum;
}

// A lock is handed to the next thread of its queue without a release.
// kernel lock_handed_over_relaxed grid 3 block 1
// inout g int32 = np.zeros(25) -> _
// hints Use memory_order_release in line a<. A run with that does not have this race.
extern "C" __global__ void lock_handed_over_relaxed(int *g) {
    int own = 1 + blockIdx.x;
    device_int tail(g[0]), next(g[8 + own]), locked(g[16 + own]);
    next.store(0, relaxed_order);
    locked.store(1, relaxed_order);
    int before = tail.exchange(own, cuda::memory_order_acq_rel);
    if (before) {
        device_int(g[8 + before]).store(own, released);
        while (locked.load(acquired)) {}
    }
    g[24] += own;  // <- race
    int after = next.load(acquired);
    if (!after) {
        int last = own;
        if (tail.compare_exchange_strong(last, 0, cuda::memory_order_acq_rel)) return;
        while (!(after = next.load(acquired))) {}
    }
    device_int(g[16 + after]).store(0, relaxed_order);  // <a
}

// A list's head is published without a release: atomic links would leave the values unordered.
// kernel head_swapped_relaxed grid 4 block 1
// inout g int32 = np.zeros(16) -> _
// inout sum int32 = np.zeros(1) -> _
// hints Line a< signals another thread without release
extern "C" __global__ void head_swapped_relaxed(int *g, int *sum) {
    device_int head(g[0]), count(g[1]);
    int own = 8 + 2 * blockIdx.x;
    g[own + 1] = blockIdx.x + 1;
    int first = head.load(relaxed_order);
    do
        g[own] = first;
    while (!head.compare_exchange_weak(first, own,  // <a
                                       relaxed_order, relaxed_order));
    if (count.fetch_add(1, relaxed_order) == 3) {
        int values = 0, at = head.load(acquired);
        while (at) {
            values += g[at + 1];
            at = g[at];  // <- race
        }
        *sum = values;
    }
}

// The additions and their barrier share a line: what is missing is a barrier behind the round.
// kernel bins_cleared_in_each_round grid 2 block 64
// in x int32 = np.arange(256)
// inout y int32 = np.zeros(16) -> _
// hints Put __syncthreads() after line b<, before the next iteration of the loop reaches line a<.
extern "C" __global__ void bins_cleared_in_each_round(const int *x, int *y) {
    __shared__ int bins[16];
    int t = threadIdx.x;
    for (int r = 0; r < 2; r++) {
        if (t < 16) bins[t] = 0; __syncthreads();  // <a <- race
        atomicAdd(&bins[x[(r * 2 + blockIdx.x) * 64 + t] * 7 % 16], 1); __syncthreads();
        int u = 63 - t; if (u < 16) atomicAdd(y + u, bins[u]);  // <b
    }
}

// A reader does not acquire the number that it reads first; the writer has all its fences.
// kernel number_read_relaxed grid 2 block 1
// inout g int32 = np.zeros(3) -> _
// inout y int32 = np.zeros(1) -> _
// hints Use `memory_order_acquire` in line a<, or put `__threadfence();` after it
extern "C" __global__ void number_read_relaxed(int *g, int *y) {
    device_int number(g[0]), first(g[1]), second(g[2]);
    if (blockIdx.x == 0) {
        for (int i = 1; i < 4; i++) {
            number.store(2 * i - 1, relaxed_order);
            __threadfence();
            first.store(i, relaxed_order);
            second.store(i, relaxed_order);
            number.store(2 * i, released);
        }
    } else {
        int a, b, before, after;
        do {
            before = number.load(relaxed_order);  // <a
            a = first.load(relaxed_order);        // <- race
            b = second.load(relaxed_order);       // <- race
            __threadfence();
            after = number.load(relaxed_order);
        } while (before != after || before & 1);
        *y = a - b;
    }
}

// kernel number_read_acquired grid 2 block 1
// inout g int32 = np.zeros(3) -> _
// out y int32 = np.zeros(1)
extern "C" __global__ void number_read_acquired(int *g, int *y) {
    device_int number(g[0]), first(g[1]), second(g[2]);
    if (blockIdx.x == 0) {
        for (int i = 1; i < 4; i++) {
            number.store(2 * i - 1, relaxed_order);
            __threadfence();
            first.store(i, relaxed_order);
            second.store(i, relaxed_order);
            number.store(2 * i, released);
        }
    } else {
        int a, b, before, after;
        do {
            before = number.load(acquired);
            a = first.load(relaxed_order);
            b = second.load(relaxed_order);
            __threadfence();
            after = number.load(relaxed_order);
        } while (before != after || before & 1);
        *y = a - b;
    }
}

// A queue's end is exchanged relaxed: the exchange has to order what is before it and behind it.
// kernel queue_of_nodes_relaxed grid 3 block 1
// inout g int32 = np.zeros(33) -> _
// hints Use `memory_order_acq_rel` in line a<, or put `__threadfence();` before and after it
extern "C" __global__ void queue_of_nodes_relaxed(int *g) {
    int own = 1 + blockIdx.x;
    device_int tail(g[0]);
    device_int(g[8 + own]).store(1, relaxed_order);
    int before = tail.exchange(own, relaxed_order);  // <a
    while (device_int(g[8 + before]).load(acquired)) {}  // <- race
    g[32] += own;
    device_int(g[8 + own]).store(0, released);
}

// kernel queue_of_nodes grid 3 block 1
// inout g int32 = np.zeros(33) -> _
extern "C" __global__ void queue_of_nodes(int *g) {
    int own = 1 + blockIdx.x;
    device_int tail(g[0]);
    device_int(g[8 + own]).store(1, relaxed_order);
    int before = tail.exchange(own, cuda::memory_order_acq_rel);
    while (device_int(g[8 + before]).load(acquired)) {}
    g[32] += own;
    device_int(g[8 + own]).store(0, released);
}

// The array that an atomic function gets, not the one before it.
// kernel bin_below_the_first grid 1 block 32
// finds invalid-access error out-of-bounds write of 4 bytes at `n[-1]`, 4 bytes before shared `n`
// in x float32 = np.arange(32) / 32
// inout h int32 = np.zeros(3) -> _
extern "C" __global__ void bin_below_the_first(const float *x, int *h) {
  __shared__ float c[3];
  __shared__ int n[3];
  int t = threadIdx.x;
  if (t < 3) { c[t] = t * 0.4f; n[t] = 0; }
  __syncthreads();
  float best = 0;
  int b = -1;
  for (int k = 0; k < 3; k++) { float d = fabsf(x[t] - c[k]); if (d < best) { best = d; b = k; } }
  atomicAdd(&n[b], 1);  // <- invalid-access
  __syncthreads();
  if (t < 3) atomicAdd(&h[t], n[t]);
}

// kernel sums_below_the_first grid 1 block 32
// finds invalid-access error at `n[-1]`, 4 bytes before shared `n`
// finds invalid-access error at `sum[-1]`, 4 bytes before shared `sum`
// in x float32 = np.arange(32) / 32
// inout h int32 = np.zeros(3) -> _
__device__ void add_to(int *place, int value) { if (value) *place += value; }
extern "C" __global__ void sums_below_the_first(const float *x, int *h) {
  __shared__ float sum[3];
  __shared__ int n[3];
  int t = threadIdx.x, b = x[t] > 2 ? 0 : -1;
  if (t < 3) { sum[t] = 0; n[t] = 0; }
  __syncthreads();
  atomicAdd(&sum[b], x[t]); if (t == 3) add_to(&n[b], 1);  // <- invalid-access
  __syncthreads();
  if (t < 3) h[t] = n[t] + (int)sum[t];
}

// What the unset value chose is an index.
// kernel chosen_by_an_unset_value grid 1 block 32
// hints For example, declare it as `float best = 0.0f;`.
// in x float32 = np.arange(32) / 32
// inout h int32 = np.zeros(3) -> _
extern "C" __global__ void chosen_by_an_unset_value(const float *x, int *h) {
  __shared__ float c[3];
  __shared__ int n[3];
  int t = threadIdx.x;
  if (t < 3) { c[t] = t * 0.4f; n[t] = 0; }
  __syncthreads();
  float best;
  int b = -1;
  for (int k = 0; k < 3; k++) {
    float d = fabsf(x[t] - c[k]);
    if (d < best) { best = d; b = k; }  // <- uninitialized-read
  }
  atomicAdd(&n[b], 1);  // <- invalid-access
  __syncthreads();
  if (t < 3) atomicAdd(&h[t], n[t]);
}

// kernel chosen_by_a_value grid 1 block 32
// in x float32 = np.arange(32) / 32
// inout h int32 = np.zeros(3) -> _
extern "C" __global__ void chosen_by_a_value(const float *x, int *h) {
  __shared__ float c[3];
  __shared__ int n[3];
  int t = threadIdx.x;
  if (t < 3) { c[t] = t * 0.4f; n[t] = 0; }
  __syncthreads();
  float best;
  int b = -1;
  for (int k = 0; k < 3; k++) {
    float d = fabsf(x[t] - c[k]);
    if (b < 0 || d < best) { best = d; b = k; }
  }
  atomicAdd(&n[b], 1);
  __syncthreads();
  if (t < 3) atomicAdd(&h[t], n[t]);
}

// A buffer that no thread writes is the cause, not a missing barrier around the one that all write.
// kernel always_the_first_buffer grid 1 block 64
// hints Write `s` before this line
// in x int32 = np.arange(256)
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void always_the_first_buffer(const int *x, int *y) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0, next = x[t];
  for (int k = 0; k < 4; k++) {
    s[0][t] = next;  // <- race
    if (k < 3) next = x[(k + 1) * 64 + t];
    __syncthreads();
    sum += s[k & 1][t ^ 63];  // <- uninitialized-read
  }
  y[t] = sum;
}

// kernel buffers_in_turn grid 1 block 64
// in x int32 = np.arange(256)
// out y int32 = x.reshape(4, 64).sum(0)[::-1]
extern "C" __global__ void buffers_in_turn(const int *x, int *y) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0, next = x[t];
  for (int k = 0; k < 4; k++) {
    s[k & 1][t] = next;
    if (k < 3) next = x[(k + 1) * 64 + t];
    __syncthreads();
    sum += s[k & 1][t ^ 63];
  }
  y[t] = sum;
}

// Without a barrier threads read what others have not written yet: the barrier comes first.
// kernel one_buffer_without_a_barrier grid 1 block 64
// hints Put __syncthreads()
// in x int32 = np.arange(64)
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void one_buffer_without_a_barrier(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  y[t] = s[t ^ 63];  // <- race
}

// The index that leaves the array is the cause of the race in its statement.
// kernel maximum_of_one_thread_more grid 1 block 128
// hints Compare the index with the size before this line.
// in x float32 = np.arange(128)
// inout y float32 = np.zeros(1) -> _
extern "C" __global__ void maximum_of_one_thread_more(const float *x, float *y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int k = 64; k >= 1; k /= 2) {  // <- race
    if (t <= k) s[t] = fmaxf(s[t], s[t + k]);  // <- invalid-access
    __syncthreads();
  }
  if (t == 0) *y = s[0];
}

// kernel parts_of_one_element_more grid 1 block 8
// hints Compare the index with the size before this line.
// in x int32 = np.arange(64)
// inout y int32 = np.zeros(64) -> _
__device__ void copy_part(const int *x, int n, int *y) {  // <- race
  for (int k = 0; k < n; k++) y[k] = x[k] + n;  // <- invalid-access
}
extern "C" __global__ void parts_of_one_element_more(const int *x, int *y) {
  int first = threadIdx.x * 8, n = 9 - threadIdx.x % 2;
  copy_part(x + first % 56, n + (threadIdx.x == 7), y + first);
}

// An mbarrier that copies use, and that counts a thread less than arrive.
// kernel copies_counted_by_one_less grid 1 block 128
// hints Initialize it with the number of threads that arrive in each phase: 128
// in x float32 = np.arange(256)
// inout y float32 = np.zeros(256) -> _
extern "C" __global__ void copies_counted_by_one_less(const float *x, float *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ float s[128];
  int t = threadIdx.x;
  if (t == 0) init(&bar, blockDim.x - 1);  // <- barrier-divergence
  __syncthreads();
  for (int k = 0; k < 2; k++) {
    cuda::memcpy_async(&s[t], &x[k * 128 + t], sizeof(float), bar);  // <- race
    bar.arrive_and_wait();  // <- timeout
    y[k * 128 + t] = s[127 - t];
    bar.arrive_and_wait();
  }
}

// kernel copies_counted grid 1 block 128
// in x float32 = np.arange(256)
// out y float32 = x.reshape(2, 128)[:, ::-1].ravel()
extern "C" __global__ void copies_counted(const float *x, float *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ float s[128];
  int t = threadIdx.x;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  for (int k = 0; k < 2; k++) {
    cuda::memcpy_async(&s[t], &x[k * 128 + t], sizeof(float), bar);
    bar.arrive_and_wait();
    y[k * 128 + t] = s[127 - t];
    bar.arrive_and_wait();
  }
}

// A flag behind the value that it announces, of which the fence is missing; the thread then reads others' values.
// kernel sums_of_the_blocks_before grid 4 block 32
// hints Call __threadfence() before line f<.
// inout flag int32 = np.zeros(4) -> _
// inout sum int32 = np.zeros(4) -> _
// inout y int32 = np.zeros(4) -> _
extern "C" __global__ void sums_of_the_blocks_before(volatile int *flag, volatile int *sum, int *y) {
  if (threadIdx.x) return;
  int b = blockIdx.x, before = 0;
  sum[b] = b + 1;
  flag[b] = 1;  // <f
  for (int p = b - 1; p >= 0; p--) {
    while (flag[p] == 0) {}
    __threadfence();
    before += sum[p];  // <- race
  }
  y[b] = before;
}

// Volatile reads of a warp's own data are no waits.
// kernel row_ends_of_a_warp grid 1 block 64
// hints Put __syncwarp() between line a< and line b<.
// in ends int32 = 8 * np.arange(9)
// in v float32 = np.arange(64)
// inout y float32 = np.zeros(8) -> _
extern "C" __global__ void row_ends_of_a_warp(const int *ends, const float *v, float *y) {
  __shared__ volatile float sums[64 + 16];
  __shared__ volatile int own[2][2];
  int t = threadIdx.x, lane = t & 31, w = t / 32;
  for (int row = w; row < 8; row += 2) {
    if (lane < 2) own[w][lane] = ends[row + lane];  // <a
    int first = own[w][0], end = own[w][1];  // <b <- race
    float sum = 0;
    for (int j = first + lane; j < end; j += 32) sum += v[j];
    sums[t] = sum;
    __syncwarp();
    for (int o = 16; o; o >>= 1) { if (lane < o) sums[t] = sum = sum + sums[t + o]; __syncwarp(); }
    if (lane == 0) y[row] = sums[t];
  }
}

// kernel lock_tested_once grid 4 block 32
// hints Line l< goes on whatever atomicCAS returns
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
extern "C" __global__ void lock_tested_once(int *lock, int *sum) {
  if (threadIdx.x) return;
  if (atomicCAS(lock, 0, 1) != 0) ;  // <l
  __threadfence();
  *sum = *sum + 1;  // <- race
  __threadfence();
  atomicExch(lock, 0);
}

// kernel another_lock_freed grid 1 block 128
// hints takes `lock[b]`, and line f< frees `lock[t%8]`. Free the lock that was taken.
// in key int32 = rng.integers(0, 99, 128)
// inout head int32 = np.full(8, -1) -> _
// inout next int32 = np.zeros(128) -> _
// inout lock int32 = np.zeros(8) -> _
extern "C" __global__ void another_lock_freed(const int *key, int *head, int *next, int *lock) {
  int t = threadIdx.x, b = key[t] % 8;
  for (int w = 0; w < 32; w++) {
    if (w == t % 32) {
      while (atomicExch(&lock[b], 1)) ;  // <- timeout
      __threadfence();
      next[t] = head[b];  // <- race
      head[b] = t;
      __threadfence();
      atomicExch(&lock[t % 8], 0);  // <f
    }
  }
}

// kernel own_lock_freed grid 1 block 128
// in key int32 = rng.integers(0, 99, 128)
// inout head int32 = np.full(8, -1) -> _
// inout next int32 = np.zeros(128) -> _
// inout lock int32 = np.zeros(8) -> _
extern "C" __global__ void own_lock_freed(const int *key, int *head, int *next, int *lock) {
  int t = threadIdx.x, b = key[t] % 8;
  for (int w = 0; w < 32; w++) {
    if (w == t % 32) {
      while (atomicExch(&lock[b], 1)) ;
      __threadfence();
      next[t] = head[b];
      head[b] = t;
      __threadfence();
      atomicExch(&lock[b], 0);
    }
  }
}

// kernel linked_where_it_was_a_root grid 2 block 32
// hints Use one atomicCAS in line c< that expects the value tested
// in edges int32 = (np.arange(128) * 7) % 41
// inout parent int32 = np.arange(41) -> _
__device__ int root_of(int *parent, int x) { volatile int *p = parent; while (p[x] != x) x = p[x]; return x; }  // <- race
extern "C" __global__ void linked_where_it_was_a_root(const int *edges, int *parent) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, a = edges[2 * i], b = edges[2 * i + 1];
  while (true) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a == b) break;
    if (a < b) { int t = a; a = b; b = t; }
    if (parent[a] == a) { parent[a] = b; break; }  // <c
  }
}

// A value that is set behind updates needs a barrier, not an atomic.
// kernel total_cleared_by_all grid 1 block 64
// hints put __syncthreads() between
// in x int32 = np.arange(64)
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void total_cleared_by_all(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  for (int d = 32; d > 0; d >>= 1) {
    __syncthreads();
    if (t >= 64 - d) s[t] += s[t - d];  // <- race
  }
  s[63] = 0;
  __syncthreads();
  y[t] = s[t];
}

// kernel tiles_in_a_guard grid 2,2 block 8,8
// in a float32 = np.ones((12, 12))
// in b float32 = np.ones((12, 12))
// inout c float32 = np.zeros((12, 12)) -> _
// value n int32 = 12
// finds barrier-divergence error never reach this barrier
// finds uninitialized-read error which no thread has written
// hints Only some enter the `if` of line I<. Let all threads of the block enter it
extern "C" __global__ void tiles_in_a_guard(const float *a, const float *b, float *c, int n)
{
  __shared__ float s[8][8], u[8][8];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, col = blockIdx.x * 8 + x;
  float sum = 0;
  if (row < n && col < n) {  // <I
    for (int m = 0; m < n; m += 8) {
      s[y][x] = m + x < n ? a[row * n + m + x] : 0;
      u[y][x] = m + y < n ? b[(m + y) * n + col] : 0;
      __syncthreads();  // <- barrier-divergence
      for (int k = 0; k < 8; k++) sum += s[y][k] * u[k][x];  // <- uninitialized-read
      __syncthreads();  // <- barrier-divergence
    }
    c[row * n + col] = sum;
  }
}

// kernel rounds_that_differ grid 1 block 64
// in a int32 = rng.integers(0, 9, 64)
// inout b int32 = np.zeros(64) -> _
// finds barrier-divergence error this barrier
// hints Threads may make different numbers of iterations of the loop of line L<
extern "C" __global__ void rounds_that_differ(const int *a, int *b)
{
  __shared__ int s[64];
  int t = threadIdx.x, n = a[t];
  s[t] = n;
  for (int k = 0; k < n; k++) {  // <L
    __syncthreads();  // <- barrier-divergence
    b[t] += s[63 - t];  // <- race
  }
}

// A transposition in place reads what other blocks overwrite: no block waits for another one.

// kernel transposed_in_place grid 2,2 block 16,16
// inout x float32 = np.arange(1024).reshape(32, 32) -> _
// hints Blocks write `x` while other blocks still read it, and no barrier orders blocks. Write the
extern "C" __global__ void transposed_in_place(float *x)
{
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  float v = x[r * 32 + c];
  __syncthreads();
  x[c * 32 + r] = v;  // <- race
}

// kernel cleared_late grid 2 block 64
// in x int32 = rng.integers(0, 8, 128)
// inout bins int32 = np.zeros(8) -> _
// hints Threads update `s` before another thread has set it. Put __syncthreads() between line C<
extern "C" __global__ void cleared_late(const int *x, int *bins)
{
  __shared__ int s[8];
  int t = threadIdx.x;
  if (t < 8) s[t] = 0;  // <C
  atomicAdd(&s[x[blockIdx.x * 64 + t]], 1);  // <- race
  __syncthreads();
  if (t < 8) atomicAdd(&bins[t], s[t]);
}

// kernel arrays_overlap_in_a_line grid 1 block 64 shared 512
// in x float32 = np.arange(64)
// inout y float32 = np.zeros(64) -> _
// hints Two statements of line S< write the same bytes of `memory`. If they are for two arrays
extern "C" __global__ void arrays_overlap_in_a_line(const float *x, float *y)
{
  extern __shared__ char memory[];
  float *a = (float *)memory, *b = (float *)(memory + 64);
  int t = threadIdx.x;
  a[t] = x[t]; b[t] = 2 * x[t];  // <S <- race
  __syncthreads();
  y[t] = a[63 - t] + b[t];
}

// An old value in a lock says that updates are lost; no second finding says that none are.

// kernel lock_reads_old_values grid 1 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// finds race error may miss the write
extern "C" __global__ void lock_reads_old_values(int *lock, volatile int *sum)
{
  while (atomicCAS(lock, 0, 1) != 0) { }
  *sum = *sum + 1;  // <- race
  atomicExch(lock, 0);
}

// Each thread adds, and then reads what others have added to by then: a barrier between would give all one place.
// kernel place_read_behind_the_count grid 1 block 64
// inout top int32 = [0] -> _
// inout slot int32 = np.zeros(64) -> _
// hints Use the value that the atomic of line A< returns, and leave out the read.
extern "C" __global__ void place_read_behind_the_count(int *top, int *slot) {
  atomicAdd(top, 1);  // <A
  slot[*top - 1] = threadIdx.x;  // <- race
}

// The base of what all threads write does depend on all additions: a barrier is missing.
// kernel base_read_behind_the_count grid 1 block 64
// inout top int32 = [0] -> _
// inout slot int32 = np.zeros(128) -> _
// hints Put __syncthreads() between line A< and line B<.
extern "C" __global__ void base_read_behind_the_count(int *top, int *slot) {
  atomicAdd(top, 1);  // <A
  slot[*top + threadIdx.x] = threadIdx.x;  // <B <- race
}

// kernel narrow_fence_of_the_library grid 2 block 32
// inout flag int32 = np.zeros(1) -> _
// inout data int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(1) -> _
// hints Line a< orders the threads of one block, and other blocks access this. Use `cuda::thread_scope_device` there. A
extern "C" __global__ void narrow_fence_of_the_library(int *flag, int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42;
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_block);  // <a
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = *data;  // <- race
    }
}

// Which atomic does what a statement does in two steps.
// kernel largest_of_each grid 3 block 64
// in v int32 = np.arange(192) * 37 % 101
// inout best int32 = np.zeros(5) -> _
// hints Use one atomic, such as atomicMax, for each update.
extern "C" __global__ void largest_of_each(const int *v, int *best) {
    int i = blockIdx.x * 64 + threadIdx.x;
    best[i * 7 % 5] = max(best[i * 7 % 5], v[i]);  // <- race
}

__device__ int chosen(int a, int b) { return a % 8 > b % 8 ? a : b; }

// kernel chosen_of_each grid 3 block 64
// in v int32 = np.arange(192) * 37 % 101
// inout best int32 = np.zeros(5) -> _
// hints Line a< reads `best`, computes and writes it back
extern "C" __global__ void chosen_of_each(const int *v, int *best) {
    int i = blockIdx.x * 64 + threadIdx.x;
    best[i % 5] = chosen(best[i % 5], v[i]);  // <a <- race
}

// kernel least_where_smaller grid 3 block 64
// in v int32 = np.arange(192) * 37 % 101
// inout least int32 = [500] -> _
// hints Use one atomic such as atomicMin, which compares and writes at once.
extern "C" __global__ void least_where_smaller(const int *v, int *least) {
    int own = v[blockIdx.x * 64 + threadIdx.x];
    if (own < *least) {
        *least = own;  // <- race
    }
}

// The place of the least is written beside it: no atomicMin does both.
// kernel least_and_place grid 3 block 64
// in v int32 = np.arange(192) * 37 % 101
// inout least int32 = [500, 0] -> _
// hints Use one atomic such as atomicCAS, which compares and writes at once, and test what it returns.
extern "C" __global__ void least_and_place(const int *v, int *least) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (v[i] < least[0]) {
        least[0] = v[i];  // <- race
        least[1] = i;  // <- race
    }
}

// kernel product_of_each grid 3 block 32
// in v uint32 = np.arange(96) % 3 + 1
// inout p uint32 = [1, 1] -> _
// hints Use one atomic, such as atomicCAS in a loop, for each update.
extern "C" __global__ void product_of_each(const unsigned *v, unsigned *p) {
    int i = blockIdx.x * 32 + threadIdx.x;
    p[i % 2] *= v[i];  // <- race
}

// kernel set_while_others_add grid 4 block 32
// inout s int32 = np.zeros(128) -> _
// hints Line a< sets `s` while other threads, also of other blocks, may update it. Set it before the launch
extern "C" __global__ void set_while_others_add(int *s) {
    int i = blockIdx.x * 32 + threadIdx.x;
    s[i] = i;  // <a <- race
    __syncthreads();
    s[127 - i] += 3;  // <- race
}

// kernel signal_within_a_block grid 2 block 1
// inout flag int32 = [0] -> _
// inout data int32 = [0] -> _
// inout out int32 = [0] -> _
// hints Line a< accesses `flag` in the scope of one block, and other blocks access it, too: such an access is atomic
// hints Call atomicExch instead of atomicExch_block in line a<.
extern "C" __global__ void signal_within_a_block(int *flag, int *data, int *out) {
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence();
        atomicExch_block(flag, 1);  // <a <- race
    } else {
        while (atomicAdd(flag, 0) == 0) {}  // <- race
        __threadfence();
        *out = *data;
    }
}

// The barrier that threads pass by follows from the number that they read too early.
// kernel drawn_without_barrier grid 3 block 64
// inout head int32 = [0, 0, 0] -> _
// inout out int32 = np.zeros(240) -> _
// hints Put __syncthreads() between line a< and line b<.
extern "C" __global__ void drawn_without_barrier(int *head, int *out) {
    __shared__ int base;
    if (threadIdx.x == 0) base = atomicAdd(&head[blockIdx.x], 64);
    __syncthreads();
    int own = base;
    while (own < 80) {
        if (own + threadIdx.x < 80) out[blockIdx.x * 80 + own + threadIdx.x] = 1;
        __syncthreads();  // <- barrier-divergence
        if (threadIdx.x == 0) base = atomicAdd(&head[blockIdx.x], 64);  // <a
        own = base;  // <b <- race
    }
}

// kernel drawn_behind_barriers grid 3 block 64
// inout head int32 = [0, 0, 0] -> _
// inout out int32 = np.zeros(240) -> np.ones(240)
extern "C" __global__ void drawn_behind_barriers(int *head, int *out) {
    __shared__ int base;
    if (threadIdx.x == 0) base = atomicAdd(&head[blockIdx.x], 64);
    __syncthreads();
    int own = base;
    while (own < 80) {
        if (own + threadIdx.x < 80) out[blockIdx.x * 80 + own + threadIdx.x] = 1;
        __syncthreads();
        if (threadIdx.x == 0) base = atomicAdd(&head[blockIdx.x], 64);
        __syncthreads();
        own = base;
    }
}

// A comparison that lets one value too many through is named where the strict one leaves out nothing else.
// kernel guard_one_too_far grid 2 block 32
// in x float32 = np.arange(40)
// out y float32 = 2 * x
// value n int32 = 40
// hints The comparison in line a< lets one value too many through. Write `>=` instead of `>` there. A run with that has
extern "C" __global__ void guard_one_too_far(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n) return;  // <a
    y[i] = 2 * x[i];  // <- invalid-access
}

// kernel loop_one_too_far grid 1 block 32
// in weights float32 = np.arange(8)
// out y float32 = [28 * i for i in range(32)]
// hints The comparison in line a< lets one value too many through. Write `<` instead of `<=` there. A run with that has
extern "C" __global__ void loop_one_too_far(const float *weights, float *y) {
    __shared__ float kept[8];
    if (threadIdx.x < 8) kept[threadIdx.x] = weights[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k <= 8; ++k)  // <a
        sum += kept[k] * threadIdx.x;  // <- invalid-access
    y[threadIdx.x] = sum;
}

// The last tap of this stencil leaves the array in one thread only: its guard is missing.
// kernel tap_without_guard grid 2 block 32
// in x float32 = np.arange(64)
// out y float32 = [sum(x[max(i - 1, 0):i + 2]) for i in range(64)]
// hints Compare the index with the size before this line.
extern "C" __global__ void tap_without_guard(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = -1; k <= 1; ++k)
        if (i + k >= 0)
            sum += x[i + k];  // <- invalid-access
    y[i] = sum;
}

// Without the comparison's last value, nothing would be left of this store.
// kernel only_store_outside grid 1 block 32
// in x float32 = np.arange(32)
// out y float32 = np.arange(32)
// hints Compare the index with the size before this line.
extern "C" __global__ void only_store_outside(const float *x, float *y) {
    __shared__ float tile[32];
    int t = threadIdx.x;
    tile[t] = x[t];
    if (t <= 0)
        tile[t + 32] = 0;  // <- invalid-access
    __syncwarp();
    y[t] = tile[t];
}

// kernel loop_that_fits grid 1 block 32
// in x float32 = np.arange(33)
// out y float32 = [i * (i + 1) / 2 for i in range(1, 33)]
extern "C" __global__ void loop_that_fits(const float *x, float *y) {
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k <= t + 1; ++k) sum += x[k];
    y[t] = sum;
}

// A ticket lock of libcu++, whose load leaves what it reads in a local variable.
// kernel lanes_behind_a_ticket grid 1 block 96
// out y int32 = np.full(32, 3)
struct Tickets { cuda::atomic<int, cuda::thread_scope_block> next, now; };
extern "C" __global__ void lanes_behind_a_ticket(int *y) {
    __shared__ Tickets s;
    __shared__ int v[32];
    int lane = threadIdx.x % 32, own = 0;
    if (threadIdx.x < 32) v[lane] = 0;
    if (threadIdx.x == 0) { s.next.store(0); s.now.store(0); }
    __syncthreads();
    if (lane == 0) {
        own = s.next.fetch_add(1);
        while (s.now.load(cuda::memory_order_acquire) != own) {}
    }
    __syncwarp();
    v[lane] += 1;
    __syncwarp();
    if (lane == 0) s.now.store(own + 1, cuda::memory_order_release);
    __syncthreads();
    if (threadIdx.x < 32) y[lane] = v[lane];
}

// Wrong: lane 0 gives the lock up while other lanes may not have come to what it guards.
// kernel lanes_after_a_ticket grid 1 block 96
// out y int32 = np.full(32, 3)
// hints put __syncwarp() before line S<.
extern "C" __global__ void lanes_after_a_ticket(int *y) {
    __shared__ Tickets s;
    __shared__ int v[32];
    int lane = threadIdx.x % 32, own = 0;
    if (threadIdx.x < 32) v[lane] = 0;
    if (threadIdx.x == 0) { s.next.store(0); s.now.store(0); }
    __syncthreads();
    if (lane == 0) {
        own = s.next.fetch_add(1);
        while (s.now.load(cuda::memory_order_acquire) != own) {}
    }
    __syncwarp();
    v[lane] += 1;  // <- race
    if (lane == 0) s.now.store(own + 1, cuda::memory_order_release);  // <S
    __syncthreads();
    if (threadIdx.x < 32) y[lane] = v[lane];
}

// Wrong: a mailbox that is emptied and another one that is filled are no lock; a barrier is missing.
// kernel mailboxes_are_no_locks grid 1 block 64
// inout box int32 = np.array([5, 0, 0]) -> _
// out y int32 = np.zeros(64)
// hints Put __syncthreads()
extern "C" __global__ void mailboxes_are_no_locks(int *box, int *y) {
    __shared__ int task;
    int sum = 0;
    for (int h = 0; h < 2; ++h) {
        if (threadIdx.x == 0) {
            int v;
            while ((v = atomicExch(&box[h], 0)) == 0) {}
            task = v;  // <- race
        }
        __syncthreads();
        sum += task;  // <- race
        if (threadIdx.x == 0) atomicExch(&box[h + 1], task + 1);
    }
    y[threadIdx.x] = sum;
}

// Wrong: consumers never release a stage, so each wait is for the same one.
// kernel stages_never_released grid 1 block 64
// in x int32 = np.arange(8 * 32)
// out y int32 = x.reshape(8, 32).sum(0)
// hints No thread calls consumer_release()
extern "C" __global__ void stages_never_released(const int *x, int *y) {
    __shared__ int buf[2][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    bool fills = threadIdx.x < 32;
    auto role = fills ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    int sum = 0, t = threadIdx.x % 32;
    for (int i = 0; i < 8; ++i) {
        if (fills) {
            pipe.producer_acquire();  // <- timeout
            cuda::memcpy_async(&buf[i % 2][t], x + i * 32 + t, sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += buf[i % 2][t];  // <- race
        }
    }
    if (!fills) y[t] = sum;
}

// Wrong: one thread waits for a free buffer, and the others fill it at once.
// kernel filled_before_it_is_free grid 2 block 64
// in x int32 = np.arange(6 * 64)
// inout ring int32 = np.zeros(2 * 64) -> _
// inout tail int32 = np.zeros(1) -> _
// inout head int32 = np.zeros(1) -> _
// out y int32 = x.reshape(6, 64)[:, ::-1].reshape(-1)
// hints The thread in line W< waits for other blocks while threads of its own go on to line F<.
extern "C" __global__ void filled_before_it_is_free(const int *x, int *ring, int *tail, int *head, int *y) {
    int t = threadIdx.x;
    auto fill = [&](int i) {
        if (t == 0) while (i - device_int(*head).load(cuda::memory_order_acquire) > 1) {}  // <W
        ring[i % 2 * 64 + t] = x[i * 64 + t];  // <F <- race
        __syncthreads();
        if (t == 0) device_int(*tail).store(i + 1, cuda::memory_order_release);
    };
    auto empty = [&](int i) {
        if (t == 0) while (device_int(*tail).load(cuda::memory_order_acquire) <= i) {}
        __syncthreads();
        y[i * 64 + t] = ring[i % 2 * 64 + 63 - t];  // <- race
        __syncthreads();
        if (t == 0) device_int(*head).store(i + 1, cuda::memory_order_release);
    };
    for (int i = 0; i < 6; ++i)
        if (blockIdx.x == 0) fill(i);
        else empty(i);
}

// The value in a race decides one side of `&&`, and so who leaves the loop.
// kernel swaps_counted_too_late grid 1 block 128
// inout a int32 = np.arange(128) -> _
// hints Put __syncthreads() before line a<, in each iteration of the loop.
extern "C" __global__ void swaps_counted_too_late(int *a) {
    __shared__ int swaps;
    int t = threadIdx.x;
    for (int r = 0; r < 128; r++) {
        if (t == 0) swaps = 0;  // <a <- race
        __syncthreads();  // <- barrier-divergence
        int i = 2 * t + (r & 1);
        if (i + 1 < 128 && a[i] < a[i + 1]) {
            int x = a[i];
            a[i] = a[i + 1];
            a[i + 1] = x;
            swaps = 1;
        }
        __syncthreads();  // <- barrier-divergence
        if (!swaps && r > 3) break;
    }
}

// The same with two counters, which are reset a round before they count.
// kernel swaps_counted_in_turn grid 1 block 128
// inout a int32 = np.arange(128) -> np.arange(128)[::-1]
extern "C" __global__ void swaps_counted_in_turn(int *a) {
    __shared__ int swaps[3];
    int t = threadIdx.x;
    if (t < 3) swaps[t] = 0;
    for (int r = 0; r < 128; r++) {
        __syncthreads();
        if (t == 0) swaps[(r + 1) % 3] = 0;
        int i = 2 * t + (r & 1);
        if (i + 1 < 128 && a[i] < a[i + 1]) {
            int x = a[i];
            a[i] = a[i + 1];
            a[i + 1] = x;
            swaps[r % 3] = 1;
        }
        __syncthreads();
        if (!swaps[r % 3] && r > 126) break;
    }
}

// In a loop without barriers each warp adds to the same sums: no barrier can order these, an atomic can.
// kernel sums_of_columns grid 1 block 64
// hints Use one atomic, such as atomicAdd, for each update.
// in x float32 = rng.random((8, 80))
// inout y float32 = np.zeros(80) -> _
extern "C" __global__ void sums_of_columns(const float *x, float *y) {
  __shared__ float s[80];
  for (int i = threadIdx.x; i < 80; i += 64) s[i] = 0;
  __syncthreads();
  for (int row = threadIdx.x / 32; row < 8; row += 2)
    for (int i = threadIdx.x % 32; i < 80; i += 32) s[i] += x[row * 80 + i];  // <- race
  __syncthreads();
  for (int i = threadIdx.x; i < 80; i += 64) y[i] = s[i];
}

// kernel sums_of_columns_by_atomics grid 1 block 64 tol 1e-5
// in x float32 = rng.random((8, 80))
// out y float32 = x.sum(0)
extern "C" __global__ void sums_of_columns_by_atomics(const float *x, float *y) {
  __shared__ float s[80];
  for (int i = threadIdx.x; i < 80; i += 64) s[i] = 0;
  __syncthreads();
  for (int row = threadIdx.x / 32; row < 8; row += 2)
    for (int i = threadIdx.x % 32; i < 80; i += 32) atomicAdd(&s[i], x[row * 80 + i]);
  __syncthreads();
  for (int i = threadIdx.x; i < 80; i += 64) y[i] = s[i];
}
