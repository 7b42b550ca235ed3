// Clocks and sleep: loops that end by time, time between two reads, and orders of reads.

// kernel delays grid 3 block 96
// out y int32 = np.ones(288)
extern "C" __global__ void delays(int *y) {
  long long start = clock64();
  while (clock64() - start < 3000000000ll) {}
  clock_t begin = clock();
  while ((unsigned)(clock() - begin) < 100000u) {}
  y[blockIdx.x * 96 + threadIdx.x] = clock64() - start >= 3000000000ll;
}

// A sleep of t ns may end after 0 to 2 t, says the PTX manual; an H200 sleeps for half of t and more.
// kernel sleeps grid 2 block 64
// out y int32 = np.ones(128)
extern "C" __global__ void sleeps(int *y) {
  unsigned long long before, after;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
  for (int k = 0; k < 10; k++) __nanosleep(1000 * (threadIdx.x + 1));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
  y[blockIdx.x * 64 + threadIdx.x] = after - before >= 1000 && after - before < 10000000000;
}

// Two reads in straight code: the time between them is that of the code between, never 0.
// kernel straight grid 1 block 32
// in x float32 = np.arange(32)
// out y float32 = np.arange(32) * 2 + 3
// out z int32 = np.ones(32)
extern "C" __global__ void straight(const float *x, float *y, int *z) {
  int t = threadIdx.x;
  long long a = clock64();
  float v = x[t] * 2;
  long long b = clock64();
  y[t] = v + 3;
  unsigned lo, hi;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(lo));
  asm volatile("mov.u32 %0, %%clock_hi;" : "=r"(hi));
  z[t] = b > a && b - a < 100000 && 1000.0f / (b - a) > 0 && (lo > 0 || hi > 0);
}

// A thread that reads the clock after a barrier never sees less than a thread that read before it:
// so it is simulated; hardware does not promise it.
// kernel ordered grid 4 block 256
// out y int32 = np.ones(1024)
extern "C" __global__ void ordered(int *y) {
  __shared__ long long at[256];
  int t = threadIdx.x, right = 1;
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < t % 7; k++) __nanosleep(50);
    at[t] = clock64();
    __syncthreads();
    long long now = clock64();
    for (int k = 0; k < 256; k++) right &= now > at[k];
    __syncthreads();
  }
  y[blockIdx.x * 256 + t] = right;
}

// The global timer across blocks: what is passed through an atomic never lies in the future.
// kernel global_order grid 8 block 64
// inout last uint64 = np.zeros(1) -> _
// out y int32 = np.ones(512)
extern "C" __global__ void global_order(unsigned long long *last, int *y) {
  int right = 1;
  for (int k = 0; k < 5; k++) {
    unsigned long long before = atomicMax(last, 0ull), now;
    __threadfence();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    right &= now >= before;
    atomicMax(last, now);
    __nanosleep(100);
  }
  y[blockIdx.x * 64 + threadIdx.x] = right;
}

// A wait with a timeout that is long enough for its producer, within a block and across blocks.
// kernel patient grid 2 block 64
// inout flag int32 = np.zeros(2) -> _
// inout data float32 = np.zeros(64) -> _
// out y float32 = np.arange(64) * 2 + 100
extern "C" __global__ void patient(int *flag, float *data, float *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 1) {
    float x = 0;
    for (int k = 0; k < 50; k++) x += 2;
    data[t] = x + t;
    __threadfence();
    __syncthreads();
    if (t == 0) atomicExch(flag, 1);
    return;
  }
  long long start = clock64();
  bool ready = false;
  while (!ready && clock64() - start < 1000000) {
    ready = atomicAdd(flag, 0) == 1;
    if (!ready) __nanosleep(20);
  }
  __threadfence();
  y[t] = ready ? data[t] + t : -1;
}

// A wait whose producer never comes ends by its timeout.
// kernel gives_up grid 1 block 64
// inout flag int32 = np.zeros(1) -> _
// out y int32 = np.full(64, 7)
extern "C" __global__ void gives_up(int *flag, int *y) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  int result = 7;
  do {
    if (*(volatile int *)flag == 1) { result = 1; break; }
    __nanosleep(1 << 16);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < 2000000000ull);
  y[threadIdx.x] = result;
}

// Exponential backoff at a lock.
// kernel backoff grid 4 block 64
// inout lock int32 = np.zeros(1) -> np.zeros(1)
// inout sum int32 = np.zeros(1) -> [256]
extern "C" __global__ void backoff(int *lock, int *sum) {
  unsigned wait = 8;
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      sum[0] = sum[0] + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    } else {
      __nanosleep(wait);
      wait = wait < 256 ? wait * 2 : wait;
    }
  }
}
