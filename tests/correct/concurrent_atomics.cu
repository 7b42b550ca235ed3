// Locks and queues by cuda::atomic_ref.

#include <cuda/atomic>

// kernel bounded_queue grid 4 block 32
// inout seq uint32 = np.arange(4) -> _
// inout data int32 = np.zeros(4) -> _
// inout ends uint32 = np.zeros(2) -> [16, 16]
// inout total int32 = [0] -> [120]
namespace bounded_queue_ {
using A = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__device__ bool push(unsigned *seq, int *data, unsigned *ends, int v) {
  A tail(ends[0]);
  unsigned pos = tail.load(cuda::memory_order_relaxed);
  for (;;) {
    A s(seq[pos & 3]);
    unsigned q = s.load(cuda::memory_order_acquire);
    int d = (int)(q - pos);
    if (d == 0) {
      if (tail.compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) {
        data[pos & 3] = v;
        s.store(pos + 1, cuda::memory_order_release);
        return true;
      }
    } else if (d < 0) return false;
    else pos = tail.load(cuda::memory_order_relaxed);
  }
}
__device__ bool pop(unsigned *seq, int *data, unsigned *ends, int *v) {
  A head(ends[1]);
  unsigned pos = head.load(cuda::memory_order_relaxed);
  for (;;) {
    A s(seq[pos & 3]);
    unsigned q = s.load(cuda::memory_order_acquire);
    int d = (int)(q - (pos + 1));
    if (d == 0) {
      if (head.compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) {
        *v = data[pos & 3];
        s.store(pos + 4, cuda::memory_order_release);
        return true;
      }
    } else if (d < 0) return false;
    else pos = head.load(cuda::memory_order_relaxed);
  }
}
extern "C" __global__ void bounded_queue(unsigned *seq, int *data, unsigned *ends, int *total) {
  if (threadIdx.x) return;
  if (blockIdx.x < 2) {
    for (int k = 0; k < 8; ++k) while (!push(seq, data, ends, blockIdx.x * 8 + k)) {}
  } else {
    for (int k = 0; k < 8; ++k) {
      int v;
      while (!pop(seq, data, ends, &v)) {}
      atomicAdd(total, v);
    }
  }
}
}

// kernel bounded_queue_pushes_relaxed grid 4 block 32
// inout seq uint32 = np.arange(4) -> _
// inout data int32 = np.zeros(4) -> _
// inout ends uint32 = np.zeros(2) -> [16, 16]
// inout total int32 = [0] -> [120]
namespace bounded_queue_pushes_relaxed_ {
using A = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__device__ bool push(unsigned *seq, int *data, unsigned *ends, int v) {
  A tail(ends[0]);
  unsigned pos = tail.load(cuda::memory_order_relaxed);
  for (;;) {
    A s(seq[pos & 3]);
    unsigned q = s.load(cuda::memory_order_acquire);
    int d = (int)(q - pos);
    if (d == 0) {
      if (tail.compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) {
        data[pos & 3] = v;  // <- race
        s.store(pos + 1, cuda::memory_order_relaxed);
        return true;
      }
    } else if (d < 0) return false;
    else pos = tail.load(cuda::memory_order_relaxed);
  }
}
__device__ bool pop(unsigned *seq, int *data, unsigned *ends, int *v) {
  A head(ends[1]);
  unsigned pos = head.load(cuda::memory_order_relaxed);
  for (;;) {
    A s(seq[pos & 3]);
    unsigned q = s.load(cuda::memory_order_acquire);
    int d = (int)(q - (pos + 1));
    if (d == 0) {
      if (head.compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) {
        *v = data[pos & 3];  // <- race
        s.store(pos + 4, cuda::memory_order_release);
        return true;
      }
    } else if (d < 0) return false;
    else pos = head.load(cuda::memory_order_relaxed);
  }
}
extern "C" __global__ void bounded_queue_pushes_relaxed(unsigned *seq, int *data, unsigned *ends, int *total) {
  if (threadIdx.x) return;
  if (blockIdx.x < 2) {
    for (int k = 0; k < 8; ++k) while (!push(seq, data, ends, blockIdx.x * 8 + k)) {}
  } else {
    for (int k = 0; k < 8; ++k) {
      int v;
      while (!pop(seq, data, ends, &v)) {}
      atomicAdd(total, v);
    }
  }
}
}

