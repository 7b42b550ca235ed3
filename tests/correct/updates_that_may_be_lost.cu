// Updates in two steps that other threads' writes undo. In some kernels nothing depends on them: the output is
// the same where none is lost. In others it shows what was lost.
#include <cooperative_groups.h>
#include <cuda/atomic>

using Place = cuda::atomic<int, cuda::thread_scope_device>;
constexpr auto relaxed = cuda::memory_order_relaxed;

__device__ Place parent[64], guess, shortened;

__device__ int root_of(int at) {
  for (int up = parent[at].load(relaxed); up != at; up = parent[at].load(relaxed)) {
    int next = parent[up].load(relaxed);
    parent[at].store(next, relaxed);
    at = next;
  }
  return at;
}

// kernel roots grid 2 block 32
// global parent int32 = np.maximum(np.arange(64) - 1, 0)
// out root int32 = np.zeros(64)
// finds lost-update warning the outputs are the same where none is lost
extern "C" __global__ void roots(int *root) {
  int me = blockIdx.x * blockDim.x + threadIdx.x;
  root[me] = root_of(me);
}

// What the paths are then does depend on it.
// kernel paths grid 2 block 32
// global parent int32 = np.maximum(np.arange(64) - 1, 0)
// out path int32 = np.zeros(64)
// finds lost-update error lost
extern "C" __global__ void paths(int *path) {
  int me = blockIdx.x * blockDim.x + threadIdx.x;
  root_of(me);
  path[me] = parent[me].load(relaxed);
}

// kernel distances grid 2 block 4
// in edges int32 = [[0, 1, 7], [0, 1, 2], [1, 2, 4], [0, 2, 9]]
// inout d int32 = [[0, 500, 500], [0, 500, 500]] -> [[0, 2, 6], [0, 2, 6]]
// finds lost-update warning the outputs are the same where none is lost
extern "C" __global__ void distances(const int *edges, Place *d) {
  const int *e = edges + 3 * threadIdx.x;
  Place *own = d + 3 * blockIdx.x;
  bool changed;
  do {
    changed = false;
    int through = own[e[0]].load(relaxed) + e[2];
    if (through < own[e[1]].load(relaxed)) {
      own[e[1]].store(through, relaxed);
      changed = true;
    }
  } while (__syncthreads_or(changed));
}

// As often as there are edges on a path, but a round may be lost.
// kernel distances_in_two_rounds grid 1 block 4
// in edges int32 = [[0, 1, 2], [0, 1, 7], [1, 2, 4], [0, 2, 9]]
// inout d int32 = [0, 500, 500] -> [0, 2, 6]
// finds lost-update error lost
extern "C" __global__ void distances_in_two_rounds(const int *edges, Place *d) {
  const int *e = edges + 3 * threadIdx.x;
  for (int k = 0; k < 2; k++) {
    int through = d[e[0]].load(relaxed) + e[2];
    if (through < d[e[1]].load(relaxed)) d[e[1]].store(through, relaxed);
    __syncthreads();
  }
}

__device__ unsigned taken[2];

// kernel slots grid 4 block 1
// inout count int32 = [0] -> [4]
// finds lost-update warning the outputs are the same where none is lost
extern "C" __global__ void slots(int *count) {
  for (int k = 0, first = guess.load(relaxed); k < 64; k++) {
    int at = (first + k) % 64;
    unsigned bit = 1u << at % 32;
    if (atomicOr(&taken[at / 32], bit) & bit) continue;
    guess.store((at + 1) % 64, relaxed);
    atomicAdd(count, 1);
    return;
  }
}

// The guess is taken for a slot of its own.
// kernel slots_by_guess grid 4 block 1
// inout count int32 = np.zeros(8) -> [1, 1, 1, 1, 0, 0, 0, 0]
// finds lost-update error lost
extern "C" __global__ void slots_by_guess(int *count) {
  int at = guess.load(relaxed);
  guess.store((at + 1) % 8, relaxed);
  atomicAdd(&count[at], 1);
}

// kernel counted grid 2 block 32
// inout count int32 = [0] -> [64]
// finds lost-update error lost
extern "C" __global__ void counted(Place *count) { count->store(count->load(relaxed) + 1, relaxed); }

// All orders lose the same: each thread reads before a barrier and writes behind it.
// kernel counted_around_a_barrier grid 1 block 64
// inout count int32 = [0] -> [64]
// finds lost-update error lost
extern "C" __global__ void counted_around_a_barrier(Place *count) {
  int seen = count->load(relaxed);
  __syncthreads();
  count->store(seen + 1, relaxed);
}

