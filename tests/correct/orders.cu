// Blocks and warps run in any order: code that relies on the usual one, and right twins.
#include <cuda/atomic>

typedef unsigned long long u64;

// kernel chained_scan grid 6 block 64
// in x int32 = np.arange(384) % 7
// out y int32 = np.cumsum(x)
// inout st uint64 = np.zeros(6) -> _
extern "C" __global__ void chained_scan(const int *x, int *y, u64 *st) {
  __shared__ int s[64];
  __shared__ int prefix;
  int b = blockIdx.x, i = b * 64 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    int total = 0, run = 0;
    for (int k = 0; k < 64; ++k) s[k] = total += s[k];
    if (b > 0) {
      u64 w;
      do w = atomicAdd(&st[b - 1], 0ull); while (w >> 32 == 0);
      run = (int)(unsigned)w;
    }
    atomicExch(&st[b], 1ull << 32 | (unsigned)(run + total));
    prefix = run;
  }
  __syncthreads();
  y[i] = s[threadIdx.x] + prefix;
}

// The status of the block before is read once, ready or not.
// kernel chained_scan_no_wait grid 6 block 64 orders wrong
// in x int32 = np.arange(384) % 7
// out y int32 = np.cumsum(x)
// inout st uint64 = np.zeros(6) -> _
extern "C" __global__ void chained_scan_no_wait(const int *x, int *y, u64 *st) {
  __shared__ int s[64];
  __shared__ int prefix;
  int b = blockIdx.x, i = b * 64 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    int total = 0, run = 0;
    for (int k = 0; k < 64; ++k) s[k] = total += s[k];
    if (b > 0) run = (int)(unsigned)atomicAdd(&st[b - 1], 0ull);
    atomicExch(&st[b], 1ull << 32 | (unsigned)(run + total));
    prefix = run;
  }
  __syncthreads();
  y[i] = s[threadIdx.x] + prefix;
}

// kernel look_back grid 6 block 64
// in x int32 = np.arange(384) % 7
// out y int32 = np.cumsum(x)
// inout st uint64 = np.zeros(6) -> _
// inout next uint32 = [0] -> [6]
extern "C" __global__ void look_back(const int *x, int *y, u64 *st, unsigned *next) {
  __shared__ int s[64], prefix;
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
  __syncthreads();
  unsigned t = tile;
  int i = t * 64 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  if (threadIdx.x == 63) {
    int total = 0, run = 0;
    for (int k = 0; k < 64; ++k) s[k] = total += s[k];
    atomicExch(&st[t], (t ? 1ull : 2ull) << 32 | (unsigned)total);
    for (int p = (int)t - 1; p >= 0;) {
      u64 w = *(volatile u64 *)&st[p];
      if (w >> 32 == 0) continue;
      run += (int)(unsigned)w;
      if (w >> 32 == 2) break;
      --p;
    }
    atomicExch(&st[t], 2ull << 32 | (unsigned)(run + total));
    prefix = run;
  }
  __syncthreads();
  y[i] = s[threadIdx.x] + prefix;
}

// kernel look_back_no_wait grid 6 block 64 orders wrong
// in x int32 = np.arange(384) % 7
// out y int32 = np.cumsum(x)
// inout st uint64 = np.zeros(6) -> _
// inout next uint32 = [0] -> [6]
extern "C" __global__ void look_back_no_wait(const int *x, int *y, u64 *st, unsigned *next) {
  __shared__ int s[64], prefix;
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
  __syncthreads();
  unsigned t = tile;
  int i = t * 64 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  if (threadIdx.x == 63) {
    int total = 0, run = 0;
    for (int k = 0; k < 64; ++k) s[k] = total += s[k];
    atomicExch(&st[t], (t ? 1ull : 2ull) << 32 | (unsigned)total);
    for (int p = (int)t - 1; p >= 0;) {
      u64 w = *(volatile u64 *)&st[p];
      run += (int)(unsigned)w;
      if (w >> 32 == 2) break;
      --p;
    }
    atomicExch(&st[t], 2ull << 32 | (unsigned)(run + total));
    prefix = run;
  }
  __syncthreads();
  y[i] = s[threadIdx.x] + prefix;
}

