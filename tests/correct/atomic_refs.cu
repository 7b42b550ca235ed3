// Turns, stacks and maxima with cuda::atomic_ref: protocols of loads, stores and exchanges in libcu++.

#include <cuda/atomic>
#include <cuda/barrier>
template <class T> using dev = cuda::atomic_ref<T, cuda::thread_scope_device>;

// kernel peterson grid 2 block 32
// inout f int32 = [0, 0, 0] -> _
// inout n int32 = [0] -> [20]
extern "C" __global__ void peterson(int *f, int *n) {
  if (threadIdx.x) return;
  int me = blockIdx.x, other = 1 - me;
  for (int i = 0; i < 10; ++i) {
    dev<int>(f[me]).store(1, cuda::memory_order_seq_cst);
    dev<int>(f[2]).store(other, cuda::memory_order_seq_cst);
    while (dev<int>(f[other]).load(cuda::memory_order_seq_cst) && dev<int>(f[2]).load(cuda::memory_order_seq_cst) == other) ;
    ++*n;
    dev<int>(f[me]).store(0, cuda::memory_order_release);
  }
}

// kernel treiber grid 3 block 32
// inout head int32 = [-1] -> [-1]
// inout next int32 = np.zeros(96) -> _
// inout val int32 = np.zeros(96) -> np.arange(96) * 2
// inout sum int32 = [0] -> [9120]
extern "C" __global__ void treiber(int *head, int *next, int *val, int *sum) {
  int me = blockIdx.x * 32 + threadIdx.x;
  val[me] = 2 * me;
  int h = dev<int>(*head).load(cuda::memory_order_relaxed);
  do dev<int>(next[me]).store(h, cuda::memory_order_relaxed);
  while (!dev<int>(*head).compare_exchange_weak(h, me, cuda::memory_order_release, cuda::memory_order_relaxed));
  h = dev<int>(*head).load(cuda::memory_order_acquire);
  for (;;) {
    if (h < 0) { h = dev<int>(*head).load(cuda::memory_order_acquire); continue; }
    int n = dev<int>(next[h]).load(cuda::memory_order_relaxed);
    if (dev<int>(*head).compare_exchange_weak(h, n, cuda::memory_order_acquire, cuda::memory_order_acquire)) break;
  }
  atomicAdd(sum, val[h]);
}

// kernel treiber_relaxed_pop grid 3 block 32
// inout head int32 = [-1] -> _
// inout next int32 = np.zeros(96) -> _
// inout val int32 = np.zeros(96) -> _
// inout sum int32 = [0] -> _
extern "C" __global__ void treiber_relaxed_pop(int *head, int *next, int *val, int *sum) {
  int me = blockIdx.x * 32 + threadIdx.x;
  val[me] = 2 * me;  // <- race
  int h = dev<int>(*head).load(cuda::memory_order_relaxed);
  do dev<int>(next[me]).store(h, cuda::memory_order_relaxed);
  while (!dev<int>(*head).compare_exchange_weak(h, me, cuda::memory_order_release, cuda::memory_order_relaxed));
  h = dev<int>(*head).load(cuda::memory_order_relaxed);
  for (;;) {
    if (h < 0) { h = dev<int>(*head).load(cuda::memory_order_relaxed); continue; }
    int n = dev<int>(next[h]).load(cuda::memory_order_relaxed);
    if (dev<int>(*head).compare_exchange_weak(h, n, cuda::memory_order_relaxed, cuda::memory_order_relaxed)) break;
  }
  atomicAdd(sum, val[h]);  // <- race
}

// kernel row_dependency grid 4 block 32
// inout row int32 = np.zeros(4 * 32) -> np.repeat(np.arange(1, 5), 32)
// inout ready int32 = np.zeros(4) -> np.ones(4)
extern "C" __global__ void row_dependency(int *row, int *ready) {
  int b = blockIdx.x, t = threadIdx.x;
  if (b > 0) {
    if (t == 0) while (!dev<int>(ready[b - 1]).load(cuda::memory_order_acquire)) ;
    __syncthreads();
    row[b * 32 + t] = row[(b - 1) * 32 + (t + 1) % 32] + 1;
  } else row[t] = 1;
  __syncthreads();
  if (t == 0) dev<int>(ready[b]).store(1, cuda::memory_order_release);
}

// kernel row_dependency_two_back grid 4 block 32
// inout row int32 = np.zeros(4 * 32) -> _
// inout ready int32 = np.zeros(4) -> _
extern "C" __global__ void row_dependency_two_back(int *row, int *ready) {
  int b = blockIdx.x, t = threadIdx.x;
  if (b > 1) {
    if (t == 0) while (!dev<int>(ready[b - 2]).load(cuda::memory_order_acquire)) ;
    __syncthreads();
    row[b * 32 + t] = row[(b - 1) * 32 + (t + 1) % 32] + 1;  // <- race
  } else row[b * 32 + t] = 1;  // <- race
  __syncthreads();
  if (t == 0) dev<int>(ready[b]).store(1, cuda::memory_order_release);
}

// kernel device_barrier grid 3 block 32
// inout a int32 = np.zeros(96) -> np.arange(96)
// out y int32 = np.arange(96)[::-1]
__device__ cuda::barrier<cuda::thread_scope_device> gbar(96);
extern "C" __global__ void device_barrier(int *a, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  a[i] = i;
  gbar.arrive_and_wait();
  y[i] = a[95 - i];
}

// kernel added grid 4 block 1
// inout n int32 = [0] -> _
extern "C" __global__ void added(int *n) {
  dev<int> a(*n);
  a.store(a.load(cuda::memory_order_relaxed) + 1, cuda::memory_order_relaxed);  // <- lost-update
}

// kernel largest grid 4 block 32
// inout n int32 = [0] -> _
extern "C" __global__ void largest(int *n) {
  dev<int> a(*n);
  int mine = blockIdx.x * 32 + threadIdx.x * 7 % 32;
  if (mine > a.load(cuda::memory_order_relaxed)) a.store(mine, cuda::memory_order_relaxed);  // <- lost-update
}

// The flag of what is made once is set before it is filled.

// kernel made_once_is_published_early grid 4 block 1
// inout state int32 = np.zeros(1) -> _
// inout table int32 = np.zeros(16) -> _
// inout out int32 = np.zeros(4) -> _
// hints Put the statement of line S< after line F<. A run with that does not have this race.
extern "C" __global__ void made_once_is_published_early(int *state, int *table, int *out)
{
  cuda::atomic_ref<int, cuda::thread_scope_device> made(*state);
  int zero = 0;
  if (made.compare_exchange_strong(zero, 1)) {
    made.store(2, cuda::memory_order_release);  // <S
    for (int i = 0; i < 16; i++) table[i] = i * i;  // <F
  } else {
    while (made.load(cuda::memory_order_acquire) != 2) { }
  }
  out[blockIdx.x] = table[blockIdx.x + 3];  // <- race
}

// kernel made_once grid 4 block 1
// inout state int32 = np.zeros(1) -> _
// inout table int32 = np.zeros(16) -> _
// inout out int32 = np.zeros(4) -> (np.arange(4) + 3) ** 2
extern "C" __global__ void made_once(int *state, int *table, int *out)
{
  cuda::atomic_ref<int, cuda::thread_scope_device> made(*state);
  int zero = 0;
  if (made.compare_exchange_strong(zero, 1)) {
    for (int i = 0; i < 16; i++) table[i] = i * i;
    made.store(2, cuda::memory_order_release);
  } else {
    while (made.load(cuda::memory_order_acquire) != 2) { }
  }
  out[blockIdx.x] = table[blockIdx.x + 3];
}
