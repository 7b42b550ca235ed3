// Waits for a limited time. One that gives up and goes on as if it had waited is wrong, however long it waits; one that
// does without, tries again or stops the kernel is right. Last, what such a wait must not be taken for.
#include <cassert>
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
namespace cg = cooperative_groups;

__device__ unsigned long long nanoseconds() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

// kernel first_block_waits_briefly grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void first_block_waits_briefly(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) { long long s = clock64(); while (atomicAdd(flag, 0) == 0 && clock64() - s < 10000) {} }
        __threadfence();
        __syncthreads();
        out[t] = mid[t];  // <- race
    }
}

// kernel second_block_waits_for_half_a_second grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void second_block_waits_for_half_a_second(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) { long long s = clock64(); while (atomicAdd(flag, 0) == 0 && clock64() - s < 1000000000) {} }
        __threadfence();
        __syncthreads();
        out[t] = mid[t];  // <- race
    }
}

// kernel waits_by_clock_of_32_bits grid 2 block 32
// in in float32 = np.arange(32)
// out mid float32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out float32 = np.arange(32)
extern "C" __global__ void waits_by_clock_of_32_bits(const float *in, float *mid, int *flag, float *out) {
    int t = threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
    if (blockIdx.x == 0) {
        mid[t] = in[t];
        __syncthreads();
        if (t == 0) f.store(1, cuda::memory_order_release);
    } else {
        if (t == 0) { clock_t s = clock(); while (f.load(cuda::memory_order_acquire) == 0) { if (clock() - s > 50000) break; } }
        __syncthreads();
        out[t] = mid[t];  // <- race
    }
}

// kernel sleeps_between_looks grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void sleeps_between_looks(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    volatile int *vf = flag;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) *vf = 1;
    } else {
        if (t == 0) { auto s = nanoseconds(); while (*vf == 0 && nanoseconds() - s < 100000) __nanosleep(100); __threadfence(); }
        __syncthreads();
        out[t] = mid[t];  // <- race
    }
}

// kernel warp_waits_for_warp grid 1 block 64
// in in int32 = np.arange(32)
// out out int32 = np.arange(32)
extern "C" __global__ void warp_waits_for_warp(const int *in, int *out) {
    __shared__ int data[32];
    __shared__ int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    int l = threadIdx.x & 31;
    if (threadIdx.x >= 32) {
        data[l] = in[l];
        __threadfence_block();
        __syncwarp();
        if (l == 0) atomicExch(&ready, 1);
    } else {
        if (l == 0) { long long s = clock64(); while (!atomicAdd(&ready, 0)) if (clock64() - s > 20000) break; __threadfence_block(); }
        __syncwarp();
        out[l] = data[l];  // <- race
    }
}

// kernel leaves_a_grid_barrier grid 4 block 32
// inout bar int32 = np.zeros(1) -> np.array([4])
// inout a int32 = np.zeros(4) -> np.arange(4)
// out out int32 = np.array([3,2,1,0])
extern "C" __global__ void leaves_a_grid_barrier(int *bar, int *a, int *out) {
    if (threadIdx.x == 0) {
        a[blockIdx.x] = blockIdx.x;
        __threadfence();
        atomicAdd(bar, 1);
        long long s = clock64();
        while (atomicAdd(bar, 0) < gridDim.x) { if (clock64() - s > 100000) break; }
        __threadfence();
        out[blockIdx.x] = a[gridDim.x - 1 - blockIdx.x];  // <- race
    }
}

