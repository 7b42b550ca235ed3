// One fence or memory order is missing among several: the hint names its line, and no barrier of the block, no second
// fence, and no atomic for the data. Beside each is the kernel with it.
#include <cuda/atomic>
using namespace cuda::std;

// kernel slots_without_acquire grid 4 block 8
// inout slots uint32 = [0]*18 -> _
// inout count int32 = [0]*64 -> _
// value rounds int32 = 2
// hints Call __threadfence() after line a<.
template <bool ACQUIRES> struct Slots {
  volatile unsigned turn[8];
  unsigned in, out;
  int items[8];
  __device__ void await(unsigned slot, unsigned goal) {
    while (turn[slot] != goal) __threadfence();  // <a
    if (ACQUIRES) __threadfence();
  }
  __device__ void put(int item) {
    unsigned ticket = atomicAdd(&in, 1), slot = ticket % 8;
    await(slot, ticket / 8 * 2);
    items[slot] = item;  // <- race
    __threadfence();
    turn[slot] = ticket / 8 * 2 + 1;
  }
  __device__ int get() {
    unsigned ticket = atomicAdd(&out, 1), slot = ticket % 8;
    await(slot, ticket / 8 * 2 + 1);
    int item = items[slot];  // <- race
    __threadfence();
    turn[slot] = ticket / 8 * 2 + 2;
    return item;
  }
};

template <bool ACQUIRES> __device__ void put_and_get(Slots<ACQUIRES> *slots, int *count, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < rounds; round++) {
    slots->put(i * rounds + round);
    atomicAdd(&count[slots->get()], 1);
  }
}

// kernel slots_in_turn grid 4 block 8
// inout slots uint32 = [0]*18 -> _
// inout count int32 = [0]*64 -> [1]*64
// value rounds int32 = 2
extern "C" __global__ void slots_in_turn(Slots<true> *slots, int *count, int rounds) { put_and_get(slots, count, rounds); }

extern "C" __global__ void slots_without_acquire(Slots<false> *slots, int *count, int rounds) { put_and_get(slots, count, rounds); }

// kernel meet_without_last_fence grid 4 block 8
// inout a int32 = np.arange(32) -> _
// inout b int32 = [0]*32 -> _
// value rounds int32 = 4
// inout came int32 = [0]*4 -> _
// inout go int32 = [0]*4 -> _
// hints before the wait ends. Call __threadfence() after line c<. A run
template <bool FENCED>
__device__ void meet(int round, volatile int *came, volatile int *go) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) came[blockIdx.x] = round;
  if (blockIdx.x == 1) {
    if (threadIdx.x < gridDim.x) while (came[threadIdx.x] != round) {}
    __threadfence();
    __syncthreads();
    if (threadIdx.x < gridDim.x) go[threadIdx.x] = round;
  }
  if (threadIdx.x == 0) {
    while (go[blockIdx.x] != round) {}  // <c
    if (FENCED) __threadfence();
  }
  __syncthreads();
}

extern "C" __global__ void meet_without_last_fence(int *a, int *b, int rounds, volatile int *came, volatile int *go) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (int round = 1; round <= rounds; round++) {
    (round & 1 ? b : a)[(i + 1) % n] = (round & 1 ? a : b)[i];  // <- race
    meet<false>(round, came, go);
  }
}

// kernel all_meet grid 4 block 8
// inout a int32 = np.arange(32) -> np.roll(np.arange(32), 4)
// inout b int32 = [0]*32 -> np.roll(np.arange(32), 3)
// value rounds int32 = 4
// inout came int32 = [0]*4 -> [4]*4
// inout go int32 = [0]*4 -> [4]*4
extern "C" __global__ void all_meet(int *a, int *b, int rounds, volatile int *came, volatile int *go) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (int round = 1; round <= rounds; round++) {
    (round & 1 ? b : a)[(i + 1) % n] = (round & 1 ? a : b)[i];
    meet<true>(round, came, go);
  }
}