// kernel last_block_by_ticket grid 4 block 32
// in x int32 = np.arange(128)
// inout acc int32 = [0, 0] -> _
// out y int32 = [x.sum()]
extern "C" __global__ void last_block_by_ticket(const int *x, int *acc, int *y) {
  atomicAdd(&acc[0], x[blockIdx.x * 32 + threadIdx.x]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&acc[1], 1) == gridDim.x - 1) *y = atomicAdd(&acc[0], 0);
}

// kernel last_block_by_number grid 4 block 32 orders wrong
// in x int32 = np.arange(128)
// inout acc int32 = [0, 0] -> _
// out y int32 = [x.sum()]
extern "C" __global__ void last_block_by_number(const int *x, int *acc, int *y) {
  atomicAdd(&acc[0], x[blockIdx.x * 32 + threadIdx.x]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) *y = atomicAdd(&acc[0], 0);
}

// Slots that atomics draw: their order is not determined, what is in them is.
// kernel compacted grid 4 block 64
// in x int32 = np.arange(256) % 5
// inout ends int32 = [0, 0] -> [102, 154]
// inout y int32 = np.zeros(256) -> _
extern "C" __global__ void compacted(const int *x, int *ends, int *y) {
  int v = x[blockIdx.x * 64 + threadIdx.x];
  if (v > 2) y[atomicAdd(&ends[0], 1)] = v;
  else y[255 - atomicAdd(&ends[1], 1)] = v;
}

// kernel first_to_find grid 4 block 32
// in x int32 = np.where(np.arange(128) % 50 == 49, 7, 0)
// inout found int32 = [-1, 0] -> _
// out y int32 = [1]
extern "C" __global__ void first_to_find(const int *x, int *found, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (x[i] == 7 && atomicCAS(&found[0], -1, i) == -1) { atomicAdd(&found[1], 1); *y = 1; }
}

// A place is looked at twice, and another thread changes it between: what was tested is not what is used.
// kernel tested_then_taken grid 2 block 1 orders wrong
// inout slot int32 = np.array([3]) -> np.array([-1])
// inout sum int32 = np.zeros(1) -> np.array([3])
extern "C" __global__ void tested_then_taken(int *slot, int *sum) {
    volatile int *s = slot;
    if (*s != -1) {
        int v = *s;
        if (atomicCAS(slot, v, -1) == v) atomicAdd(sum, v);
    }
}

// kernel taken_as_tested grid 2 block 1
// inout slot int32 = np.array([3]) -> np.array([-1])
// inout sum int32 = np.zeros(1) -> np.array([3])
extern "C" __global__ void taken_as_tested(int *slot, int *sum) {
    volatile int *s = slot;
    int v = *s;
    if (v != -1 && atomicCAS(slot, v, -1) == v) atomicAdd(sum, v);
}

// A key that another thread inserts between the two looks is passed by, and comes a second time.
// kernel inserts_again grid 2 block 64 orders wrong
// in key int32 = rng.integers(0, 20, 128)
// inout table int32 = np.full(64, -1) -> _
// inout distinct int32 = np.zeros(1) -> np.array([len(set(key.tolist()))])
extern "C" __global__ void inserts_again(const int *key, int *table, int *distinct) {
    volatile int *t = table;
    int k = key[blockIdx.x * blockDim.x + threadIdx.x];
    for (int h = k * 7 % 64;; h = (h + 1) % 64) {
        if (t[h] == k) return;
        if (t[h] == -1) {
            int old = atomicCAS(&table[h], -1, k);
            if (old == -1) atomicAdd(distinct, 1);
            if (old == -1 || old == k) return;
        }
    }
}

// kernel inserts_once grid 2 block 64
// in key int32 = rng.integers(0, 20, 128)
// inout table int32 = np.full(64, -1) -> _
// inout distinct int32 = np.zeros(1) -> np.array([len(set(key.tolist()))])
extern "C" __global__ void inserts_once(const int *key, int *table, int *distinct) {
    volatile int *t = table;
    int k = key[blockIdx.x * blockDim.x + threadIdx.x];
    for (int h = k * 7 % 64;; h = (h + 1) % 64) {
        int now = t[h];
        if (now == -1) {
            now = atomicCAS(&table[h], -1, k);
            if (now == -1) atomicAdd(distinct, 1);
        }
        if (now == -1 || now == k) return;
    }
}

