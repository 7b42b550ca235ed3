// Queues, tables and frontiers that threads fill while others read them.

// kernel tree_queue grid 3 block 32
// inout items int32 = np.array([1] + [0] * 63) -> _
// inout ready int32 = np.array([1] + [0] * 63) -> _
// inout head int32 = [0] -> _
// inout tail int32 = [1] -> [31]
// inout done int32 = [0] -> [31]
// inout seen int32 = np.zeros(32) -> np.array([0] + [1] * 31)
namespace tree_queue_ {
extern "C" __global__ void tree_queue(int *items, int *ready, int *head, int *tail, int *done, int *seen) {
  if (threadIdx.x) return;
  while (true) {
    int slot = atomicAdd(head, 1);
    if (slot >= 31) break;
    while (atomicAdd(&ready[slot], 0) == 0) {}
    __threadfence();
    int node = items[slot];
    atomicAdd(&seen[node], 1);
    if (node < 16) {
      int at = atomicAdd(tail, 2);
      items[at] = 2 * node;
      items[at + 1] = 2 * node + 1;
      __threadfence();
      atomicExch(&ready[at], 1);
      atomicExch(&ready[at + 1], 1);
    }
    atomicAdd(done, 1);
  }
}
}

// kernel tree_queue_no_acquire grid 3 block 32
// inout items int32 = np.array([1] + [0] * 63) -> _
// inout ready int32 = np.array([1] + [0] * 63) -> _
// inout head int32 = [0] -> _
// inout tail int32 = [1] -> [31]
// inout done int32 = [0] -> [31]
// inout seen int32 = np.zeros(32) -> np.array([0] + [1] * 31)
namespace tree_queue_no_acquire_ {
extern "C" __global__ void tree_queue_no_acquire(int *items, int *ready, int *head, int *tail, int *done, int *seen) {
  if (threadIdx.x) return;
  while (true) {
    int slot = atomicAdd(head, 1);
    if (slot >= 31) break;
    while (atomicAdd(&ready[slot], 0) == 0) {}
    int node = items[slot];  // <- race
    atomicAdd(&seen[node], 1);
    if (node < 16) {
      int at = atomicAdd(tail, 2);
      items[at] = 2 * node;
      items[at + 1] = 2 * node + 1;
      __threadfence();
      atomicExch(&ready[at], 1);
      atomicExch(&ready[at + 1], 1);
    }
    atomicAdd(done, 1);
  }
}
}

// kernel tree_queue_no_release grid 3 block 32
// inout items int32 = np.array([1] + [0] * 63) -> _
// inout ready int32 = np.array([1] + [0] * 63) -> _
// inout head int32 = [0] -> _
// inout tail int32 = [1] -> [31]
// inout done int32 = [0] -> [31]
// inout seen int32 = np.zeros(32) -> np.array([0] + [1] * 31)
namespace tree_queue_no_release_ {
extern "C" __global__ void tree_queue_no_release(int *items, int *ready, int *head, int *tail, int *done, int *seen) {
  if (threadIdx.x) return;
  while (true) {
    int slot = atomicAdd(head, 1);
    if (slot >= 31) break;
    while (atomicAdd(&ready[slot], 0) == 0) {}
    __threadfence();
    int node = items[slot];  // <- race
    atomicAdd(&seen[node], 1);
    if (node < 16) {
      int at = atomicAdd(tail, 2);
      items[at] = 2 * node;
      items[at + 1] = 2 * node + 1;
      atomicExch(&ready[at], 1);
      atomicExch(&ready[at + 1], 1);
    }
    atomicAdd(done, 1);
  }
}
}

// kernel hash_published grid 2 block 32
// in key int32 = np.arange(64) % 20 + 1
// inout keys int32 = np.zeros(64) -> _
// inout vals int32 = np.zeros(64) -> _
// inout bad int32 = [0] -> [0]
namespace hash_published_ {
extern "C" __global__ void hash_published(const int *key, int *keys, int *vals, int *bad) {
  int k = key[blockIdx.x * 32 + threadIdx.x];
  int s = k * 7 & 63;
  for (bool done = false; !done;) {
    int old = atomicCAS(&keys[s], 0, -k);
    if (old == 0) {
      vals[s] = k * k;
      __threadfence();
      atomicExch(&keys[s], k);
      done = true;
    } else if (old == k) {
      __threadfence();
      if (vals[s] != k * k) atomicAdd(bad, 1);
      done = true;
    } else if (old != -k) s = s + 1 & 63;
  }
}
}

// kernel hash_no_release grid 2 block 32
// in key int32 = np.arange(64) % 20 + 1
// inout keys int32 = np.zeros(64) -> _
// inout vals int32 = np.zeros(64) -> _
// inout bad int32 = [0] -> [0]
namespace hash_no_release_ {
extern "C" __global__ void hash_no_release(const int *key, int *keys, int *vals, int *bad) {
  int k = key[blockIdx.x * 32 + threadIdx.x];
  int s = k * 7 & 63;
  for (bool done = false; !done;) {
    int old = atomicCAS(&keys[s], 0, -k);
    if (old == 0) {
      vals[s] = k * k;
      atomicExch(&keys[s], k);
      done = true;
    } else if (old == k) {
      __threadfence();
      if (vals[s] != k * k) atomicAdd(bad, 1);  // <- race
      done = true;
    } else if (old != -k) s = s + 1 & 63;
  }
}
}