// The last lane has the largest number: by luck, where the last lane of a store wins.
// kernel largest grid 1 block 32
// in x int32 = np.arange(32)
// inout best int32 = [-1] -> [31]
// finds lost-update error lost
extern "C" __global__ void largest(const int *x, Place *best) {
  int own = x[threadIdx.x];
  if (own > best->load(relaxed)) best->store(own, relaxed);
}

// kernel how_many_shortened grid 2 block 32
// global parent int32 = np.maximum(np.arange(64) - 1, 0)
// out root int32 = np.zeros(64)
// inout steps int32 = [0] -> _
// finds lost-update error lost
extern "C" __global__ void how_many_shortened(int *root, int *steps) {
  int me = blockIdx.x * blockDim.x + threadIdx.x;
  root[me] = root_of(me);
  shortened.store(shortened.load(relaxed) + 1, relaxed);
  __threadfence();
  if (me == 63) *steps = shortened.load(relaxed);
}

// A union-find that shortens its paths by halves: which forest it leaves depends on the order, its roots do not.
enum Link { SWAPPED, SWAPPED_ONCE, STORED };
template <typename T> using device_ref = cuda::atomic_ref<T, cuda::thread_scope_device>;
__device__ int half_way(int *parent, int x) {
    int above = device_ref<int>(parent[x]).load(cuda::memory_order_relaxed);
    if (above == x) return x;
    for (int next, last = x; above > (next = device_ref<int>(parent[above]).load(cuda::memory_order_relaxed));) {
        device_ref<int>(parent[last]).store(next, cuda::memory_order_relaxed);
        last = above;
        above = next;
    }
    return above;
}
__noinline__ __device__ int half_way_apart(int *parent, int x) { return half_way(parent, x); }
template <Link L, bool APART> __device__ void join_sets(const int *from, const int *to, int *parent, int *root, int *done) {
    int a = from[blockIdx.x], b = to[blockIdx.x];
    while (true) {
        a = APART ? half_way_apart(parent, a) : half_way(parent, a), b = APART ? half_way_apart(parent, b) : half_way(parent, b);
        if (a == b) break;
        if (L == STORED) { device_ref<int>(parent[max(a, b)]).store(min(a, b), cuda::memory_order_relaxed); break; }
        if (atomicCAS(&parent[max(a, b)], max(a, b), min(a, b)) == max(a, b) || L == SWAPPED_ONCE) break;
    }
    __threadfence();
    if (atomicAdd(done, 1) != gridDim.x - 1) return;
    __threadfence();
    for (int i = 0; i < 6; i++) root[i] = half_way(parent, i);
}
// kernel halved_paths grid 5 block 1
// in from int32 = [5,5,4,3,2]
// in to int32 = [4,3,2,1,0]
// inout parent int32 = np.arange(6) -> _
// out root int32 = np.zeros(6)
// inout done int32 = [0] -> _
extern "C" __global__ void halved_paths(const int *from, const int *to, int *parent, int *root, int *done) { join_sets<SWAPPED, false>(from, to, parent, root, done); }
// kernel halved_apart grid 5 block 1
// in from int32 = [5,5,4,3,2]
// in to int32 = [4,3,2,1,0]
// inout parent int32 = np.arange(6) -> _
// out root int32 = np.zeros(6)
// inout done int32 = [0] -> _
extern "C" __global__ void halved_apart(const int *from, const int *to, int *parent, int *root, int *done) { join_sets<SWAPPED, true>(from, to, parent, root, done); }
// kernel halved_and_swapped_once grid 5 block 1
// in from int32 = [5,5,4,3,2]
// in to int32 = [4,3,2,1,0]
// inout parent int32 = np.arange(6) -> _
// out root int32 = np.zeros(6)
// inout done int32 = [0] -> _
// finds lost-update error updates of global `
extern "C" __global__ void halved_and_swapped_once(const int *from, const int *to, int *parent, int *root, int *done) { join_sets<SWAPPED_ONCE, false>(from, to, parent, root, done); }
// kernel halved_and_stored grid 5 block 1
// in from int32 = [5,5,4,3,2]
// in to int32 = [4,3,2,1,0]
// inout parent int32 = np.arange(6) -> _
// out root int32 = np.zeros(6)
// inout done int32 = [0] -> _
// finds lost-update error updates of global `
extern "C" __global__ void halved_and_stored(const int *from, const int *to, int *parent, int *root, int *done) { join_sets<STORED, false>(from, to, parent, root, done); }