// kernel index_of_the_second_look grid 2 block 1
// inout slot int32 = np.array([3]) -> _
// inout hist int32 = np.zeros(8) -> _
extern "C" __global__ void index_of_the_second_look(int *slot, int *hist) {
    if (blockIdx.x) atomicExch(slot, -1000000);
    else if (atomicAdd(slot, 0) >= 0) atomicAdd(&hist[atomicAdd(slot, 0)], 1);  // <- invalid-access
}

// kernel index_of_the_only_look grid 2 block 1
// inout slot int32 = np.array([3]) -> _
// inout hist int32 = np.zeros(8) -> _
extern "C" __global__ void index_of_the_only_look(int *slot, int *hist) {
    if (blockIdx.x) { atomicExch(slot, -1000000); return; }
    int k = atomicAdd(slot, 0);
    if (k >= 0) atomicAdd(&hist[k], 1);
}

// A reader announces itself, and a writer waits for readers before it reuses what they may read: wrong where the reader
// knows before what it will read.
// kernel known_before_announced grid 2 block 1 orders wrong
// inout current int32 = np.zeros(1) -> np.ones(1)
// inout readers int32 = np.zeros(1) -> np.zeros(1)
// inout data int32 = np.array([7, 9]) -> np.array([-1, 9])
// out out int32 = np.array([7])
extern "C" __global__ void known_before_announced(int *current, int *readers, int *data, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> c(*current), n(*readers);
    if (blockIdx.x == 0) {
        int k = c.load();
        n.fetch_add(1);
        out[0] = cuda::atomic_ref<int, cuda::thread_scope_device>(data[k]).load(cuda::memory_order_relaxed) > 0 ? 7 : -5;
        n.fetch_sub(1);
    } else {
        c.store(1);
        while (n.load() != 0) {}
        cuda::atomic_ref<int, cuda::thread_scope_device>(data[0]).store(-1, cuda::memory_order_relaxed);
    }
}

// kernel plain_data_known_before_announced grid 2 block 1
// inout current int32 = np.zeros(1) -> np.ones(1)
// inout readers int32 = np.zeros(1) -> np.zeros(1)
// inout data int32 = np.array([7, 9]) -> np.array([-1, 9])
// out out int32 = np.array([7])
extern "C" __global__ void plain_data_known_before_announced(int *current, int *readers, int *data, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> c(*current), n(*readers);
    if (blockIdx.x == 0) {
        int k = c.load();
        n.fetch_add(1);
        out[0] = data[k] > 0 ? 7 : -5;  // <- race
        n.fetch_sub(1);
    } else {
        c.store(1);
        while (n.load() != 0) {}
        data[0] = -1;
    }
}

// kernel announced_before_known grid 2 block 1
// inout current int32 = np.zeros(1) -> np.ones(1)
// inout readers int32 = np.zeros(1) -> np.zeros(1)
// inout data int32 = np.array([7, 9]) -> np.array([-1, 9])
// out out int32 = np.array([7])
extern "C" __global__ void announced_before_known(int *current, int *readers, int *data, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> c(*current), n(*readers);
    if (blockIdx.x == 0) {
        n.fetch_add(1);
        int k = c.load();
        out[0] = data[k] > 0 ? 7 : -5;
        n.fetch_sub(1);
    } else {
        c.store(1);
        while (n.load() != 0) {}
        data[0] = -1;
    }
}

// kernel several_versions_known_before grid 4 block 1 orders wrong
// inout current int32 = np.zeros(1) -> _
// inout readers int32 = np.zeros(1) -> np.zeros(1)
// inout data int32 = np.full(8, 5) -> _
// out out int32 = np.ones(4)
__device__ void reuse_versions(int *current, int *readers, int *data) {
    for (int v = 1; v < 8; v++) {
        data[v] = v;
        __threadfence();
        *(volatile int *)current = v;
        __threadfence();
        while (atomicAdd(readers, 0)) {}
        __threadfence();
        ((volatile int *)data)[v - 1] = -1;
    }
}
extern "C" __global__ void several_versions_known_before(int *current, int *readers, int *data, int *out) {
    int ok = 1;
    if (blockIdx.x == 0) reuse_versions(current, readers, data);
    else for (int k = 0; k < 4; k++) {
        int v = *(volatile int *)current;
        atomicAdd(readers, 1);
        __threadfence();
        if (((volatile int *)data)[v] < 0) ok = 0;
        __threadfence();
        atomicSub(readers, 1);
    }
    out[blockIdx.x] = ok;
}