// kernel bounded_queue_pops_relaxed grid 4 block 32
// inout seq uint32 = np.arange(4) -> _
// inout data int32 = np.zeros(4) -> _
// inout ends uint32 = np.zeros(2) -> [16, 16]
// inout total int32 = [0] -> [120]
namespace bounded_queue_pops_relaxed_ {
using A = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__device__ bool push(unsigned *seq, int *data, unsigned *ends, int v) {
  A tail(ends[0]);
  unsigned pos = tail.load(cuda::memory_order_relaxed);
  for (;;) {
    A s(seq[pos & 3]);
    unsigned q = s.load(cuda::memory_order_acquire);
    int d = (int)(q - pos);
    if (d == 0) {
      if (tail.compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) {
        data[pos & 3] = v;  // <- race
        s.store(pos + 1, cuda::memory_order_release);
        return true;
      }
    } else if (d < 0) return false;
    else pos = tail.load(cuda::memory_order_relaxed);
  }
}
__device__ bool pop(unsigned *seq, int *data, unsigned *ends, int *v) {
  A head(ends[1]);
  unsigned pos = head.load(cuda::memory_order_relaxed);
  for (;;) {
    A s(seq[pos & 3]);
    unsigned q = s.load(cuda::memory_order_relaxed);
    int d = (int)(q - (pos + 1));
    if (d == 0) {
      if (head.compare_exchange_weak(pos, pos + 1, cuda::memory_order_relaxed)) {
        *v = data[pos & 3];  // <- race
        s.store(pos + 4, cuda::memory_order_release);
        return true;
      }
    } else if (d < 0) return false;
    else pos = head.load(cuda::memory_order_relaxed);
  }
}
extern "C" __global__ void bounded_queue_pops_relaxed(unsigned *seq, int *data, unsigned *ends, int *total) {
  if (threadIdx.x) return;
  if (blockIdx.x < 2) {
    for (int k = 0; k < 8; ++k) while (!push(seq, data, ends, blockIdx.x * 8 + k)) {}
  } else {
    for (int k = 0; k < 8; ++k) {
      int v;
      while (!pop(seq, data, ends, &v)) {}
      atomicAdd(total, v);
    }
  }
}
}

// kernel mcs_lock grid 4 block 32
// inout tail int32 = [-1] -> [-1]
// inout next int32 = np.full(4, -1) -> _
// inout wait int32 = np.zeros(4) -> _
// inout sum int32 = [0] -> [12]
namespace mcs_lock_ {
using I = cuda::atomic_ref<int, cuda::thread_scope_device>;
extern "C" __global__ void mcs_lock(int *tail, int *next, int *wait, int *sum) {
  if (threadIdx.x) return;
  int me = blockIdx.x;
  for (int k = 0; k < 3; ++k) {
    I(next[me]).store(-1, cuda::memory_order_relaxed);
    I(wait[me]).store(1, cuda::memory_order_relaxed);
    int before = I(*tail).exchange(me, cuda::memory_order_acq_rel);
    if (before >= 0) {
      I(next[before]).store(me, cuda::memory_order_release);
      while (I(wait[me]).load(cuda::memory_order_acquire)) {}
    }
    *sum += 1;
    int n = I(next[me]).load(cuda::memory_order_acquire);
    if (n < 0) {
      int expected = me;
      if (I(*tail).compare_exchange_strong(expected, -1, cuda::memory_order_release, cuda::memory_order_relaxed)) continue;
      while ((n = I(next[me]).load(cuda::memory_order_acquire)) < 0) {}
    }
    I(wait[n]).store(0, cuda::memory_order_release);
  }
}
}

