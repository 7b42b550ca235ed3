// Lists in an array, whose head is swapped: wrong where the head may be what it was while the next element is another (ABA).
// Last, links of a queued lock that come late, and of a forest that are lost.
#include <cuda/atomic>

// kernel counts_what_remains grid 3 block 32
// inout head int32 = np.array([0]) -> _
// inout next int32 = np.array([1,2,3,-1]) -> _
// inout count int32 = np.zeros(1) -> np.array([4])
__device__ int pop(int *head, volatile int *next) {
    int h = atomicAdd(head, 0);
    while (h >= 0) {
        int n = next[h];
        int old = atomicCAS(head, h, n);  // <- lost-update
        if (old == h) break;
        h = old;
    }
    return h;
}
__device__ void push(int *head, volatile int *next, int x) {
    int h = atomicAdd(head, 0);
    while (true) {
        next[x] = h;
        __threadfence();
        int old = atomicCAS(head, h, x);
        if (old == h) break;
        h = old;
    }
}
extern "C" __global__ void counts_what_remains(int *head, int *next, int *count) {
    if (threadIdx.x) return;
    for (int round = 0; round < 2; round++) {
        int a = pop(head, next);
        int b = pop(head, next);
        if (a >= 0) push(head, next, a);
        if (b >= 0) push(head, next, b);
    }
    __threadfence();
    __shared__ int last;
    static __device__ int done;
    last = atomicAdd(&done, 1) == gridDim.x - 1;
    if (last) {
        __threadfence();
        int n = 0, i = atomicAdd(head, 0);
        while (i >= 0 && n < 100) { n++; i = ((volatile int *)next)[i]; }
        *count = n;
    }
}

// `head` may be any; `twice` must be 0.
// kernel pops_two_and_gives_them_back grid 4 block 32 orders wrong
// inout head int32 = np.array([0]) -> _
// inout next int32 = np.array([1,2,3,4,5,6,7,-1]) -> _
// inout owners int32 = np.zeros(8) -> np.zeros(8)
// inout twice int32 = np.zeros(1) -> np.zeros(1)
extern "C" __global__ void pops_two_and_gives_them_back(int *head, int *next, int *owners, int *twice) {
    if (threadIdx.x) return;
    int a = pop(head, next);
    int b = pop(head, next);
    if (a >= 0) { if (atomicAdd(&owners[a], 1)) atomicAdd(twice, 1); }
    if (b >= 0) { if (atomicAdd(&owners[b], 1)) atomicAdd(twice, 1); }
    if (a >= 0) { atomicSub(&owners[a], 1); push(head, next, a); }
    if (b >= 0) { atomicSub(&owners[b], 1); push(head, next, b); }
}

// kernel head_has_a_number grid 3 block 32
// inout head uint64 = np.array([0],np.uint64) -> _
// inout next int32 = np.array([1,2,3,-1]) -> _
// inout done int32 = np.zeros(1) -> np.array([3])
// inout count int32 = np.zeros(1) -> np.array([4])
__device__ int popt(unsigned long long *head, volatile int *next) {
    unsigned long long h = atomicAdd(head, 0ull);
    while ((int)(unsigned)h >= 0) {
        unsigned long long n = ((h >> 32) + 1) << 32 | (unsigned)next[(unsigned)h];
        unsigned long long old = atomicCAS(head, h, n);
        if (old == h) break;
        h = old;
    }
    return (int)(unsigned)h;
}
__device__ void pusht(unsigned long long *head, volatile int *next, int x) {
    unsigned long long h = atomicAdd(head, 0ull);
    while (true) {
        next[x] = (int)(unsigned)h;
        __threadfence();
        unsigned long long n = ((h >> 32) + 1) << 32 | (unsigned)x;
        unsigned long long old = atomicCAS(head, h, n);
        if (old == h) break;
        h = old;
    }
}
extern "C" __global__ void head_has_a_number(unsigned long long *head, int *next, int *done, int *count) {
    if (threadIdx.x) return;
    for (int round = 0; round < 2; round++) {
        int a = popt(head, next);
        int b = popt(head, next);
        if (a >= 0) pusht(head, next, a);
        if (b >= 0) pusht(head, next, b);
    }
    __threadfence();
    if (atomicAdd(done, 1) == gridDim.x - 1) {
        __threadfence();
        int n = 0, i = (int)(unsigned)atomicAdd(head, 0ull);
        while (i >= 0 && n < 100) { n++; i = ((volatile int *)next)[i]; }
        *count = n;
    }
}

// kernel gives_nothing_back grid 4 block 32
// inout head int32 = np.array([0]) -> np.array([-1])
// inout next int32 = np.array([1,2,3,4,5,6,7,-1]) -> _
// inout sum int32 = np.zeros(1) -> np.array([28])
extern "C" __global__ void gives_nothing_back(int *head, int *next, int *sum) {
    if (threadIdx.x) return;
    for (int i = 0; i < 2; i++) { int a = pop(head, next); if (a >= 0) atomicAdd(sum, a); }
}

