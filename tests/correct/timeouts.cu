// Waits that give up after a time: where nobody comes, and where another warp comes late but in time.
#include <cuda/barrier>
#include <cuda/std/chrono>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// kernel nobody_comes grid 1 block 32
// out done int32 = np.zeros(32)
extern "C" __global__ void nobody_comes(int *done) {
    __shared__ Barrier bar;
    if (threadIdx.x == 0) init(&bar, 33);
    __syncthreads();
    auto token = bar.arrive();
    done[threadIdx.x] = bar.try_wait_for(cuda::std::move(token), cuda::std::chrono::seconds(1));
}

// kernel comes_late grid 1 block 64
// out done int32 = np.ones(32)
// out value uint32 = np.array([0x56a8d321])
extern "C" __global__ void comes_late(int *done, unsigned *value) {
    __shared__ Barrier bar;
    __shared__ unsigned shared;
    if (threadIdx.x == 0) init(&bar, 64);
    __syncthreads();
    if (threadIdx.x < 32) {
        auto token = bar.arrive();
        done[threadIdx.x] = bar.try_wait_for(cuda::std::move(token), cuda::std::chrono::seconds(1));
        if (threadIdx.x == 0) *value = shared;
    } else {
        unsigned x = 1;
        for (int i = 0; i < 20000; ++i) x = x * 1664525u + 1013904223u;  // stores nothing meanwhile
        if (threadIdx.x == 32) shared = x;
        bar.arrive_and_wait();
    }
}

// kernel polled grid 1 block 64
// out polls int32 = np.array([1])
extern "C" __global__ void polled(int *polls) {
    __shared__ int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        long long start = clock64();
        while (!atomicAdd(&ready, 0) && clock64() - start < 4000000000ll) {}
        polls[0] = atomicAdd(&ready, 0);
    } else if (threadIdx.x == 32) {
        unsigned x = 1;
        for (int i = 0; i < 20000; ++i) x = x * 1664525u + 1013904223u;
        atomicExch(&ready, x != 0);
    }
}

// What takes 10 microseconds on a GPU is in time for a wait of 100.
// kernel in_time grid 1 block 64
// out value int32 = np.array([1])
extern "C" __global__ void in_time(int *value) {
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        long long start = clock64();
        while (!atomicAdd(&flag, 0))
            if (clock64() - start > 200000) __trap();
        *value = 1;
    } else if (threadIdx.x == 32) {
        unsigned x = threadIdx.x;
        for (int i = 0; i < 1000; ++i) x = x * 1664525u + 1013904223u;
        atomicExch(&flag, x != 0);
    }
}

// What waits and what writes are in one line: it is written there.
// kernel waits_in_one_line grid 4 block 8
// inout count int32 = [0] -> _
// inout sense int32 = [0] -> _
// value rounds int32 = 3
// hints is written in line a<, and no thread that remains comes to that statement.
__device__ void wait_in_one_line(int *count, volatile int *sense, int *own, int n) { __syncthreads(); if (threadIdx.x == 0) { *own = !*own; __threadfence(); if (atomicAdd(count, 1) == n - 1) { __threadfence(); *sense = *own; } else { while (*sense != *own) {} } __threadfence(); } __syncthreads(); }  // <a <- timeout
extern "C" __global__ void waits_in_one_line(int *count, volatile int *sense, int rounds) {
  __shared__ int own;
  if (threadIdx.x == 0) own = 0;
  for (int k = 0; k < rounds; k++) wait_in_one_line(count, sense, &own, gridDim.x);
}

// A type that never reaches the bound.
// kernel counted_in_a_byte grid 1 block 32
// finds timeout error `i` is unsigned char, from 0 to 255, so `i < 10 * 31` is always true
// inout y int32 = np.zeros(32) -> _
extern "C" __global__ void counted_in_a_byte(int *y) {
  int n = 0;
  for (unsigned char i = threadIdx.x; i < 10 * 31; i += 32) n++;  // <- timeout
  y[threadIdx.x] = n;
}

// kernel stored_by_a_byte grid 1 block 32
// finds timeout error so `i < LAST` is always true
// inout y int32 = np.zeros(256) -> _
#define LAST 256
extern "C" __global__ void stored_by_a_byte(int *y) {
  for (uint8_t i = threadIdx.x; i < LAST; i += 32)  // <- timeout
    y[i] = i;
}

