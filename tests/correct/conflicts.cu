// Conflicts of scopes, sizes and kinds of accesses, and speculated loads.

#include <cuda/atomic>
// kernel mixed_size grid 2 block 32
// inout w uint64 = [0] -> _
extern "C" __global__ void mixed_size(unsigned long long *w) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) atomicAdd(w, 1ull << 32);  // <- race
  else atomicAdd((unsigned *)w, 1u);  // <- race
}
// kernel mixed_size_disjoint grid 2 block 32
// inout w uint64 = [0, 0] -> [1 << 32, 1]
extern "C" __global__ void mixed_size_disjoint(unsigned long long *w) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) atomicAdd(w, 1ull << 32);
  else atomicAdd((unsigned *)(w + 1), 1u);
}
// kernel float_sum grid 4 block 64
// in x float32 = np.ones(256)
// inout s float32 = [0] -> [256]
extern "C" __global__ void float_sum(const float *x, float *s) {
  float v = x[blockIdx.x * 64 + threadIdx.x];
  for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) atomicAdd(s, v);
}
// kernel result_read_after grid 4 block 64
// in x float32 = np.ones(256)
// inout s float32 = [0] -> _
// out y float32 = np.zeros(4)
extern "C" __global__ void result_read_after(const float *x, float *s, float *y) {
  atomicAdd(s, x[blockIdx.x * 64 + threadIdx.x]);  // <- race
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = *s;  // <- race
}
// kernel system_scope grid 2 block 32
// inout d int32 = [0] -> [3]
// inout f int32 = [0] -> [1]
// out y int32 = [3]
extern "C" __global__ void system_scope(int *d, int *f, int *y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) { *d = 3; __threadfence_system(); atomicExch_system(f, 1); }
  else { while (atomicAdd_system(f, 0) == 0) ; __threadfence_system(); *y = *d; }
}
// kernel block_scope_atomic_grid grid 2 block 32
// inout n int32 = [0] -> _
extern "C" __global__ void block_scope_atomic_grid(int *n) { if (threadIdx.x == 0) atomicAdd_block(n, 1); }  // <- race
// kernel block_scope_atomic_own grid 2 block 32
// inout n int32 = [0, 0] -> [32, 32]
extern "C" __global__ void block_scope_atomic_own(int *n) { atomicAdd_block(&n[blockIdx.x], 1); }
// kernel ldg_own_block grid 2 block 32
// inout x int32 = np.arange(64) -> _
// out y int32 = np.zeros(64)
extern "C" __global__ void ldg_own_block(int *x, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  x[i] = 2 * i;
  __syncthreads();
  y[i] = __ldg(&x[i ^ 1]);  // <- race
}
// kernel ldg_other_half grid 2 block 32
// inout x int32 = np.arange(128) -> _
// out y int32 = np.arange(64) + 64
extern "C" __global__ void ldg_other_half(int *x, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  x[i] = 2 * i;
  __syncthreads();
  y[i] = __ldg(&x[64 + i]);
}
// kernel spec_guard grid 1 block 64
// inout a int32 = np.arange(64) -> _
// in k int32 = np.arange(64) % 4
// out y int32 = [int(i * 2) if i % 4 == 0 else -1 for i in range(64)]
extern "C" __global__ void spec_guard(int *a, const int *k, int *y) {
  int t = threadIdx.x;
  int v = a[t];
  int w = k[t] == 0 ? v * 2 : -1;
  y[t] = w;
  if (k[t] == 1) a[t] = 9;
}
// kernel spec_neighbor grid 1 block 64
// inout a int32 = np.arange(65) -> _
// in k int32 = np.arange(64) % 2
// out y int32 = [i + 1 if i % 2 == 0 else 0 for i in range(64)]
extern "C" __global__ void spec_neighbor(int *a, const int *k, int *y) {
  int t = threadIdx.x, v = 0;
  if (k[t] == 0) v = a[t + 1];
  y[t] = v;
  if (k[t] == 0) a[t] = -1;
}
// kernel spec_neighbor_odd grid 1 block 64
// inout a int32 = np.arange(65) -> _
// in k int32 = np.arange(64) % 2
// out y int32 = np.zeros(64)
extern "C" __global__ void spec_neighbor_odd(int *a, const int *k, int *y) {
  int t = threadIdx.x, v = 0;
  if (k[t] == 0) v = a[t + 1];  // <- race
  y[t] = v;
  if (k[t] == 1) a[t] = -1;  // <- race
}
// kernel guarded_tail grid 2 block 64
// in x float32 = np.arange(100.)
// value n int32 = 100
// out y float32 = np.where(np.arange(100) > 0, x + np.roll(x, 1), x)
extern "C" __global__ void guarded_tail(const float *x, int n, float *y) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = x[i] + (i > 0 ? x[i - 1] : 0.f);
}
// kernel guarded_tail_wrong_order grid 2 block 64
// in x float32 = np.arange(100.)
// value n int32 = 100
// out y float32 = np.zeros(100)
extern "C" __global__ void guarded_tail_wrong_order(const float *x, int n, float *y) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float v = x[i];  // <- invalid-access
  if (i < n) y[i] = v + (i > 0 ? x[i - 1] : 0.f);
}
// kernel volatile_warp_sum grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.zeros(1)
extern "C" __global__ void volatile_warp_sum(const int *x, int *y) {
  __shared__ volatile int s[64];
  int t = threadIdx.x;
  s[t] = x[t]; s[t + 32] = 0;
  s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];  // <- race
  if (t == 0) y[0] = s[0];
}
// kernel histogram_private grid 4 block 64
// in x int32 = np.arange(1024) * 37 % 16
// inout h int32 = np.zeros(16) -> np.bincount(x, minlength=16)
extern "C" __global__ void histogram_private(const int *x, int *h) {
  __shared__ int s[2][16];
  int t = threadIdx.x, w = t / 32;
  if (t < 32) s[t / 16][t % 16] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 64 + t; i < 1024; i += 256) atomicAdd(&s[w][x[i]], 1);
  __syncthreads();
  if (t < 16) atomicAdd(&h[t], s[0][t] + s[1][t]);
}
// kernel histogram_no_last_sync grid 4 block 64
// in x int32 = np.arange(1024) * 37 % 16
// inout h int32 = np.zeros(16) -> _
extern "C" __global__ void histogram_no_last_sync(const int *x, int *h) {
  __shared__ int s[2][16];
  int t = threadIdx.x, w = t / 32;
  if (t < 32) s[t / 16][t % 16] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 64 + t; i < 1024; i += 256) atomicAdd(&s[w][x[i]], 1);  // <- race
  if (t < 16) atomicAdd(&h[t], s[0][t] + s[1][t]);  // <- race
}
// kernel bfs_level grid 2 block 32
// in row int32 = np.minimum(np.arange(65) * 2, 126)
// in col int32 = np.concatenate([np.arange(1, 127) % 64, [0, 0]])
// inout dist int32 = np.where(np.arange(64) == 0, 0, -1) -> np.where(np.arange(64) == 0, 0, np.where(np.arange(64) < 3, 1, -1))
// inout again int32 = [0] -> [1]
extern "C" __global__ void bfs_level(const int *row, const int *col, int *dist, int *again) {
  int u = blockIdx.x * 32 + threadIdx.x;
  if (((volatile int *)dist)[u] == 0)
    for (int e = row[u]; e < row[u + 1]; ++e)
      if (atomicCAS(&dist[col[e]], -1, 1) == -1) atomicExch(again, 1);
}
// kernel push_plain_flag grid 2 block 64
// in x int32 = np.arange(128)
// inout found int32 = [0] -> [1]
extern "C" __global__ void push_plain_flag(const int *x, int *found) {
  if (x[blockIdx.x * 64 + threadIdx.x] % 10 == 3) *found = 1;
}
// kernel sssp_min grid 2 block 32
// inout d int32 = np.full(8, 1000) -> [int(min([i for i in range(64) if i % 8 == k])) for k in range(8)]
extern "C" __global__ void sssp_min(int *d) {
  int i = blockIdx.x * 32 + threadIdx.x, mine = i;
  if (mine < *(volatile int *)&d[i % 8]) atomicMin(&d[i % 8], mine);
}
// kernel sssp_min_plain grid 2 block 32
// inout d int32 = np.full(8, 1000) -> _
extern "C" __global__ void sssp_min_plain(int *d) {
  int i = blockIdx.x * 32 + threadIdx.x, mine = i;
  if (mine < d[i % 8]) d[i % 8] = mine;  // <- race
}
// kernel epoch_retire grid 4 block 32
// inout epoch int32 = [0] -> _
// inout slot int32 = np.zeros(4) -> _
// inout sum int32 = [0] -> [4 * 5]
__device__ int *shared_ptr_value;
extern "C" __global__ void epoch_retire(int *epoch, int *slot, int *sum) {
  if (threadIdx.x) return;
  using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
  cuda::atomic_ref<int *, cuda::thread_scope_device> p(shared_ptr_value);
  if (blockIdx.x == 0) { int *n = (int *)malloc(4); *n = 5; p.store(n, cuda::memory_order_release); }
  int *q;
  while (!(q = p.load(cuda::memory_order_acquire))) ;
  atomicAdd(sum, *q);
  R(slot[blockIdx.x]).store(1, cuda::memory_order_release);
  if (blockIdx.x == 0) {
    for (int b = 0; b < 4; ++b) while (!R(slot[b]).load(cuda::memory_order_acquire)) ;
    free(q);
  }
}
// kernel epoch_retire_early grid 4 block 32
// inout epoch int32 = [0] -> _
// inout slot int32 = np.zeros(4) -> _
// inout sum int32 = [0] -> _
__device__ int *shared_ptr_early;
extern "C" __global__ void epoch_retire_early(int *epoch, int *slot, int *sum) {
  if (threadIdx.x) return;
  using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
  cuda::atomic_ref<int *, cuda::thread_scope_device> p(shared_ptr_early);
  if (blockIdx.x == 0) { int *n = (int *)malloc(4); *n = 5; p.store(n, cuda::memory_order_release); }
  int *q;
  while (!(q = p.load(cuda::memory_order_acquire))) ;
  R(slot[blockIdx.x]).store(1, cuda::memory_order_release);
  atomicAdd(sum, *q);  // <- invalid-access
  if (blockIdx.x == 0) {
    for (int b = 0; b < 4; ++b) while (!R(slot[b]).load(cuda::memory_order_acquire)) ;
    free(q);  // <- invalid-access
  }
}
// kernel list_insert_locks grid 1 block 32
// inout node int32 = np.zeros(3 * 34) -> _
// inout count int32 = [0] -> [32]
struct Node { int next, lock, value; };
__device__ void lock_node(Node *n) { while (atomicCAS(&n->lock, 0, 1)) ; __threadfence(); }
__device__ void unlock_node(Node *n) { __threadfence(); atomicExch(&n->lock, 0); }
extern "C" __global__ void list_insert_locks(Node *node, int *count) {
  int me = threadIdx.x + 1;
  lock_node(&node[0]);
  node[me].next = node[0].next;
  node[me].value = me;
  node[0].next = me;
  unlock_node(&node[0]);
  __syncthreads();
  if (threadIdx.x == 0) { int c = 0; for (int i = node[0].next; i; i = node[i].next) ++c; *count = c; }
}

