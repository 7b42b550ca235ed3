// Queues, a deque and a seqlock: who may read what, and when.

#include <cuda/atomic>
template <class T> using dev = cuda::atomic_ref<T, cuda::thread_scope_device>;
template <class T> using blk = cuda::atomic_ref<T, cuda::thread_scope_block>;

// kernel spsc grid 2 block 32
// in x int32 = np.arange(64) * 7
// inout buf int32 = np.zeros(8) -> _
// inout head uint32 = [0] -> [64]
// inout tail uint32 = [0] -> [64]
// out y int32 = np.arange(64) * 7
extern "C" __global__ void spsc(const int *x, int *buf, unsigned *head, unsigned *tail, int *y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (unsigned i = 0; i < 64; ++i) {
      while (i - dev<unsigned>(*tail).load(cuda::memory_order_acquire) >= 8) ;
      buf[i % 8] = x[i];
      dev<unsigned>(*head).store(i + 1, cuda::memory_order_release);
    }
  } else {
    for (unsigned i = 0; i < 64; ++i) {
      while (dev<unsigned>(*head).load(cuda::memory_order_acquire) <= i) ;
      y[i] = buf[i % 8];
      dev<unsigned>(*tail).store(i + 1, cuda::memory_order_release);
    }
  }
}

// kernel spsc_tail_relaxed grid 2 block 32
// in x int32 = np.arange(64) * 7
// inout buf int32 = np.zeros(8) -> _
// inout head uint32 = [0] -> _
// inout tail uint32 = [0] -> _
// out y int32 = np.arange(64) * 7
extern "C" __global__ void spsc_tail_relaxed(const int *x, int *buf, unsigned *head, unsigned *tail, int *y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (unsigned i = 0; i < 64; ++i) {
      while (i - dev<unsigned>(*tail).load(cuda::memory_order_acquire) >= 8) ;
      buf[i % 8] = x[i];  // <- race
      dev<unsigned>(*head).store(i + 1, cuda::memory_order_release);
    }
  } else {
    for (unsigned i = 0; i < 64; ++i) {
      while (dev<unsigned>(*head).load(cuda::memory_order_acquire) <= i) ;
      y[i] = buf[i % 8];  // <- race
      dev<unsigned>(*tail).store(i + 1, cuda::memory_order_relaxed);
    }
  }
}

// kernel spsc_off_by_one grid 2 block 32
// in x int32 = np.arange(64) * 7
// inout buf int32 = np.zeros(8) -> _
// inout head uint32 = [0] -> _
// inout tail uint32 = [0] -> _
// out y int32 = np.arange(64) * 7
extern "C" __global__ void spsc_off_by_one(const int *x, int *buf, unsigned *head, unsigned *tail, int *y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (unsigned i = 0; i < 64; ++i) {
      while (i - dev<unsigned>(*tail).load(cuda::memory_order_acquire) > 8) ;
      buf[i % 8] = x[i];  // <- race
      dev<unsigned>(*head).store(i + 1, cuda::memory_order_release);
    }
  } else {
    for (unsigned i = 0; i < 64; ++i) {
      while (dev<unsigned>(*head).load(cuda::memory_order_acquire) <= i) ;
      y[i] = buf[i % 8];  // <- race
      dev<unsigned>(*tail).store(i + 1, cuda::memory_order_release);
    }
  }
}

// Vyukov's bounded MPMC queue
struct Cell { unsigned seq; int data; };
// kernel mpmc grid 4 block 32
// inout cells int32 = [v for i in range(4) for v in (i, 0)] -> _
// inout enq uint32 = [0] -> [20]
// inout deq uint32 = [0] -> [20]
// inout sum int32 = [0] -> [2 * (55 - 10) + 100 + 10]
extern "C" __global__ void mpmc(Cell *cells, unsigned *enq, unsigned *deq, int *sum) {
  if (threadIdx.x) return;
  for (int k = 0; k < 10; ++k) {
    if (blockIdx.x < 2) {
      unsigned pos = dev<unsigned>(*enq).load(cuda::memory_order_relaxed);
      Cell *c;
      for (;;) {
        c = &cells[pos % 4];
        int dif = int(dev<unsigned>(c->seq).load(cuda::memory_order_acquire)) - int(pos);
        if (dif == 0) { if (dev<unsigned>(*enq).compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) break; }
        else pos = dev<unsigned>(*enq).load(cuda::memory_order_relaxed);
      }
      c->data = k + 10 * blockIdx.x + blockIdx.x;
      dev<unsigned>(c->seq).store(pos + 1, cuda::memory_order_release);
    } else {
      unsigned pos = dev<unsigned>(*deq).load(cuda::memory_order_relaxed);
      Cell *c;
      for (;;) {
        c = &cells[pos % 4];
        int dif = int(dev<unsigned>(c->seq).load(cuda::memory_order_acquire)) - int(pos + 1);
        if (dif == 0) { if (dev<unsigned>(*deq).compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) break; }
        else pos = dev<unsigned>(*deq).load(cuda::memory_order_relaxed);
      }
      atomicAdd(sum, c->data);
      dev<unsigned>(c->seq).store(pos + 4, cuda::memory_order_release);
    }
  }
}

