// Locks, tickets, queues and flags by atomics and fences.

// kernel spin_lock grid 6 block 32
// inout lock int32 = [0] -> [0]
// inout count int32 = [0] -> [6]
extern "C" __global__ void spin_lock(int *lock, int *count) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *(volatile int *)count = *(volatile int *)count + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

// kernel lock_every_thread grid 2 block 64
// inout lock int32 = [0] -> [0]
// inout count int32 = [0] -> [128]
extern "C" __global__ void lock_every_thread(int *lock, int *count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *(volatile int *)count = *(volatile int *)count + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// kernel ticket_lock grid 4 block 32
// inout next uint32 = [0] -> [4]
// inout serving uint32 = [0] -> [4]
// inout log int32 = np.zeros(5) -> _
// inout at int32 = [0] -> [4]
extern "C" __global__ void ticket_lock(unsigned *next, unsigned *serving, int *log, int *at) {
  if (threadIdx.x) return;
  unsigned mine = atomicAdd(next, 1);
  while (atomicAdd(serving, 0) != mine) {}
  __threadfence();
  log[*at] = blockIdx.x;
  *at = *at + 1;
  __threadfence();
  atomicAdd(serving, 1);
}

// kernel shared_lock grid 1 block 128
// out y int32 = [128]
extern "C" __global__ void shared_lock(int *y) {
  __shared__ int lock, count;
  if (threadIdx.x == 0) { lock = 0; count = 0; }
  __syncthreads();
  bool done = false;
  while (!done)
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence_block();
      count = count + 1;
      __threadfence_block();
      atomicExch(&lock, 0);
      done = true;
    }
  __syncthreads();
  if (threadIdx.x == 0) *y = count;
}

// kernel work_queue grid 3 block 32
// inout head int32 = [0] -> _
// in x int32 = rng.integers(0, 99, 40)
// out y int32 = x * 2
extern "C" __global__ void work_queue(int *head, const int *x, int *y) {
  __shared__ int job;
  while (true) {
    if (threadIdx.x == 0) job = atomicAdd(head, 1);
    __syncthreads();
    int mine = job;
    __syncthreads();
    if (mine >= 10) return;
    if (threadIdx.x < 4) y[mine * 4 + threadIdx.x] = x[mine * 4 + threadIdx.x] * 2;
  }
}

// kernel volatile_flag grid 2 block 32
// inout flag int32 = [0] -> [1]
// inout data int32 = np.zeros(32) -> np.arange(32) * 3
// out y int32 = np.arange(32) * 3
extern "C" __global__ void volatile_flag(volatile int *flag, volatile int *data, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t * 3;
    __threadfence();
    __syncthreads();
    if (t == 0) *flag = 1;
  } else {
    if (t == 0) while (*flag == 0) {}
    __syncthreads();
    __threadfence();
    y[t] = data[t];
  }
}

// kernel grid_barrier grid 4 block 32
// inout count uint32 = [0] -> [4]
// inout x int32 = np.zeros(128) -> _
// out y int32 = np.arange(128)[::-1]
extern "C" __global__ void grid_barrier(unsigned *count, int *x, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  x[i] = i;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  y[i] = *(volatile int *)&x[127 - i];
}

// kernel histogram_global grid 4 block 64
// in x int32 = rng.integers(0, 20, 256)
// inout h int32 = np.zeros(20) -> np.bincount(x, minlength=20)
extern "C" __global__ void histogram_global(const int *x, int *h) {
  atomicAdd(&h[x[blockIdx.x * 64 + threadIdx.x]], 1);
}

// kernel histogram_private grid 3 block 64
// in x uint8 = rng.integers(0, 32, 500)
// value n int32 = 500
// inout h uint32 = np.zeros(32) -> np.bincount(x, minlength=32)
extern "C" __global__ void histogram_private(const unsigned char *x, int n, unsigned *h) {
  __shared__ unsigned s[32];
  for (int k = threadIdx.x; k < 32; k += blockDim.x) s[k] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[x[i]], 1u);
  __syncthreads();
  for (int k = threadIdx.x; k < 32; k += blockDim.x) if (s[k]) atomicAdd(&h[k], s[k]);
}