// kernel down_to_zero grid 1 block 32
// finds timeout error `i` is unsigned, from 0 to 4,294,967,295, so `i >= 0` is always true
// inout y int32 = np.zeros(1) -> _
extern "C" __global__ void down_to_zero(int *y) {
  int n = 0;
  for (unsigned i = 9; i >= 0; --i) n += i & 1;  // <- timeout
  if (threadIdx.x == 0) *y = n;
}

// A loop of the same condition that a break ends, and bounds that the type reaches.
// kernel down_to_zero_and_out grid 1 block 32
// out y int32 = [5, 255, 10]
extern "C" __global__ void down_to_zero_and_out(int *y) {
  int n = 0, m = 0, k = 0;
  for (unsigned i = 9; i >= 0; --i) { n += i & 1; if (i == 0) break; }
  for (unsigned char i = 0; i < 255; ++i) m++;
  for (signed char i = 9; i >= 0; --i) k++;
  if (threadIdx.x == 0) { y[0] = n; y[1] = m; y[2] = k; }
}

// The inner loop ends; the outer one does not, for another reason.
// kernel counted_in_a_byte_in_vain grid 1 block 32
// finds timeout error nothing that the condition of this loop depends on changes
// value n int32 = 3
// inout y int32 = np.zeros(32) -> _
extern "C" __global__ void counted_in_a_byte_in_vain(int n, int *y) {
  int sum = 0, k = 0;
  while (k < n) {  // <- timeout
    for (unsigned char i = 0; i < 200; i += 32) sum++;
    if (sum < 0) k++;
    sum = 0;
  }
  y[threadIdx.x] = sum;
}

// Nobody serves: an atomic that adds 0 writes nothing.
// kernel turn_never_given_on grid 3 block 1
// inout next int32 = [0] -> _
// inout serving int32 = [0] -> _
// finds timeout error and no line of the kernel writes it
extern "C" __global__ void turn_never_given_on(int *next, int *serving) {
  int mine = atomicAdd(next, 1);
  while (atomicAdd(serving, 0) != mine) ;  // <- timeout
}

// A lock that is never freed: no line writes it but the one that takes it.
// kernel lock_never_freed grid 3 block 1
// inout lock int32 = [0] -> _
// inout sum int32 = [0] -> _
// hints No other line than a< itself writes `lock`.
extern "C" __global__ void lock_never_freed(int *lock, int *sum) {
  while (atomicCAS(lock, 0, 1) != 0) ;  // <a <- timeout
  __threadfence();
  *sum += 1;
  __threadfence();
}

// What an atomic returns is no address of its place, though it chooses an element of another array.
// kernel slots_never_counted grid 2 block 32
// inout count int32 = [0] -> _
// inout y int32 = np.zeros(64) -> _
// finds timeout error this loop waits for `count[0]`, which is 0, and no line of the kernel writes it
extern "C" __global__ void slots_never_counted(int *count, int *y) {
  int k;
  do {
    k = atomicAdd(count, 0);  // <- timeout
    if (k < 64) y[k] = 1;
  } while (k < 64);
}

// The function that writes the flag is called in the loop, too, for another array.
// kernel set_too_late grid 2 block 32
// inout flag int32 = [0] -> _
// inout y int32 = np.zeros(64) -> _
// hints No thread that runs can change what this loop waits for.
__device__ void set(int *p, int v) { *p = v; }
extern "C" __global__ void set_too_late(int *flag, int *y) {
  volatile int *v = flag;
  while (*v == 0) set(&y[threadIdx.x], 5);  // <- timeout
  set(flag, 1);
}

// The line that waits for a lock writes it, too: it is the other one to which no thread comes.
// kernel lock_freed_in_a_branch grid 4 block 32
// inout lock int32 = [0] -> _
// inout sum int32 = [0] -> _
// hints `lock` is written in line a<, and no thread that remains comes there. Let a thread write
extern "C" __global__ void lock_freed_in_a_branch(int *lock, int *sum) {
  if (threadIdx.x) return;
  while (atomicCAS(lock, 0, 1)) {}  // <- timeout
  __threadfence();
  int v = ++*sum;
  __threadfence();
  if (v < 3) atomicExch(lock, 0);  // <a
}
