// Release and acquire through warps, tiles, blocks and chains of blocks.

#include <cuda/atomic>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// kernel warp_release grid 2 block 32
// inout d int32 = np.zeros(32) -> np.arange(32) + 1
// inout flag int32 = [0] -> [1]
// out y int32 = 32 - np.arange(32)
extern "C" __global__ void warp_release(int *d, int *flag, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    d[t] = t + 1;
    __syncwarp();
    if (t == 5) cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).store(1, cuda::memory_order_release);
  } else {
    if (t == 9) while (!cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).load(cuda::memory_order_acquire)) ;
    __syncwarp();
    y[t] = d[31 - t];
  }
}

// kernel warp_release_no_sync grid 2 block 32
// inout d int32 = np.zeros(32) -> _
// inout flag int32 = [0] -> _
// out y int32 = 32 - np.arange(32)
extern "C" __global__ void warp_release_no_sync(int *d, int *flag, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    d[t] = t + 1;  // <- race
    if (t == 5) cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).store(1, cuda::memory_order_release);
  } else {
    if (t == 9) while (!cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).load(cuda::memory_order_acquire)) ;
    __syncwarp();
    y[t] = d[31 - t];  // <- race
  }
}

// kernel warp_acquire_after_sync grid 2 block 64
// inout d int32 = np.zeros(64) -> _
// inout flag int32 = [0] -> _
// out y int32 = np.zeros(64)
// only the warp of the waiting lane is ordered by __syncwarp
extern "C" __global__ void warp_acquire_after_sync(int *d, int *flag, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    d[t] = t + 1;  // <- race
    __syncthreads();
    if (t == 40) { __threadfence(); *(volatile int *)flag = 1; }
  } else {
    if (t == 9) { while (!*(volatile int *)flag) ; __threadfence(); }
    __syncwarp();
    y[t] = d[63 - t];  // <- race
  }
}

// kernel tile_release grid 2 block 64
// inout d int32 = np.zeros(64) -> np.arange(64) + 1
// inout flag int32 = np.zeros(8) -> np.ones(8)
// out y int32 = (np.arange(64) ^ 7) + 1
extern "C" __global__ void tile_release(int *d, int *flag, int *y) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int t = threadIdx.x, g = tile.meta_group_rank();
  if (blockIdx.x == 0) {
    d[t] = t + 1;
    tile.sync();
    if (tile.thread_rank() == 0) atomicAdd(&flag[g], (__threadfence(), 1));
  } else {
    if (tile.thread_rank() == 3) { while (atomicAdd(&flag[g], 0) == 0) ; __threadfence(); }
    tile.sync();
    y[t] = d[t ^ 7];
  }
}

// kernel tile_release_wrong_tile grid 2 block 64
// inout d int32 = np.zeros(64) -> _
// inout flag int32 = np.zeros(8) -> _
// out y int32 = (np.arange(64) ^ 15) + 1
extern "C" __global__ void tile_release_wrong_tile(int *d, int *flag, int *y) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int t = threadIdx.x, g = tile.meta_group_rank();
  if (blockIdx.x == 0) {
    d[t] = t + 1;  // <- race
    tile.sync();
    if (tile.thread_rank() == 0) atomicAdd(&flag[g], (__threadfence(), 1));
  } else {
    if (tile.thread_rank() == 3) { while (atomicAdd(&flag[g], 0) == 0) ; __threadfence(); }
    tile.sync();
    y[t] = d[t ^ 15];  // <- race
  }
}

// chain across three blocks: cumulativity
// kernel chain3 grid 3 block 32
// inout d int32 = [0] -> [42]
// inout f int32 = [0, 0] -> [1, 1]
// out y int32 = [42]
extern "C" __global__ void chain3(int *d, int *f, int *y) {
  if (threadIdx.x) return;
  using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (blockIdx.x == 0) { *d = 42; R(f[0]).store(1, cuda::memory_order_release); }
  else if (blockIdx.x == 1) { while (!R(f[0]).load(cuda::memory_order_acquire)) ; R(f[1]).store(1, cuda::memory_order_release); }
  else { while (!R(f[1]).load(cuda::memory_order_acquire)) ; *y = *d; }
}