// kernel warp_aggregated grid 2 block 64
// in x int32 = rng.integers(-9, 9, 128)
// inout n int32 = [0] -> [(x > 0).sum()]
extern "C" __global__ void warp_aggregated(const int *x, int *n) {
  if (x[blockIdx.x * 64 + threadIdx.x] > 0) {
    unsigned here = __activemask();
    int lane = threadIdx.x % 32;
    if (lane == __ffs(here) - 1) atomicAdd(n, __popc(here));
  }
}

// A lock that is looked at first, then taken by an exchange: other threads' attempts while it is held
// store what it has already, so the plain release loses nothing.
// kernel looked_at_then_exchanged grid 4 block 32
// inout lock int32 = [0] -> [0]
// inout count int32 = [0] -> [4]
extern "C" __global__ void looked_at_then_exchanged(int *lock, int *count) {
  if (threadIdx.x) return;
  volatile int *now = lock;
  for (int round = 0; round < 2; round++) {
    if (atomicExch(lock, 1)) {
      if (*now) __nanosleep(40);
      if (*now) __nanosleep(80);
      if (*now) { round--; continue; }
      if (atomicExch(lock, 1)) { round--; continue; }
    }
    __threadfence();
    if (round) *count += 1;
    __threadfence();
    *now = 0;
  }
}

// Looked at, and then taken by a plain store: two blocks may both find it free.
// kernel looked_at_then_stored grid 4 block 32
// inout lock int32 = [0] -> [0]
// inout count int32 = [0] -> _
extern "C" __global__ void looked_at_then_stored(int *lock, int *count) {
  if (threadIdx.x) return;
  volatile int *now = lock;
  while (true) {
    if (*now) continue;
    *now = 1;
    __threadfence();
    *count += 1;  // <- race
    __threadfence();
    *now = 0;
    return;
  }
}

// kernel turn_not_below grid 5 block 32
// inout ticket uint32 = [0, 0] -> [5, 5]
// inout sum int32 = [0] -> [5]
extern "C" __global__ void turn_not_below(unsigned *ticket, int *sum) {
  volatile unsigned *serving = ticket + 1;
  if (threadIdx.x) return;
  unsigned mine = atomicAdd(ticket, 1);
  while (*serving < mine) {}
  __threadfence();
  *sum += 1;
  __threadfence();
  *serving = *serving + 1;
}

// kernel turn_by_difference grid 5 block 32
// inout ticket uint32 = [0xfffffffe, 0xfffffffe] -> [3, 3]
// inout sum int32 = [0] -> [5]
extern "C" __global__ void turn_by_difference(unsigned *ticket, int *sum) {
  volatile unsigned *serving = ticket + 1;
  if (threadIdx.x) return;
  unsigned mine = atomicAdd(ticket, 1);
  while ((int)(*serving - mine) < 0) {}
  __threadfence();
  *sum += 1;
  __threadfence();
  *serving = *serving + 1;
}

// kernel turn_of_64_bits grid 5 block 32
// inout ticket uint64 = [0, 0] -> [5, 5]
// inout sum int32 = [0] -> [5]
extern "C" __global__ void turn_of_64_bits(unsigned long long *ticket, int *sum) {
  volatile unsigned long long *serving = ticket + 1;
  if (threadIdx.x) return;
  unsigned long long mine = atomicAdd(ticket, 1ull);
  while (!(*serving >= mine)) __nanosleep(20);
  __threadfence();
  *sum += 1;
  __threadfence();
  *serving = *serving + 1;
}

// kernel turn_of_blocks_in_order grid 6 block 64
// inout turn int32 = [0] -> [6]
// inout log int32 = np.zeros(6) -> np.arange(6)
extern "C" __global__ void turn_of_blocks_in_order(volatile int *turn, int *log) {
  if (threadIdx.x == 0) {
    while ((int)blockIdx.x > *turn) {}
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 63) log[*turn] = blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    *turn = *turn + 1;
  }
}

