// Work stealing where some outputs depend on the order, and one does not: the deque itself, who took a task. And searches,
// a union-find and counters that are right with old values, though they leave such outputs too.
#include <cuda/atomic>
template <typename T> using dev = cuda::atomic_ref<T, cuda::thread_scope_device>;
using namespace cuda::std;
struct Deque { int top, bottom; int task[64]; };
enum Fence { NONE, ACQ_REL, SEQ_CST };
__device__ void push(Deque *d, int v) {
  int b = dev<int>(d->bottom).load(memory_order_relaxed);
  dev<int>(d->task[b % 64]).store(v, memory_order_relaxed);
  cuda::atomic_thread_fence(memory_order_release, cuda::thread_scope_device);
  dev<int>(d->bottom).store(b + 1, memory_order_relaxed);
}
template <int F> __device__ void fence() {
  if (F == ACQ_REL) cuda::atomic_thread_fence(memory_order_acq_rel, cuda::thread_scope_device);
  if (F == SEQ_CST) cuda::atomic_thread_fence(memory_order_seq_cst, cuda::thread_scope_device);
}
template <int F> __device__ int pop(Deque *d) {
  int b = dev<int>(d->bottom).load(memory_order_relaxed) - 1;
  dev<int>(d->bottom).store(b, memory_order_relaxed);
  fence<F>();
  int t = dev<int>(d->top).load(memory_order_relaxed), v = -1;
  if (t <= b) {
    v = dev<int>(d->task[b % 64]).load(memory_order_relaxed);
    if (t == b) {
      if (!dev<int>(d->top).compare_exchange_strong(t, t + 1, memory_order_seq_cst, memory_order_relaxed)) v = -1;
      dev<int>(d->bottom).store(b + 1, memory_order_relaxed);
    }
  } else dev<int>(d->bottom).store(b + 1, memory_order_relaxed);
  return v;
}
template <int F> __device__ int steal(Deque *d) {
  int t = dev<int>(d->top).load(memory_order_acquire);
  fence<F>();
  int b = dev<int>(d->bottom).load(memory_order_acquire);
  if (t >= b) return -1;
  int v = dev<int>(d->task[t % 64]).load(memory_order_relaxed);
  return dev<int>(d->top).compare_exchange_strong(t, t + 1, memory_order_seq_cst, memory_order_relaxed) ? v : -1;
}
template <int P, int S> __device__ void share(int tasks, Deque *d, int *done, int *by) {
  if (blockIdx.x == 0) {
    for (int i = 0; i < tasks; ++i) push(d, i);
    for (int v; (v = pop<P>(d)) >= 0;) { atomicAdd(&done[v], 1); if (by) atomicAdd(&by[0], 1); }
  } else {
    #pragma unroll 1
    for (int i = 0, v; i < tasks; ++i) if ((v = steal<S>(d)) >= 0) { atomicAdd(&done[v], 1); if (by) atomicAdd(&by[1], 1); }
  }
}

// kernel shares grid 2 block 1
// inout d int32 = np.zeros(66) -> _
// inout done int32 = np.zeros(2) -> np.ones(2)
// inout by int32 = np.zeros(2) -> _
extern "C" __global__ void shares(Deque *d, int *done, int *by) { share<SEQ_CST, SEQ_CST>(2, d, done, by); }

// kernel shares_three grid 2 block 1
// inout d int32 = np.zeros(66) -> _
// inout done int32 = np.zeros(3) -> np.ones(3)
extern "C" __global__ void shares_three(Deque *d, int *done) { share<SEQ_CST, SEQ_CST>(3, d, done, nullptr); }

// kernel takes_unfenced grid 2 block 1
// inout d int32 = np.zeros(66) -> _
// inout done int32 = np.zeros(2) -> _
// inout by int32 = np.zeros(2) -> _
// finds race error this write of global `d[1]` may take effect after the read
extern "C" __global__ void takes_unfenced(Deque *d, int *done, int *by) { share<NONE, SEQ_CST>(2, d, done, by); }

// kernel takes_too_weak grid 2 block 1
// inout d int32 = np.zeros(66) -> _
// inout done int32 = np.zeros(3) -> _
// finds race error this write of global `d[1]` may take effect after the read
extern "C" __global__ void takes_too_weak(Deque *d, int *done) { share<ACQ_REL, SEQ_CST>(3, d, done, nullptr); }

