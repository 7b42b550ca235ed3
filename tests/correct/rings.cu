// Rings of buffers in shared memory: asynchronous copies, barriers of two halves, named barriers.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Three-stage cp.async pipeline by hand.
// kernel stages grid 2 block 64
// in x float32 = np.arange(2 * 64 * 8)
// out y float32 = x.reshape(2, 8, 64).sum(1).reshape(-1)
extern "C" __global__ void stages(const float *x, float *y) {
  __shared__ float s[3][64];
  int t = threadIdx.x;
  const float *src = x + blockIdx.x * 512;
  for (int k = 0; k < 2; ++k) {
    __pipeline_memcpy_async(&s[k][t], &src[k * 64 + t], 4);
    __pipeline_commit();
  }
  float sum = 0;
  for (int k = 0; k < 8; ++k) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (k + 2 < 8) __pipeline_memcpy_async(&s[(k + 2) % 3][t], &src[(k + 2) * 64 + t], 4);
    __pipeline_commit();
    sum += s[k % 3][(t ^ 1)] ;
  }
  y[blockIdx.x * 64 + (t ^ 1)] = sum;
}

// Wrong: the last rounds make no group, so wait_prior(1) waits for too little.
// kernel stages_tail grid 2 block 64
// in x float32 = np.arange(2 * 64 * 8)
// out y float32 = x.reshape(2, 8, 64).sum(1).reshape(-1)
extern "C" __global__ void stages_tail(const float *x, float *y) {
  __shared__ float s[3][64];
  int t = threadIdx.x;
  const float *src = x + blockIdx.x * 512;
  for (int k = 0; k < 2; ++k) {
    __pipeline_memcpy_async(&s[k][t], &src[k * 64 + t], 4); 
    __pipeline_commit();
  }
  float sum = 0;
  for (int k = 0; k < 8; ++k) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (k + 2 < 8) {
      __pipeline_memcpy_async(&s[(k + 2) % 3][t], &src[(k + 2) * 64 + t], 4);  // <- race
      __pipeline_commit();
    }
    sum += s[k % 3][(t ^ 1)];  // <- race
  }
  y[blockIdx.x * 64 + (t ^ 1)] = sum;
}

// Warp-specialized producer and consumer with full and empty cuda::barrier.
// kernel ring grid 1 block 64
// in x int32 = np.arange(32 * 6)
// out y int32 = x.reshape(6, 32).sum(0)
extern "C" __global__ void ring(const int *x, int *y) {
  __shared__ Barrier full[2], empty[2];
  __shared__ int s[2][32];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0) for (int k = 0; k < 2; ++k) { init(&full[k], 64); init(&empty[k], 64); }
  __syncthreads();
  if (t < 32) {
    for (int k = 0; k < 6; ++k) {
      if (k >= 2) empty[k % 2].arrive_and_wait();
      s[k % 2][31 - lane] = x[k * 32 + lane];
      (void)full[k % 2].arrive();
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 6; ++k) {
      full[k % 2].arrive_and_wait();
      sum += s[k % 2][31 - lane];
      if (k + 2 < 6) (void)empty[k % 2].arrive();
    }
    y[lane] = sum;
  }
}

// Wrong: consumer frees the slot before it reads it.
// kernel ring_freed grid 1 block 64
// in x int32 = np.arange(32 * 6)
// out y int32 = x.reshape(6, 32).sum(0)
// hints Put the statement of line A< after line B<. A run with that
extern "C" __global__ void ring_freed(const int *x, int *y) {
  __shared__ Barrier full[2], empty[2];
  __shared__ int s[2][32];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0) for (int k = 0; k < 2; ++k) { init(&full[k], 64); init(&empty[k], 64); }
  __syncthreads();
  if (t < 32) {
    for (int k = 0; k < 6; ++k) {
      if (k >= 2) empty[k % 2].arrive_and_wait();
      s[k % 2][31 - lane] = x[k * 32 + lane];  // <- race
      (void)full[k % 2].arrive();
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 6; ++k) {
      full[k % 2].arrive_and_wait();
      if (k + 2 < 6) (void)empty[k % 2].arrive();  // <A
      sum += s[k % 2][31 - lane];  // <B <- race
    }
    y[lane] = sum;
  }
}

// Named barriers: warps 0-1 produce, warps 2-3 consume, bar.sync 1 / 2 over 128 threads.
__device__ void bar_sync(int id, int n) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }

