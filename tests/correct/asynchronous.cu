// Barriers, pipelines, latches and semaphores of libcu++, and copies to shared memory.

#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// kernel barrier_tile grid 2 block 64
// in x float32 = np.arange(512.)
// out y float32 = np.concatenate([x[64*k:64*k+64][::-1] for k in range(8)])
extern "C" __global__ void barrier_tile(const float *x, float *y) {
  __shared__ float s[64];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    int at = (blockIdx.x * 4 + k) * 64;
    cuda::memcpy_async(&s[threadIdx.x], &x[at + threadIdx.x], sizeof(float), bar);
    bar.arrive_and_wait();
    y[at + threadIdx.x] = s[63 - threadIdx.x];
    bar.arrive_and_wait();
  }
}

// kernel barrier_tile_one_wait grid 2 block 64
// in x float32 = np.arange(512.)
// out y float32 = np.zeros(512)
extern "C" __global__ void barrier_tile_one_wait(const float *x, float *y) {
  __shared__ float s[64];
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    int at = (blockIdx.x * 4 + k) * 64;
    cuda::memcpy_async(&s[threadIdx.x], &x[at + threadIdx.x], sizeof(float), bar);  // <- race
    bar.arrive_and_wait();
    y[at + threadIdx.x] = s[63 - threadIdx.x];  // <- race
  }
}

// kernel barrier_init_no_sync grid 1 block 64
// out y int32 = np.zeros(64)
extern "C" __global__ void barrier_init_no_sync(int *y) {
  __shared__ int s[64];
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);  // <- race
  s[threadIdx.x] = threadIdx.x;
  bar.arrive_and_wait();  // <- race
  y[threadIdx.x] = s[63 - threadIdx.x];
}

// producer warp and consumer warps
// kernel ws_barriers grid 1 block 96
// in x int32 = np.arange(256)
// out y int32 = np.arange(256) * 3
extern "C" __global__ void ws_barriers(const int *x, int *y) {
  __shared__ int s[2][32];
  __shared__ block_barrier full[2], empty[2];
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) { init(&full[i], 96); init(&empty[i], 96); }
  __syncthreads();
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int k = 0; k < 8; ++k) {
      if (k >= 2) empty[k % 2].arrive_and_wait();
      s[k % 2][lane] = x[32 * k + lane];
      auto t = full[k % 2].arrive(); (void)t;
    }
  } else {
    for (int k = 0; k < 8; ++k) {
      full[k % 2].arrive_and_wait();
      if (threadIdx.x >= 64 ? lane % 2 : lane % 2 == 0) y[32 * k + lane] = 3 * s[k % 2][lane];
      if (k < 6) { auto t = empty[k % 2].arrive(); (void)t; }
    }
  }
}