// kernel ignores_that_nothing_came grid 4 block 64 cooperative yes
// in in int32 = np.arange(256)
// inout box int32 = np.full(256,-1) -> np.arange(256)
// inout ready uint32 = np.zeros(4,np.uint32) -> np.ones(4)
// out out int32 = np.roll(np.arange(256).reshape(4,64),-1,axis=0).reshape(-1)
__device__ bool wait_for(unsigned *r, unsigned long long limit) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> a(*r);
    unsigned long long start = clock64();
    while (a.load(cuda::memory_order_acquire) == 0) {
        if (clock64() - start > limit) return false;
        __nanosleep(64);
    }
    return true;
}
extern "C" __global__ void ignores_that_nothing_came(const int *in, int *box, unsigned *ready, int *out) {
    auto grid = cg::this_grid();
    auto block = cg::this_thread_block();
    int i = grid.thread_rank();
    box[i] = in[i];
    block.sync();
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> mine(ready[blockIdx.x]);
    if (block.thread_rank() == 0) {
        mine.store(1, cuda::memory_order_release);
        wait_for(&ready[(blockIdx.x + 1) % 4], 40000);
    }
    block.sync();
    out[i] = box[(i + 64) % 256];  // <- race
}

// kernel leaves_a_double_buffer grid 1 block 64
// in in float32 = np.arange(64)
// out out float32 = np.arange(64)
extern "C" __global__ void leaves_a_double_buffer(const float *in, float *out) {
    __shared__ float buf[2][32];
    __shared__ int full[2];
    int l = threadIdx.x % 32, w = threadIdx.x / 32;
    if (threadIdx.x < 2) full[threadIdx.x] = 0;
    __syncthreads();
    volatile int *f = full;
    for (int k = 0; k < 2; k++) {
        if (w == 0) {
            buf[k][l] = in[k * 32 + l];
            __threadfence_block();
            __syncwarp();
            if (l == 0) f[k] = 1;
        } else {
            if (l == 0) { long long t0 = clock64(); while (!f[k]) { if (clock64() - t0 > 3000) break; } }
            __syncwarp();
            __threadfence_block();
            out[k * 32 + l] = buf[k][l];  // <- race
        }
    }
}

// kernel ignores_that_a_phase_goes_on grid 1 block 64
// out out int32 = np.arange(32)
extern "C" __global__ void ignores_that_a_phase_goes_on(int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int data[32];
    int l = threadIdx.x % 32;
    if (threadIdx.x == 0) init(&bar, 64);
    __syncthreads();
    if (threadIdx.x >= 32) { data[l] = l; (void)bar.arrive(); }
    else {
        auto tok = bar.arrive();
        bar.try_wait_for(cuda::std::move(tok), cuda::std::chrono::microseconds(50));
        out[l] = data[l];  // <- race
    }
}

// kernel block_in_the_middle_waits grid 3 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void block_in_the_middle_waits(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 2) {
        mid[t] = in[t];
        __syncthreads();
        if (t == 0) { __threadfence(); atomicExch(flag, 1); }
    } else if (blockIdx.x == 1) {
        if (t == 0) { long long end = clock64() + 20000; while (clock64() < end && !atomicOr(flag, 0)); __threadfence(); }
        __syncthreads();
        out[t] = mid[t];  // <- race
    }
}

// kernel takes_no_lock_in_time grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout n int32 = np.zeros(1) -> np.array([10])
extern "C" __global__ void takes_no_lock_in_time(int *lock, int *n) {
    if (threadIdx.x) return;
    long long s = clock64();
    while (atomicCAS(lock, 0, 1) != 0 && clock64() - s < 5000) __nanosleep(20);
    __threadfence();
    *n += blockIdx.x + 1;  // <- race
    __threadfence();
    atomicExch(lock, 0);
}

// kernel exchanges_no_lock_in_time grid 3 block 32
// inout lock uint32 = np.zeros(1,np.uint32) -> np.zeros(1)
// inout hist int32 = np.zeros(4) -> np.full(4,3)
extern "C" __global__ void exchanges_no_lock_in_time(unsigned *lock, int *hist) {
    if (threadIdx.x == 0) {
        auto t0 = nanoseconds();
        while (atomicExch(lock, 1u) && nanoseconds() - t0 < 30000);
        __threadfence();
        for (int i = 0; i < 4; i++) hist[i]++;  // <- race
        __threadfence();
        atomicExch(lock, 0u);
    }
}