__device__ void bar_arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(n) : "memory"); }

// kernel named grid 1 block 128
// in x int32 = np.arange(64 * 4)
// out y int32 = x.reshape(4, 64).sum(0)
extern "C" __global__ void named(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    for (int k = 0; k < 4; ++k) {
      if (k) bar_sync(2, 128);
      s[63 - t] = x[k * 64 + t];
      bar_arrive(1, 128);
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
      bar_sync(1, 128);
      sum += s[127 - t];
      if (k < 3) bar_arrive(2, 128);
    }
    y[t - 64] = sum;
  }
}

// Split arrive/wait: independent work between.
// kernel split grid 1 block 96
// in x int32 = np.arange(96)
// out y int32 = x[::-1] * 2 + x * 3
extern "C" __global__ void split(const int *x, int *y) {
  __shared__ Barrier b;
  __shared__ int s[96];
  int t = threadIdx.x;
  if (t == 0) init(&b, blockDim.x);
  __syncthreads();
  s[t] = 2 * x[t];
  auto token = b.arrive();
  int own = 3 * x[t];
  b.wait(std::move(token));
  y[t] = own + s[95 - t];
}

// Wrong: writes after the arrival.
// kernel split_late grid 1 block 96
// in x int32 = np.arange(96)
// out y int32 = x[::-1] * 2 + x * 3
extern "C" __global__ void split_late(const int *x, int *y) {
  __shared__ Barrier b;
  __shared__ int s[96];
  int t = threadIdx.x;
  if (t == 0) init(&b, blockDim.x);
  __syncthreads();
  auto token = b.arrive();
  s[t] = 2 * x[t];  // <- race
  int own = 3 * x[t];
  b.wait(std::move(token));
  y[t] = own + s[95 - t];  // <- race
}

// Lanes of a warp call a barrier's functions in turns, often: what some have left is used again.
// kernel calls_in_turns grid 1 block 32
// in x int32 = np.arange(60 * 32)
// out y int32 = x.reshape(60, 32).sum(1)
extern "C" __global__ void calls_in_turns(const int *x, int *y) {
  __shared__ alignas(16) int s[32];
  __shared__ Barrier bar;
  int lane = threadIdx.x;
  if (lane == 0) init(&bar, 32);
  __syncwarp();
  for (int round = 0; round < 60; ++round) {
    Barrier::arrival_token token;
    if (lane == 0) {
      for (int k = 0; k < 32; k += 4)
        cuda::device::memcpy_async_tx(s + k, x + 32 * round + k, cuda::aligned_size_t<16>(16), bar);
      token = cuda::device::barrier_arrive_tx(bar, 1, 128);
    } else {
      token = bar.arrive();
    }
    bar.wait(std::move(token));
    if (lane == 1) {
      int sum = 0;
      for (int k = 0; k < 32; ++k) sum += s[k];
      y[round] = sum;
    }
    __syncwarp();
  }
}

// A ring of bulk copies: one lane of each warp arrives at `empty` for all.
// kernel bulk_ring grid 1 block 64
// in x int32 = np.arange(64 * 6)
// out y int32 = x.reshape(6, 64).sum(0)
extern "C" __global__ void bulk_ring(const int *x, int *y) {
  __shared__ alignas(128) int s[2][64];
  __shared__ uint64_t full[2], empty[2];
  int t = threadIdx.x, sum = 0;
  if (t < 2) { ptx::mbarrier_init(&full[t], 1); ptx::mbarrier_init(&empty[t], 2); }
  __syncthreads();
  for (int k = 0; k < 6; ++k) {
    int b = k % 2, phase = k / 2 % 2;
    if (t == 0) {
      while (!ptx::mbarrier_try_wait_parity(&empty[b], phase ^ 1)) ;
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[b], 256);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[b], x + k * 64, 256, &full[b]);
    }
    while (!ptx::mbarrier_try_wait_parity(&full[b], phase)) ;
    sum += s[b][t];
    __syncwarp();
    if (t % 32 == 0) ptx::mbarrier_arrive(&empty[b]);
  }
  y[t] = sum;
}