// kernel mpmc_seq_first grid 4 block 32
// inout cells int32 = [v for i in range(4) for v in (i, 0)] -> _
// inout enq uint32 = [0] -> _
// inout deq uint32 = [0] -> _
// inout sum int32 = [0] -> _
extern "C" __global__ void mpmc_seq_first(Cell *cells, unsigned *enq, unsigned *deq, int *sum) {
  if (threadIdx.x) return;
  for (int k = 0; k < 10; ++k) {
    if (blockIdx.x < 2) {
      unsigned pos = dev<unsigned>(*enq).load(cuda::memory_order_relaxed);
      Cell *c;
      for (;;) {
        c = &cells[pos % 4];
        int dif = int(dev<unsigned>(c->seq).load(cuda::memory_order_acquire)) - int(pos);
        if (dif == 0) { if (dev<unsigned>(*enq).compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) break; }
        else pos = dev<unsigned>(*enq).load(cuda::memory_order_relaxed);
      }
      dev<unsigned>(c->seq).store(pos + 1, cuda::memory_order_release);
      c->data = k + 10 * blockIdx.x + blockIdx.x;  // <- race
    } else {
      unsigned pos = dev<unsigned>(*deq).load(cuda::memory_order_relaxed);
      Cell *c;
      for (;;) {
        c = &cells[pos % 4];
        int dif = int(dev<unsigned>(c->seq).load(cuda::memory_order_acquire)) - int(pos + 1);
        if (dif == 0) { if (dev<unsigned>(*deq).compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) break; }
        else pos = dev<unsigned>(*deq).load(cuda::memory_order_relaxed);
      }
      atomicAdd(sum, c->data);  // <- race
      dev<unsigned>(c->seq).store(pos + 4, cuda::memory_order_release);
    }
  }
}

// Chase-Lev deque: owner pushes and pops, others steal
struct Deque { int top, bottom; int task[64]; };
__device__ void dq_push(Deque *d, int v) {
  int b = dev<int>(d->bottom).load(cuda::memory_order_relaxed);
  dev<int>(d->task[b % 64]).store(v, cuda::memory_order_relaxed);
  cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
  dev<int>(d->bottom).store(b + 1, cuda::memory_order_relaxed);
}
__device__ int dq_pop(Deque *d) {
  int b = dev<int>(d->bottom).load(cuda::memory_order_relaxed) - 1;
  dev<int>(d->bottom).store(b, cuda::memory_order_relaxed);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  int t = dev<int>(d->top).load(cuda::memory_order_relaxed), v = -1;
  if (t <= b) {
    v = dev<int>(d->task[b % 64]).load(cuda::memory_order_relaxed);
    if (t == b) {
      if (!dev<int>(d->top).compare_exchange_strong(t, t + 1, cuda::memory_order_seq_cst, cuda::memory_order_relaxed)) v = -1;
      dev<int>(d->bottom).store(b + 1, cuda::memory_order_relaxed);
    }
  } else dev<int>(d->bottom).store(b + 1, cuda::memory_order_relaxed);
  return v;
}
__device__ int dq_steal(Deque *d) {
  int t = dev<int>(d->top).load(cuda::memory_order_acquire);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  int b = dev<int>(d->bottom).load(cuda::memory_order_acquire);
  if (t >= b) return -1;
  int v = dev<int>(d->task[t % 64]).load(cuda::memory_order_relaxed);
  return dev<int>(d->top).compare_exchange_strong(t, t + 1, cuda::memory_order_seq_cst, cuda::memory_order_relaxed) ? v : -1;
}
// kernel deque grid 3 block 32
// inout d int32 = np.zeros(66) -> _
// inout done int32 = np.zeros(40) -> np.ones(40)
// inout left int32 = [40] -> [0]
extern "C" __global__ void deque(Deque *d, int *done, int *left) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) for (int i = 0; i < 40; ++i) dq_push(d, i);
  while (dev<int>(*left).load() > 0) {
    int v = blockIdx.x == 0 ? dq_pop(d) : dq_steal(d);
    if (v >= 0) { atomicAdd(&done[v], 1); dev<int>(*left).fetch_sub(1); }
  }
}

