// Warps that work apart: named barriers, shuffles by groups, pipelines.

// kernel producer_consumer grid 1 block 64
// in x int32 = rng.integers(0, 99, 128)
// out y int32 = x * 2 + 1
extern "C" __global__ void producer_consumer(const int *x, int *y) {
  __shared__ int buffer[2][32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int k = 0; k < 4; k++) {
      int b = k & 1;
      if (k >= 2) asm volatile("bar.sync %0, 64;" :: "r"(3 + b) : "memory");
      buffer[b][lane] = 2 * x[k * 32 + lane];
      asm volatile("bar.arrive %0, 64;" :: "r"(1 + b) : "memory");
    }
  } else {
    for (int k = 0; k < 4; k++) {
      int b = k & 1;
      asm volatile("bar.sync %0, 64;" :: "r"(1 + b) : "memory");
      y[k * 32 + lane] = buffer[b][31 - (31 - lane)] + 1;
      if (k < 2) asm volatile("bar.arrive %0, 64;" :: "r"(3 + b) : "memory");
    }
  }
}

// kernel half_blocks grid 1 block 128
// in x int32 = rng.integers(0, 99, 128)
// out y int32 = x.reshape(2, 64)[:, ::-1].ravel()
extern "C" __global__ void half_blocks(const int *x, int *y) {
  __shared__ int s[128];
  int t = threadIdx.x, half = t / 64;
  s[t] = x[t];
  if (half == 0) asm volatile("bar.sync 1, 64;" ::: "memory");
  else asm volatile("bar.sync 2, 64;" ::: "memory");
  y[t] = s[half * 64 + 63 - t % 64];
}

// kernel counts grid 1 block 64
// in x int32 = rng.integers(-9, 9, 64)
// out y int32 = [(x > 0).sum(), (x > -10).all(), (x > 100).any()]
extern "C" __global__ void counts(const int *x, int *y) {
  int v = x[threadIdx.x];
  int n = __syncthreads_count(v > 0), a = __syncthreads_and(v > -10), o = __syncthreads_or(v > 100);
  if (threadIdx.x == 0) { y[0] = n; y[1] = a != 0; y[2] = o != 0; }
}

// kernel matches grid 1 block 32
// in x int32 = rng.integers(0, 5, 32)
// out y int32 = [(x == v).sum() for v in x]
// out z int32 = [0, 1]
extern "C" __global__ void matches(const int *x, int *y, int *z) {
  int v = x[threadIdx.x], all;
  y[threadIdx.x] = __popc(__match_any_sync(~0u, v));
  __match_all_sync(~0u, v, &all);
  if (threadIdx.x == 0) z[0] = all;
  __match_all_sync(~0u, v * 0, &all);
  if (threadIdx.x == 0) z[1] = all;
}

// kernel exchange grid 1 block 64
// in x int32 = rng.integers(0, 99, 64)
// out y int32 = x.reshape(2, 32)[:, ::-1].ravel()
extern "C" __global__ void exchange(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, w = t & ~31;
  s[t] = x[t];
  __syncwarp();
  y[t] = s[w + 31 - (t - w)];
}

// kernel half_masks grid 1 block 32
// in x int32 = rng.integers(0, 99, 32)
// out y int32 = np.concatenate([np.full(16, x[:16].sum()), np.full(16, x[16:].max())])
extern "C" __global__ void half_masks(const int *x, int *y) {
  int t = threadIdx.x, v = x[t];
  if (t < 16) v = __reduce_add_sync(0x0000ffffu, v);
  else v = __reduce_max_sync(0xffff0000u, v);
  y[t] = v;
}