// kernel meet_without_first_fence grid 4 block 8
// inout a int32 = np.arange(32) -> _
// inout b int32 = [0]*32 -> _
// value rounds int32 = 4
// inout came int32 = [0]*4 -> _
// inout go int32 = [0]*4 -> _
// hints Call __threadfence() before line b<. A run
extern "C" __global__ void meet_without_first_fence(int *a, int *b, int rounds, volatile int *came, volatile int *go) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (int round = 1; round <= rounds; round++) {
    (round & 1 ? b : a)[(i + 1) % n] = (round & 1 ? a : b)[i];  // <- race
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) came[blockIdx.x] = round;
    if (blockIdx.x == 1) {
      if (threadIdx.x < gridDim.x) while (came[threadIdx.x] != round) {}
      __syncthreads();
      if (threadIdx.x < gridDim.x) go[threadIdx.x] = round;  // <b
    }
    if (threadIdx.x == 0) {
      while (go[blockIdx.x] != round) {}
      __threadfence();
    }
    __syncthreads();
  }
}

struct Node {
  cuda::atomic<int, cuda::thread_scope_device> next;
  int value;
};

// kernel appended_relaxed grid 3 block 2
// inout nodes int32 = [0]*14 -> _
// inout sums int32 = [0]*6 -> _
// hints in line d<. A run
// Each thread appends its node to a list, by swapping it in behind the last one, and sums up the list.
__device__ int append(Node *nodes, int own, memory_order publishing) {
  nodes[own].value = own * own;  // <- race
  nodes[own].next.store(0, memory_order_relaxed);
  int at = 0, sum = 0;
  while (true) {
    int next = nodes[at].next.load(memory_order_acquire);
    if (next) {
      sum += nodes[at = next].value;  // <- race
    } else if (nodes[at].next.compare_exchange_strong(next, own, publishing, memory_order_relaxed)) {  // <d
      return sum;
    }
  }
}

// kernel appended grid 3 block 2
// inout nodes int32 = [0]*14 -> _
// inout sums int32 = [0]*6 -> _
extern "C" __global__ void appended(Node *nodes, int *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] = append(nodes, i + 1, memory_order_release);
}

extern "C" __global__ void appended_relaxed(Node *nodes, int *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] = append(nodes, i + 1, memory_order_relaxed);
}

// kernel last_reads_unordered grid 3 block 32
// inout x int32 = [0]*3 -> _
// inout done int32 = [0] -> _
// out sum int32 = [3]
// inout last int32 = [0] -> _
// hints Put `__threadfence();` after the atomic in line e<: relaxed
extern "C" __global__ void last_reads_unordered(volatile int *x, int *done, int *sum, int *last) {
  if (threadIdx.x) return;
  atomicExch((int *)&x[blockIdx.x], 1);
  __threadfence();
  if (atomicAdd(done, 1) == 2) {  // <e
    *sum = x[0] + x[1] + x[2];  // <- race
    *last = blockIdx.x;
  }
}

// kernel last_reads grid 3 block 32
// inout x int32 = [0]*3 -> [1]*3
// inout done int32 = [0] -> [3]
// out sum int32 = [3]
// inout last int32 = [0] -> _
extern "C" __global__ void last_reads(volatile int *x, int *done, int *sum, int *last) {
  if (threadIdx.x) return;
  atomicExch((int *)&x[blockIdx.x], 1);
  __threadfence();
  if (atomicAdd(done, 1) == 2) {
    __threadfence();
    *sum = x[0] + x[1] + x[2];
    *last = blockIdx.x;
  }
}