// Threads one after the other leave one forest, in all orders; threads abreast leave another one, with the same roots.
template <Link L> __device__ void join_all(int *parent, int *root, int *done) {
    int me = threadIdx.x, to = L == STORED ? 30 : (me * 7 + 3) % 32 / 2 * 2, a = half_way(parent, me), b = half_way(parent, to + me % 2);
    while (a != b) {
        int high = max(a, b), low = min(a, b);
        if (L == STORED) { device_ref<int>(parent[high]).store(low, cuda::memory_order_relaxed); break; }
        int seen = atomicCAS(&parent[high], high, low);
        if (seen == high) break;
        a = seen, b = low;
    }
    __threadfence();
    __syncthreads();
    if (me > 0 || atomicAdd(done, 1) == 0) return;
    __threadfence();
    for (int i = 0, r; i < 32; i++) {
        for (r = i; parent[r] != r;) r = parent[r];
        root[i] = r;
    }
}
// kernel same_edges grid 2 block 32
// inout parent int32 = np.arange(32) -> _
// out root int32 = np.arange(32) % 2
// inout done int32 = [0] -> [2]
// finds lost-update warning the outputs are the same where none is lost
extern "C" __global__ void same_edges(int *parent, int *root, int *done) { join_all<SWAPPED>(parent, root, done); }

// kernel same_edges_stored grid 2 block 32
// inout parent int32 = np.arange(32) -> _
// out root int32 = np.arange(32) % 2
// inout done int32 = [0] -> [2]
// finds lost-update error updates of global `
extern "C" __global__ void same_edges_stored(int *parent, int *root, int *done) { join_all<STORED>(parent, root, done); }

// A minimum in two atomics, each at an address that is loaded anew: only a pause between them shows the loss.
// kernel least_in_two_atomics grid 4 block 1
// in place int32 = [1, 1, 1, 1]
// in value int32 = [6, 9, 2, 4]
// inout least int32 = [50, 50] -> _
// hints Use one atomicMin or atomicMax, which compares and writes at once.
extern "C" __global__ void least_in_two_atomics(const int *place, const int *value, int *least) {
  int own = value[blockIdx.x];
  if (atomicAdd(&least[place[blockIdx.x]], 0) > own)
    atomicExch(&least[place[blockIdx.x]], own);  // <- lost-update
}

// No atomic compares numbers of this type.
// kernel largest_in_two_atomics grid 4 block 1
// in place int32 = [1, 1, 1, 1]
// in value float32 = [2, 1, 6, 4]
// inout largest float32 = [0, 0] -> _
// hints Write it by one atomicCAS that expects the value of line a<, and go on only where that returns this value; else
extern "C" __global__ void largest_in_two_atomics(const int *place, const float *value, float *largest) {
  float own = value[blockIdx.x];
  if (atomicAdd(&largest[place[blockIdx.x]], 0.0f) < own)  // <a
    atomicExch(&largest[place[blockIdx.x]], own);  // <- lost-update
}

// kernel least_after_a_look grid 4 block 1
// in place int32 = [1, 1, 1, 1]
// in value int32 = [6, 9, 2, 4]
// inout least int32 = [50, 50] -> [50, 2]
extern "C" __global__ void least_after_a_look(const int *place, const int *value, int *least) {
  int own = value[blockIdx.x];
  if (atomicAdd(&least[place[blockIdx.x]], 0) > own) atomicMin(&least[place[blockIdx.x]], own);
}

// kernel least_in_a_lock grid 4 block 1
// in place int32 = [1, 1, 1, 1]
// in value int32 = [6, 9, 2, 4]
// inout lock int32 = [0] -> [0]
// inout least int32 = [50, 50] -> [50, 2]
extern "C" __global__ void least_in_a_lock(const int *place, const int *value, int *lock, volatile int *least) {
  int own = value[blockIdx.x];
  if (least[place[blockIdx.x]] <= own) return;
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  if (least[place[blockIdx.x]] > own) least[place[blockIdx.x]] = own;
  __threadfence();
  atomicExch(lock, 0);
}

// Threads add to the counter that is the smaller one when they look: several may choose the same.
// kernel smaller_of_two grid 2 block 32
// inout load int32 = np.zeros(2) -> _
// inout n int32 = np.zeros(1) -> np.array([64])
extern "C" __global__ void smaller_of_two(volatile int *load, int *n) {
  int a = load[0], b = load[1];
  atomicAdd((int *)&load[a <= b ? 0 : 1], 1);
  atomicAdd(n, 1);
}

