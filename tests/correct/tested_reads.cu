// Volatile reads whose value leaves a function, through a pointer, a reference or an object, and is only
// tested there; and such values that are used as data.

__device__ void look(volatile int *at, int *seen) { *seen = *at; }
__device__ bool is_set(volatile int *at, int &seen) { return (seen = *at) != 0; }

struct Watcher {
  volatile int *at;
  int last;
  __device__ bool passed(int goal) { last = *at; return last >= goal; }
};

__device__ void publish(volatile int *stage, int *data) {
  data[1] = 5; __threadfence(); *stage = 1;
  data[2] = 6; __threadfence(); *stage = 2;
}

// kernel through_pointer grid 2 block 1
// inout stage int32 = [0] -> [2]
// inout data int32 = [0,0,0] -> [0,5,6]
// out y int32 = [11]
extern "C" __global__ void through_pointer(volatile int *stage, int *data, int *y) {
  if (blockIdx.x == 0) { publish(stage, data); return; }
  int s;
  do look(stage, &s); while (s != 2);
  __threadfence();
  *y = data[1] + data[2];
}

// kernel through_reference grid 2 block 1
// inout stage int32 = [0] -> [2]
// inout data int32 = [0,0,0] -> [0,5,6]
// out y int32 = [5]
extern "C" __global__ void through_reference(volatile int *stage, int *data, int *y) {
  if (blockIdx.x == 0) { publish(stage, data); return; }
  int s;
  while (!is_set(stage, s)) {}
  __threadfence();
  *y = data[s > 0];
}

// kernel through_member grid 2 block 1
// inout stage int32 = [0] -> [2]
// inout data int32 = [0,0,0] -> [0,5,6]
// out y int32 = [11]
extern "C" __global__ void through_member(volatile int *stage, int *data, int *y) {
  if (blockIdx.x == 0) { publish(stage, data); return; }
  Watcher w{stage, 0};
  while (!w.passed(1)) {}
  __threadfence();
  int first = data[1];
  while (w.last < 2) w.passed(2);
  __threadfence();
  *y = first + data[2];
}

// kernel once grid 2 block 1
// inout stage int32 = [0] -> [2]
// inout data int32 = [0,0,0] -> [0,5,6]
// inout y int32 = [0] -> _
extern "C" __global__ void once(volatile int *stage, int *data, int *y) {
  if (blockIdx.x == 0) { publish(stage, data); return; }
  int s;
  look(stage, &s);
  __threadfence();
  if (s == 2) *y = data[2];
}

// The value itself is what these give.
// kernel kept grid 2 block 1
// inout stage int32 = [0] -> [2]
// inout data int32 = [0,0,0] -> [0,5,6]
// inout y int32 = [0] -> _
// finds race error volatile does not make the read wait
extern "C" __global__ void kept(volatile int *stage, int *data, int *y) {
  if (blockIdx.x == 0) { publish(stage, data); return; }
  int s;
  look(stage, &s);
  *y = s;
}

// kernel kept_in_place grid 2 block 1
// inout stage int32 = [0] -> [2]
// inout data int32 = [0,0,0] -> [0,5,6]
// inout y int32 = [0] -> _
// finds race error volatile does not make the read wait
extern "C" __global__ void kept_in_place(volatile int *stage, int *data, int *y) {
  if (blockIdx.x == 0) { publish(stage, data); return; }
  look(stage, y);
}

// kernel added grid 2 block 1
// inout stage int32 = [0] -> [2]
// inout data int32 = [0,0,0] -> [0,5,6]
// inout y int32 = [0] -> _
// finds race error volatile does not make the read wait
extern "C" __global__ void added(volatile int *stage, int *data, int *y) {
  if (blockIdx.x == 0) { publish(stage, data); return; }
  Watcher w{stage, 0};
  if (w.passed(0)) atomicAdd(y, w.last);
}

// In shared memory, the volatile read of an atomic's place says whether the atomic is needed. An old value costs one more.
// kernel largest_if_larger grid 1 block 64
// in x int32 = np.arange(256) * 29 % 256
// out y int32 = [x.argmax(), 1]
extern "C" __global__ void largest_if_larger(const int *x, int *y) {
  __shared__ unsigned long long best;
  __shared__ int any;
  if (threadIdx.x == 0) best = any = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) {
    unsigned long long own = (unsigned long long)x[i] << 32 | i;
    if (own > *(volatile unsigned long long *)&best) atomicMax(&best, own);
  }
  if (x[threadIdx.x] > 90 && !*(volatile int *)&any) atomicExch(&any, 1);
  __syncthreads();
  if (threadIdx.x == 0) { y[0] = (int)best; y[1] = any; }
}

// The atomic is executed in any case, and the value decides something else.
// kernel counted_and_compared grid 1 block 64
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void counted_and_compared(int *y) {
  __shared__ volatile int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (int k = 0; k < 3; k++) {
    atomicAdd((int *)&count, 1);  // <- race
    if (count > 100) y[threadIdx.x] = k;  // <- race
  }
}