// kernel mcs_enqueues_relaxed grid 4 block 32
// inout tail int32 = [-1] -> [-1]
// inout next int32 = np.full(4, -1) -> _
// inout wait int32 = np.zeros(4) -> _
// inout sum int32 = [0] -> [12]
namespace mcs_enqueues_relaxed_ {
using I = cuda::atomic_ref<int, cuda::thread_scope_device>;
extern "C" __global__ void mcs_enqueues_relaxed(int *tail, int *next, int *wait, int *sum) {
  if (threadIdx.x) return;
  int me = blockIdx.x;
  for (int k = 0; k < 3; ++k) {
    I(next[me]).store(-1, cuda::memory_order_relaxed);
    I(wait[me]).store(1, cuda::memory_order_relaxed);
    int before = I(*tail).exchange(me, cuda::memory_order_relaxed);
    if (before >= 0) {
      I(next[before]).store(me, cuda::memory_order_release);
      while (I(wait[me]).load(cuda::memory_order_acquire)) {}
    }
    *sum += 1;  // <- race
    int n = I(next[me]).load(cuda::memory_order_acquire);
    if (n < 0) {
      int expected = me;
      if (I(*tail).compare_exchange_strong(expected, -1, cuda::memory_order_release, cuda::memory_order_relaxed)) continue;
      while ((n = I(next[me]).load(cuda::memory_order_acquire)) < 0) {}
    }
    I(wait[n]).store(0, cuda::memory_order_release);
  }
}
}

// kernel mcs_waits_relaxed grid 4 block 32
// inout tail int32 = [-1] -> [-1]
// inout next int32 = np.full(4, -1) -> _
// inout wait int32 = np.zeros(4) -> _
// inout sum int32 = [0] -> [12]
namespace mcs_waits_relaxed_ {
using I = cuda::atomic_ref<int, cuda::thread_scope_device>;
extern "C" __global__ void mcs_waits_relaxed(int *tail, int *next, int *wait, int *sum) {
  if (threadIdx.x) return;
  int me = blockIdx.x;
  for (int k = 0; k < 3; ++k) {
    I(next[me]).store(-1, cuda::memory_order_relaxed);
    I(wait[me]).store(1, cuda::memory_order_relaxed);
    int before = I(*tail).exchange(me, cuda::memory_order_acq_rel);
    if (before >= 0) {
      I(next[before]).store(me, cuda::memory_order_release);
      while (I(wait[me]).load(cuda::memory_order_relaxed)) {}
    }
    *sum += 1;  // <- race
    int n = I(next[me]).load(cuda::memory_order_acquire);
    if (n < 0) {
      int expected = me;
      if (I(*tail).compare_exchange_strong(expected, -1, cuda::memory_order_release, cuda::memory_order_relaxed)) continue;
      while ((n = I(next[me]).load(cuda::memory_order_acquire)) < 0) {}
    }
    I(wait[n]).store(0, cuda::memory_order_release);
  }
}
}

// kernel mcs_passes_on_relaxed grid 4 block 32
// inout tail int32 = [-1] -> [-1]
// inout next int32 = np.full(4, -1) -> _
// inout wait int32 = np.zeros(4) -> _
// inout sum int32 = [0] -> [12]
namespace mcs_passes_on_relaxed_ {
using I = cuda::atomic_ref<int, cuda::thread_scope_device>;
extern "C" __global__ void mcs_passes_on_relaxed(int *tail, int *next, int *wait, int *sum) {
  if (threadIdx.x) return;
  int me = blockIdx.x;
  for (int k = 0; k < 3; ++k) {
    I(next[me]).store(-1, cuda::memory_order_relaxed);
    I(wait[me]).store(1, cuda::memory_order_relaxed);
    int before = I(*tail).exchange(me, cuda::memory_order_acq_rel);
    if (before >= 0) {
      I(next[before]).store(me, cuda::memory_order_release);
      while (I(wait[me]).load(cuda::memory_order_acquire)) {}
    }
    *sum += 1;  // <- race
    int n = I(next[me]).load(cuda::memory_order_acquire);
    if (n < 0) {
      int expected = me;
      if (I(*tail).compare_exchange_strong(expected, -1, cuda::memory_order_release, cuda::memory_order_relaxed)) continue;
      while ((n = I(next[me]).load(cuda::memory_order_acquire)) < 0) {}
    }
    I(wait[n]).store(0, cuda::memory_order_relaxed);
  }
}
}