// kernel several_versions_known_then grid 4 block 1
// inout current int32 = np.zeros(1) -> _
// inout readers int32 = np.zeros(1) -> np.zeros(1)
// inout data int32 = np.full(8, 5) -> _
// out out int32 = np.ones(4)
extern "C" __global__ void several_versions_known_then(int *current, int *readers, int *data, int *out) {
    int ok = 1;
    if (blockIdx.x == 0) reuse_versions(current, readers, data);
    else for (int k = 0; k < 4; k++) {
        atomicAdd(readers, 1);
        __threadfence();
        int v = *(volatile int *)current;
        __threadfence();
        if (((volatile int *)data)[v] < 0) ok = 0;
        __threadfence();
        atomicSub(readers, 1);
    }
    out[blockIdx.x] = ok;
}

// Wrong: the writer may look at the readers before they know of the new version.
// kernel several_versions_without_fence grid 4 block 1
// inout current int32 = np.zeros(1) -> _
// inout readers int32 = np.zeros(1) -> _
// inout data int32 = np.full(8, 5) -> _
// inout out int32 = np.ones(4) -> _
// hints Put `__threadfence();` before the atomic in line A<
extern "C" __global__ void several_versions_without_fence(int *current, int *readers, int *data, int *out) {
    int ok = 1;
    if (blockIdx.x == 0) {
        for (int v = 1; v < 8; v++) {
            data[v] = v;
            __threadfence();
            *(volatile int *)current = v;
            while (atomicAdd(readers, 0)) {}  // <A
            __threadfence();
            ((volatile int *)data)[v - 1] = -1;
        }
    } else for (int k = 0; k < 4; k++) {
        atomicAdd(readers, 1);
        __threadfence();
        int v = *(volatile int *)current;  // <- race
        __threadfence();
        if (((volatile int *)data)[v] < 0) ok = 0;
        __threadfence();
        atomicSub(readers, 1);
    }
    out[blockIdx.x] = ok;
}

// The reader says which version it reads, and has to look again whether the writer saw that in time.
// kernel announces_and_goes_on grid 4 block 1 orders wrong
// inout current int32 = np.zeros(1) -> _
// inout reads int32 = np.full(4, -1) -> np.full(4, -1)
// inout data int32 = np.full(8, 5) -> _
// out out int32 = np.ones(4)
__device__ void reuse_unread(int *current, int *reads, int *data) {
    for (int v = 1; v < 8; v++) {
        atomicExch(current, v);
        __threadfence();
        for (int k = 1; k < 4; k++) while (atomicAdd(&reads[k], 0) == v - 1) {}
        __threadfence();
        atomicExch(&data[v - 1], -1);
    }
}
extern "C" __global__ void announces_and_goes_on(int *current, int *reads, int *data, int *out) {
    int b = blockIdx.x, ok = 1;
    if (b == 0) reuse_unread(current, reads, data);
    else for (int r = 0; r < 3; r++) {
        int v = atomicAdd(current, 0);
        atomicExch(&reads[b], v);
        __threadfence();
        if (atomicAdd(&data[v], 0) < 0) ok = 0;
        __threadfence();
        atomicExch(&reads[b], -1);
    }
    out[b] = ok;
}

// kernel announces_and_looks_again grid 4 block 1
// inout current int32 = np.zeros(1) -> _
// inout reads int32 = np.full(4, -1) -> np.full(4, -1)
// inout data int32 = np.full(8, 5) -> _
// out out int32 = np.ones(4)
extern "C" __global__ void announces_and_looks_again(int *current, int *reads, int *data, int *out) {
    int b = blockIdx.x, ok = 1;
    if (b == 0) reuse_unread(current, reads, data);
    else for (int r = 0; r < 3; r++) {
        int v, now = atomicAdd(current, 0);
        do {
            v = now;
            atomicExch(&reads[b], v);
            __threadfence();
        } while ((now = atomicAdd(current, 0)) != v);
        if (atomicAdd(&data[v], 0) < 0) ok = 0;
        __threadfence();
        atomicExch(&reads[b], -1);
    }
    out[b] = ok;
}

// One place alone, whose second look is used.
// kernel looks_again grid 4 block 1 orders wrong
// inout s int32 = np.array([3]) -> _
// out out int32 = np.ones(4)
extern "C" __global__ void looks_again(int *s, int *out) {
    int ok = 1;
    if (blockIdx.x == 2) atomicExch(s, -1);
    else if (*(volatile int *)s >= 0) ok = *(volatile int *)s >= 0;
    out[blockIdx.x] = ok;
}

