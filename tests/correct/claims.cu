// Places that lanes of a warp look at and then take: wrong in two steps, since all lanes look before one writes. Right by
// one atomic, among lanes that agree first, and where it does not matter how many come.
#include <cuda/atomic>

// kernel first_of_a_key grid 1 block 32
// in key int32 = np.arange(32) % 5
// inout owner int32 = np.full(5, -1) -> np.arange(5)
// inout keys int32 = np.zeros(1) -> np.array([5])
// hints Write it by one atomicCAS that expects the value of line R<, and go on only where that returns this value.
extern "C" __global__ void first_of_a_key(const int *key, int *owner, int *keys) {
    volatile int *o = owner;
    int k = key[threadIdx.x];
    if (o[k] < 0) {  // <R
        o[k] = k;  // <- lost-update
        atomicAdd(keys, 1);
    }
}

// kernel first_of_a_key_swaps grid 1 block 32
// in key int32 = np.arange(32) % 5
// inout owner int32 = np.full(5, -1) -> np.arange(5)
// inout keys int32 = np.zeros(1) -> np.array([5])
extern "C" __global__ void first_of_a_key_swaps(const int *key, int *owner, int *keys) {
    volatile int *o = owner;
    int k = key[threadIdx.x];
    if (o[k] < 0 && atomicCAS(&owner[k], -1, k) == -1) atomicAdd(keys, 1);
}

// kernel distinct_bits grid 1 block 64
// in key uint32 = np.arange(64) % 24 * 3
// out n int32 = np.array([24])
// hints Leave out the read, and test what the atomic of line W< returns.
extern "C" __global__ void distinct_bits(const unsigned *key, int *n) {
    __shared__ unsigned map[3];
    __shared__ int count;
    unsigned k = key[threadIdx.x], bit = 1u << k % 32;
    if (threadIdx.x < 3) map[threadIdx.x] = 0;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if ((atomicAdd(&map[k / 32], 0) & bit) == 0) {
        atomicOr(&map[k / 32], bit);  // <W <- lost-update
        atomicAdd(&count, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) *n = count;
}

// kernel distinct_bits_at_once grid 1 block 64
// in key uint32 = np.arange(64) % 24 * 3
// out n int32 = np.array([24])
extern "C" __global__ void distinct_bits_at_once(const unsigned *key, int *n) {
    __shared__ unsigned map[3];
    __shared__ int count;
    unsigned k = key[threadIdx.x], bit = 1u << k % 32;
    if (threadIdx.x < 3) map[threadIdx.x] = 0;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if ((atomicAdd(&map[k / 32], 0) & bit) == 0 && (atomicOr(&map[k / 32], bit) & bit) == 0) atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0) *n = count;
}

// Each lane looks for the first free of 16 places, more than four looks from where it begins.
// kernel free_place grid 1 block 12
// inout place int32 = np.zeros(16) -> np.repeat([1, 0], [12, 4])
// hints atomicCAS that expects the value of line F<, or by atomicExch, and go on
extern "C" __global__ void free_place(int *place) {
    for (int k = 0; k < 16; k++) {
        cuda::atomic_ref<int, cuda::thread_scope_device> here(place[k]);
        if (here.load(cuda::memory_order_relaxed) == 0) {  // <F
            here.store(1, cuda::memory_order_relaxed);  // <- lost-update
            break;
        }
    }
}

// kernel free_place_exchanged grid 1 block 12
// inout place int32 = np.zeros(16) -> np.repeat([1, 0], [12, 4])
extern "C" __global__ void free_place_exchanged(int *place) {
    for (int k = 0; k < 16; k++) {
        cuda::atomic_ref<int, cuda::thread_scope_device> here(place[k]);
        if (here.load(cuda::memory_order_relaxed) == 0 && here.exchange(1, cuda::memory_order_relaxed) == 0) break;
    }
}

// Sets are joined by a store to the root. Of two lanes that join the same one at once, the first is lost.
// kernel joined_sets grid 1 block 32
// inout parent int32 = np.arange(48) -> _
// out root int32 = np.arange(32) % 16
// hints Write it by one atomicCAS
__device__ int root_of(volatile int *parent, int x) {
    for (int up; (up = parent[x]) != x;) x = up;
    return x;
}
extern "C" __global__ void joined_sets(int *parent, int *root) {
    volatile int *p = parent;
    int a = root_of(p, threadIdx.x), b = root_of(p, 32 + threadIdx.x % 16);
    if (a != b) p[max(a, b)] = min(a, b);  // <- lost-update
    __syncwarp();
    root[threadIdx.x] = root_of(p, threadIdx.x);
}

