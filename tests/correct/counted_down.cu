// A latch or a counter that is counted down announces what its thread stored before.

#include <cuda/latch>
using latch_t = cuda::latch<cuda::thread_scope_block>;

// kernel latch_after_a_loop grid 1 block 64
// in x int32 = np.arange(128)
// out y int32 = np.arange(128)[::-1]
extern "C" __global__ void latch_after_a_loop(const int *x, int *y) {
  __shared__ int data[128];
  __shared__ alignas(8) unsigned char raw[sizeof(latch_t)];
  latch_t &latch = *reinterpret_cast<latch_t *>(raw);
  int t = threadIdx.x;
  if (t == 0) new (raw) latch_t(32);
  __syncthreads();
  if (t < 32) {
    for (int i = t; i < 128; i += 32) {
      data[i] = x[i];
    }
    latch.count_down();
  } else {
    latch.wait();
    for (int i = t - 32; i < 128; i += 32) y[i] = data[127 - i];
  }
}

// kernel latch_before_a_loop grid 1 block 64
// in x int32 = np.arange(128)
// out y int32 = np.arange(128)[::-1]
// hints Line C< signals other threads before line S< accesses `data`: they may access it in between. Put the statement of line C< after line E<. A run with that
extern "C" __global__ void latch_before_a_loop(const int *x, int *y) {
  __shared__ int data[128];
  __shared__ alignas(8) unsigned char raw[sizeof(latch_t)];
  latch_t &latch = *reinterpret_cast<latch_t *>(raw);
  int t = threadIdx.x;
  if (t == 0) new (raw) latch_t(32);
  __syncthreads();
  if (t < 32) {
    latch.count_down();  // <C
    for (int i = t; i < 128; i += 32) {
      data[i] = x[i];  // <S
    }  // <E
  } else {
    latch.wait();
    for (int i = t - 32; i < 128; i += 32) y[i] = data[127 - i];  // <- race
  }
}

// kernel latch_before_two_stores grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.arange(32)[::-1] * 2
// hints Line C< signals other threads before line S< accesses `a`: they may access it in between. Put the statement of line C< after line E<. A run with that
extern "C" __global__ void latch_before_two_stores(const int *x, int *y) {
  __shared__ int a[32], b[32];
  __shared__ alignas(8) unsigned char raw[sizeof(latch_t)];
  latch_t &latch = *reinterpret_cast<latch_t *>(raw);
  int t = threadIdx.x;
  if (t == 0) new (raw) latch_t(32);
  __syncthreads();
  if (t < 32) {
    latch.count_down();  // <C
    a[t] = x[t];  // <S
    b[t] = x[t];  // <E
  } else {
    latch.wait();
    y[t - 32] = a[63 - t] + b[63 - t];  // <- race
  }
}

// kernel counter_after_branches grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.arange(64)[::-1]
extern "C" __global__ void counter_after_branches(const int *x, int *y) {
  __shared__ int data[64], left;
  int t = threadIdx.x;
  if (t == 0) left = 64;
  __syncthreads();
  if (t < 32) {
    data[t] = x[t];
  } else {
    data[t] = x[t];
  }
  __threadfence_block();
  atomicSub(&left, 1);
  while (atomicAdd(&left, 0)) ;
  __threadfence_block();
  y[t] = data[63 - t];
}

// kernel counter_before_branches grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.arange(64)[::-1]
// hints Put the statement of line C< after line E<, and call __threadfence_block() before it. A run with that
extern "C" __global__ void counter_before_branches(const int *x, int *y) {
  __shared__ int data[64], left;
  int t = threadIdx.x;
  if (t == 0) left = 64;
  __syncthreads();
  atomicSub(&left, 1);  // <C
  if (t < 32) {
    data[t] = x[t];
  } else {
    data[t] = x[t];
  }  // <E
  while (atomicAdd(&left, 0)) ;
  __threadfence_block();
  y[t] = data[63 - t];  // <- race
}

// kernel blocks_counted_before_a_loop grid 2 block 32
// in x int32 = np.arange(64)
// inout left int32 = [2] -> _
// inout data int32 = np.zeros(64) -> _
// out y int32 = np.arange(64)[::-1]
// hints Put the statement of line C< after line E<, and call __threadfence() before it. A run with that
extern "C" __global__ void blocks_counted_before_a_loop(const int *x, int *left, int *data, int *y) {
  int t = threadIdx.x, b = blockIdx.x;
  if (t == 0) {
    atomicSub(left, 1);  // <C
    int i = b * 32;
    while (i < b * 32 + 32) {
      data[i] = x[i];
      ++i;
    }  // <E
    while (atomicAdd(left, 0)) ;
    __threadfence();
  }
  __syncthreads();
  y[b * 32 + t] = data[63 - (b * 32 + t)];  // <- race
}