// Right: with a buffer for each round nothing has to wait for `empty`.
// kernel bulk_ring_of_one_round grid 1 block 64
// in x int32 = np.arange(64 * 2)
// out y int32 = x.reshape(2, 64).sum(0)
extern "C" __global__ void bulk_ring_of_one_round(const int *x, int *y) {
  __shared__ alignas(128) int s[2][64];
  __shared__ uint64_t full[2], empty[2];
  int t = threadIdx.x, sum = 0;
  if (t < 2) { ptx::mbarrier_init(&full[t], 1); ptx::mbarrier_init(&empty[t], 2); }
  __syncthreads();
  for (int b = 0; b < 2; ++b) {
    if (t == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[b], 256);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[b], x + b * 64, 256, &full[b]);
    }
    while (!ptx::mbarrier_try_wait_parity(&full[b], 0)) ;
    sum += s[b][t];
    if (t % 32 == 0) ptx::mbarrier_arrive(&empty[b]);
  }
  y[t] = sum;
}

// Wrong: the lane arrives while others of its warp may still read.
// kernel bulk_ring_without_syncwarp grid 1 block 64
// in x int32 = np.arange(64 * 6)
// out y int32 = x.reshape(6, 64).sum(0)
// hints put __syncwarp() before line B<. A run with that
extern "C" __global__ void bulk_ring_without_syncwarp(const int *x, int *y) {
  __shared__ alignas(128) int s[2][64];
  __shared__ uint64_t full[2], empty[2];
  int t = threadIdx.x, sum = 0;
  if (t < 2) { ptx::mbarrier_init(&full[t], 1); ptx::mbarrier_init(&empty[t], 2); }
  __syncthreads();
  for (int k = 0; k < 6; ++k) {
    int b = k % 2, phase = k / 2 % 2;
    if (t == 0) {
      while (!ptx::mbarrier_try_wait_parity(&empty[b], phase ^ 1)) ;
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[b], 256);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[b], x + k * 64, 256, &full[b]);
    }
    while (!ptx::mbarrier_try_wait_parity(&full[b], phase)) ;
    sum += s[b][t];  // <- race
    if (t % 32 == 0) ptx::mbarrier_arrive(&empty[b]);  // <B
  }
  y[t] = sum;
}

// Wrong: the lane arrives before its warp reads.
// kernel bulk_ring_freed_early grid 1 block 64
// in x int32 = np.arange(64 * 6)
// out y int32 = x.reshape(6, 64).sum(0)
// hints Put the statement of line A< after line B<, and call __syncwarp() before it. A run with that
extern "C" __global__ void bulk_ring_freed_early(const int *x, int *y) {
  __shared__ alignas(128) int s[2][64];
  __shared__ uint64_t full[2], empty[2];
  int t = threadIdx.x, sum = 0;
  if (t < 2) { ptx::mbarrier_init(&full[t], 1); ptx::mbarrier_init(&empty[t], 2); }
  __syncthreads();
  for (int k = 0; k < 6; ++k) {
    int b = k % 2, phase = k / 2 % 2;
    if (t == 0) {
      while (!ptx::mbarrier_try_wait_parity(&empty[b], phase ^ 1)) ;
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[b], 256);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[b], x + k * 64, 256, &full[b]);  // <- race
    }
    while (!ptx::mbarrier_try_wait_parity(&full[b], phase)) ;
    __syncwarp();
    if (t % 32 == 0) ptx::mbarrier_arrive(&empty[b]);  // <A
    sum += s[b][t];  // <B <- race
  }
  y[t] = sum;
}

// Wrong: nothing waits for `empty`, so that a warp misses phases.
// kernel bulk_ring_without_empty grid 1 block 64
// in x int32 = np.arange(64 * 6)
// out y int32 = x.reshape(6, 64).sum(0)
// hints Line A< arrives at `empty`, and no thread waits for it.
extern "C" __global__ void bulk_ring_without_empty(const int *x, int *y) {
  __shared__ alignas(128) int s[2][64];
  __shared__ uint64_t full[2], empty[2];
  int t = threadIdx.x, sum = 0;
  if (t < 2) { ptx::mbarrier_init(&full[t], 1); ptx::mbarrier_init(&empty[t], 2); }
  __syncthreads();
  for (int k = 0; k < 6; ++k) {
    int b = k % 2, phase = k / 2 % 2;
    if (t == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[b], 256);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[b], x + k * 64, 256, &full[b]);
    }
    while (!ptx::mbarrier_try_wait_parity(&full[b], phase)) ;  // <- timeout
    sum += s[b][t];
    __syncwarp();
    if (t % 32 == 0) ptx::mbarrier_arrive(&empty[b]);  // <A <- barrier-divergence
  }
  y[t] = sum;
}

