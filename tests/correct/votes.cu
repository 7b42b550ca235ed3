// Votes: threads count themselves, and one acts once all have come. Lanes of a warp come one after the other, too,
// so that the last one that comes is not the last one that has done its part, if it is counted one too early.

// kernel last_of_all grid 1 block 128
// in x int32 = np.arange(128)
// inout total int32 = [0] -> [8128]
// inout n int32 = [0] -> [128]
// inout result int32 = [0] -> [8128]
extern "C" __global__ void last_of_all(const int *x, int *total, int *n, int *result) {
  atomicAdd(total, x[threadIdx.x]);
  __threadfence();
  if (atomicAdd(n, 1) == blockDim.x - 1) *result = atomicAdd(total, 0);
}

// kernel last_but_one grid 1 block 128 orders wrong
// in x int32 = np.arange(128)
// inout total int32 = [0] -> [8128]
// inout n int32 = [0] -> [128]
// inout result int32 = [0] -> [8128]
extern "C" __global__ void last_but_one(const int *x, int *total, int *n, int *result) {
  atomicAdd(total, x[threadIdx.x]);
  __threadfence();
  if (atomicAdd(n, 1) == blockDim.x - 2) *result = atomicAdd(total, 0);
}

// Counted before the part is done.
// kernel counted_first grid 1 block 64 orders wrong
// in x int32 = np.arange(64)
// inout total int32 = [0] -> [2016]
// inout n int32 = [0] -> [64]
// inout result int32 = [0] -> [2016]
extern "C" __global__ void counted_first(const int *x, int *total, int *n, int *result) {
  int before = atomicAdd(n, 1);
  __threadfence();
  atomicAdd(total, x[threadIdx.x]);
  __threadfence();
  if (before == blockDim.x - 2) *result = atomicAdd(total, 0);
}

// kernel counted_down grid 1 block 32
// in x int32 = np.arange(32)
// inout best int32 = [0] -> [31]
// inout left int32 = [32] -> [0]
// inout result int32 = [0] -> [31]
extern "C" __global__ void counted_down(const int *x, int *best, int *left, int *result) {
  atomicMax(best, x[threadIdx.x]);
  __threadfence();
  if (atomicSub(left, 1) == 1) *result = atomicMax(best, 0);
}

// kernel counted_down_to_one grid 1 block 32 orders wrong
// in x int32 = np.arange(32)
// inout best int32 = [0] -> [31]
// inout left int32 = [32] -> [0]
// inout result int32 = [0] -> [31]
extern "C" __global__ void counted_down_to_one(const int *x, int *best, int *left, int *result) {
  atomicMax(best, x[threadIdx.x]);
  __threadfence();
  if (atomicSub(left, 1) == 2) *result = atomicMax(best, 0);
}

// A ballot in shared memory: all votes have to be in.
// kernel ballot grid 2 block 32
// in yes int32 = np.arange(64) % 2
// out result int32 = [16, 16]
extern "C" __global__ void ballot(const int *yes, int *result) {
  __shared__ int votes, voters;
  if (threadIdx.x == 0) votes = voters = 0;
  __syncthreads();
  if (yes[blockIdx.x * 32 + threadIdx.x]) atomicAdd(&votes, 1);
  __threadfence_block();
  if (atomicAdd(&voters, 1) + 1 == 32) result[blockIdx.x] = atomicAdd(&votes, 0);
}

// kernel ballot_too_early grid 2 block 32 orders wrong
// in yes int32 = np.arange(64) % 2
// out result int32 = [16, 16]
extern "C" __global__ void ballot_too_early(const int *yes, int *result) {
  __shared__ int votes, voters;
  if (threadIdx.x == 0) votes = voters = 0;
  __syncthreads();
  if (yes[blockIdx.x * 32 + threadIdx.x]) atomicAdd(&votes, 1);
  __threadfence_block();
  if (atomicAdd(&voters, 1) + 2 == 32) result[blockIdx.x] = atomicAdd(&votes, 0);
}

// The numbers of atomicInc wrap with the last one.
// kernel wrapped grid 3 block 32
// inout bits uint32 = [0] -> [4294967295]
// inout n uint32 = [0] -> [0]
// inout full uint32 = [0] -> [1]
extern "C" __global__ void wrapped(unsigned *bits, unsigned *n, unsigned *full) {
  atomicOr(bits, 1u << threadIdx.x);
  __threadfence();
  if (atomicInc(n, 95) == 95) *full = atomicOr(bits, 0) == ~0u;
}

// kernel wrapped_in_a_warp grid 1 block 32 orders wrong
// inout bits uint32 = [0] -> [4294967295]
// inout n uint32 = [0] -> [0]
// inout full uint32 = [0] -> [1]
extern "C" __global__ void wrapped_in_a_warp(unsigned *bits, unsigned *n, unsigned *full) {
  atomicOr(bits, 1u << threadIdx.x);
  __threadfence();
  if (atomicInc(n, 31) == 30) *full = atomicOr(bits, 0) == ~0u;
}

// A leader is chosen by its number, and only its own part counts: any order will do.
// kernel leader_of_its_own grid 1 block 64
// inout n int32 = [0] -> [64]
// inout led int32 = [0] -> [1]
extern "C" __global__ void leader_of_its_own(int *n, int *led) {
  if (atomicAdd(n, 1) == 62) atomicAdd(led, 1);
}

// Each lane takes a slot, whichever that is; the sum of all is the same.
// kernel slots grid 1 block 64
// in x int32 = np.arange(64)
// inout n int32 = [0] -> [64]
// inout slot int32 = np.zeros(64) -> _
// inout sum int32 = [0] -> [2016]
extern "C" __global__ void slots(const int *x, int *n, int *slot, int *sum) {
  slot[atomicAdd(n, 1)] = x[threadIdx.x];
  __syncthreads();
  atomicAdd(sum, slot[threadIdx.x]);
}

// Slots taken for those of the lanes' own numbers.
// kernel slots_in_lane_order grid 1 block 32 orders wrong
// in x int32 = np.arange(32)
// inout n int32 = [0] -> [32]
// inout y int32 = np.zeros(32) -> np.arange(32)
extern "C" __global__ void slots_in_lane_order(const int *x, int *n, int *y) {
  int at = atomicAdd(n, 1);
  atomicAdd(&y[at], x[threadIdx.x]);
}