// kernel pipeline_block grid 1 block 64
// in x int32 = np.arange(512)
// out y int32 = np.concatenate([x[64*k:64*k+64][::-1] for k in range(8)])
extern "C" __global__ void pipeline_block(const int *x, int *y) {
  __shared__ int s[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
  auto b = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(b, &st);
  for (int k = 0; k < 2; ++k) {
    pipe.producer_acquire();
    cuda::memcpy_async(b, s[k], x + 64 * k, sizeof(int) * 64, pipe);
    pipe.producer_commit();
  }
  for (int k = 0; k < 8; ++k) {
    pipe.consumer_wait();
    y[64 * k + threadIdx.x] = s[k % 2][63 - threadIdx.x];
    pipe.consumer_release();
    if (k + 2 < 8) {
      pipe.producer_acquire();
      cuda::memcpy_async(b, s[k % 2], x + 64 * (k + 2), sizeof(int) * 64, pipe);
      pipe.producer_commit();
    }
  }
}

// kernel pipeline_block_released_early grid 1 block 64
// in x int32 = np.arange(512)
// out y int32 = np.zeros(512)
extern "C" __global__ void pipeline_block_released_early(const int *x, int *y) {
  __shared__ int s[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
  auto b = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(b, &st);
  for (int k = 0; k < 2; ++k) {
    pipe.producer_acquire();
    cuda::memcpy_async(b, s[k], x + 64 * k, sizeof(int) * 64, pipe);
    pipe.producer_commit();
  }
  for (int k = 0; k < 8; ++k) {
    pipe.consumer_wait();
    pipe.consumer_release();
    y[64 * k + threadIdx.x] = s[k % 2][63 - threadIdx.x];  // <- race
    if (k + 2 < 8) {
      pipe.producer_acquire();
      cuda::memcpy_async(b, s[k % 2], x + 64 * (k + 2), sizeof(int) * 64, pipe);  // <- race
      pipe.producer_commit();
    }
  }
}

// kernel thread_pipeline grid 1 block 32
// in x int32 = np.arange(256)
// out y int32 = [int(x[i] + 1) for i in range(256)]
extern "C" __global__ void thread_pipeline(const int *x, int *y) {
  __shared__ int s[3][32];
  auto pipe = cuda::make_pipeline();
  for (int f = 0, c = 0; c < 8; ++c) {
    for (; f < 8 && f < c + 3; ++f) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[f % 3][threadIdx.x], &x[32 * f + threadIdx.x], sizeof(int), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    y[32 * c + threadIdx.x] = s[c % 3][threadIdx.x] + 1;
    pipe.consumer_release();
  }
}

// kernel thread_pipeline_neighbor grid 1 block 32
// in x int32 = np.arange(256)
// out y int32 = np.zeros(256)
extern "C" __global__ void thread_pipeline_neighbor(const int *x, int *y) {
  __shared__ int s[3][32];
  auto pipe = cuda::make_pipeline();
  for (int f = 0, c = 0; c < 8; ++c) {
    for (; f < 8 && f < c + 3; ++f) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[f % 3][threadIdx.x], &x[32 * f + threadIdx.x], sizeof(int), pipe);  // <- race
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    y[32 * c + threadIdx.x] = s[c % 3][31 - threadIdx.x] + 1;  // <- race
    pipe.consumer_release();
  }
}

// kernel latch_one grid 1 block 64
// out y int32 = np.arange(64)[::-1]
extern "C" __global__ void latch_one(int *y) {
  __shared__ int s[64];
  __shared__ cuda::latch<cuda::thread_scope_block> *l;
  __shared__ alignas(cuda::latch<cuda::thread_scope_block>) char raw[sizeof(cuda::latch<cuda::thread_scope_block>)];
  if (threadIdx.x == 0) l = new (raw) cuda::latch<cuda::thread_scope_block>(64);
  __syncthreads();
  s[threadIdx.x] = threadIdx.x;
  l->arrive_and_wait();
  y[threadIdx.x] = s[63 - threadIdx.x];
}

// kernel semaphore_two grid 6 block 32
// inout mem int64 = np.zeros(4) -> _
// inout n int32 = [0] -> [6]
__device__ cuda::binary_semaphore<cuda::thread_scope_device> sem(1);
extern "C" __global__ void semaphore_two(long long *mem, int *n) {
  if (threadIdx.x) return;
  sem.acquire();
  *n += 1;
  sem.release();
}

// kernel semaphore_two_permits grid 6 block 32
// inout n int32 = [0] -> _
__device__ cuda::counting_semaphore<cuda::thread_scope_device, 2> two(2);
extern "C" __global__ void semaphore_two_permits(int *n) {
  if (threadIdx.x) return;
  two.acquire();
  *n += 1;  // <- race
  two.release();
}

// legacy primitives
// kernel primitives grid 1 block 64
// in x float32 = np.arange(256.)
// out y float32 = np.concatenate([x[64*k:64*k+64][::-1] for k in range(4)])
extern "C" __global__ void primitives(const float *x, float *y) {
  __shared__ float s[2][64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);
  __pipeline_commit();
  for (int k = 0; k < 4; ++k) {
    if (k < 3) __pipeline_memcpy_async(&s[(k + 1) & 1][t], &x[64 * (k + 1) + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    y[64 * k + t] = s[k & 1][63 - t];
    __syncthreads();
  }
}

// kernel primitives_commit_in_if grid 1 block 64
// in x float32 = np.arange(256.)
// out y float32 = np.zeros(256)
extern "C" __global__ void primitives_commit_in_if(const float *x, float *y) {
  __shared__ float s[2][64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);
  __pipeline_commit();
  for (int k = 0; k < 4; ++k) {
    if (k < 3) { __pipeline_memcpy_async(&s[(k + 1) & 1][t], &x[64 * (k + 1) + t], 4); __pipeline_commit(); }  // <- race
    __pipeline_wait_prior(1);
    __syncthreads();
    y[64 * k + t] = s[k & 1][63 - t];  // <- race
    __syncthreads();
  }
}

// kernel zfill grid 1 block 32
// in x int32 = np.arange(100)
// out y int32 = np.concatenate([np.arange(100), np.zeros(28)])
extern "C" __global__ void zfill(const int *x, int *y) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x, left = 100 - 4 * t, bytes = left >= 4 ? 16 : left > 0 ? 4 * left : 0;
  __pipeline_memcpy_async(&s[4 * t], bytes ? &x[4 * t] : x, 16, 16 - bytes);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();
  for (int k = 0; k < 4; ++k) y[32 * k + t] = s[32 * k + t];
}

// kernel zfill_forgotten grid 1 block 32
// in x int32 = np.arange(100)
// out y int32 = np.zeros(128)
extern "C" __global__ void zfill_forgotten(const int *x, int *y) {
  __shared__ alignas(16) int s[128];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[4 * t], &x[4 * t], 16);  // <- invalid-access
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();
  for (int k = 0; k < 4; ++k) y[32 * k + t] = s[32 * k + t];
}

// kernel ptx_mbarrier grid 1 block 32
// in x int32 = np.arange(64)
// out y int32 = np.arange(64)[::-1]
extern "C" __global__ void ptx_mbarrier(const int *x, int *y) {
  __shared__ alignas(16) int s[64];
  __shared__ alignas(8) unsigned long long bar;
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar), d = (unsigned)__cvta_generic_to_shared(s);
  int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(b));
  __syncwarp();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(d + 8 * t), "l"(x + 2 * t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(b) : "memory");
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" :: "r"(b) : "memory");
  y[t] = s[63 - t]; y[t + 32] = s[31 - t];
}