// Without a race: the output alone tells.
// kernel uses_a_value_that_did_not_come grid 2 block 32 orders wrong
// inout box int32 = np.zeros(32) -> np.arange(1,33)
// out out int32 = 2*np.arange(1,33)
extern "C" __global__ void uses_a_value_that_did_not_come(int *box, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) atomicExch(&box[t], t + 1);
    else {
        int v = 0;
        unsigned start = clock();
        do v = atomicAdd(&box[t], 0); while (v == 0 && clock() - start < 8000u);
        out[t] = 2 * v;
    }
}

// kernel computed_instead_in_time grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void computed_instead_in_time(const int *in, int *mid, int *flag, int *out) {
    __shared__ int came;
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) {
            long long s = clock64();
            came = 0;
            while (!(came = atomicAdd(flag, 0)) && clock64() - s < 10000) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = came ? mid[t] : in[t];
    }
}

// kernel waits_again grid 4 block 64 cooperative yes
// in in int32 = np.arange(256)
// inout box int32 = np.full(256,-1) -> np.arange(256)
// inout ready uint32 = np.zeros(4,np.uint32) -> np.ones(4)
// out out int32 = np.roll(np.arange(256).reshape(4,64),-1,axis=0).reshape(-1)
extern "C" __global__ void waits_again(const int *in, int *box, unsigned *ready, int *out) {
    auto grid = cg::this_grid();
    auto block = cg::this_thread_block();
    int i = grid.thread_rank();
    box[i] = in[i];
    block.sync();
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> mine(ready[blockIdx.x]);
    if (block.thread_rank() == 0) {
        mine.store(1, cuda::memory_order_release);
        while (!wait_for(&ready[(blockIdx.x + 1) % 4], 40000)) __nanosleep(1000);
    }
    block.sync();
    out[i] = box[(i + 64) % 256];
}

// kernel adds_elsewhere grid 4 block 32
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout n int32 = np.zeros(1) -> _
// inout m int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> np.array([10])
extern "C" __global__ void adds_elsewhere(int *lock, int *n, int *m, int *sum) {
    if (threadIdx.x) return;
    long long s = clock64();
    bool has = false;
    while (!(has = atomicCAS(lock, 0, 1) == 0) && clock64() - s < 5000) __nanosleep(20);
    if (has) {
        __threadfence();
        *n += blockIdx.x + 1;
        __threadfence();
        atomicExch(lock, 0);
    } else atomicAdd(m, blockIdx.x + 1);
    atomicAdd(sum, blockIdx.x + 1);
}

// kernel waits_for_a_phase_again grid 1 block 64
// out out int32 = np.arange(32)
extern "C" __global__ void waits_for_a_phase_again(int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int data[32];
    int l = threadIdx.x % 32;
    if (threadIdx.x == 0) init(&bar, 64);
    __syncthreads();
    if (threadIdx.x >= 32) { data[l] = l; (void)bar.arrive(); }
    else {
        bool ok = false;
        int phase = 0;
        (void)bar.arrive();
        while (!(ok = bar.try_wait_parity_for(phase, cuda::std::chrono::microseconds(50)))) {}
        out[l] = data[l];
    }
}

// kernel tries_for_the_lock_again grid 3 block 32
// inout lock uint32 = np.zeros(1,np.uint32) -> np.zeros(1)
// inout hist int32 = np.zeros(4) -> np.full(4,3)
extern "C" __global__ void tries_for_the_lock_again(unsigned *lock, int *hist) {
    if (threadIdx.x == 0) {
        auto t0 = nanoseconds();
        bool mine;
        while (!(mine = !atomicExch(lock, 1u))) if (nanoseconds() - t0 > 30000) { __nanosleep(500); t0 = nanoseconds(); }
        __threadfence();
        for (int i = 0; i < 4; i++) hist[i]++;
        __threadfence();
        atomicExch(lock, 0u);
    }
}