// An atomicMin that a comparison leads to changes nothing where it comes too late; rounds depend on the order.
// kernel lowered_in_rounds grid 3 block 32
// inout label int32 = np.arange(96) -> np.repeat([0, 32, 64], 32)
// inout rounds int32 = np.zeros(3) -> _
extern "C" __global__ void lowered_in_rounds(int *label, int *rounds) {
  int t = blockIdx.x * 32 + threadIdx.x, next = blockIdx.x * 32 + (threadIdx.x + 1) % 32, n = 0;
  cuda::atomic_ref<int, cuda::thread_scope_device> a(label[t]), b(label[next]);
  bool changed;
  do {
    int x = a.load(relaxed), y = b.load(relaxed);
    changed = x != y;
    if (x < y) atomicMin(&label[next], x);
    if (y < x) atomicMin(&label[t], y);
    ++n;
  } while (__syncthreads_or(changed));
  if (threadIdx.x == 0) rounds[blockIdx.x] = n;
}

// Wrong: a store may raise what another thread has lowered since.
// kernel lowered_by_stores grid 3 block 32
// inout label int32 = np.arange(96) -> _
// inout rounds int32 = np.zeros(3) -> _
extern "C" __global__ void lowered_by_stores(int *label, int *rounds) {
  int t = blockIdx.x * 32 + threadIdx.x, next = blockIdx.x * 32 + (threadIdx.x + 1) % 32, n = 0;
  cuda::atomic_ref<int, cuda::thread_scope_device> a(label[t]), b(label[next]);
  bool changed;
  do {
    int x = a.load(relaxed), y = b.load(relaxed);
    changed = x != y;
    if (x < y) b.store(x, relaxed);  // <- lost-update
    if (y < x) a.store(y, relaxed);  // <- lost-update
    ++n;
  } while (__syncthreads_or(changed));
  if (threadIdx.x == 0) rounds[blockIdx.x] = n;
}

__device__ int root_by_volatile(int at, volatile int *up) {
  int root = up[at];
  if (root == at) return at;
  for (int before = at, next; root > (next = up[root]); root = next) {
    up[before] = next;
    before = root;
  }
  return root;
}

__device__ void join(int a, int b, int *up) {
  while (a != b) {
    int low = min(a, b), high = max(a, b), old = atomicCAS(&up[high], high, low);
    if (old == high) return;
    a = low;
    b = old;
  }
}

// The forest is all that is left: other orders leave other paths to the same roots.
// kernel trees_of_a_graph grid 4 block 32
// in one int32 = rng.integers(0, 100, 128)
// in other int32 = rng.integers(0, 100, 128)[::-1]
// inout up int32 = np.arange(100) -> _
// finds lost-update warning the outputs are the same where none is lost
extern "C" __global__ void trees_of_a_graph(const int *one, const int *other, int *up) {
  int i = blockIdx.x * 32 + threadIdx.x;
  join(root_by_volatile(one[i], up), root_by_volatile(other[i], up), up);
}

// The roots are left, too, which are the same.
// kernel roots_of_a_graph grid 4 block 32 cooperative yes
// in one int32 = rng.integers(0, 100, 128)
// in other int32 = rng.integers(0, 100, 128)[::-1]
// inout up int32 = np.arange(100) -> _
// inout root int32 = np.zeros(100) -> (np.linalg.matrix_power(np.eye(100) + np.eye(100)[one].T @ np.eye(100)[other] + np.eye(100)[other].T @ np.eye(100)[one], 100) > 0).argmax(1)
// finds lost-update warning the outputs are the same where none is lost
extern "C" __global__ void roots_of_a_graph(const int *one, const int *other, int *up, int *root) {
  int i = blockIdx.x * 32 + threadIdx.x;
  join(root_by_volatile(one[i], up), root_by_volatile(other[i], up), up);
  cooperative_groups::this_grid().sync();
  if (i >= 100) return;
  int at = i;
  while (up[at] != at) at = up[at];
  root[i] = at;
}

// Wrong: where two join one root to others at once, one of these is lost.
// kernel trees_joined_by_stores grid 4 block 32
// in one int32 = rng.integers(0, 100, 128)
// in other int32 = rng.integers(0, 100, 128)[::-1]
// inout up int32 = np.arange(100) -> _
// finds lost-update error are lost
extern "C" __global__ void trees_joined_by_stores(const int *one, const int *other, volatile int *up) {
  int i = blockIdx.x * 32 + threadIdx.x;
  int a = root_by_volatile(one[i], up), b = root_by_volatile(other[i], up);
  if (a < b && up[b] == b) up[b] = a;
  if (b < a && up[a] == a) up[a] = b;
}