// kernel copies_async grid 2 block 64
// in x int32 = rng.integers(0, 99, 512)
// out y int32 = np.concatenate([x[:256].reshape(4, 64)[:, ::-1].sum(0), x[256:].reshape(4, 64)[:, ::-1].sum(0)])
#include <cuda_pipeline.h>
extern "C" __global__ void copies_async(const int *x, int *y) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  x += blockIdx.x * 256;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);
  __pipeline_commit();
  for (int k = 0; k < 4; k++) {
    if (k < 3) __pipeline_memcpy_async(&s[(k + 1) & 1][t], &x[(k + 1) * 64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[k & 1][63 - t];
    __syncthreads();
  }
  y[blockIdx.x * 64 + t] = sum;
}

// kernel copies_wide grid 1 block 16
// in x float32 = rng.random(64)
// out y float32 = np.concatenate([x[60:], np.zeros(60)])
extern "C" __global__ void copies_wide(const float4 *x, float4 *y) {
  __shared__ float4 s[16];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[15 - t], &x[t], 16, t == 15 ? 0 : 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  y[t] = s[t];
}

// All threads that use a barrier name one count, those that only arrive too: whichever comes first.
// kernel waits_for_itself_first grid 1 block 64
// in x int32 = rng.integers(0, 99, 32)
// inout b int32 = np.zeros(32) -> x
// out y int32 = x[::-1]
extern "C" __global__ void waits_for_itself_first(const int *x, int *b, int *y) {
  int t = threadIdx.x;
  if (t < 32) {
    asm volatile("bar.sync 3, 32;" ::: "memory");  // <- barrier-divergence
    y[t] = b[31 - t];
  } else {
    b[t - 32] = x[t - 32];
    asm volatile("bar.arrive 3, 64;" ::: "memory");  // <- barrier-divergence
  }
}

// kernel waits_for_itself_last grid 1 block 64
// in x int32 = rng.integers(0, 99, 32)
// inout b int32 = np.zeros(32) -> x
// out y int32 = x[::-1]
extern "C" __global__ void waits_for_itself_last(const int *x, int *b, int *y) {
  int t = threadIdx.x;
  if (t >= 32) {
    asm volatile("bar.sync 3, 32;" ::: "memory");  // <- barrier-divergence
    y[t - 32] = b[63 - t];
  } else {
    b[t] = x[t];
    asm volatile("bar.arrive 3, 64;" ::: "memory");  // <- barrier-divergence
  }
}

// The arrival is certainly late: it waits for what the others do after the barrier.
// kernel arrives_after_it_was_passed grid 1 block 64
// in x int32 = rng.integers(0, 99, 32)
// out y int32 = x
extern "C" __global__ void arrives_after_it_was_passed(const int *x, int *y) {
  int t = threadIdx.x;
  if (t < 32) {
    asm volatile("bar.sync 3, 32;" ::: "memory");  // <- barrier-divergence
    y[t] = x[t];
    asm volatile("bar.sync 4, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 4, 64;" ::: "memory");
    asm volatile("bar.arrive 3, 64;" ::: "memory");  // <- barrier-divergence
  }
}

// kernel arrives_for_one_warp grid 1 block 64
// in x int32 = rng.integers(0, 99, 32)
// inout b int32 = np.zeros(32) -> x
// out y int32 = x[::-1]
extern "C" __global__ void arrives_for_one_warp(const int *x, int *b, int *y) {
  int t = threadIdx.x;
  if (t < 32) {
    asm volatile("bar.sync 3, 64;" ::: "memory");  // <- barrier-divergence
    y[t] = b[31 - t];
  } else {
    b[t - 32] = x[t - 32];
    asm volatile("bar.arrive 3, 32;" ::: "memory");  // <- barrier-divergence
  }
}

// kernel arrives_for_half_of_the_block grid 1 block 128
// in x int32 = rng.integers(0, 99, 32)
// out y int32 = np.tile(x[::-1], 3)
extern "C" __global__ void arrives_for_half_of_the_block(const int *x, int *y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 32) {
    s[t] = x[t];
    asm volatile("bar.arrive 3, 64;" ::: "memory");  // <- barrier-divergence
  } else {
    asm volatile("bar.sync 3, 128;" ::: "memory");  // <- barrier-divergence
    y[t - 32] = s[31 - t % 32];
  }
}

// kernel fewer_come_than_wait grid 1 block 64
// in x int32 = rng.integers(0, 99, 32)
// out y int32 = x
extern "C" __global__ void fewer_come_than_wait(const int *x, int *y) {
  int t = threadIdx.x;
  if (t < 32) {
    asm volatile("bar.arrive 3, 64;" ::: "memory");  // <- barrier-divergence
  } else {
    asm volatile("bar.sync 3, 96;" ::: "memory");  // <- barrier-divergence
    y[t - 32] = x[t - 32];
  }
}

// Right: a number is used again with another count once all threads have passed it, and the last
// arrival of a ring is one for which no thread waits.
// kernel one_number_two_counts grid 1 block 96
// in x int32 = rng.integers(0, 99, 64)
// out y int32 = [*x[:32], *x[32:64] * 2, *x[:32] * 2]
extern "C" __global__ void one_number_two_counts(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 32) {
    for (int k = 0; k < 2; k++) {
      if (k) asm volatile("bar.sync 5, 64;" ::: "memory");
      s[t] = x[32 * k + t];
      asm volatile("bar.arrive 3, 64;" ::: "memory");
    }
  } else if (t < 64) {
    for (int k = 0; k < 2; k++) {
      asm volatile("bar.sync 3, 64;" ::: "memory");
      y[k * 32 + t - 32] = s[t - 32] * (k + 1);
      asm volatile("bar.arrive 5, 64;" ::: "memory");
    }
  }
  __syncthreads();
  if (t < 64) {
    s[t] = x[t];
    asm volatile("bar.arrive 3, 96;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 96;" ::: "memory");
    y[t] = s[t - 64] * 2;
  }
}

// Wrong: some lanes of a tile meet in a branch; the others come to the next call, and wait there in vain.
// kernel tile_synced_by_some grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = x ^ 1
// hints Move this call out of the branch
extern "C" __global__ void tile_synced_by_some(const int *x, int *y) {
  int t = threadIdx.x;
  if (t < 20) __syncwarp();  // <- barrier-divergence
  y[t] = __shfl_xor_sync(0xffffffff, x[t], 1);
}

// Lanes that enter the branch in some rounds alone have to leave it for the barrier.
// kernel wavefront_of_lanes grid 1 block 32
// in a int32 = np.arange(32) % 4
// in b int32 = np.arange(32) % 3
// inout best int32 = np.zeros(1) -> _
// hints Where only some lanes of a warp enter the branch of line b<, end it before the barrier
extern "C" __global__ void wavefront_of_lanes(const int *a, const int *b, int *best) {
  __shared__ int row[2][33];
  int t = threadIdx.x, most = 0;
  for (int k = 0; k < 2; k++) row[k][t + 1] = row[k][0] = 0;
  __syncwarp();
  for (int d = 0; d < 63; d++) {
    int j = d - t, now = d % 2, before = 1 - now;
    if (j >= 0 && j < 32) {  // <b
      int v = max(row[now][t] + (a[t] == b[j]), max(row[before][t], row[before][t + 1]));
      row[now][t + 1] = v;  // <- race
      most = max(most, v);
    }
    __syncwarp();
  }
  atomicMax(best, most);
}
