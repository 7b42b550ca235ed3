// Updates in two steps that other threads' writes undo. In some kernels nothing depends on them: the output is
// the same where none is lost. In others it shows what was lost.
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