// kernel hash_no_acquire grid 2 block 32
// in key int32 = np.arange(64) % 20 + 1
// inout keys int32 = np.zeros(64) -> _
// inout vals int32 = np.zeros(64) -> _
// inout bad int32 = [0] -> [0]
namespace hash_no_acquire_ {
extern "C" __global__ void hash_no_acquire(const int *key, int *keys, int *vals, int *bad) {
  int k = key[blockIdx.x * 32 + threadIdx.x];
  int s = k * 7 & 63;
  for (bool done = false; !done;) {
    int old = atomicCAS(&keys[s], 0, -k);
    if (old == 0) {
      vals[s] = k * k;
      __threadfence();
      atomicExch(&keys[s], k);
      done = true;
    } else if (old == k) {
      if (vals[s] != k * k) atomicAdd(bad, 1);  // <- race
      done = true;
    } else if (old != -k) s = s + 1 & 63;
  }
}
}

// kernel hash_read_before_it_is_set grid 2 block 32
// in key int32 = np.arange(64) % 20 + 1
// inout keys int32 = np.zeros(64) -> _
// inout vals int32 = np.zeros(64) -> _
// inout bad int32 = [0] -> [0]
namespace hash_read_before_it_is_set_ {
extern "C" __global__ void hash_read_before_it_is_set(const int *key, int *keys, int *vals, int *bad) {
  int k = key[blockIdx.x * 32 + threadIdx.x];
  int s = k * 7 & 63;
  for (bool done = false; !done;) {
    int old = atomicCAS(&keys[s], 0, -k);
    if (old == 0) {
      vals[s] = k * k;
      __threadfence();
      atomicExch(&keys[s], k);
      done = true;
    } else if (old == k) {
      __threadfence();
      if (vals[s] != k * k) atomicAdd(bad, 1);
      done = true;
    } else if (old == -k) { if (vals[s] != k * k) atomicAdd(bad, 1); done = true; } else s = s + 1 & 63;  // <- race
  }
}
}

// kernel hash_counted grid 2 block 32
// in key int32 = np.arange(64) % 20 + 1
// inout keys int32 = np.zeros(64) -> _
// inout vals int32 = np.zeros(64) -> _
// inout found int32 = [0] -> _
namespace hash_counted_ {
extern "C" __global__ void hash_counted(const int *key, int *keys, int *vals, int *found) {
  int k = key[blockIdx.x * 32 + threadIdx.x];
  int s = k * 7 & 63;
  for (;;) {
    int old = atomicCAS(&keys[s], 0, k);
    if (old == 0 || old == k) {
      atomicAdd(&vals[s], 1);
      break;
    }
    s = s + 1 & 63;
  }
}
}

// kernel hash_counted_plainly grid 2 block 32
// in key int32 = np.arange(64) % 20 + 1
// inout keys int32 = np.zeros(64) -> _
// inout vals int32 = np.zeros(64) -> _
// inout found int32 = [0] -> _
namespace hash_counted_plainly_ {
extern "C" __global__ void hash_counted_plainly(const int *key, int *keys, int *vals, int *found) {
  int k = key[blockIdx.x * 32 + threadIdx.x];
  int s = k * 7 & 63;
  for (;;) {
    int old = atomicCAS(&keys[s], 0, k);
    if (old == 0 || old == k) {
      vals[s] += 1;  // <- race
      break;
    }
    s = s + 1 & 63;
  }
}
}

// kernel hash_checked_then_set grid 2 block 32
// in key int32 = np.arange(64) % 20 + 1
// inout keys int32 = np.zeros(64) -> _
// inout vals int32 = np.zeros(64) -> _
// inout found int32 = [0] -> _
namespace hash_checked_then_set_ {
extern "C" __global__ void hash_checked_then_set(const int *key, int *keys, int *vals, int *found) {
  int k = key[blockIdx.x * 32 + threadIdx.x];
  int s = k * 7 & 63;
  for (;;) {
    int old = keys[s]; if (old == 0) keys[s] = k;  // <- race
    if (old == 0 || old == k) {
      atomicAdd(&vals[s], 1);
      break;
    }
    s = s + 1 & 63;
  }
}
}