// kernel seqlock grid 3 block 32
// inout seq uint32 = [0] -> [10]
// inout d int32 = np.zeros(3) -> [5, 5, 5]
// inout bad int32 = [0] -> [0]
namespace seqlock_ {
using U = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
using I = cuda::atomic_ref<int, cuda::thread_scope_device>;
struct V { int x, y, z; };
__device__ V read(unsigned *seq, int *d) {
  V v;
  for (;;) {
    unsigned a = U(*seq).load(cuda::memory_order_acquire);
    v.x = I(d[0]).load(cuda::memory_order_relaxed);
    v.y = I(d[1]).load(cuda::memory_order_relaxed);
    v.z = I(d[2]).load(cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    if (U(*seq).load(cuda::memory_order_relaxed) == a && !(a & 1)) return v;
  }
}
extern "C" __global__ void seqlock(unsigned *seq, int *d, int *bad) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int k = 1; k <= 5; ++k) {
      unsigned a = U(*seq).load(cuda::memory_order_relaxed);
      U(*seq).store(a + 1, cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      for (int j = 0; j < 3; ++j) I(d[j]).store(k, cuda::memory_order_relaxed);
      U(*seq).store(a + 2, cuda::memory_order_release);
    }
  } else {
    for (int k = 0; k < 4; ++k) {
      V v = read(seq, d);
      if (v.x != v.y || v.y != v.z) atomicAdd(bad, 1);
    }
  }
}
}

// kernel seqlock_no_second_fence grid 3 block 32
// inout seq uint32 = [0] -> [10]
// inout d int32 = np.zeros(3) -> [5, 5, 5]
// inout bad int32 = [0] -> [0]
namespace seqlock_no_second_fence_ {
using U = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
using I = cuda::atomic_ref<int, cuda::thread_scope_device>;
struct V { int x, y, z; };
__device__ V read(unsigned *seq, int *d) {
  V v;
  for (;;) {
    unsigned a = U(*seq).load(cuda::memory_order_acquire);
    v.x = I(d[0]).load(cuda::memory_order_relaxed);  // <- race
    v.y = I(d[1]).load(cuda::memory_order_relaxed);
    v.z = I(d[2]).load(cuda::memory_order_relaxed);
    if (U(*seq).load(cuda::memory_order_relaxed) == a && !(a & 1)) return v;
  }
}
extern "C" __global__ void seqlock_no_second_fence(unsigned *seq, int *d, int *bad) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int k = 1; k <= 5; ++k) {
      unsigned a = U(*seq).load(cuda::memory_order_relaxed);
      U(*seq).store(a + 1, cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      for (int j = 0; j < 3; ++j) I(d[j]).store(k, cuda::memory_order_relaxed);
      U(*seq).store(a + 2, cuda::memory_order_release);
    }
  } else {
    for (int k = 0; k < 4; ++k) {
      V v = read(seq, d);
      if (v.x != v.y || v.y != v.z) atomicAdd(bad, 1);
    }
  }
}
}

// kernel seqlock_no_first_fence grid 3 block 32
// inout seq uint32 = [0] -> [10]
// inout d int32 = np.zeros(3) -> [5, 5, 5]
// inout bad int32 = [0] -> [0]
namespace seqlock_no_first_fence_ {
using U = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
using I = cuda::atomic_ref<int, cuda::thread_scope_device>;
struct V { int x, y, z; };
__device__ V read(unsigned *seq, int *d) {
  V v;
  for (;;) {
    unsigned a = U(*seq).load(cuda::memory_order_acquire);
    v.x = I(d[0]).load(cuda::memory_order_relaxed);
    v.y = I(d[1]).load(cuda::memory_order_relaxed);
    v.z = I(d[2]).load(cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    if (U(*seq).load(cuda::memory_order_relaxed) == a && !(a & 1)) return v;
  }
}
extern "C" __global__ void seqlock_no_first_fence(unsigned *seq, int *d, int *bad) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int k = 1; k <= 5; ++k) {
      unsigned a = U(*seq).load(cuda::memory_order_relaxed);
      U(*seq).store(a + 1, cuda::memory_order_relaxed);  // <- race
      for (int j = 0; j < 3; ++j) I(d[j]).store(k, cuda::memory_order_relaxed);
      U(*seq).store(a + 2, cuda::memory_order_release);
    }
  } else {
    for (int k = 0; k < 4; ++k) {
      V v = read(seq, d);
      if (v.x != v.y || v.y != v.z) atomicAdd(bad, 1);
    }
  }
}
}