// kernel looks_once grid 4 block 1
// inout s int32 = np.array([3]) -> _
// out out int32 = np.ones(4)
extern "C" __global__ void looks_once(int *s, int *out) {
    int ok = 1;
    if (blockIdx.x == 2) atomicExch(s, -1);
    else if (int now = *(volatile int *)s; now >= 0) ok = now >= 0;
    out[blockIdx.x] = ok;
}

// Atomics whose values nobody uses: the block that comes last in the usual order has observed all others.
// kernel last_index_block_reads grid 4 block 32
// in x int32 = np.arange(128) % 7
// inout total int32 = [0] -> _
// out y int32 = [0] -> _
extern "C" __global__ void last_index_block_reads(const int *x, int *total, int *y) {
  int v = __reduce_add_sync(~0u, (unsigned)x[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x == 0) {
    atomicAdd(total, v);  // <- race
    if (blockIdx.x == gridDim.x - 1) *y = *total;  // <- race
  }
}

// kernel last_ticket_reads grid 4 block 32
// in x int32 = np.arange(128) % 7
// inout total int32 = [0] -> _
// inout tickets uint32 = [0] -> [4]
// out y int32 = [(np.arange(128) % 7).sum()]
extern "C" __global__ void last_ticket_reads(const int *x, int *total, unsigned *tickets, int *y) {
  int v = __reduce_add_sync(~0u, (unsigned)x[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x == 0) {
    atomicAdd(total, v);
    __threadfence();
    if (atomicAdd(tickets, 1) == gridDim.x - 1) {
      __threadfence();
      *y = *total;
    }
  }
}

// Wrong: a fence of the block's scope orders nothing for the last one, who may be of another block.
// kernel last_ticket_reads_too_early grid 4 block 32
// in x int32 = np.arange(128) % 7
// inout total int32 = [0] -> _
// inout tickets uint32 = [0] -> [4]
// inout y int32 = [0] -> _
extern "C" __global__ void last_ticket_reads_too_early(const int *x, int *total, unsigned *tickets, int *y) {
  int v = __reduce_add_sync(~0u, (unsigned)x[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x == 0) {
    atomicAdd(total, v);  // <- race
    __threadfence_block();
    if (atomicAdd(tickets, 1) == gridDim.x - 1) {
      __threadfence();
      *y = *total;  // <- race
    }
  }
}

// Wrong: so it is with an atomic that reads.
// kernel last_ticket_adds_zero_too_early grid 4 block 32
// in x int32 = np.arange(4) + 1
// inout total int32 = [0] -> _
// inout tickets uint32 = [0] -> [4]
// inout y int32 = [0] -> _
extern "C" __global__ void last_ticket_adds_zero_too_early(const int *x, int *total, unsigned *tickets, int *y) {
  if (threadIdx.x == 0) {
    atomicAdd(total, x[blockIdx.x]);  // <- race
    if (atomicAdd(tickets, 1) == gridDim.x - 1) {
      __threadfence();
      *y = atomicAdd(total, 0);
    }
  }
}

// kernel last_ticket_adds_zero grid 4 block 32
// in x int32 = np.arange(4) + 1
// inout total int32 = [0] -> [10]
// inout tickets uint32 = [0] -> [4]
// out y int32 = [10]
extern "C" __global__ void last_ticket_adds_zero(const int *x, int *total, unsigned *tickets, int *y) {
  if (threadIdx.x == 0) {
    atomicAdd(total, x[blockIdx.x]);
    __threadfence();
    if (atomicAdd(tickets, 1) == gridDim.x - 1) {
      __threadfence();
      *y = atomicAdd(total, 0);
    }
  }
}

// kernel histogram_read_in_warp grid 2 block 64
// in x int32 = np.arange(128) % 11
// inout h int32 = np.zeros(16) -> _
extern "C" __global__ void histogram_read_in_warp(const int *x, int *h) {
  __shared__ int s[16];
  int t = threadIdx.x;
  if (t < 16) s[t] = 0;
  __syncthreads();
  atomicAdd(&s[x[blockIdx.x * 64 + t]], 1);  // <- race
  __syncwarp();
  int u = 63 - t;
  if (u < 16) atomicAdd(h + u, s[u]);  // <- race
}

// kernel histogram_read_in_block grid 2 block 64
// in x int32 = np.arange(128) % 11
// inout h int32 = np.zeros(16) -> np.bincount(np.arange(128) % 11, minlength=16)
extern "C" __global__ void histogram_read_in_block(const int *x, int *h) {
  __shared__ int s[16];
  int t = threadIdx.x;
  if (t < 16) s[t] = 0;
  __syncthreads();
  atomicAdd(&s[x[blockIdx.x * 64 + t]], 1);
  __syncthreads();
  int u = 63 - t;
  if (u < 16) atomicAdd(h + u, s[u]);
}

// kernel counter_reset_by_a_block grid 3 block 1
// inout m int32 = [0] -> _
extern "C" __global__ void counter_reset_by_a_block(int *m) {
  atomicAdd(m, 1);  // <- race
  if (blockIdx.x == 2) *m = 0;  // <- race
}

// kernel counter_reset_by_the_last grid 3 block 1
// inout m int32 = [0] -> [0]
extern "C" __global__ void counter_reset_by_the_last(int *m) {
  if (atomicAdd(m, 1) == gridDim.x - 1) *m = 0;
}

// kernel count_read_by_the_last_lane grid 1 block 32
// out y int32 = [0] -> _
extern "C" __global__ void count_read_by_the_last_lane(int *y) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 0;
  __syncwarp();
  atomicAdd(&s, 1);  // <- race
  if (threadIdx.x == 31) *y = s;  // <- race
}

// kernel counts_read_in_their_warps grid 1 block 64
// out y int32 = np.full(64, 32)
extern "C" __global__ void counts_read_in_their_warps(int *y) {
  __shared__ int s[2];
  int t = threadIdx.x;
  if (t % 32 == 0) s[t / 32] = 0;
  __syncwarp();
  atomicAdd(&s[t / 32], 1);
  __syncwarp();
  y[t] = s[t / 32];
}

// Threads and blocks draw numbers in any order.
// kernel places_drawn_in_order grid 4 block 64 orders wrong
// inout count int32 = np.zeros(1) -> np.array([256])
// out y int32 = np.arange(256)
extern "C" __global__ void places_drawn_in_order(int *count, int *y) {
    y[atomicAdd(count, 1)] = blockIdx.x * 64 + threadIdx.x;
}

// kernel places_drawn_in_any_order grid 4 block 64
// inout count int32 = np.zeros(1) -> np.array([256])
// out y int32 = np.arange(256)
extern "C" __global__ void places_drawn_in_any_order(int *count, int *y) {
    int place = atomicAdd(count, 1);
    y[place] = place;
}

// kernel first_warp_to_swap grid 1 block 128 orders wrong
// out y int32 = np.zeros(1)
extern "C" __global__ void first_warp_to_swap(int *y) {
    __shared__ int owner;
    if (threadIdx.x == 0) owner = -1;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicCAS(&owner, -1, int(threadIdx.x));
    __syncthreads();
    if (threadIdx.x == 0) *y = owner;
}

// kernel least_warp_to_come grid 1 block 128
// out y int32 = np.zeros(1)
extern "C" __global__ void least_warp_to_come(int *y) {
    __shared__ int owner;
    if (threadIdx.x == 0) owner = 128;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicMin(&owner, int(threadIdx.x));
    __syncthreads();
    if (threadIdx.x == 0) *y = owner;
}

// kernel stored_by_the_last_block grid 4 block 32 orders wrong
// inout y int32 = np.zeros(1) -> np.array([3])
extern "C" __global__ void stored_by_the_last_block(volatile int *y) {
    if (threadIdx.x == 0) *y = blockIdx.x;
}

// kernel stored_by_all_blocks grid 4 block 32
// inout y int32 = np.zeros(1) -> np.array([4])
extern "C" __global__ void stored_by_all_blocks(volatile int *y) {
    if (threadIdx.x == 0) *y = gridDim.x;
}

// kernel added_before_it_is_limited grid 2 block 32 orders wrong
// inout y int32 = np.array([5]) -> np.array([8])
extern "C" __global__ void added_before_it_is_limited(int *y) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) atomicAdd(y, 6);
    else atomicMin(y, 8);
}

