// Values, flags and locks that threads wait for: in loops that sleep, that fence, that call functions.
__device__ volatile int value;
__device__ int slot;
__device__ volatile int flags[64];
// kernel asleep grid 2 block 32
// out y int32 = np.array([7])
extern "C" __global__ void asleep(int* y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    value = 7;
  } else {
    int v, nanoseconds = 8;
    while (!(v = value)) {
      __nanosleep(nanoseconds);
      if (nanoseconds < 256) nanoseconds *= 2;
    }
    y[0] = v;
  }
}
// kernel fencing grid 2 block 32
// out y int32 = np.array([7])
extern "C" __global__ void fencing(int* y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    value = 7;
  } else {
    int v;
    while (!(v = value)) __threadfence();
    y[0] = v;
  }
}
// kernel left_in_the_middle grid 2 block 32
// out y int32 = np.array([7])
extern "C" __global__ void left_in_the_middle(int* y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    value = 7;
    return;
  }
  int v;
  for (;;) {
    v = value;
    if (v) break;
    __nanosleep(8);
  }
  y[0] = v;
}
// kernel in_functions grid 2 block 32
// out y int32 = np.array([14])
__device__ __noinline__ int waited_for() {
  int v;
  while (!(v = value)) {
  }
  return v;
}
__device__ __noinline__ int looked_at() { return value; }
extern "C" __global__ void in_functions(int* y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    value = 7;
  } else {
    int v = waited_for(), w;
    while (!(w = looked_at())) {
    }
    y[0] = v + w;
  }
}
// kernel a_flag_each grid 2 block 64
// out y int32 = np.arange(1, 65)
extern "C" __global__ void a_flag_each(int* y) {
  int t = threadIdx.x, v;
  if (blockIdx.x == 0) {
    flags[t] = t + 1;
  } else {
    while (!(v = flags[t])) {
    }
    y[t] = v;
  }
}
// kernel counted_up grid 2 block 32
// out y int32 = np.array([4])
extern "C" __global__ void counted_up(int* y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int i = 1; i < 5; ++i) value = i;
  } else {
    int v;
    do {
      v = value;
    } while (v != 4);
    y[0] = v;
  }
}
// kernel a_lock_looked_at_first grid 4 block 32
// inout y int32 = np.zeros(1) -> np.array([4])
__device__ volatile int lock;
extern "C" __global__ void a_lock_looked_at_first(int* y) {
  if (threadIdx.x) return;
  while (true) {
    while (lock) {
    }
    if (atomicCAS((int*)&lock, 0, 1) == 0) break;
  }
  __threadfence();
  y[0] += 1;
  __threadfence();
  lock = 0;
}
// kernel a_ticket_lock grid 4 block 32
// inout y int32 = np.zeros(1) -> np.array([4])
__device__ int next_ticket;
__device__ volatile int serving;
extern "C" __global__ void a_ticket_lock(int* y) {
  if (threadIdx.x) return;
  int mine = atomicAdd(&next_ticket, 1);
  while (serving != mine) {
  }
  __threadfence();
  y[0] += 1;
  __threadfence();
  serving = mine + 1;
}
// kernel a_stack grid 2 block 64
// out y int32 = np.array([128])
struct Entry {
  int v, next;
};
__device__ Entry pool[128];
__device__ int head = -1, pushed;
extern "C" __global__ void a_stack(int* y) {
  int i = blockIdx.x * 64 + threadIdx.x, old, seen = *(volatile int*)&head;
  pool[i].v = 1;
  do {
    old = seen;
    pool[i].next = old;
    __threadfence();
    seen = atomicCAS(&head, old, i);
  } while (seen != old);
  __threadfence();
  if (atomicAdd(&pushed, 1) == 127) {
    __threadfence();
    int sum = 0;
    for (int at = *(volatile int*)&head; at >= 0; at = pool[at].next) sum += pool[at].v;
    y[0] = sum;
  }
}
// kernel flag_after_a_barrier_of_two_warps grid 1 block 96
// out y int32 = np.repeat([1, 2], [64, 32])
__device__ int passed;
extern "C" __global__ void flag_after_a_barrier_of_two_warps(int* y) {
  int t = threadIdx.x;
  if (t < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    if (t == 0) atomicExch(&passed, 1);
    y[t] = 1;
  } else {
    while (atomicAdd(&passed, 0) == 0) {
    }
    y[t] = 2;
  }
}
// kernel all_wait_for_a_long_computation grid 3 block 64
// out y int32 = np.full(3, 6000)
__device__ int finished;
extern "C" __global__ void all_wait_for_a_long_computation(int* y) {
  if (threadIdx.x == 0 && blockIdx.x == 1) {
    int steps = 0;
    for (unsigned x = 27; steps < 6000; steps++) x = x % 2 ? 3 * x + 1 : x / 2;
    atomicExch(&finished, steps);
  }
  while (atomicAdd(&finished, 0) == 0) {
  }
  if (threadIdx.x == 0) y[blockIdx.x] = atomicAdd(&finished, 0);
}