// A flag that is set once, or that ends a loop, to one value.
// kernel flag_set_once grid 1 block 128
// in x int32 = np.where(np.arange(1024) % 300 == 7, 1, 0)
// out y int32 = [1, 1]
extern "C" __global__ void flag_set_once(const int *x, int *y) {
  __shared__ volatile int found, any;
  if (threadIdx.x == 0) found = any = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += 128) {
    if (found) break;
    if (x[i]) found = 1;
  }
  if (x[threadIdx.x] && !any) any = 1;
  __syncthreads();
  if (threadIdx.x == 0) { y[0] = found; y[1] = any; }
}

// kernel flag_reset_meanwhile grid 1 block 64
// in x int32 = np.arange(64) % 7
// inout y int32 = [0] -> _
extern "C" __global__ void flag_reset_meanwhile(const int *x, int *y) {
  __shared__ volatile int found;
  if (threadIdx.x == 0) found = 0;  // <- race
  if (x[threadIdx.x] == 3 && !found) found = 1;  // <- race
  __syncthreads();
  if (threadIdx.x == 0) *y = found;
}

// kernel largest_in_two_steps grid 1 block 64
// in x int32 = np.arange(64) * 5 % 64
// inout y int32 = [0] -> _
extern "C" __global__ void largest_in_two_steps(const int *x, int *y) {
  __shared__ volatile int most;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  if (x[threadIdx.x] > most) most = x[threadIdx.x];  // <- race
  __syncthreads();
  if (threadIdx.x == 0) *y = most;
}

// kernel flag_claimed grid 1 block 64
// inout y int32 = [0] -> _
// hints Write it by one atomicCAS
extern "C" __global__ void flag_claimed(int *y) {
  __shared__ volatile int taken;
  if (threadIdx.x == 0) taken = 0;
  __syncthreads();
  if (!taken) { taken = 1; atomicAdd(y, 1); }  // <- lost-update
}

// A fence would make these volatile accesses strong, and orders nothing: it is no fix.
// kernel last_of_two_warps grid 1 block 64
// inout y int32 = np.zeros(64) -> _
// hints Two threads write the same element. Check the index, let one thread write, or use an atomic.
extern "C" __global__ void last_of_two_warps(int *y) {
  __shared__ volatile int last;
  if (threadIdx.x == 0) last = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) last = threadIdx.x;  // <- race
  __syncthreads();
  if (last == 3) y[threadIdx.x] = 1;
}

// Elements at an offset; and a wait that counts its rounds, which the optimized code does not.
// kernel bounds_and_a_wait grid 1 block 96
// in x int32 = np.arange(96) * 5 % 96
// out y int32 = [95, 0, 7]
extern "C" __global__ void bounds_and_a_wait(const int *x, int *y) {
  __shared__ int bound[2];
  __shared__ volatile int done;
  if (threadIdx.x == 0) { bound[0] = 0; bound[1] = 100; done = 0; }
  __syncthreads();
  volatile int *seen = bound;
  int v = x[threadIdx.x], rounds = 0;
  if (seen[0] < v) atomicMax(&bound[0], v);
  if (seen[1] > v) atomicMin(&bound[1], v);
  if (threadIdx.x == 0) { y[2] = 7; done = 1; }
  else if (threadIdx.x >= 32) while (!done) rounds++;
  __syncthreads();
  if (threadIdx.x < 2) y[threadIdx.x] = rounds < 0 ? -1 : bound[threadIdx.x];
}

// kernel other_bound grid 1 block 64
// in x int32 = np.arange(64) * 5 % 64
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void other_bound(const int *x, int *y) {
  __shared__ int bound[2];
  if (threadIdx.x < 2) bound[threadIdx.x] = 0;
  __syncthreads();
  int v = x[threadIdx.x];
  if (*(volatile int *)&bound[0] < v) atomicMax(&bound[1], v);
  if (threadIdx.x > 5) atomicMax(&bound[0], v);  // <- race
}

// A wait for a word that another thread stores in halves, and a plain read beside the atomic.
// kernel waits_for_halves grid 1 block 64
// inout y int32 = [0] -> _
extern "C" __global__ void waits_for_halves(int *y) {
  __shared__ unsigned long long word;
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    ((volatile unsigned *)&word)[0] = 7;  // <- race
    ((volatile unsigned *)&word)[1] = 1;  // <- race
  } else if (threadIdx.x == 32) {
    while (*(volatile unsigned long long *)&word == 0) {}  // <- race
    *y = 1;
  }
}

// kernel largest_read_plainly grid 1 block 64
// in x int32 = np.arange(64) * 29 % 64
// inout y int32 = [0] -> _
extern "C" __global__ void largest_read_plainly(const int *x, int *y) {
  __shared__ int most;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  if (x[threadIdx.x] > most) atomicMax(&most, x[threadIdx.x]);  // <- race
  __syncthreads();
  if (threadIdx.x == 0) *y = most;
}