// kernel added_and_limited_apart grid 2 block 32
// inout y int32 = np.array([5, 9]) -> np.array([11, 8])
extern "C" __global__ void added_and_limited_apart(int *y) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) atomicAdd(&y[0], 6);
    else atomicMin(&y[1], 8);
}

// kernel two_numbers_taken_for_one grid 4 block 32 orders wrong
// inout count int32 = np.zeros(2) -> np.full(2, 4)
// out y int32 = np.zeros(4)
extern "C" __global__ void two_numbers_taken_for_one(int *count, int *y) {
    if (threadIdx.x) return;
    int place = atomicAdd(&count[0], 1);
    y[place] = atomicAdd(&count[1], 1) - place;
}

// kernel one_number_for_two grid 4 block 32
// inout count int32 = np.zeros(2) -> np.full(2, 4)
// out y int32 = np.zeros(4)
extern "C" __global__ void one_number_for_two(int *count, int *y) {
    if (threadIdx.x) return;
    int place = atomicAdd(&count[0], 1);
    y[place] = min(atomicAdd(&count[1], 1), 0);
}

// Threads that take more than there is put it back, and others find too little meanwhile.
// kernel taken_and_put_back grid 4 block 32 orders wrong
// inout taken int32 = np.zeros(1) -> np.array([3])
// inout sum int32 = np.zeros(1) -> np.array([3])
extern "C" __global__ void taken_and_put_back(int *taken, int *sum) {
    if (threadIdx.x) return;
    int wanted = blockIdx.x == 1 ? 2 : 1;
    if (atomicAdd(taken, wanted) + wanted <= 3) atomicAdd(sum, wanted);
    else atomicSub(taken, wanted);
}