// kernel steals_unfenced grid 2 block 1
// inout d int32 = np.zeros(66) -> _
// inout done int32 = np.zeros(2) -> _
// inout by int32 = np.zeros(2) -> _
// finds race error this read of global `d[1]` may miss the write
extern "C" __global__ void steals_unfenced(Deque *d, int *done, int *by) { share<SEQ_CST, NONE>(2, d, done, by); }

// kernel steals_too_weak grid 2 block 1
// inout d int32 = np.zeros(66) -> _
// inout done int32 = np.zeros(3) -> _
// finds race error this read of global `d[1]` may miss the write
extern "C" __global__ void steals_too_weak(Deque *d, int *done) { share<SEQ_CST, ACQ_REL>(3, d, done, nullptr); }

// kernel first_match grid 4 block 2
// in a int32 = np.array([5,1,7,3,7,7,2,7])
// inout best int32 = [100] -> [2]
// inout looked int32 = [0] -> _
extern "C" __global__ void first_match(const int *a, int *best, int *looked) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (dev<int>(*best).load(memory_order_relaxed) < i) return;
  atomicAdd(looked, 1);
  if (a[i] == 7) atomicMin(best, i);
}

// kernel bounded grid 3 block 1
// in cost int32 = np.array([9,4,8,6,3,7,5,8,2])
// inout bound int32 = [1000] -> [2]
// inout nodes int32 = [0]*3 -> _
extern "C" __global__ void bounded(const int *cost, int *bound, int *nodes) {
  for (int i = blockIdx.x; i < 9; i += 3) {
    if (*(volatile int *)bound <= cost[i]) continue;
    nodes[blockIdx.x]++;
    atomicMin(bound, cost[i]);
  }
}

// kernel claimed_items grid 3 block 1
// inout next int32 = [0] -> _
// inout taken int32 = [0]*6 -> [1]*6
// inout by int32 = [0]*3 -> _
extern "C" __global__ void claimed_items(int *next, int *taken, int *by) {
  while (dev<int>(*next).load(memory_order_relaxed) < 6) {
    int i = dev<int>(*next).fetch_add(1, memory_order_relaxed);
    if (i >= 6) break;
    taken[i] = 1;
    by[blockIdx.x]++;
  }
}

// kernel stack_ids grid 3 block 1
// inout head int32 = [-1] -> _
// inout next int32 = [0]*3 -> _
// inout item int32 = [0]*3 -> [1,2,3]
// inout total int32 = [0] -> [6]
// inout got int32 = [0]*3 -> _
extern "C" __global__ void stack_ids(int *head, int *next, int *item, int *total, int *got) {
  int me = blockIdx.x;
  item[me] = me + 1;
  int h = dev<int>(*head).load(memory_order_relaxed);
  do dev<int>(next[me]).store(h, memory_order_relaxed);
  while (!dev<int>(*head).compare_exchange_weak(h, me, memory_order_release, memory_order_relaxed));
  h = dev<int>(*head).load(memory_order_acquire);
  while (h >= 0) {
    int n = dev<int>(next[h]).load(memory_order_relaxed);
    if (dev<int>(*head).compare_exchange_weak(h, n, memory_order_acq_rel, memory_order_acquire)) break;
  }
  if (h >= 0) { got[me] = h; atomicAdd(total, item[h]); }
}

// kernel union_counts grid 3 block 1
// inout parent int32 = np.arange(6) -> _
// inout merged int32 = [0] -> [5]
// inout steps int32 = [0] -> _
extern "C" __global__ void union_counts(int *parent, int *merged, int *steps) {
  for (int k = 0; k < 2; k++) {
    int a = blockIdx.x + k * 3, b = (a + 1) % 6;
    while (true) {
      for (int p; (p = dev<int>(parent[a]).load(memory_order_relaxed)) != a; a = p) atomicAdd(steps, 1);
      for (int p; (p = dev<int>(parent[b]).load(memory_order_relaxed)) != b; b = p) atomicAdd(steps, 1);
      if (a == b) break;
      int hi = max(a, b), lo = min(a, b);
      if (atomicCAS(&parent[hi], hi, lo) == hi) { atomicAdd(merged, 1); break; }
    }
  }
}