// kernel needs_no_lock grid 3 block 32
// inout lock uint32 = np.zeros(1,np.uint32) -> np.zeros(1)
// inout hist int32 = np.zeros(4) -> np.full(4,3)
extern "C" __global__ void needs_no_lock(unsigned *lock, int *hist) {
    if (threadIdx.x == 0) {
        auto t0 = nanoseconds();
        bool mine;
        while (!(mine = !atomicExch(lock, 1u)) && nanoseconds() - t0 < 3000);
        for (int i = 0; i < 4; i++) atomicAdd(&hist[i], 1);
        __threadfence();
        if (mine) atomicExch(lock, 0u);
    }
}

// kernel watchdog_traps grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(32)
extern "C" __global__ void watchdog_traps(const int *in, int *mid, int *flag, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) { long long s = clock64(); while (atomicAdd(flag, 0) == 0) if (clock64() - s > 1000000) __trap(); }
        __threadfence();
        __syncthreads();
        out[t] = mid[t];
    }
}

// kernel watchdog_asserts grid 2 block 64
// inout flag int32 = np.zeros(1) -> np.ones(1)
// out out int32 = np.arange(64)
extern "C" __global__ void watchdog_asserts(int *flag, int *out) {
    if (blockIdx.x == 1) { if (threadIdx.x == 0) atomicExch(flag, 1); return; }
    if (threadIdx.x == 0) { long long s = clock64(); while (!atomicAdd(flag, 0)) assert(clock64() - s < 2000000); }
    __syncthreads();
    out[threadIdx.x] = threadIdx.x;
}

// kernel watchdog_returns grid 4 block 32
// inout bar int32 = np.zeros(1) -> np.array([4])
// inout a int32 = np.zeros(4) -> np.arange(4)
// out out int32 = np.array([3,2,1,0])
extern "C" __global__ void watchdog_returns(int *bar, int *a, int *out) {
    if (threadIdx.x == 0) {
        a[blockIdx.x] = blockIdx.x;
        __threadfence();
        atomicAdd(bar, 1);
        long long s = clock64();
        while (atomicAdd(bar, 0) < gridDim.x) { if (clock64() - s > 20000000) return; }
        __threadfence();
        out[blockIdx.x] = a[gridDim.x - 1 - blockIdx.x];
    }
    __syncthreads();
}

// kernel watchdog_tells grid 2 block 32
// in in int32 = np.arange(32)
// out mid int32 = np.arange(32)
// inout flag int32 = np.zeros(1) -> np.ones(1)
// inout err int32 = np.zeros(1) -> np.zeros(1)
// inout out int32 = np.zeros(32) -> np.arange(32)
extern "C" __global__ void watchdog_tells(const int *in, int *mid, int *flag, int *err, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        mid[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        __shared__ bool late;
        if (t == 0) { late = false; long long s = clock64(); while (atomicAdd(flag, 0) == 0) if (clock64() - s > 100000000ll) { late = true; *err = 1; break; } }
        __threadfence();
        __syncthreads();
        if (late) return;
        out[t] = mid[t];
    }
}

// kernel measures_its_wait grid 4 block 64
// inout bar int32 = np.zeros(1) -> np.array([4])
// inout a int32 = np.zeros(4) -> np.arange(4)
// out out int32 = np.array([3,2,1,0])
// out cycles int32 = np.zeros(4)
extern "C" __global__ void measures_its_wait(int *bar, int *a, int *out, int *cycles) {
    if (threadIdx.x == 0) {
        long long s = clock64();
        a[blockIdx.x] = blockIdx.x;
        __threadfence();
        atomicAdd(bar, 1);
        while (atomicAdd(bar, 0) < gridDim.x) {}
        __threadfence();
        out[blockIdx.x] = a[gridDim.x - 1 - blockIdx.x];
        cycles[blockIdx.x] = clock64() - s < 0;
    }
}