// kernel pool_of_buffers grid 3 block 32
// inout head int32 = np.array([0]) -> _
// inout next int32 = np.array([1,2,3,-1]) -> _
// inout buf int32 = np.zeros(4) -> _
// out out int32 = np.array([1,1,1])
__device__ int popr(int *head, int *next) {
    cuda::atomic_ref<int, cuda::thread_scope_device> hd(*head);
    int h = hd.load(cuda::memory_order_acquire);
    int n;
    do {
        if (h < 0) return h;
        n = cuda::atomic_ref<int, cuda::thread_scope_device>(next[h]).load(cuda::memory_order_relaxed);
    } while (!hd.compare_exchange_weak(h, n, cuda::memory_order_acq_rel, cuda::memory_order_acquire));  // <- lost-update
    return h;
}
__device__ void pushr(int *head, int *next, int x) {
    cuda::atomic_ref<int, cuda::thread_scope_device> hd(*head);
    int h = hd.load(cuda::memory_order_relaxed);
    do cuda::atomic_ref<int, cuda::thread_scope_device>(next[x]).store(h, cuda::memory_order_relaxed);
    while (!hd.compare_exchange_weak(h, x, cuda::memory_order_acq_rel, cuda::memory_order_relaxed));
}
extern "C" __global__ void pool_of_buffers(int *head, int *next, int *buf, int *out) {
    if (threadIdx.x) return;
    int ok = 1;
    for (int r = 0; r < 3; r++) {
        int a = popr(head, next), b = popr(head, next);
        if (a >= 0) buf[a] = blockIdx.x;
        if (b >= 0) buf[b] = blockIdx.x;
        if (a >= 0) ok &= buf[a] == blockIdx.x;
        if (a >= 0) pushr(head, next, a);
        if (b >= 0) pushr(head, next, b);
    }
    out[blockIdx.x] = ok;
}

// kernel locks_itself_late grid 4 block 32
// inout tail int32 = np.array([-1]) -> np.array([-1])
// inout next int32 = np.full(4,-1) -> _
// inout locked int32 = np.zeros(4) -> _
// inout n int32 = np.zeros(1) -> np.array([4])
extern "C" __global__ void locks_itself_late(int *tail, int *next, int *locked, int *n) {
    if (threadIdx.x) return;
    int me = blockIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> t(*tail), mynext(next[me]), mylock(locked[me]);
    int prev = t.exchange(me, cuda::memory_order_acq_rel);
    if (prev >= 0) {
        mylock.store(1, cuda::memory_order_relaxed);  // <- race
        cuda::atomic_ref<int, cuda::thread_scope_device>(next[prev]).store(me, cuda::memory_order_relaxed);
        while (mylock.load(cuda::memory_order_acquire)) {}
    }
    *n += 1;
    int succ = mynext.load(cuda::memory_order_acquire);
    if (succ < 0) {
        int expect = me;
        if (t.compare_exchange_strong(expect, -1, cuda::memory_order_acq_rel)) return;
        while ((succ = mynext.load(cuda::memory_order_acquire)) < 0) {}
    }
    cuda::atomic_ref<int, cuda::thread_scope_device>(locked[succ]).store(0, cuda::memory_order_release);
}

// kernel locks_itself_first grid 4 block 32
// inout tail int32 = np.array([-1]) -> np.array([-1])
// inout next int32 = np.full(4,-1) -> _
// inout locked int32 = np.zeros(4) -> _
// inout n int32 = np.zeros(1) -> np.array([4])
extern "C" __global__ void locks_itself_first(int *tail, int *next, int *locked, int *n) {
    if (threadIdx.x) return;
    int me = blockIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> t(*tail), mynext(next[me]), mylock(locked[me]);
    mylock.store(1, cuda::memory_order_relaxed);
    int prev = t.exchange(me, cuda::memory_order_acq_rel);
    if (prev >= 0) {
        cuda::atomic_ref<int, cuda::thread_scope_device>(next[prev]).store(me, cuda::memory_order_release);
        while (mylock.load(cuda::memory_order_acquire)) {}
    }
    *n += 1;
    int succ = mynext.load(cuda::memory_order_acquire);
    if (succ < 0) {
        int expect = me;
        if (t.compare_exchange_strong(expect, -1, cuda::memory_order_acq_rel)) return;
        while ((succ = mynext.load(cuda::memory_order_acquire)) < 0) {}
    }
    cuda::atomic_ref<int, cuda::thread_scope_device>(locked[succ]).store(0, cuda::memory_order_release);
}

// kernel link_is_lost grid 3 block 32 orders wrong
// inout parent int32 = np.arange(4) -> _
// in ea int32 = np.array([3,3,3])
// in eb int32 = np.array([0,1,2])
// out root int32 = np.zeros(4)
// inout done int32 = np.zeros(1) -> _
__device__ int find(volatile int *p, int x) { while (p[x] != x) x = p[x]; return x; }
extern "C" __global__ void link_is_lost(volatile int *parent, const int *ea, const int *eb, int *root, int *done) {
    if (threadIdx.x) return;
    int a = find(parent, ea[blockIdx.x]), b = find(parent, eb[blockIdx.x]);
    if (a < b) parent[b] = a;
    else if (b < a) parent[a] = b;
    __threadfence();
    if (atomicAdd(done, 1) == 2) for (int i = 0; i < 4; i++) root[i] = find(parent, i);
}