// kernel chain3_middle_relaxed grid 3 block 32
// inout d int32 = [0] -> _
// inout f int32 = [0, 0] -> _
// out y int32 = [42]
extern "C" __global__ void chain3_middle_relaxed(int *d, int *f, int *y) {
  if (threadIdx.x) return;
  using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (blockIdx.x == 0) { *d = 42; R(f[0]).store(1, cuda::memory_order_release); }  // <- race
  else if (blockIdx.x == 1) { while (!R(f[0]).load(cuda::memory_order_relaxed)) ; R(f[1]).store(1, cuda::memory_order_release); }
  else { while (!R(f[1]).load(cuda::memory_order_acquire)) ; *y = *d; }  // <- race
}

// release sequence continued by another thread's RMW
// kernel rmw_sequence grid 3 block 32
// inout d int32 = [0] -> [42]
// inout f int32 = [0] -> [2]
// out y int32 = [42]
extern "C" __global__ void rmw_sequence(int *d, int *f, int *y) {
  if (threadIdx.x) return;
  using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (blockIdx.x == 0) { *d = 42; R(*f).store(1, cuda::memory_order_release); }
  else if (blockIdx.x == 1) { int e = 1; while (!R(*f).compare_exchange_weak(e, 2, cuda::memory_order_relaxed)) e = 1; }
  else { while (R(*f).load(cuda::memory_order_acquire) != 2) ; *y = *d; }
}

// one flag a warp, block barrier, one thread signals: all are released
// kernel block_arrives grid 4 block 64
// in x int32 = np.arange(256)
// inout part int32 = np.zeros(256) -> x
// inout count uint32 = [0] -> [0]
// out total int32 = [32640]
extern "C" __global__ void block_arrives(const int *x, int *part, unsigned *count, int *total) {
  __shared__ bool last;
  int i = blockIdx.x * 64 + threadIdx.x;
  part[i] = x[i];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __shared__ int s[64];
  int a = 0;
  for (int k = threadIdx.x; k < 256; k += 64) a += part[k];
  s[threadIdx.x] = a;
  __syncthreads();
  if (threadIdx.x == 0) { for (int k = 1; k < 64; ++k) a += s[k]; *total = a; }
}

// kernel block_arrives_no_sync grid 4 block 64
// in x int32 = np.arange(256)
// inout part int32 = np.zeros(256) -> _
// inout count uint32 = [0] -> _
// out total int32 = [32640]
extern "C" __global__ void block_arrives_no_sync(const int *x, int *part, unsigned *count, int *total) {
  __shared__ bool last;
  int i = blockIdx.x * 64 + threadIdx.x;
  part[i] = x[i];  // <- race
  __threadfence();
  if (threadIdx.x == 0) last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __shared__ int s[64];
  int a = 0;
  for (int k = threadIdx.x; k < 256; k += 64) a += part[k];  // <- race
  s[threadIdx.x] = a;
  __syncthreads();
  if (threadIdx.x == 0) { for (int k = 1; k < 64; ++k) a += s[k]; *total = a; }
}

// message passing with a data-dependent pointer: no consume in CUDA
// kernel pointer_relaxed grid 2 block 32
// inout pool int32 = np.zeros(8) -> _
// inout p int32 = [-1] -> _
// out y int32 = [9]
extern "C" __global__ void pointer_relaxed(int *pool, int *p, int *y) {
  if (threadIdx.x) return;
  using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (blockIdx.x == 0) { pool[3] = 9; R(*p).store(3, cuda::memory_order_release); }  // <- race
  else { int i; while ((i = R(*p).load(cuda::memory_order_relaxed)) < 0) ; *y = pool[i]; }  // <- race
}

