// Lamport's bakery: each thread takes a number larger than all others, and says while it does. It needs a fence between
// what it says and what it reads of others, and none where a later one orders the same.
#include <cuda/atomic>
using namespace cuda::std;
template <typename T> using dev = cuda::atomic_ref<T, cuda::thread_scope_device>;
enum Fence { NONE, SEQ_CST };
template <Fence F> __device__ void fence() { if (F == SEQ_CST) cuda::atomic_thread_fence(memory_order_seq_cst, cuda::thread_scope_device); }

// kernel chooses_unfenced grid 2 block 1
// inout choosing int32 = [0]*2 -> _
// inout number int32 = [0]*2 -> _
// inout n int32 = [0] -> _
// hints Put `__threadfence();` after line a< and before line b<
template <Fence CHOOSING, Fence CHOSEN, Fence LOOKS, bool RELEASES> __device__ void bakery(int *choosing, int *number, int *n, int threads) {
  int me = blockIdx.x;
  dev<int>(choosing[me]).store(1, memory_order_relaxed);  // <a <- race
  fence<CHOOSING>();
  int most = 0;
  for (int i = 0; i < threads; i++) most = max(most, dev<int>(number[i]).load(memory_order_relaxed));  // <b
  dev<int>(number[me]).store(most + 1, memory_order_relaxed);
  fence<SEQ_CST>();
  dev<int>(choosing[me]).store(0, memory_order_relaxed);
  fence<CHOSEN>();
  for (int i = 0; i < threads; i++) {
    if (i == me) continue;
    while (dev<int>(choosing[i]).load(memory_order_relaxed)) {}
    fence<LOOKS>();
    for (int x; (x = dev<int>(number[i]).load(memory_order_relaxed)) && (x < most + 1 || (x == most + 1 && i < me));) {}
  }
  cuda::atomic_thread_fence(memory_order_acquire, cuda::thread_scope_device);
  *n += 1;
  dev<int>(number[me]).store(0, RELEASES ? memory_order_release : memory_order_relaxed);
}
extern "C" __global__ void chooses_unfenced(int *choosing, int *number, int *n) { bakery<NONE, SEQ_CST, SEQ_CST, true>(choosing, number, n, 2); }

// kernel bakery grid 2 block 1
// inout choosing int32 = [0]*2 -> _
// inout number int32 = [0]*2 -> _
// inout n int32 = [0] -> [2]
extern "C" __global__ void bakery(int *choosing, int *number, int *n) { bakery<SEQ_CST, SEQ_CST, SEQ_CST, true>(choosing, number, n, 2); }

// kernel bakery_of_three grid 3 block 1
// inout choosing int32 = [0]*3 -> _
// inout number int32 = [0]*3 -> _
// inout n int32 = [0] -> [3]
extern "C" __global__ void bakery_of_three(int *choosing, int *number, int *n) { bakery<SEQ_CST, SEQ_CST, SEQ_CST, true>(choosing, number, n, 3); }

// kernel chosen_unfenced grid 2 block 1
// inout choosing int32 = [0]*2 -> _
// inout number int32 = [0]*2 -> _
// inout n int32 = [0] -> [2]
extern "C" __global__ void chosen_unfenced(int *choosing, int *number, int *n) { bakery<SEQ_CST, NONE, SEQ_CST, true>(choosing, number, n, 2); }

// kernel leaves_relaxed grid 2 block 1
// inout choosing int32 = [0]*2 -> _
// inout number int32 = [0]*2 -> _
// inout n int32 = [0] -> _
// finds race error read-after-write hazard on global `n[0]`
extern "C" __global__ void leaves_relaxed(int *choosing, int *number, int *n) { bakery<SEQ_CST, SEQ_CST, SEQ_CST, false>(choosing, number, n, 2); }

// The number is read before the other one chooses it, though the flag is read behind that.
// kernel looks_unfenced grid 2 block 1
// inout choosing int32 = [0]*2 -> _
// inout number int32 = [0]*2 -> _
// inout n int32 = [0] -> _
// finds race error this read of global `number[0]` may miss the write
extern "C" __global__ void looks_unfenced(int *choosing, int *number, int *n) { bakery<SEQ_CST, SEQ_CST, NONE, true>(choosing, number, n, 2); }
