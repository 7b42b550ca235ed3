// Asynchronous copies on barriers and pipelines in shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;

// Double buffering with bulk copies: one barrier for each buffer, and phases in turn.
// kernel two_buffers grid 2 block 64
// in x float32 = rng.normal(size=1024)
// out y float32 = 2 * x
extern "C" __global__ void two_buffers(const float *x, float *y) {
  alignas(128) __shared__ float s[2][128];
  __shared__ barrier full[2];
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) { init(&full[0], 64); init(&full[1], 64); }
  block.sync();
  const float *from = x + blockIdx.x * 512;
  cuda::memcpy_async(block, s[0], from, cuda::aligned_size_t<16>(512), full[0]);
  for (int k = 0; k < 4; k++) {
    if (k < 3) cuda::memcpy_async(block, s[(k + 1) % 2], from + (k + 1) * 128, cuda::aligned_size_t<16>(512), full[(k + 1) % 2]);
    full[k % 2].arrive_and_wait();
    for (int i = threadIdx.x; i < 128; i += 64) y[blockIdx.x * 512 + k * 128 + i] = 2 * s[k % 2][i];
    block.sync();
  }
}

// One thread expects the bytes before it starts the copies; others wait by parity.
// kernel expected_first grid 1 block 96
// in x float32 = rng.normal(size=768)
// out y float32 = x.reshape(3, 256)[:, ::-1]
extern "C" __global__ void expected_first(const float *x, float *y) {
  alignas(16) __shared__ float s[256];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) cuda::ptx::mbarrier_init(&full, 1);
  __syncthreads();
  for (int k = 0; k < 3; k++) {
    if (threadIdx.x == 0) {
      cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta, cuda::ptx::space_shared, &full, 1024);
      for (int part = 0; part < 4; part++)
        cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, s + part * 64, x + k * 256 + part * 64, 256, &full);
    }
    while (!cuda::ptx::mbarrier_try_wait_parity(&full, k & 1)) {}
    for (int i = threadIdx.x; i < 256; i += 96) y[k * 256 + i] = s[255 - i];
    __syncthreads();
  }
}

// Threads that copy their own parts, of sizes that no instruction has, and a plain copy.
// kernel odd_sizes grid 1 block 32
// in x int8 = rng.integers(-99, 99, 320)
// out y int8 = x
extern "C" __global__ void odd_sizes(const char *x, char *y) {
  __shared__ char s[320];
  __shared__ barrier bar;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  cuda::memcpy_async(s + threadIdx.x * 10, x + threadIdx.x * 10, 10, bar);
  bar.arrive_and_wait();
  for (int i = threadIdx.x; i < 320; i += 32) y[i] = s[i];
}

// A producer warp and a consumer warp.
// kernel roles grid 2 block 64
// in x float32 = rng.normal(size=512)
// out y float32 = x.reshape(8, 64)[:, ::-1]
extern "C" __global__ void roles(const float *x, float *y) {
  __shared__ float s[3][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
  auto block = cg::this_thread_block();
  auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  int t = threadIdx.x % 32, base = blockIdx.x * 256;
  for (int k = 0; k < 4; k++) {
    if (threadIdx.x < 32) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[k % 3][t * 2], x + base + k * 64 + t * 2, sizeof(float) * 2, pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      for (int i = t; i < 64; i += 32) y[base + k * 64 + i] = s[k % 3][63 - i];
      pipe.consumer_release();
    }
  }
}

// All threads produce and consume, two stages ahead.
// kernel unified grid 1 block 64
// in x float32 = rng.normal(size=512)
// out y float32 = x.reshape(8, 64)[:, ::-1]
extern "C" __global__ void unified(const float *x, float *y) {
  __shared__ float s[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int k = 0, f = 0; k < 8; k++) {
    for (; f < 8 && f < k + 2; f++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[f % 2], x + f * 64, cuda::aligned_size_t<16>(256), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    y[k * 64 + threadIdx.x] = s[k % 2][63 - threadIdx.x];
    pipe.consumer_release();
  }
}

// The group's own copies, two buffers in turn: each wait is for the copy before the newest.
// kernel group_copies_in_turn grid 2 block 64
// in x float32 = rng.normal(size=512)
// out y float32 = x.reshape(8, 64)[:, ::-1].ravel()
extern "C" __global__ void group_copies_in_turn(const float *x, float *y) {
  __shared__ float s[2][64];
  auto block = cg::this_thread_block();
  int base = blockIdx.x * 256, t = threadIdx.x;
  cg::memcpy_async(block, s[0], x + base, sizeof(float) * 64);
  for (int i = 0; i < 4; i++) {
    if (i < 3) {
      cg::memcpy_async(block, s[(i + 1) & 1], x + base + 64 * (i + 1), sizeof(float) * 64);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    y[base + 64 * i + t] = s[i & 1][63 - t];
    block.sync();
  }
}

// The next copy overwrites what other threads still read: the copy's own line, not that of the wait.
// kernel group_copies_too_early grid 2 block 64
// in x float32 = rng.normal(size=512)
// out y float32 = x.reshape(8, 64)[:, ::-1].ravel()
extern "C" __global__ void group_copies_too_early(const float *x, float *y) {
  __shared__ float s[2][64];
  auto block = cg::this_thread_block();
  int base = blockIdx.x * 256, t = threadIdx.x;
  cg::memcpy_async(block, s[0], x + base, sizeof(float) * 64);
  for (int i = 0; i < 4; i++) {
    if (i < 3) {
      cg::memcpy_async(block, s[(i + 1) & 1], x + base + 64 * (i + 1), sizeof(float) * 64);  // <- race
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    y[base + 64 * i + t] = s[i & 1][63 - t];
  }
}

// Wrong: nothing waits for the copies of a stage.
// kernel stages_not_awaited grid 1 block 64
// in x float32 = np.arange(64 * 6)
// out y float32 = x.reshape(6, 64).sum(0)[::-1]
// hints No thread calls consumer_wait()
extern "C" __global__ void stages_not_awaited(const float *x, float *y) {
  __shared__ float s[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  for (int k = 0, next = 0; k < 6; ++k) {
    for (; next < 6 && next < k + 2; ++next) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[next % 2], x + next * 64, 256, pipe);  // <- race
      pipe.producer_commit();
    }
    sum += s[k % 2][63 - threadIdx.x];  // <- race
    pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}

// Wrong: nothing waits until a stage is free.
// kernel stages_not_acquired grid 1 block 64
// in x float32 = np.arange(64 * 6)
// out y float32 = x.reshape(6, 64).sum(0)[::-1]
// hints No thread calls producer_acquire()
extern "C" __global__ void stages_not_acquired(const float *x, float *y) {
  __shared__ float s[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  for (int k = 0, next = 0; k < 6; ++k) {
    for (; next < 6 && next < k + 2; ++next) {
      cuda::memcpy_async(block, s[next % 2], x + next * 64, 256, pipe);  // <- race
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += s[k % 2][63 - threadIdx.x];  // <- race
    pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}