// a flag for the whole block, polled by every thread
// kernel all_poll grid 2 block 64
// inout d int32 = np.zeros(64) -> np.arange(64) * 5
// inout f int32 = [0] -> [64]
// out y int32 = np.arange(64)[::-1] * 5
extern "C" __global__ void all_poll(int *d, int *f, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    d[t] = 5 * t;
    __threadfence();
    atomicAdd(f, 1);
  } else {
    while (*(volatile int *)f < 64) ;
    __threadfence();
    y[t] = d[63 - t];
  }
}

// shared memory: producer warp, consumer warp, flags of cuda::atomic in shared memory
// kernel shared_atomic_flag grid 1 block 64
// out y int32 = np.arange(32) * 3
extern "C" __global__ void shared_atomic_flag(int *y) {
  __shared__ int d[32];
  __shared__ cuda::atomic<int, cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) ready.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) { d[lane] = 3 * lane; ready.fetch_add(1, cuda::memory_order_release); }
  else { while (ready.load(cuda::memory_order_acquire) < 32) ; y[lane] = d[lane]; }
}


// one thread releases at more places than it remembers without growing
// kernel release_at_many_places grid 2 block 1
// inout d int32 = np.zeros(100) -> np.arange(100) + 1
// inout f int32 = np.zeros(100) -> np.append(2, np.ones(99))
// out y int32 = np.arange(100) + 1
extern "C" __global__ void release_at_many_places(int *d, int *f, int *y) {
  using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 100; ++i) { d[i] = i + 1; R(f[i]).store(1, cuda::memory_order_release); }
    R(f[0]).store(2, cuda::memory_order_relaxed);  // carries the thread's earlier release at this place
  } else {
    while (R(f[0]).load(cuda::memory_order_acquire) < 2) ;
    y[0] = d[0];
    for (int i = 1; i < 100; ++i) { while (!R(f[i]).load(cuda::memory_order_acquire)) ; y[i] = d[i]; }
  }
}

// kernel release_at_many_places_but_one grid 2 block 1
// inout d int32 = np.zeros(100) -> _
// inout f int32 = np.zeros(100) -> _
// out y int32 = np.arange(100) + 1
extern "C" __global__ void release_at_many_places_but_one(int *d, int *f, int *y) {
  using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (blockIdx.x == 0)
    for (int i = 0; i < 100; ++i) {
      d[i] = i + 1;  // <- race
      if (i == 90) R(f[i]).store(1, cuda::memory_order_relaxed); else R(f[i]).store(1, cuda::memory_order_release);
    }
  else for (int i = 0; i < 100; ++i) { while (!R(f[i]).load(cuda::memory_order_acquire)) ; y[i] = d[i]; }  // <- race
}

// Wrong: what is handed on is neither acquired nor released; one fence between the two does both.
// kernel handed_on_by_a_store grid 3 block 1
// inout data int32 = [0] -> _
// inout flag int32 = [0] -> _
// out y int32 = [7]
// hints Call __threadfence() after line A<. A run with that
extern "C" __global__ void handed_on_by_a_store(int *data, int *flag, int *y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) {
    data[0] = 7;
    f.store(1, cuda::std::memory_order_release);
  } else if (blockIdx.x == 1) {
    while (f.load(cuda::std::memory_order_relaxed) != 1) ;  // <A
    f.store(2, cuda::std::memory_order_relaxed);
  } else {
    while (f.load(cuda::std::memory_order_acquire) != 2) ;
    y[0] = data[0];  // <- race
  }
}

// Wrong: the flag is set by a plain store, though it is awaited through a library.
// kernel flag_set_plainly grid 2 block 1
// inout data int32 = [0] -> _
// inout flag int32 = [0] -> _
// out y int32 = [7]
// hints Write it in line A< by an atomic such as atomicExch.
extern "C" __global__ void flag_set_plainly(int *data, int *flag, int *y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) {
    data[0] = 7;
    __threadfence();
    *flag = 1;  // <A <- race
  } else {
    while (f.load(cuda::std::memory_order_acquire) == 0) ;  // <- race
    y[0] = data[0];
  }
}
