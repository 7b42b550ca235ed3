// Updates of plain data under a lock: in one critical section, and read in one and written in the next.
__device__ int lock;
__device__ void take(int *l = &lock) {
  while (atomicCAS(l, 0, 1)) {}
  __threadfence();
}
__device__ void give(int *l = &lock) {
  __threadfence();
  atomicExch(l, 0);
}

// kernel sum_in_one grid 8 block 32
// inout sum int32 = [0] -> [36]
extern "C" __global__ void sum_in_one(int *sum) {
  if (threadIdx.x) return;
  take();
  *sum += blockIdx.x + 1;
  give();
}

// kernel sum_in_two grid 8 block 32
// inout sum int32 = [0] -> [36]
// hints hold the lock from line r< to line w<
extern "C" __global__ void sum_in_two(int *sum) {
  if (threadIdx.x) return;
  take();
  int s = *sum;  // <r
  give();
  s += blockIdx.x + 1;
  take();
  *sum = s;  // <w <- lost-update
  give();
}

// A maximum that is tested again under the second lock.
// kernel best_tested_again grid 8 block 32
// inout best int32 = [0] -> [8]
extern "C" __global__ void best_tested_again(int *best) {
  if (threadIdx.x) return;
  int v = blockIdx.x + 1;
  take();
  int s = *best;
  give();
  if (v <= s) return;
  take();
  if (v > *best) *best = v;
  give();
}

// kernel best_tested_once grid 8 block 32
// inout best int32 = [0] -> [8]
// hints hold the lock from line r< to line w<
extern "C" __global__ void best_tested_once(int *best) {
  if (threadIdx.x) return;
  int v = blockIdx.x + 1;
  take();
  int s = *best;  // <r
  give();
  if (v <= s) return;
  take();
  *best = v;  // <w <- lost-update
  give();
}

// A memo: two threads may compute an entry, and both store the same value.
// kernel memo grid 8 block 32
// inout entry int32 = np.zeros(4) -> [1, 4, 9, 16]
// out y int32 = [1, 4, 9, 16, 1, 4, 9, 16]
extern "C" __global__ void memo(int *entry, int *y) {
  if (threadIdx.x) return;
  int k = blockIdx.x % 4;
  take();
  int v = entry[k];
  give();
  if (v == 0) {
    v = (k + 1) * (k + 1);
    take();
    entry[k] = v;
    give();
  }
  y[blockIdx.x] = v;
}

// The memo that counts what it computed: both threads count.
// kernel memo_that_counts grid 8 block 32
// inout entry int32 = np.zeros(4) -> [1, 4, 9, 16]
// inout computed int32 = np.zeros(4) -> np.ones(4)
// hints hold the lock from line r< to line w<
extern "C" __global__ void memo_that_counts(int *entry, int *computed) {
  if (threadIdx.x) return;
  int k = blockIdx.x % 4;
  take();
  int v = entry[k];  // <r
  give();
  if (v == 0) {
    take();
    entry[k] = (k + 1) * (k + 1);  // <w <- lost-update
    computed[k]++;
    give();
  }
}

// kernel append grid 8 block 32
// inout n int32 = [0] -> [8]
// inout item int32 = np.full(8, -1) -> _
// inout filled int32 = np.zeros(8) -> np.ones(8)
extern "C" __global__ void append(int *n, int *item, int *filled) {
  if (threadIdx.x) return;
  take();
  int at = *n;
  *n = at + 1;
  give();
  item[at] = blockIdx.x;
  filled[at]++;
}

// kernel append_in_two grid 8 block 32
// inout n int32 = [0] -> [8]
// inout item int32 = np.full(8, -1) -> _
// inout filled int32 = np.zeros(8) -> np.ones(8)
// hints hold the lock from line r< to line w<
extern "C" __global__ void append_in_two(int *n, int *item, int *filled) {
  if (threadIdx.x) return;
  take();
  int at = *n;  // <r
  give();
  take();
  item[at] = blockIdx.x;
  filled[at]++;
  *n = at + 1;  // <w <- lost-update
  give();
}

// A lock in shared memory, taken by one thread of each warp.
// kernel shared_in_one grid 1 block 256
// inout sum int32 = [0] -> [36]
extern "C" __global__ void shared_in_one(int *sum) {
  __shared__ int l, total;
  if (threadIdx.x == 0) l = total = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    take(&l);
    total += threadIdx.x / 32 + 1;
    give(&l);
  }
  __syncthreads();
  if (threadIdx.x == 0) *sum = total;
}