// kernel turn_of_warps grid 1 block 128
// out y int32 = np.repeat(np.arange(1, 5), 32)
extern "C" __global__ void turn_of_warps(int *y) {
  __shared__ volatile int turn;
  __shared__ int count;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) { turn = 0; count = 0; }
  __syncthreads();
  if (lane == 0) {
    while (turn <= warp - 1) {}
    __threadfence_block();
    count += 1;
  }
  y[threadIdx.x] = __shfl_sync(~0u, lane == 0 ? count : 0, 0);
  if (lane == 0) {
    __threadfence_block();
    turn = turn + 1;
  }
}

// Peterson's lock of two blocks: each must have its flag and the turn written before it reads
// kernel peterson_volatile grid 2 block 1
// inout flag int32 = np.zeros(2) -> [0, 0]
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> [4]
extern "C" __global__ void peterson_volatile(volatile int *flag, volatile int *turn, int *count) {
  int me = blockIdx.x, other = 1 - me;
  for (int i = 0; i < 2; i++) {
    flag[me] = 1;
    __threadfence();
    *turn = other;
    __threadfence();
    while (flag[other] && *turn == other) {}
    __threadfence();
    *count = *count + 1;
    __threadfence();
    flag[me] = 0;
  }
}

// kernel peterson_without_fences grid 2 block 1
// inout flag int32 = np.zeros(2) -> _
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> _
extern "C" __global__ void peterson_without_fences(volatile int *flag, volatile int *turn, int *count) {
  int me = blockIdx.x, other = 1 - me;
  for (int i = 0; i < 2; i++) {
    flag[me] = 1;  // <- race
    *turn = other;  // <- race
    while (flag[other] && *turn == other) {}  // <- race
    __threadfence();
    *count = *count + 1;
    __threadfence();
    flag[me] = 0;
  }
}

// kernel peterson_fence_before_the_turn grid 2 block 1
// inout flag int32 = np.zeros(2) -> _
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> _
extern "C" __global__ void peterson_fence_before_the_turn(volatile int *flag, volatile int *turn, int *count) {
  int me = blockIdx.x, other = 1 - me;
  for (int i = 0; i < 2; i++) {
    flag[me] = 1;
    __threadfence();
    *turn = other;  // <- race
    while (flag[other] && *turn == other) {}  // <- race
    __threadfence();
    *count = *count + 1;
    __threadfence();
    flag[me] = 0;
  }
}

// the flag may be written behind the turn: the other one sees neither it nor that the turn was its own
// kernel peterson_fence_behind_the_turn grid 2 block 1
// inout flag int32 = np.zeros(2) -> _
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> _
extern "C" __global__ void peterson_fence_behind_the_turn(volatile int *flag, volatile int *turn, int *count) {
  int me = blockIdx.x, other = 1 - me;
  for (int i = 0; i < 2; i++) {
    flag[me] = 1;  // <- race
    *turn = other;  // <- race
    __threadfence();
    while (flag[other] && *turn == other) {}
    __threadfence();
    *count = *count + 1;
    __threadfence();
    flag[me] = 0;
  }
}

// kernel peterson_once grid 2 block 1
// inout flag int32 = np.zeros(2) -> _
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> _
extern "C" __global__ void peterson_once(volatile int *flag, volatile int *turn, volatile int *count) {
  int me = blockIdx.x, other = 1 - me;
  flag[me] = 1;  // <- race
  *turn = other;  // <- race
  while (flag[other] == 1 && *turn == other) {}  // <- race
  __threadfence();
  *count = *count + 1;
  __threadfence();
  flag[me] = 0;
}

// kernel dekker grid 2 block 1
// inout flag int32 = np.zeros(2) -> [0, 0]
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> [4]
extern "C" __global__ void dekker(volatile int *flag, volatile int *turn, int *count) {
  int me = blockIdx.x, other = 1 - me;
  for (int i = 0; i < 2; i++) {
    flag[me] = 1;
    __threadfence();
    while (flag[other]) {
      if (*turn != me) {
        flag[me] = 0;
        while (*turn != me) {}
        flag[me] = 1;
        __threadfence();
      }
    }
    __threadfence();
    *count = *count + 1;
    __threadfence();
    *turn = other;
    __threadfence();
    flag[me] = 0;
  }
}