// kernel sums_up_a_tree grid 2 block 32
// in x int32 = rng.integers(0, 99, 64)
// inout v int32 = np.zeros(127) -> _
// inout flag int32 = np.zeros(63) -> np.full(63, 2)
// out root int32 = [x.sum()]
extern "C" __global__ void sums_up_a_tree(const int *x, int *v, int *flag, int *root) {
  int n = 63 + blockIdx.x * 32 + threadIdx.x;
  v[n] = x[n - 63];
  while (n) {
    int up = (n - 1) / 2;
    cuda::atomic_ref<int, cuda::thread_scope_device> arrived(flag[up]);
    if (arrived.fetch_add(1, cuda::memory_order_acq_rel) == 0) return;
    v[up] = v[2 * up + 1] + v[2 * up + 2];
    n = up;
  }
  *root = v[0];
}

// kernel sums_up_a_tree_relaxed grid 2 block 32
// in x int32 = rng.integers(0, 99, 64)
// inout v int32 = np.zeros(127) -> _
// inout flag int32 = np.zeros(63) -> np.full(63, 2)
// out root int32 = [x.sum()]
extern "C" __global__ void sums_up_a_tree_relaxed(const int *x, int *v, int *flag, int *root) {
  int n = 63 + blockIdx.x * 32 + threadIdx.x;
  v[n] = x[n - 63];
  while (n) {
    int up = (n - 1) / 2;
    cuda::atomic_ref<int, cuda::thread_scope_device> arrived(flag[up]);
    if (arrived.fetch_add(1, cuda::memory_order_relaxed) == 0) return;
    v[up] = v[2 * up + 1] + v[2 * up + 2];  // <- race
    n = up;
  }
  *root = v[0];
}

// kernel hazard_pointers grid 3 block 32
// inout current int32 = [1] -> [2]
// inout used int32 = np.zeros(3) -> _
// inout object int32 = [0, 5, 5] -> _
// out y int32 = [0, 5, 5]
extern "C" __global__ void hazard_pointers(int *current, int *used, int *object, int *y) {
  using A = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    int old = A(*current).exchange(2, cuda::memory_order_acq_rel);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    for (int b = 1; b < 3; b++)
      while (A(used[b]).load(cuda::memory_order_acquire) == old) {
      }
    object[old] = -1;
    y[0] = 0;
  } else {
    int p;
    do {
      p = A(*current).load(cuda::memory_order_relaxed);
      A(used[blockIdx.x]).store(p, cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    } while (A(*current).load(cuda::memory_order_acquire) != p);
    y[blockIdx.x] = object[p];
    A(used[blockIdx.x]).store(0, cuda::memory_order_release);
  }
}

// kernel hazard_pointers_unfenced grid 3 block 32
// inout current int32 = [1] -> [2]
// inout used int32 = np.zeros(3) -> _
// inout object int32 = [0, 5, 5] -> _
// out y int32 = [0, 5, 5]
extern "C" __global__ void hazard_pointers_unfenced(int *current, int *used, int *object, int *y) {
  using A = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    int old = A(*current).exchange(2, cuda::memory_order_acq_rel);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    for (int b = 1; b < 3; b++)
      while (A(used[b]).load(cuda::memory_order_acquire) == old) {
      }
    object[old] = -1;
    y[0] = 0;
  } else {
    int p;
    do {
      p = A(*current).load(cuda::memory_order_relaxed);
      A(used[blockIdx.x]).store(p, cuda::memory_order_relaxed);  // <- race
    } while (A(*current).load(cuda::memory_order_acquire) != p);
    y[blockIdx.x] = object[p];
    A(used[blockIdx.x]).store(0, cuda::memory_order_release);
  }
}