// kernel joined_by_swaps grid 1 block 32
// inout parent int32 = np.arange(48) -> _
// out root int32 = np.arange(32) % 16
extern "C" __global__ void joined_by_swaps(int *parent, int *root) {
    volatile int *p = parent;
    for (int a = threadIdx.x, b = 32 + threadIdx.x % 16, last = -1; last != max(a, b);) {
        a = root_of(p, a), b = root_of(p, b);
        if (a == b) break;
        last = atomicCAS(&parent[max(a, b)], max(a, b), min(a, b));
    }
    __syncwarp();
    root[threadIdx.x] = root_of(p, threadIdx.x);
}

// Here many lanes find the flag down, and all of them may raise it.
// kernel raised_by_all grid 1 block 64
// in x int32 = np.arange(64)
// inout high int32 = np.zeros(1) -> np.array([1])
// inout odd int32 = np.zeros(1) -> np.array([32])
extern "C" __global__ void raised_by_all(const int *x, int *high, int *odd) {
    volatile int *h = high;
    if (x[threadIdx.x] > 40 && *h == 0) *h = 1;
    if (x[threadIdx.x] % 2) atomicAdd(odd, 1);
}

// All lanes write their number, and the one that stays is the first: any would do, the count is 1.
// kernel elected_by_a_store grid 1 block 32
// inout chosen int32 = np.full(1, -1) -> _
// out n int32 = np.array([1])
extern "C" __global__ void elected_by_a_store(int *chosen, int *n) {
    volatile int *c = chosen;
    if (threadIdx.x == 0) *n = 0;
    if (*c < 0) *c = threadIdx.x;
    __syncwarp();
    if (*c == threadIdx.x) atomicAdd(n, 1);
}

// Lanes with the same key agree on the one that looks and writes.
// kernel leader_of_a_key grid 1 block 32
// in key int32 = np.arange(32) % 5
// inout owner int32 = np.full(5, -1) -> np.arange(5)
// inout keys int32 = np.zeros(1) -> np.array([5])
extern "C" __global__ void leader_of_a_key(const int *key, int *owner, int *keys) {
    volatile int *o = owner;
    int k = key[threadIdx.x];
    unsigned same = __match_any_sync(~0u, k);
    if (threadIdx.x == __ffs(same) - 1 && o[k] < 0) {
        o[k] = k;
        atomicAdd(keys, 1);
    }
}

// kernel elected_by_ballot grid 1 block 32
// in x int32 = np.arange(32) * 7 % 32
// inout first int32 = np.zeros(1) -> np.array([3])
// inout n int32 = np.zeros(1) -> np.array([1])
extern "C" __global__ void elected_by_ballot(const int *x, int *first, int *n) {
    volatile int *f = first;
    unsigned above = __ballot_sync(~0u, x[threadIdx.x] > 20);
    if (threadIdx.x == __ffs(above) - 1 && *f == 0) {
        *f = threadIdx.x;
        atomicAdd(n, 1);
    }
}

// A lane tries again, and how often is up to the order; the flag is raised by all.
// kernel tries_are_counted grid 1 block 32
// inout sum int32 = np.zeros(1) -> np.array([496])
// inout tries int32 = np.zeros(1) -> _
// inout any int32 = np.zeros(1) -> np.array([1])
extern "C" __global__ void tries_are_counted(int *sum, int *tries, int *any) {
    volatile int *a = any;
    int old = *(volatile int *)sum, seen;
    if (*a == 0) *a = 1;
    while ((seen = atomicCAS(sum, old, old + (int)threadIdx.x)) != old) {
        old = seen;
        atomicAdd(tries, 1);
    }
}

// The next of 12 elements is looked at, done and counted in two steps: another block does it meanwhile.
// kernel looked_at_then_counted grid 3 block 1
// in item int32 = np.arange(12)[::-1]
// inout next int32 = np.zeros(1) -> np.array([12])
// inout done int32 = np.zeros(12) -> np.ones(12)
// hints Use the value that the atomic of line A< returns instead.
extern "C" __global__ void looked_at_then_counted(const int *item, int *next, int *done) {
    for (;;) {
        int k = *(volatile int *)next;
        if (k > 11) break;
        atomicAdd(&done[item[k]], 1);
        atomicAdd(next, 1);  // <A <- lost-update
    }
}

// One look tells that there is an element, another one which.
// kernel looked_at_twice grid 3 block 1
// in item int32 = np.arange(12)[::-1]
// in next int32 = np.zeros(1)
// inout done int32 = np.zeros(12) -> np.ones(12)
extern "C" __global__ void looked_at_twice(const int *item, int *next, int *done) {
    while (*(volatile int *)next < 12) {
        int k = *(volatile int *)next;
        if (k < 12) atomicAdd(&done[item[k]], 1);
        atomicAdd(next, 1);  // <- lost-update
    }
}

// kernel drawn_after_a_look grid 3 block 1
// in item int32 = np.arange(12)[::-1]
// inout next int32 = np.zeros(1) -> _
// inout done int32 = np.zeros(12) -> np.ones(12)
extern "C" __global__ void drawn_after_a_look(const int *item, int *next, int *done) {
    while (*(volatile int *)next < 12) {
        int k = atomicAdd(next, 1);
        if (k < 12) atomicAdd(&done[item[k]], 1);
    }
}