// kernel link_is_swapped grid 3 block 32
// inout parent int32 = np.arange(4) -> _
// in ea int32 = np.array([3,3,3])
// in eb int32 = np.array([0,1,2])
// out root int32 = np.zeros(4)
// inout done int32 = np.zeros(1) -> _
template <bool ACQUIRES>
__device__ void link_by_swaps(volatile int *parent, const int *ea, const int *eb, int *root, int *done) {
    if (threadIdx.x) return;
    int a = ea[blockIdx.x], b = eb[blockIdx.x];
    while (true) {
        a = find(parent, a), b = find(parent, b);
        if (a == b) break;
        int hi = a > b ? a : b, lo = a < b ? a : b;
        if (atomicCAS((int *)&parent[hi], hi, lo) == hi) break;
    }
    __threadfence();
    if (atomicAdd(done, 1) != 2) return;
    if (ACQUIRES) __threadfence();
    for (int i = 0; i < 4; i++) root[i] = find(parent, i);
}
extern "C" __global__ void link_is_swapped(volatile int *parent, const int *ea, const int *eb, int *root, int *done) {
    link_by_swaps<true>(parent, ea, eb, root, done);
}

// The forest depends on the order; its roots do not.
// kernel roots_are_old grid 3 block 32
// inout parent int32 = np.arange(4) -> _
// in ea int32 = np.array([3,3,3])
// in eb int32 = np.array([0,1,2])
// out root int32 = np.zeros(4)
// inout done int32 = np.zeros(1) -> _
// finds race error this read of global `parent[
extern "C" __global__ void roots_are_old(volatile int *parent, const int *ea, const int *eb, int *root, int *done) {
    link_by_swaps<false>(parent, ea, eb, root, done);
}

// A node is put in front of a list by one exchange of its head.
// kernel chains_of_a_hash grid 2 block 64
// in key int32 = np.arange(128) * 7 % 16
// inout head int32 = np.full(16, -1) -> _
// inout next int32 = np.full(128, -2) -> _
// inout count int32 = np.zeros(16) -> np.full(16, 8)
extern "C" __global__ void chains_of_a_hash(const int *key, int *head, int *next, int *count) {
  int i = blockIdx.x * 64 + threadIdx.x, bin = key[i];
  next[i] = atomicExch(&head[bin], i);
  atomicAdd(&count[bin], 1);
}

// Wrong: two threads may read the same head, and the node of one of them is lost.
// kernel chains_read_and_written grid 2 block 64
// in key int32 = np.arange(128) * 7 % 16
// inout head int32 = np.full(16, -1) -> _
// inout next int32 = np.full(128, -2) -> _
// hints Line a< reads `head`, and line b< overwrites it
// hints Use one atomicExch
extern "C" __global__ void chains_read_and_written(const int *key, int *head, int *next) {
  int i = blockIdx.x * 64 + threadIdx.x, bin = key[i];
  next[i] = head[bin];  // <a <- race
  __threadfence();
  head[bin] = i;  // <b <- race
}

// kernel chains_through_volatile grid 2 block 64
// in key int32 = np.arange(128) * 7 % 16
// inout head int32 = np.full(16, -1) -> _
// inout next int32 = np.full(128, -2) -> _
// hints Use one atomicExch
extern "C" __global__ void chains_through_volatile(const int *key, int *head, int *next) {
  int i = blockIdx.x * 64 + threadIdx.x, bin = key[i];
  next[i] = *(volatile int *)&head[bin];  // <- race
  *(volatile int *)&head[bin] = i;  // <- race
}

// kernel stack_of_a_block grid 1 block 64
// out y int32 = [22]
extern "C" __global__ void stack_of_a_block(int *y) {
  __shared__ int head, next[64];
  int t = threadIdx.x;
  if (t == 0) head = -1;
  __syncthreads();
  if (t % 3 == 0) next[t] = atomicExch(&head, t);
  __syncthreads();
  if (t == 0) {
    int n = 0;
    for (int p = head; p != -1; p = next[p]) ++n;
    *y = n;
  }
}

// kernel stack_of_a_block_in_two_steps grid 1 block 64
// out y int32 = [22]
// hints Use one atomicExch
extern "C" __global__ void stack_of_a_block_in_two_steps(int *y) {
  __shared__ int head, next[64];
  int t = threadIdx.x;
  if (t == 0) head = -1;
  __syncthreads();
  if (t % 3 == 0) {
    int old = head;  // <- race
    next[t] = old;
    head = t;  // <- race
  }
  __syncthreads();
  if (t == 0) {
    int n = 0;
    for (int p = head; p != -1; p = next[p]) ++n;
    *y = n;
  }
}