// kernel barrier_used_before_its_init grid 1 block 64
// in x int32 = np.arange(64)
// inout y int32 = np.zeros(64) -> _
// hints Threads update `b` before another thread has set it. Put __syncthreads() between line I< and
extern "C" __global__ void barrier_used_before_its_init(const int *x, int *y)
{
  __shared__ int s[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  int t = threadIdx.x;
  if (t == 0) init(&b, 64);  // <I
  s[t] = x[t];
  b.arrive_and_wait();  // <- race
  y[t] = s[63 - t];
}

// A ring of two buffers: the producer waits for a buffer to be free, first with the wrong parity.

// kernel ring_waits_for_another_phase grid 1 block 64
// in x int32 = np.arange(256)
// inout y int32 = np.zeros(256) -> _
// finds timeout error deadlock
// hints Line W< waits for the parity of another phase than the one that it needs. Exchange parity 0
__device__ unsigned shared_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void make(unsigned long long *b, int n)
{
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(shared_of(b)), "r"(n) : "memory");
}
__device__ void come(unsigned long long *b)
{
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(shared_of(b)) : "memory");
}
__device__ void await(unsigned long long *b, int p)
{
  asm volatile("{ .reg .pred q; L: mbarrier.try_wait.parity.shared.b64 q, [%0], %1; @!q bra L; }"
               :: "r"(shared_of(b)), "r"(p) : "memory");  // <- timeout
}
extern "C" __global__ void ring_waits_for_another_phase(const int *x, int *y)
{
  __shared__ int s[2][32];
  __shared__ unsigned long long full[2], empty[2];
  int t = threadIdx.x;
  if (t == 0) for (int k = 0; k < 2; k++) { make(&full[k], 32); make(&empty[k], 32); }
  __syncthreads();
  for (int k = 0; k < 8; k++) {
    int own = k % 2, round = k / 2;
    if (t < 32) {
      if (k >= 2) await(&empty[own], round & 1);  // <W
      s[own][t] = x[k * 32 + t];
      come(&full[own]);
    } else {
      await(&full[own], round & 1);
      y[k * 32 + t - 32] = s[own][63 - t];
      come(&empty[own]);
    }
  }
}

// kernel ring_waits_for_the_phase grid 1 block 64
// in x int32 = np.arange(256)
// out y int32 = x.reshape(8, 32)[:, ::-1].ravel()
extern "C" __global__ void ring_waits_for_the_phase(const int *x, int *y)
{
  __shared__ int s[2][32];
  __shared__ unsigned long long full[2], empty[2];
  int t = threadIdx.x;
  if (t == 0) for (int k = 0; k < 2; k++) { make(&full[k], 32); make(&empty[k], 32); }
  __syncthreads();
  for (int k = 0; k < 8; k++) {
    int own = k % 2, round = k / 2;
    if (t < 32) {
      if (k >= 2) await(&empty[own], (round + 1) & 1);
      s[own][t] = x[k * 32 + t];
      come(&full[own]);
    } else {
      await(&full[own], round & 1);
      y[k * 32 + t - 32] = s[own][63 - t];
      come(&empty[own]);
    }
  }
}