// A block alone counts its own elements on; others only look how far it is.
// kernel counted_by_one grid 3 block 1
// in item int32 = np.arange(12)[::-1]
// inout next int32 = np.zeros(1) -> np.array([12])
// inout done int32 = np.zeros(12) -> np.ones(12)
extern "C" __global__ void counted_by_one(const int *item, int *next, int *done) {
    for (;;) {
        int k = *(volatile int *)next;
        if (k > 11) break;
        if (blockIdx.x) continue;
        atomicAdd(&done[item[k]], 1);
        __threadfence();
        atomicAdd(next, 1);
    }
}

// Plain accesses race, too.
// kernel plain_claim grid 1 block 64
// in key int32 = np.arange(64) % 20
// out n int32 = np.array([20])
// hints Use one atomic such as atomicCAS
extern "C" __global__ void plain_claim(const int *key, int *n) {
    __shared__ int owner[20], count;
    int me = threadIdx.x, k = key[me];
    if (me < 20) owner[me] = -1;
    if (me == 0) count = 0;
    __syncthreads();
    if (owner[k] == -1) {
        owner[k] = me;  // <- race
        atomicAdd(&count, 1);
    }
    __syncthreads();
    if (me == 0) *n = count;
}

// kernel swapped_claim grid 1 block 64
// in key int32 = np.arange(64) % 20
// out n int32 = np.array([20])
extern "C" __global__ void swapped_claim(const int *key, int *n) {
    __shared__ int owner[20], count;
    int me = threadIdx.x, k = key[me];
    if (me < 20) owner[me] = -1;
    if (me == 0) count = 0;
    __syncthreads();
    if (atomicCAS(&owner[k], -1, me) == -1) atomicAdd(&count, 1);
    __syncthreads();
    if (me == 0) *n = count;
}

// A permit is taken in two steps, and what is stored depends on it, too.
// kernel permits grid 6 block 1
// inout left int32 = np.array([4]) -> np.array([0])
// inout n int32 = np.zeros(1) -> np.array([4])
// hints Write it by one atomicCAS that expects the value of line P<, and go on only where that returns this value; else read again.
extern "C" __global__ void permits(int *left, int *n) {
    volatile int *v = left;
    int now = *v;  // <P
    if (now > 0) {
        *v = now - 1;  // <- lost-update
        atomicAdd(n, 1);
    }
}

// kernel permits_swapped grid 6 block 1
// inout left int32 = np.array([4]) -> np.array([0])
// inout n int32 = np.zeros(1) -> np.array([4])
extern "C" __global__ void permits_swapped(int *left, int *n) {
    for (int now = *(volatile int *)left; now > 0;) {
        int old = atomicCAS(left, now, now - 1);
        if (old == now) { atomicAdd(n, 1); break; }
        now = old;
    }
}

// Tasks of a tree, in a queue: whether any is pending is looked at first, and changed when a task was drawn. Which task is
// where in the queue depends on the order of the lanes; that their looks come first does not matter.
// kernel tasks_of_a_tree grid 1 block 32
// inout task int32 = np.concatenate([[1], np.zeros(31)]) -> _
// inout drawn int32 = np.zeros(1) -> [15]
// inout filled int32 = np.ones(1) -> [15]
// inout pending int32 = np.zeros(1) -> [0]
// inout leaves int32 = np.zeros(1) -> [8]
extern "C" __global__ void tasks_of_a_tree(volatile int *task, int *drawn, int *filled, int *pending, int *leaves) {
    if (threadIdx.x == 0) atomicAdd(pending, 1);
    while (atomicAdd(pending, 0) > 0 || atomicAdd(leaves, 0) < 8) {
        int k = atomicAdd(drawn, 0);
        if (k >= atomicAdd(filled, 0) || atomicCAS(drawn, k, k + 1) != k) continue;
        int t;
        while ((t = task[k]) == 0) {}
        if (t < 8) {
            atomicAdd(pending, 2);
            int at = atomicAdd(filled, 2);
            task[at] = 2 * t;
            task[at + 1] = 2 * t + 1;
        } else {
            atomicAdd(leaves, 1);
        }
        __threadfence();
        atomicSub(pending, 1);
    }
}

// Wrong: so many tasks may be taken, and each lane counts its own when it has drawn one.
// kernel tasks_within_a_limit grid 1 block 32
// inout drawn int32 = np.zeros(1) -> _
// inout left int32 = np.array([10]) -> _
// inout taken int32 = np.zeros(1) -> [10]
// hints Leave out the read, and test what the atomic of line W< returns.
extern "C" __global__ void tasks_within_a_limit(int *drawn, int *left, int *taken) {
    while (atomicAdd(left, 0) > 0) {
        if (atomicAdd(drawn, 1) >= 60) break;
        atomicSub(left, 1);  // <W <- lost-update
        atomicAdd(taken, 1);
    }
}