// Wrong: nothing waits for the copies, which comes before the arrivals that follow too early.
// kernel bulk_ring_without_full grid 1 block 64
// in x int32 = np.arange(64 * 6)
// out y int32 = x.reshape(6, 64).sum(0)
// finds barrier-divergence error gets a second arrival in one phase
// hints Line A< arrives at `full`, and no thread waits for it.
extern "C" __global__ void bulk_ring_without_full(const int *x, int *y) {
  __shared__ alignas(128) int s[2][64];
  __shared__ uint64_t full[2], empty[2];
  int t = threadIdx.x, sum = 0;
  if (t < 2) { ptx::mbarrier_init(&full[t], 1); ptx::mbarrier_init(&empty[t], 2); }
  __syncthreads();
  for (int k = 0; k < 6; ++k) {
    int b = k % 2, phase = k / 2 % 2;
    if (t == 0) {
      while (!ptx::mbarrier_try_wait_parity(&empty[b], phase ^ 1)) ;  // <- timeout
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[b], 256);  // <A
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[b], x + k * 64, 256, &full[b]);
    }
    sum += s[b][t];  // <- race
    __syncwarp();
    if (t % 32 == 0) ptx::mbarrier_arrive(&empty[b]);  // <- barrier-divergence
  }
  y[t] = sum;
}

// Wrong: the wait for `full` has the parity of `empty`.
// kernel bulk_ring_with_one_parity_wrong grid 1 block 64
// in x int32 = np.arange(64 * 6)
// out y int32 = x.reshape(6, 64).sum(0)
// hints Line A< waits for the parity of another phase than the one that it needs.
extern "C" __global__ void bulk_ring_with_one_parity_wrong(const int *x, int *y) {
  __shared__ alignas(128) int s[2][64];
  __shared__ uint64_t full[2], empty[2];
  int t = threadIdx.x, sum = 0;
  if (t < 2) { ptx::mbarrier_init(&full[t], 1); ptx::mbarrier_init(&empty[t], 2); }
  __syncthreads();
  for (int k = 0; k < 6; ++k) {
    int b = k % 2, phase = k / 2 % 2;
    if (t == 0) {
      while (!ptx::mbarrier_try_wait_parity(&empty[b], phase ^ 1)) ;
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[b], 256);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[b], x + k * 64, 256, &full[b]);
    }
    while (!ptx::mbarrier_try_wait_parity(&full[b], phase ^ 1)) ;  // <A <- timeout
    sum += s[b][t];
    __syncwarp();
    if (t % 32 == 0) ptx::mbarrier_arrive(&empty[b]);
  }
  y[t] = sum;
}

// Wrong: half of the threads arrive before they read.
// kernel named_early grid 1 block 128
// in x int32 = np.arange(64 * 4)
// out y int32 = x.reshape(4, 64).sum(0)
// hints Put the statement of line A< after line B<. A run with that
extern "C" __global__ void named_early(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    for (int k = 0; k < 4; ++k) {
      if (k) bar_sync(2, 128);
      s[63 - t] = x[k * 64 + t];  // <- race
      bar_arrive(1, 128);
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
      bar_sync(1, 128);
      if (k < 3) bar_arrive(2, 128);  // <A
      sum += s[127 - t];  // <B <- race
    }
    y[t - 64] = sum;
  }
}

// Wrong: the first copy is committed with the second one.
// kernel first_stage_not_committed grid 1 block 64
// in x float32 = np.arange(64 * 4)
// out y float32 = x.reshape(4, 64).sum(0)
// hints The copies of line A< and line B< are in one group
extern "C" __global__ void first_stage_not_committed(const float *x, float *y) {
  __shared__ float s[2][64];
  int t = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);  // <A
  for (int k = 0; k < 4; ++k) {
    if (k < 3) __pipeline_memcpy_async(&s[(k + 1) % 2][t], &x[(k + 1) * 64 + t], 4);  // <B <- race
    __pipeline_commit();
    __pipeline_wait_prior(1);
    sum += s[k % 2][t];  // <- race
  }
  y[t] = sum;
}