// A copy of a vector reads the elements that are used, also where the stack frame has another
// variable whose address the function makes.
// kernel part_of_vector grid 1 block 64
// out y int32 = [0] * 32 + [k + 4 for k in range(32, 64)]
extern "C" __global__ void part_of_vector(int *y) {
  __shared__ float4 s[64];
  int t = threadIdx.x, k = t;
  int *p = &k;
  s[*p] = make_float4(t, 1, 2, 3);
  __syncthreads();
  if (t < 32) {
    s[t + 32].z = 9;
    y[t] = 0;
  } else {
    float4 v = s[t];
    y[*p] = v.x + v.y + v.w;
  }
}

// Wrong: a function reads the element that another thread writes.
__device__ __noinline__ float sum_of(const float *v) { return v[0] + v[1] + v[2] + v[3]; }

// kernel whole_vector grid 1 block 64
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void whole_vector(int *y) {
  __shared__ float4 s[64];
  int t = threadIdx.x, k = t;
  int *p = &k;
  s[*p] = make_float4(t, 1, 2, 3);
  __syncthreads();
  if (t < 32) {
    s[t + 32].z = 9;  // <- race
  } else {
    float4 v = s[t];  // <- race
    y[*p] = sum_of(&v.x);
  }
}

// An assignment's value is read from where it was stored: all threads store the same there.
// kernel chained_zeros grid 2 block 64
// inout n int32 = [7] -> [0]
// out y int32 = np.zeros(64)
extern "C" __global__ void chained_zeros(int *n, int *y) {
  __shared__ int total, part[64];
  part[threadIdx.x] = total = 0;
  __syncthreads();
  atomicAdd(&total, part[63 - threadIdx.x]);
  __syncthreads();
  if (bool seen = total == 0) y[threadIdx.x] = *n = !seen;
}

// Wrong: each thread stores a value of its own.
// kernel chained_numbers grid 1 block 64
// out y int32 = np.arange(64)
extern "C" __global__ void chained_numbers(int *y) {
  __shared__ int last;
  y[threadIdx.x] = last = threadIdx.x;  // <- race
}

// Wrong: behind the barrier the value is the last one.
// kernel read_behind_barrier grid 1 block 64
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void read_behind_barrier(int *y) {
  __shared__ int last;
  last = threadIdx.x / 32;  // <- race
  __syncthreads();
  y[threadIdx.x] = last;
}