// Wrong: a look and a store are two steps, so that two threads may take the lock.
// kernel lock_in_two_steps grid 8 block 64
// inout lock int32 = [0] -> [0]
// inout sum int32 = [0] -> _
extern "C" __global__ void lock_in_two_steps(volatile int *lock, volatile int *sum) {
  if (threadIdx.x == 0) {
    while (*lock == 1) {}
    *lock = 1;
    __threadfence();
    *sum += 1;  // <- lost-update
    __threadfence();
    *lock = 0;
  }
}

// Wrong: so are two atomics.
// kernel lock_by_two_atomics grid 8 block 64
// inout lock int32 = [0] -> [0]
// inout sum int32 = [0] -> _
extern "C" __global__ void lock_by_two_atomics(int *lock, volatile int *sum) {
  if (threadIdx.x == 0) {
    while (atomicAdd(lock, 0) == 1) {}
    atomicExch(lock, 1);
    __threadfence();
    *sum += 1;  // <- lost-update
    __threadfence();
    atomicExch(lock, 0);
  }
}

// kernel lock_by_one_atomic grid 8 block 64
// inout lock int32 = [0] -> [0]
// inout sum int32 = [0] -> [8]
extern "C" __global__ void lock_by_one_atomic(int *lock, volatile int *sum) {
  if (threadIdx.x == 0) {
    while (*(volatile int *)lock == 1 || atomicCAS(lock, 0, 1)) {}
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

// Wrong: other blocks may have the lock before they know of the count.
// kernel lock_left_with_narrow_fence grid 2 block 64
// inout lock int32 = [0] -> _
// inout count int32 = [0] -> _
// hints Use `__threadfence()` in line N<, whose fence orders its block alone
extern "C" __global__ void lock_left_with_narrow_fence(int *lock, int *count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      int n = *(volatile int *)count;  // <- race
      *(volatile int *)count = n + 1;  // <- lost-update
      __threadfence_block();  // <N
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// Locks where one thread alone lacks a fence: both are in the critical section at once.
template <bool FIRST, bool SECOND>
__device__ void peterson_of(volatile int *flag, volatile int *turn, volatile int *count) {
  int me = blockIdx.x, other = 1 - me;
  #pragma unroll 1
  for (int i = 0; i < 2; i++) {
    flag[me] = 1;
    __threadfence();
    *turn = other;
    if (me == 0 ? FIRST : SECOND) __threadfence();
    while (flag[other] && *turn == other) {}
    __threadfence();
    *count = *count + 1;
    __threadfence();
    flag[me] = 0;
  }
}
// kernel peterson_first_unfenced grid 2 block 1
// inout flag int32 = np.zeros(2) -> _
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> _
// finds race error this read of global `flag[1]` may miss the write
extern "C" __global__ void peterson_first_unfenced(volatile int *flag, volatile int *turn, volatile int *count) { peterson_of<false, true>(flag, turn, count); }
// kernel peterson_second_unfenced grid 2 block 1
// inout flag int32 = np.zeros(2) -> _
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> _
// finds race error this read of global `flag[0]` may miss the write
extern "C" __global__ void peterson_second_unfenced(volatile int *flag, volatile int *turn, volatile int *count) { peterson_of<true, false>(flag, turn, count); }
// kernel peterson_fenced grid 2 block 1
// inout flag int32 = np.zeros(2) -> [0, 0]
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> [4]
extern "C" __global__ void peterson_fenced(volatile int *flag, volatile int *turn, volatile int *count) { peterson_of<true, true>(flag, turn, count); }

// A store that releases does not order the flag before the turn for one that reads the turn of its own.
// kernel peterson_released grid 2 block 1
// inout flag int32 = np.zeros(2) -> _
// inout turn int32 = [0] -> _
// inout count int32 = [0] -> _
// hints Put `__threadfence();` behind the write in line r<
extern "C" __global__ void peterson_released(int *flag, int *turn, int *count) {
  int me = blockIdx.x, other = 1 - me;
  #pragma unroll 1
  for (int i = 0; i < 2; i++) {
    asm volatile("st.relaxed.gpu.global.s32 [%0], 1;" ::"l"(flag + me) : "memory");  // <r
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(turn), "r"(other) : "memory");
    if (me == 0) asm volatile("fence.sc.gpu;" ::: "memory");
    else asm volatile("fence.sc.gpu;" ::: "memory");
    while (true) {
      int f, t;
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(f) : "l"(flag + other) : "memory");  // <- race
      asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(t) : "l"(turn) : "memory");
      if (!f || t != other) break;
    }
    __threadfence();
    *(volatile int *)count = *(volatile int *)count + 1;
    asm volatile("st.release.gpu.global.s32 [%0], 0;" ::"l"(flag + me) : "memory");
  }
}