// kernel shared_in_two grid 1 block 256
// inout sum int32 = [0] -> [36]
// hints hold the lock from line r< to line w<
extern "C" __global__ void shared_in_two(int *sum) {
  __shared__ int l, total;
  if (threadIdx.x == 0) l = total = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    take(&l);
    int s = total;  // <r
    give(&l);
    take(&l);
    total = s + threadIdx.x / 32 + 1;  // <w <- lost-update
    give(&l);
  }
  __syncthreads();
  if (threadIdx.x == 0) *sum = total;
}

// A transfer between accounts: the balance is tested where it is changed.
// kernel transfers grid 6 block 32
// inout balance int32 = [10, 0] -> [1, 9]
extern "C" __global__ void transfers(int *balance) {
  if (threadIdx.x) return;
  take();
  if (balance[0] >= 3) {
    balance[0] -= 3;
    balance[1] += 3;
  }
  give();
}

// kernel transfers_tested_before grid 6 block 32
// inout balance int32 = [10, 0] -> [1, 9]
// hints hold the lock from line r< to line w<
extern "C" __global__ void transfers_tested_before(int *balance) {
  if (threadIdx.x) return;
  take();
  int rest = balance[0];  // <r
  give();
  if (rest >= 3) {
    take();
    balance[0] = rest - 3;  // <w <- lost-update
    balance[1] += 3;
    give();
  }
}

// A ticket lock, held over both.
// kernel tickets grid 8 block 32
// inout serving int32 = [0] -> [8]
// inout next int32 = [0] -> [8]
// inout sum int32 = [0] -> [36]
extern "C" __global__ void tickets(volatile int *serving, int *next, int *sum) {
  if (threadIdx.x) return;
  int mine = atomicAdd(next, 1);
  while (*serving != mine) {}
  __threadfence();
  *sum += blockIdx.x + 1;
  __threadfence();
  *serving = mine + 1;
}

// kernel tickets_in_two grid 8 block 32
// inout serving int32 = [0] -> [16]
// inout next int32 = [0] -> [16]
// inout sum int32 = [0] -> [36]
// hints hold the lock from line r< to line w<
extern "C" __global__ void tickets_in_two(volatile int *serving, int *next, int *sum) {
  if (threadIdx.x) return;
  int mine = atomicAdd(next, 1);
  while (*serving != mine) {}
  __threadfence();
  int s = *sum;  // <r
  __threadfence();
  *serving = mine + 1;
  mine = atomicAdd(next, 1);
  while (*serving != mine) {}
  __threadfence();
  *sum = s + blockIdx.x + 1;  // <w <- lost-update
  __threadfence();
  *serving = mine + 1;
}

// Two phases with a barrier of all blocks between: each thread's own neighbor is read first, then replaced.
// kernel phases_apart grid 4 block 32
// inout came int32 = [0] -> [8]
// inout x int32 = [1, 2, 3, 4] -> [3, 5, 7, 5]
extern "C" __global__ void phases_apart(int *came, int *x) {
  if (threadIdx.x) return;
  int k = blockIdx.x, s = x[k] + x[(k + 1) % 4];
  __threadfence();
  for (int n = atomicAdd(came, 1) + 1; n < 4; n = atomicAdd(came, 0)) {}
  __threadfence();
  x[(k + 1) % 4] = k;
  __threadfence();
  for (int n = atomicAdd(came, 1) + 1; n < 8; n = atomicAdd(came, 0)) {}
  __threadfence();
  x[k] = s;
}

// Each lane in turn: a step of all, in one critical section and in two.
// kernel lanes_in_one grid 2 block 32
// inout sum int32 = [0] -> [64]
extern "C" __global__ void lanes_in_one(int *sum) {
  for (bool done = false; !done;)
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      *sum += 1;
      give();
      done = true;
    }
}

// kernel lanes_in_two grid 2 block 32
// inout sum int32 = [0] -> [64]
// hints hold the lock from line r< to line w<
extern "C" __global__ void lanes_in_two(int *sum) {
  int s = 0;
  for (bool done = false; !done;)
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      s = *sum;  // <r
      give();
      done = true;
    }
  for (bool done = false; !done;)
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      *sum = s + 1;  // <w <- lost-update
      give();
      done = true;
    }
}

// A total that is read once more for a report, in a section of its own.
// kernel report_apart grid 8 block 32
// inout sum int32 = [0] -> [36]
// inout reported int32 = [0] -> _
extern "C" __global__ void report_apart(int *sum, int *reported) {
  if (threadIdx.x) return;
  take();
  *sum += blockIdx.x + 1;
  int s = *sum;
  give();
  take();
  *reported = s;
  give();
}