// A CLH lock whose exchange must release its own word and acquire that of the thread before.
// kernel queued_acquire grid 3 block 1
// inout tail int32 = [0] -> _
// inout locked int32 = [0]*4 -> _
// inout n int32 = [0] -> _
// hints Use `memory_order_acq_rel` in line f<, or put `__threadfence();` before and after it
__device__ void enter_and_leave(int *tail, int *locked, int *n, memory_order order) {
  int me = blockIdx.x + 1;
  cuda::atomic_ref<int, cuda::thread_scope_device>(locked[me]).store(1, memory_order_relaxed);
  int before = cuda::atomic_ref<int, cuda::thread_scope_device>(*tail).exchange(me, order);  // <f
  while (cuda::atomic_ref<int, cuda::thread_scope_device>(locked[before]).load(memory_order_acquire)) {}  // <- race
  *n += 1;
  cuda::atomic_ref<int, cuda::thread_scope_device>(locked[me]).store(0, memory_order_release);
}
extern "C" __global__ void queued_acquire(int *tail, int *locked, int *n) { enter_and_leave(tail, locked, n, memory_order_acquire); }

// kernel queued_release grid 3 block 1
// inout tail int32 = [0] -> _
// inout locked int32 = [0]*4 -> _
// inout n int32 = [0] -> _
// finds race error this read of global `locked[
extern "C" __global__ void queued_release(int *tail, int *locked, int *n) { enter_and_leave(tail, locked, n, memory_order_release); }

// kernel queued grid 3 block 1
// inout tail int32 = [0] -> _
// inout locked int32 = [0]*4 -> _
// inout n int32 = [0] -> [3]
extern "C" __global__ void queued(int *tail, int *locked, int *n) { enter_and_leave(tail, locked, n, memory_order_acq_rel); }

// Blocks take turns. One thread waits for its block's, by an atomic that adds 0: it draws no ticket.
// kernel turn_without_acquire grid 4 block 64
// inout v int32 = np.zeros(64) -> _
// inout turn int32 = [0] -> _
// hints Line a< waits for another thread without acquire
// hints Call __threadfence() after line a<. A run with that does not have this race.
extern "C" __global__ void turn_without_acquire(int *v, int *turn) {
    if (threadIdx.x == 0) {
        while (atomicAdd(turn, 0) != blockIdx.x) {}  // <a
    }
    __syncthreads();
    v[63 - threadIdx.x] += 1;  // <- race
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(turn, blockIdx.x + 1);
    }
}

// kernel turn_with_acquire grid 4 block 64
// inout v int32 = np.zeros(64) -> [4] * 64
// inout turn int32 = [0] -> [4]
extern "C" __global__ void turn_with_acquire(int *v, int *turn) {
    if (threadIdx.x == 0) {
        while (atomicAdd(turn, 0) != blockIdx.x) {}
        __threadfence();
    }
    __syncthreads();
    v[63 - threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(turn, blockIdx.x + 1);
    }
}

// The wait and the store that ends the release sequence are in one line: the fence is between them.
// kernel relay_in_one_line grid 3 block 1
// inout data int32 = [0, 0] -> _
// inout y int32 = [0] -> _
// hints Call __threadfence() after the wait in line w<.
extern "C" __global__ void relay_in_one_line(int *data, int *y) {
  volatile int *flag = data + 1;
  if (blockIdx.x == 0) {
    data[0] = 5;
    __threadfence();
    *flag = 1;
  } else if (blockIdx.x == 1) {
    while (*flag != 1) {} *flag = 2;  // <w
  } else {
    while (*flag != 2) {}
    __threadfence();
    *y = data[0];  // <- race
  }
}

// An exchange continues the sequence, whatever its order.
// kernel relay_by_exchange grid 3 block 1
// inout data int32 = [0, 0] -> _
// out y int32 = [5]
extern "C" __global__ void relay_by_exchange(int *data, int *y) {
  int *flag = data + 1;
  if (blockIdx.x == 0) {
    data[0] = 5;
    __threadfence();
    atomicExch(flag, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(flag, 0) != 1) {} atomicExch(flag, 2);
  } else {
    while (atomicAdd(flag, 0) != 2) {}
    __threadfence();
    *y = data[0];
  }
}