// kernel taken_in_equal_parts grid 4 block 32
// inout taken int32 = np.zeros(1) -> np.array([4])
// inout sum int32 = np.zeros(1) -> np.array([3])
extern "C" __global__ void taken_in_equal_parts(int *taken, int *sum) {
    if (threadIdx.x == 0 && atomicAdd(taken, 1) < 3) atomicAdd(sum, 1);
}

// Lanes relax elements without a barrier, on purpose: what they leave depends on the order of lanes, too.
// kernel chaotic_relaxation grid 2 block 32
// inout x float32 = np.concatenate([[1], np.zeros(62), [1]]) -> _
// out ok int32 = np.ones(64)
extern "C" __global__ void chaotic_relaxation(float *x, int *ok) {
  using Element = cuda::atomic_ref<float, cuda::thread_scope_device>;
  const auto relaxed = cuda::memory_order_relaxed;
  int i = blockIdx.x * 32 + threadIdx.x;
  Element own(x[i]);
  if (i > 0 && i < 63) {
    Element left(x[i - 1]), right(x[i + 1]);
    for (int r = 0; r < 20; ++r) own.store(.5f * (left.load(relaxed) + right.load(relaxed)), relaxed);
  }
  float v = own.load(relaxed);
  ok[i] = v >= 0 && v <= 1;
}

__device__ int root_of(volatile int *parent, int i) {
  while (parent[i] != i) i = parent[i];
  return i;
}

// kernel lanes_link_and_find grid 1 block 32
// inout parent int32 = np.arange(32) -> _
// out root int32 = np.zeros(32)
extern "C" __global__ void lanes_link_and_find(int *parent, int *root) {
  int t = threadIdx.x;
  if (t) atomicCAS(&parent[t], t, t - 1);
  __syncwarp();
  root[t] = root_of(parent, t);
}

// kernel lanes_link_and_find_at_once grid 1 block 32 orders wrong
// inout parent int32 = np.arange(32) -> _
// out root int32 = np.zeros(32)
extern "C" __global__ void lanes_link_and_find_at_once(int *parent, int *root) {
  int t = threadIdx.x;
  if (t) atomicCAS(&parent[t], t, t - 1);
  root[t] = root_of(parent, t);
}

// kernel numbers_of_lanes_add_up grid 1 block 32
// inout n int32 = [0] -> [32]
// inout y int32 = np.zeros(32) -> _
extern "C" __global__ void numbers_of_lanes_add_up(int *n, int *y) {
  int p = atomicAdd(n, 1);
  while (atomicAdd(n, 0) < 32) ;
  int odd = __popc(__ballot_sync(~0u, p & 1));
  y[p] = odd == 16 ? p : y[1000 * odd];
}