// Burns' lock: the first of two never gives way.
template <bool FENCED> __device__ void one_bit(volatile int *want, volatile int *count) {
  if (blockIdx.x == 0) {
    want[0] = 1;
    if (FENCED) __threadfence();
    while (want[1]) {}
  } else {
    while (true) {
      want[1] = 1;
      __threadfence();
      if (!want[0]) break;
      want[1] = 0;
      while (want[0]) {}
    }
  }
  __threadfence();
  *count = *count + 1;
  __threadfence();
  want[blockIdx.x] = 0;
}
// kernel one_bit_unfenced grid 2 block 1
// inout want int32 = np.zeros(2) -> _
// inout count int32 = [0] -> _
// finds race error this read of global `want[1]` may miss the write
extern "C" __global__ void one_bit_unfenced(volatile int *want, volatile int *count) { one_bit<false>(want, count); }
// kernel one_bit_fenced grid 2 block 1
// inout want int32 = np.zeros(2) -> _
// inout count int32 = [0] -> [2]
extern "C" __global__ void one_bit_fenced(volatile int *want, volatile int *count) { one_bit<true>(want, count); }

// One thread takes the lock for its block, and all threads of the block then update at once.

// kernel block_updates_behind_one_lock grid 2 block 32
// inout lock int32 = np.zeros(1) -> _
// inout sum int32 = np.zeros(1) -> _
// hints Line S< reads `sum`, computes and writes it back: two steps
extern "C" __global__ void block_updates_behind_one_lock(int *lock, int *sum)
{
  if (threadIdx.x == 0) while (atomicCAS(lock, 0, 1) != 0) { }
  __syncthreads();
  *sum += 1;  // <S <- race
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(lock, 0);
}

// Wrong: a fence is missing before two locks are freed. It orders both, and neither alone is enough.
// kernel two_locks_unfenced grid 2 block 32
// inout lock int32 = np.zeros(5) -> _
// inout sum int32 = np.zeros(5) -> _
// hints Call __threadfence() before line F<. A run with that does not have this race.
extern "C" __global__ void two_locks_unfenced(int *lock, int *sum) {
  int a = threadIdx.x % 4, b = a + 1;
  for (bool done = false; !done;) {
    if (atomicCAS(&lock[a], 0, 1) == 0) {
      if (atomicCAS(&lock[b], 0, 1) == 0) {
        __threadfence();
        sum[a] -= 1;  // <- race
        sum[b] += 1;  // <- race
        atomicExch(&lock[b], 0);  // <F
        done = true;
      }
      atomicExch(&lock[a], 0);
    }
  }
}

// Wrong: a fence is missing behind both locks.
// kernel two_locks_unacquired grid 2 block 32
// inout lock int32 = np.zeros(5) -> _
// inout sum int32 = np.zeros(5) -> _
// hints Call __threadfence() after line T<. A run with that does not have this race.
extern "C" __global__ void two_locks_unacquired(int *lock, int *sum) {
  int a = threadIdx.x % 4, b = a + 1;
  for (bool done = false; !done;) {
    if (atomicCAS(&lock[a], 0, 1) == 0) {
      if (atomicCAS(&lock[b], 0, 1) == 0) {  // <T
        sum[a] -= 1;  // <- race
        sum[b] += 1;  // <- race
        __threadfence();
        atomicExch(&lock[b], 0);
        done = true;
      }
      atomicExch(&lock[a], 0);
    }
  }
}