// Wrong: nothing arrives at `full`.
// kernel nothing_arrives grid 1 block 96
// in x int32 = np.arange(64 * 4)
// out y int32 = x.reshape(4, 64).sum(0)
// hints Line A< waits for `full`, and no thread arrives at it.
__device__ unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void set_count(uint64_t *b, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(shared_at(b)), "r"(n) : "memory");
}
__device__ void give(uint64_t *b) {
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(shared_at(b)) : "memory");
}
__device__ void take(uint64_t *b, int parity) {
  unsigned at = shared_at(b);
  asm volatile("{ .reg .pred p; A: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra A; }" :: "r"(at), "r"(parity));  // <- timeout
}
extern "C" __global__ void nothing_arrives(const int *x, int *y) {
  __shared__ uint64_t full[2], empty[2];
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  if (t < 2) { set_count(&full[t], 32); set_count(&empty[t], 64); }
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    int b = k % 2, phase = k / 2 % 2;
    if (t < 32) {
      take(&empty[b], phase ^ 1);
      for (int i = t; i < 64; i += 32) s[b][i] = x[k * 64 + i];
    } else {
      take(&full[b], phase);  // <A
      sum += s[b][t - 32];
      give(&empty[b]);
    }
  }
  if (t >= 32) y[t - 32] = sum;
}

// Wrong: a barrier that is used without its first value.
// kernel one_barrier_not_initialized grid 1 block 96
// in x int32 = np.arange(64 * 4)
// out y int32 = x.reshape(4, 64).sum(0)
// finds uninitialized-read error read of shared `empty[1]`, which no thread has written
extern "C" __global__ void one_barrier_not_initialized(const int *x, int *y) {
  __shared__ uint64_t full[2], empty[2];
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  if (t < 1) { set_count(&full[t], 32); set_count(&empty[t], 64); }
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    int b = k % 2, phase = k / 2 % 2;
    if (t < 32) {
      take(&empty[b], phase ^ 1);
      for (int i = t; i < 64; i += 32) s[b][i] = x[k * 64 + i];
      give(&full[b]);
    } else {
      take(&full[b], phase);
      sum += s[b][t - 32];
      give(&empty[b]);
    }
  }
  if (t >= 32) y[t - 32] = sum;
}

// Wrong: the next copy is to the only buffer, where the one before is in flight.
// kernel two_copies_in_one_buffer grid 1 block 64
// in x float32 = np.arange(64 * 4)
// out y float32 = x.reshape(4, 64).sum(0)
// hints The copy of line B< writes `s` while that of line A< to the same place is in flight
extern "C" __global__ void two_copies_in_one_buffer(const float *x, float *y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&s[t], &x[t], 4);  // <A
  __pipeline_commit();
  for (int k = 0; k < 4; ++k) {
    if (k < 3) __pipeline_memcpy_async(&s[t], &x[(k + 1) * 64 + t], 4);  // <B <- race
    __pipeline_commit();
    __pipeline_wait_prior(1);
    sum += s[t];  // <- race
  }
  y[t] = sum;
}

// Wrong: the count of `full`. A macro, a function of a function and a pointer wait for each of the barriers.
// kernel waits_by_other_names grid 1 block 96
// in x int32 = np.arange(64 * 4)
// out y int32 = x.reshape(4, 64).sum(0)
// hints Line A< initializes it with a count of 33. Pass the number
__device__ void take_here(uint64_t *b, int parity) {
  unsigned at = shared_at(b);
  asm volatile("{ .reg .pred p; A: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra A; }" :: "r"(at), "r"(parity));  // <- timeout
}
__device__ void take_by_a_call(uint64_t *b, int parity) { take_here(b, parity); }
#define UNTIL(b, parity) take_by_a_call(&b, parity)
extern "C" __global__ void waits_by_other_names(const int *x, int *y) {
  __shared__ uint64_t full[2], empty[2], last;
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  if (t < 2) { set_count(&full[t], 33); set_count(&empty[t], 64); }  // <A
  if (t == 0) set_count(&last, 96);
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    int b = k % 2, phase = k / 2 % 2;
    if (t < 32) {
      UNTIL(empty[b], phase ^ 1);
      for (int i = t; i < 64; i += 32) s[b][i] = x[k * 64 + i];
      give(&full[b]);
    } else {
      take_by_a_call(&full[b], phase);
      sum += s[b][t - 32];
      give(&empty[b]);
    }
  }
  give(&last);
  uint64_t *end = &last;
  take_here(end, 0);
  if (t >= 32) y[t - 32] = sum;
}
