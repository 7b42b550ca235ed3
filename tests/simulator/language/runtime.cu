// What the device runtime gives: printf, malloc and free, new and delete, assert, trap, clocks.
#include <stdio.h>
#include <assert.h>

// kernel printing grid 1 block 1
// in x float32 = [1.5]
// prints d -5|    7|-3   |+4|u 4294967295|x ff|0XFF|00ff|o 17\n
// prints f 1.500000|  2.50|1.000000e+10|0.0001|1e+20\n
// prints s word|  wo|c Z|% 100%|ll -5000000000|18446744073709551615|(null)\n
// prints p (nil)|h -1|zu 12|    *| 42\n
extern "C" __global__ void printing(const float *x) {
  printf("d %d|%5d|%-5d|%+d|u %u|x %x|%#X|%04x|o %o\n", -5, 7, -3, 4, 0xffffffffu, 255, 255, 255, 15);
  printf("f %f|%6.2f|%e|%g|%g\n", x[0], 2.5, 1e10, 0.0001, 1e20);
  printf("s %s|%4.2s|c %c|%% 100%%|ll %lld|%llu|%s\n", "word", "word", 'Z', -5000000000ll, ~0ull, (const char *)0);
  printf("p %p|h %hd|zu %zu|%5s|%*d\n", (void *)0, (short)-1, (size_t)12, "*", 3, 42);
}

// kernel print_order grid 2 block 2
// out y int32 = [1, 1, 1, 1]
// prints block 0 thread 0\nblock 0 thread 1\nblock 1 thread 0\nblock 1 thread 1\n
extern "C" __global__ void print_order(int *y) {
  y[blockIdx.x * 2 + threadIdx.x] = printf("block %d thread %d\n", blockIdx.x, threadIdx.x) - 1;
}

// kernel heap grid 2 block 32
// out y int32 = np.arange(64) * 3
extern "C" __global__ void heap(int *y) {
  int n = threadIdx.x + 1, i = blockIdx.x * 32 + threadIdx.x;
  int *p = (int *)malloc(n * sizeof(int));
  for (int k = 0; k < n; k++) p[k] = i * 3;
  y[i] = p[n - 1];
  free(p);
  free(nullptr);
}

// kernel heap_shared grid 1 block 32
// out y int32 = np.arange(32)[::-1]
extern "C" __global__ void heap_shared(int *y) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = new int[32];
  __syncthreads();
  p[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = p[31 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) delete[] p;
}

// kernel heap_full grid 1 block 1
// out y int32 = [1, 0, 8]
extern "C" __global__ void heap_full(int *y) {
  void *p = malloc(9 << 20), *q = malloc(4 << 20);
  y[0] = p == nullptr;
  y[1] = q == nullptr;
  int n = 0;
  free(q);
  for (void *r; (r = malloc((1 << 20) - 64)) != nullptr; n++) {}
  y[2] = n;
}

// kernel heap_past_end grid 1 block 1
// value n int32 = 4
// out y int32 = [0]
// finds invalid-access error 4 bytes past the end of global `memory from malloc` (16 bytes)
extern "C" __global__ void heap_past_end(int n, int *y) {
  int *p = (int *)malloc(16);
  for (int k = 0; k <= n; k++) p[k] = 0;
  y[0] = p[0];
}

// kernel heap_after_free grid 1 block 1
// inout y int32 = [0] -> _
// finds invalid-access error in memory that line
extern "C" __global__ void heap_after_free(int *y) {
  int *p = (int *)malloc(16);
  p[0] = y[0];
  free(p);
  y[0] = p[0];
}

// kernel heap_double_free grid 1 block 1
// inout y int32 = [0] -> _
// finds invalid-access error free of memory that line
extern "C" __global__ void heap_double_free(int *y) {
  int *p = (int *)malloc(16);
  p[0] = 1;
  y[0] = p[0];
  free(p);
  free(p);
}

// kernel heap_uninitialized grid 1 block 1
// inout y int32 = [0] -> _
// finds uninitialized-read error memory from malloc
extern "C" __global__ void heap_uninitialized(int *y) {
  int *p = (int *)malloc(16);
  y[0] = p[1];
}

// kernel heap_race grid 1 block 64
// inout y int32 = [0] -> _
// finds race error write-after-write hazard on global `memory from malloc`
extern "C" __global__ void heap_race(int *y) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = (int *)malloc(4);
  __syncthreads();
  *p = threadIdx.x / 32;
  __syncthreads();
  if (threadIdx.x == 0) y[0] = *p >= 0;
}

// kernel asserting grid 1 block 32
// in x int32 = np.arange(32) + 1
// out y int32 = x
extern "C" __global__ void asserting(const int *x, int *y) {
  assert(x[threadIdx.x] > 0 && "all are");
  y[threadIdx.x] = x[threadIdx.x];
}

// kernel assert_fails grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = x
// finds launch-failure error assertion `x[threadIdx.x] < 20` failed
extern "C" __global__ void assert_fails(const int *x, int *y) {
  assert(x[threadIdx.x] < 20);
  y[threadIdx.x] = x[threadIdx.x];
}

// kernel traps grid 1 block 32
// out y int32 = [0]
// finds launch-failure error trap
extern "C" __global__ void traps(int *y) {
  if (threadIdx.x == 5) __trap();
  y[0] = 0;
}

// kernel clocks grid 1 block 32
// out y int32 = np.ones(32)
extern "C" __global__ void clocks(int *y) {
  long long start = clock64();
  unsigned long long timer;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
  while (clock64() - start < 500) __nanosleep(20);
  y[threadIdx.x] = clock() > 0 && clock64() > start && timer > 0;
}