// kernel frontier grid 1 block 64
// inout dist int32 = np.where(np.arange(64) == 0, 0, -1) -> _
// inout q int32 = np.zeros(128) -> _
namespace frontier_ {
extern "C" __global__ void frontier(int *dist, int *q) {
  __shared__ int count[2];
  int t = threadIdx.x;
  if (t == 0) { q[0] = 0; count[0] = 1; count[1] = 0; }
  __syncthreads();
  for (int cur = 0, level = 1; count[cur] > 0; cur ^= 1, ++level) {
    for (int k = t; k < count[cur]; k += 64) {
      int v = q[cur * 64 + k];
      for (int e = 0; e < 3; ++e) {
        int u = e == 0 ? (v * 3 + 1) & 63 : e == 1 ? (v * 5 + 2) & 63 : (v + 32) & 63;
        if (atomicCAS(&dist[u], -1, level) == -1) {
          int at = atomicAdd(&count[cur ^ 1], 1);
          q[(cur ^ 1) * 64 + at] = u;
        }
      }
    }
    __syncthreads();
    if (t == 0) count[cur] = 0;
    __syncthreads();
  }
}
}

// kernel frontier_checked_then_set grid 1 block 64
// inout dist int32 = np.where(np.arange(64) == 0, 0, -1) -> _
// inout q int32 = np.zeros(128) -> _
namespace frontier_checked_then_set_ {
extern "C" __global__ void frontier_checked_then_set(int *dist, int *q) {
  __shared__ int count[2];
  int t = threadIdx.x;
  if (t == 0) { q[0] = 0; count[0] = 1; count[1] = 0; }
  __syncthreads();
  for (int cur = 0, level = 1; count[cur] > 0; cur ^= 1, ++level) {
    for (int k = t; k < count[cur]; k += 64) {
      int v = q[cur * 64 + k];
      for (int e = 0; e < 3; ++e) {
        int u = e == 0 ? (v * 3 + 1) & 63 : e == 1 ? (v * 5 + 2) & 63 : (v + 32) & 63;
        if (dist[u] == -1) { dist[u] = level;  // <- race
          int at = atomicAdd(&count[cur ^ 1], 1);
          q[(cur ^ 1) * 64 + at] = u;
        }
      }
    }
    __syncthreads();
    if (t == 0) count[cur] = 0;
    __syncthreads();
  }
}
}

// kernel frontier_reset_early grid 1 block 64
// inout dist int32 = np.where(np.arange(64) == 0, 0, -1) -> _
// inout q int32 = np.zeros(128) -> _
namespace frontier_reset_early_ {
extern "C" __global__ void frontier_reset_early(int *dist, int *q) {
  __shared__ int count[2];
  int t = threadIdx.x;
  if (t == 0) { q[0] = 0; count[0] = 1; count[1] = 0; }
  __syncthreads();
  for (int cur = 0, level = 1; count[cur] > 0; cur ^= 1, ++level) {
    for (int k = t; k < count[cur]; k += 64) {
      int v = q[cur * 64 + k];
      for (int e = 0; e < 3; ++e) {
        int u = e == 0 ? (v * 3 + 1) & 63 : e == 1 ? (v * 5 + 2) & 63 : (v + 32) & 63;
        if (atomicCAS(&dist[u], -1, level) == -1) {
          int at = atomicAdd(&count[cur ^ 1], 1);  // <- race
          q[(cur ^ 1) * 64 + at] = u;
        }
      }
    }
    __syncthreads();
    if (t == 0) count[cur] = 0;
  }
}
}

// kernel persistent_blocks grid 3 block 64
// in x int32 = np.arange(640)
// out y int32 = x * 2 + 1
// inout head int32 = [0] -> _
namespace persistent_blocks_ {
extern "C" __global__ void persistent_blocks(const int *x, int *y, int *head) {
  __shared__ int job;
  for (;;) {
    if (threadIdx.x == 0) job = atomicAdd(head, 1);
    __syncthreads();
    int j = job;
    __syncthreads();
    if (j >= 10) break;
    y[j * 64 + threadIdx.x] = x[j * 64 + threadIdx.x] * 2 + 1;
  }
}
}

// kernel matched_bins grid 2 block 64
// in x int32 = np.arange(128) * 7 % 5
// inout h int32 = np.zeros(5) -> np.bincount(x)
namespace matched_bins_ {
extern "C" __global__ void matched_bins(const int *x, int *h) {
  __shared__ int s[5];
  if (threadIdx.x < 5) s[threadIdx.x] = 0;
  __syncthreads();
  int v = x[blockIdx.x * 64 + threadIdx.x];
  unsigned m = __match_any_sync(~0u, v);
  if ((threadIdx.x & 31) == __ffs(m) - 1) atomicAdd(&s[v], __popc(m));
  __syncthreads();
  if (threadIdx.x < 5) atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
}

// kernel matched_bins_plainly grid 2 block 64
// in x int32 = np.arange(128) * 7 % 5
// inout h int32 = np.zeros(5) -> np.bincount(x)
namespace matched_bins_plainly_ {
extern "C" __global__ void matched_bins_plainly(const int *x, int *h) {
  __shared__ int s[5];
  if (threadIdx.x < 5) s[threadIdx.x] = 0;
  __syncthreads();
  int v = x[blockIdx.x * 64 + threadIdx.x];
  unsigned m = __match_any_sync(~0u, v);
  if ((threadIdx.x & 31) == __ffs(m) - 1) s[v] += __popc(m);  // <- race
  __syncthreads();
  if (threadIdx.x < 5) atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
}