// payload behind index: the task's record is plain data
// kernel deque_records grid 2 block 32
// inout d int32 = np.zeros(66) -> _
// inout rec int32 = np.zeros(40) -> np.arange(40) * 2 + 1
// inout left int32 = [40] -> [0]
extern "C" __global__ void deque_records(Deque *d, int *rec, int *left) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) for (int i = 0; i < 40; ++i) { rec[i] = 2 * i; dq_push(d, i); }
  while (dev<int>(*left).load() > 0) {
    int v = blockIdx.x == 0 ? dq_pop(d) : dq_steal(d);
    if (v >= 0) { rec[v] += 1; dev<int>(*left).fetch_sub(1); }
  }
}

__device__ void dq_push_bad(Deque *d, int v) {
  int b = dev<int>(d->bottom).load(cuda::memory_order_relaxed);
  dev<int>(d->task[b % 64]).store(v, cuda::memory_order_relaxed);
  dev<int>(d->bottom).store(b + 1, cuda::memory_order_relaxed);
}
// kernel deque_records_push_unfenced grid 2 block 32
// inout d int32 = np.zeros(66) -> _
// inout rec int32 = np.zeros(40) -> _
// inout left int32 = [40] -> _
extern "C" __global__ void deque_records_push_unfenced(Deque *d, int *rec, int *left) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) for (int i = 0; i < 40; ++i) { rec[i] = 2 * i; dq_push_bad(d, i); }  // <- race
  while (dev<int>(*left).load() > 0) {
    int v = blockIdx.x == 0 ? dq_pop(d) : dq_steal(d);
    if (v >= 0) { rec[v] += 1; dev<int>(*left).fetch_sub(1); }  // <- race
  }
}

// block-local queue in shared memory: BFS frontier
// kernel bfs_block grid 1 block 64
// in row int32 = np.minimum(np.arange(65) * 2, 126)
// in col int32 = np.concatenate([np.arange(1, 127) % 64, [0, 0]])
// inout dist int32 = np.where(np.arange(64) == 0, 0, -1) -> [int(np.floor(np.log2(i + 1))) for i in range(64)]
extern "C" __global__ void bfs_block(const int *row, const int *col, int *dist) {
  __shared__ int q[2][64], n[2];
  int t = threadIdx.x, cur = 0;
  if (t == 0) { q[0][0] = 0; n[0] = 1; n[1] = 0; }
  __syncthreads();
  for (int level = 1; n[cur] > 0; ++level) {
    int m = n[cur];
    for (int i = t; i < m; i += 64) {
      int u = q[cur][i];
      for (int e = row[u]; e < row[u + 1]; ++e) {
        int v = col[e];
        if (atomicCAS(&dist[v], -1, level) == -1) q[cur ^ 1][atomicAdd(&n[cur ^ 1], 1)] = v;
      }
    }
    __syncthreads();
    if (t == 0) n[cur] = 0;
    cur ^= 1;
    __syncthreads();
  }
}

