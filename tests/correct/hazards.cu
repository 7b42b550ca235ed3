// What a thread reads must not be reused: readers publish what they read (hazard pointers), raise a flag, or count. A writer that
// does not look, or a reader that does not look again, is wrong in orders where the writer is in the middle of its next round.
#include <cuda/atomic>
using namespace cuda::std;
template <typename T> using dev = cuda::atomic_ref<T, cuda::thread_scope_device>;
template <bool F> __device__ void fence() { if (F) cuda::atomic_thread_fence(memory_order_seq_cst, cuda::thread_scope_device); }

template <bool PUBLISHED, bool AGAIN, bool LOOKS> __device__ void hazards(int *current, int *hazard, int *node, int *bad) {
  #pragma unroll 1
  for (int k = 1; k < 3; k++) {
    int c = dev<int>(*current).load(memory_order_acquire);
    if (blockIdx.x == 0) {
      dev<int>(node[1 - c]).store(k, memory_order_relaxed);
      dev<int>(*current).store(1 - c, memory_order_release);
      fence<true>();
      if (LOOKS) while (dev<int>(*hazard).load(memory_order_acquire) == c) {}
      dev<int>(node[c]).store(-1, memory_order_relaxed);
      continue;
    }
    while (true) {
      dev<int>(*hazard).store(c, memory_order_relaxed);
      fence<PUBLISHED>();
      int again = AGAIN ? dev<int>(*current).load(memory_order_acquire) : c;
      if (again == c) break;
      c = again;
    }
    if (dev<int>(node[c]).load(memory_order_relaxed) < 0) atomicAdd(bad, 1);
    dev<int>(*hazard).store(-1, memory_order_release);
  }
}
// kernel hazard_pointers grid 2 block 1
// inout current int32 = [0] -> _
// inout hazard int32 = [-1] -> _
// inout node int32 = [0,-1] -> _
// inout bad int32 = [0] -> [0]
extern "C" __global__ void hazard_pointers(int *current, int *hazard, int *node, int *bad) { hazards<true, true, true>(current, hazard, node, bad); }
// kernel hazards_ignored grid 2 block 1 orders wrong
// inout current int32 = [0] -> _
// inout hazard int32 = [-1] -> _
// inout node int32 = [0,-1] -> _
// inout bad int32 = [0] -> [0]
extern "C" __global__ void hazards_ignored(int *current, int *hazard, int *node, int *bad) { hazards<true, true, false>(current, hazard, node, bad); }
// kernel hazards_unfenced grid 2 block 1
// inout current int32 = [0] -> _
// inout hazard int32 = [-1] -> _
// inout node int32 = [0,-1] -> _
// inout bad int32 = [0] -> [0]
// finds race error this read of global `current[0]` may miss the write
extern "C" __global__ void hazards_unfenced(int *current, int *hazard, int *node, int *bad) { hazards<false, true, true>(current, hazard, node, bad); }

template <bool WAITS> __device__ void flags(int *inside, int *current, int *node, int *bad) {
  #pragma unroll 1
  for (int k = 1; k < 3; k++) {
    if (blockIdx.x == 0) {
      int c = dev<int>(*current).load(memory_order_relaxed);
      dev<int>(node[1 - c]).store(k, memory_order_relaxed);
      dev<int>(*current).store(1 - c, memory_order_release);
      fence<true>();
      if (WAITS) while (dev<int>(*inside).load(memory_order_acquire)) {}
      dev<int>(node[c]).store(-1, memory_order_relaxed);
    } else {
      dev<int>(*inside).store(1, memory_order_relaxed);
      fence<true>();
      int c = dev<int>(*current).load(memory_order_acquire);
      if (dev<int>(node[c]).load(memory_order_relaxed) < 0) atomicAdd(bad, 1);
      dev<int>(*inside).store(0, memory_order_release);
    }
  }
}
// kernel reader_flag grid 2 block 1
// inout inside int32 = [0] -> _
// inout current int32 = [0] -> _
// inout node int32 = [0,-1] -> _
// inout bad int32 = [0] -> [0]
extern "C" __global__ void reader_flag(int *inside, int *current, int *node, int *bad) { flags<true>(inside, current, node, bad); }
// kernel reader_flag_ignored grid 2 block 1 orders wrong
// inout inside int32 = [0] -> _
// inout current int32 = [0] -> _
// inout node int32 = [0,-1] -> _
// inout bad int32 = [0] -> [0]
extern "C" __global__ void reader_flag_ignored(int *inside, int *current, int *node, int *bad) { flags<false>(inside, current, node, bad); }

template <bool AGAIN> __device__ void counts(int *current, int *readers, volatile int *pair, int *bad) {
  #pragma unroll 1
  for (int k = 1; k < 4; k++) {
    int c = atomicAdd(current, 0);
    if (blockIdx.x == 0) {
      int n = 1 - c;
      while (atomicAdd(&readers[n], 0)) {}
      __threadfence();
      pair[2 * n] = k;
      pair[2 * n + 1] = k;
      __threadfence();
      atomicExch(current, n);
      __threadfence();
      continue;
    }
    while (true) {
      atomicAdd(&readers[c], 1);
      __threadfence();
      int again = AGAIN ? atomicAdd(current, 0) : c;
      if (again == c) break;
      atomicSub(&readers[c], 1);
      c = again;
    }
    int a = pair[2 * c], b = pair[2 * c + 1];
    if (a != b) atomicAdd(bad, 1);
    __threadfence();
    atomicSub(&readers[c], 1);
  }
}
// kernel counted_readers grid 2 block 1
// inout current int32 = [0] -> _
// inout readers int32 = [0,0] -> [0,0]
// inout pair int32 = [0]*4 -> _
// inout bad int32 = [0] -> [0]
extern "C" __global__ void counted_readers(int *current, int *readers, int *pair, int *bad) { counts<true>(current, readers, pair, bad); }
// kernel counted_too_late grid 2 block 1 orders wrong
// inout current int32 = [0] -> _
// inout readers int32 = [0,0] -> [0,0]
// inout pair int32 = [0]*4 -> _
// inout bad int32 = [0] -> [0]
extern "C" __global__ void counted_too_late(int *current, int *readers, int *pair, int *bad) { counts<false>(current, readers, pair, bad); }