// seqlock with fences, values read by relaxed loads
// kernel seqlock_ok grid 3 block 32
// inout seq uint32 = [0] -> [16]
// inout d int32 = [0, 0] -> [8, 8]
// inout torn int32 = [0] -> [0]
extern "C" __global__ void seqlock_ok(unsigned *seq, int *d, int *torn) {
  if (threadIdx.x) return;
  dev<unsigned> s(*seq);
  if (blockIdx.x == 0) {
    for (int i = 1; i <= 8; ++i) {
      unsigned k = s.load(cuda::memory_order_relaxed);
      s.store(k + 1, cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      dev<int>(d[0]).store(i, cuda::memory_order_relaxed);
      dev<int>(d[1]).store(i, cuda::memory_order_relaxed);
      s.store(k + 2, cuda::memory_order_release);
    }
  } else {
    int a, b; unsigned before, after;
    do {
      before = s.load(cuda::memory_order_acquire);
      a = dev<int>(d[0]).load(cuda::memory_order_relaxed);
      b = dev<int>(d[1]).load(cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
      after = s.load(cuda::memory_order_relaxed);
    } while (before != after || (before & 1));
    if (a != b) atomicAdd(torn, 1);
  }
}

// kernel seqlock_plain_data grid 3 block 32
// inout seq uint32 = [0] -> _
// inout d int32 = [0, 0] -> _
// inout torn int32 = [0] -> _
extern "C" __global__ void seqlock_plain_data(unsigned *seq, int *d, int *torn) {
  if (threadIdx.x) return;
  dev<unsigned> s(*seq);
  if (blockIdx.x == 0) {
    for (int i = 1; i <= 8; ++i) {
      unsigned k = s.load(cuda::memory_order_relaxed);
      s.store(k + 1, cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      d[0] = i;  // <- race
      d[1] = i;  // <- race
      s.store(k + 2, cuda::memory_order_release);
    }
  } else {
    int a, b; unsigned before, after;
    do {
      before = s.load(cuda::memory_order_acquire);
      a = d[0];  // <- race
      b = d[1];  // <- race
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
      after = s.load(cuda::memory_order_relaxed);
    } while (before != after || (before & 1));
    if (a != b) atomicAdd(torn, 1);
  }
}

// a deque whose owner takes while another one steals: each must have read or written one end before it reads the other
__device__ Deque deques[4];
// kernel deque_of_two grid 2 block 1
// inout done int32 = np.zeros(2) -> _
extern "C" __global__ void deque_of_two(int *done) {
  if (blockIdx.x == 0) {
    for (int i = 0; i < 2; ++i) dq_push(&deques[0], i);
    for (int v; (v = dq_pop(&deques[0])) >= 0;) atomicAdd(&done[v], 1);
  } else {
    #pragma unroll 1
    for (int i = 0, v; i < 2; ++i) if ((v = dq_steal(&deques[0])) >= 0) atomicAdd(&done[v], 1);
  }
}

// kernel deque_pop_unfenced grid 2 block 1
// inout done int32 = np.zeros(2) -> _
__device__ int dq_pop_unfenced(Deque *d) {
  int b = dev<int>(d->bottom).load(cuda::memory_order_relaxed) - 1;
  dev<int>(d->bottom).store(b, cuda::memory_order_relaxed);  // <- race
  int t = dev<int>(d->top).load(cuda::memory_order_relaxed), v = -1;
  if (t <= b) {
    v = dev<int>(d->task[b % 64]).load(cuda::memory_order_relaxed);
    if (t == b) {
      if (!dev<int>(d->top).compare_exchange_strong(t, t + 1, cuda::memory_order_seq_cst, cuda::memory_order_relaxed)) v = -1;
      dev<int>(d->bottom).store(b + 1, cuda::memory_order_relaxed);
    }
  } else dev<int>(d->bottom).store(b + 1, cuda::memory_order_relaxed);
  return v;
}
extern "C" __global__ void deque_pop_unfenced(int *done) {
  if (blockIdx.x == 0) {
    for (int i = 0; i < 2; ++i) dq_push(&deques[1], i);
    for (int v; (v = dq_pop_unfenced(&deques[1])) >= 0;) atomicAdd(&done[v], 1);
  } else {
    #pragma unroll 1
    for (int i = 0, v; i < 2; ++i) if ((v = dq_steal(&deques[1])) >= 0) atomicAdd(&done[v], 1);
  }
}

// kernel deque_steal_unfenced grid 2 block 1
// inout done int32 = np.zeros(2) -> _
// hints Put `__threadfence();` before the read in line a<
__device__ int dq_steal_unfenced(Deque *d) {
  int t = dev<int>(d->top).load(cuda::memory_order_acquire);
  int b = dev<int>(d->bottom).load(cuda::memory_order_acquire);  // <a <- race
  if (t >= b) return -1;
  int v = dev<int>(d->task[t % 64]).load(cuda::memory_order_relaxed);
  return dev<int>(d->top).compare_exchange_strong(t, t + 1, cuda::memory_order_seq_cst, cuda::memory_order_relaxed) ? v : -1;
}
extern "C" __global__ void deque_steal_unfenced(int *done) {
  if (blockIdx.x == 0) {
    for (int i = 0; i < 2; ++i) dq_push(&deques[2], i);
    for (int v; (v = dq_pop(&deques[2])) >= 0;) atomicAdd(&done[v], 1);
  } else {
    #pragma unroll 1
    for (int i = 0, v; i < 2; ++i) if ((v = dq_steal_unfenced(&deques[2])) >= 0) atomicAdd(&done[v], 1);
  }
}

// kernel deque_steal_too_weak grid 2 block 1
// inout done int32 = np.zeros(2) -> _
// hints Put `__threadfence();` before the read in line a<
__device__ int dq_steal_too_weak(Deque *d) {
  int t = dev<int>(d->top).load(cuda::memory_order_acquire);
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
  int b = dev<int>(d->bottom).load(cuda::memory_order_acquire);  // <a <- race
  if (t >= b) return -1;
  int v = dev<int>(d->task[t % 64]).load(cuda::memory_order_relaxed);
  return dev<int>(d->top).compare_exchange_strong(t, t + 1, cuda::memory_order_seq_cst, cuda::memory_order_relaxed) ? v : -1;
}
extern "C" __global__ void deque_steal_too_weak(int *done) {
  if (blockIdx.x == 0) {
    for (int i = 0; i < 2; ++i) dq_push(&deques[3], i);
    for (int v; (v = dq_pop(&deques[3])) >= 0;) atomicAdd(&done[v], 1);
  } else {
    #pragma unroll 1
    for (int i = 0, v; i < 2; ++i) if ((v = dq_steal_too_weak(&deques[3])) >= 0) atomicAdd(&done[v], 1);
  }
}
