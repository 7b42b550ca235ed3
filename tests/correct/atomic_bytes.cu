// cuda::atomic_ref of 8 and 16 bits: the library swaps the words around such objects, but means the objects.

#include <cuda/atomic>
template <class T> using dev = cuda::atomic_ref<T, cuda::thread_scope_device>;
template <class T> using blk = cuda::atomic_ref<T, cuda::thread_scope_block>;
typedef unsigned char byte;
enum Color : byte { RED, GREEN };
struct Pair { char x, y; };
constexpr auto relaxed = cuda::memory_order_relaxed, acquire = cuda::memory_order_acquire;
constexpr auto release = cuda::memory_order_release;

// kernel neighbors grid 2 block 64
// inout p uint8 = np.zeros(256) -> np.tile([1, 7], 128)
extern "C" __global__ void neighbors(byte *p) {
  int i = blockIdx.x * 64 + threadIdx.x;
  dev<byte>(p[2 * i]).fetch_add(1, relaxed);
  p[2 * i + 1] = 7;
}

// kernel same_byte grid 2 block 64
// inout p uint8 = np.zeros(256) -> _
extern "C" __global__ void same_byte(byte *p) {
  dev<byte>(p[3]).fetch_add(1, relaxed);  // <- race
  if (threadIdx.x == 1) p[3] = 7;  // <- race
}

// kernel end_of_buffer grid 1 block 35
// inout p uint8 = np.zeros(7) -> np.full(7, 5)
extern "C" __global__ void end_of_buffer(byte *p) { dev<byte>(p[threadIdx.x % 7]).fetch_add(1); }

// kernel past_the_end grid 1 block 32
// inout p uint8 = np.zeros(7) -> _
extern "C" __global__ void past_the_end(byte *p) {
  dev<byte>(p[threadIdx.x % 8]).fetch_add(1);  // <- invalid-access
}

// kernel store_past_the_end grid 1 block 32
// inout p uint8 = np.zeros(7) -> _
extern "C" __global__ void store_past_the_end(byte *p) {
  dev<byte>(p[threadIdx.x % 8]).store(1);  // <- invalid-access
}

// kernel stores_first grid 1 block 32
// out y int32 = np.arange(32) % 3
extern "C" __global__ void stores_first(int *y) {
  __shared__ byte f[33];
  int t = threadIdx.x;
  blk<byte>(f[t + 1]).store(t % 3);
  y[t] = blk<byte>(f[t + 1]).load(relaxed);
}

// kernel adds_first grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void adds_first(int *y) {
  __shared__ byte f[33];
  int t = threadIdx.x;
  f[0] = 1;
  y[t] = blk<byte>(f[t + 1]).fetch_add(1);  // <- uninitialized-read
}

// kernel store_then_add grid 1 block 32
// out y int32 = np.full(32, 3)
extern "C" __global__ void store_then_add(int *y) {
  __shared__ byte n;
  if (threadIdx.x == 0) {
    blk<byte> a(n);
    a.store(1, relaxed);
    a.fetch_add(2, relaxed);
  }
  __syncthreads();
  y[threadIdx.x] = n;
}

// kernel byte_lock grid 3 block 8
// inout lock uint8 = np.zeros(5) -> [0, 3, 0, 0, 0]
// inout n int32 = [0] -> [24]
extern "C" __global__ void byte_lock(byte *lock, int *n) {
  for (bool done = false; !done;) {
    byte expected = 0;
    if (!dev<byte>(lock[4]).compare_exchange_weak(expected, 1, acquire, relaxed)) continue;
    ++*n;
    lock[1] = 3;
    dev<byte>(lock[4]).store(0, release);
    done = true;
  }
}

// kernel byte_lock_relaxed grid 3 block 8
// inout lock uint8 = np.zeros(5) -> _
// inout n int32 = [0] -> _
extern "C" __global__ void byte_lock_relaxed(byte *lock, int *n) {
  for (bool done = false; !done;) {
    byte expected = 0;
    if (!dev<byte>(lock[4]).compare_exchange_weak(expected, 1, acquire, relaxed)) continue;
    ++*n;  // <- race
    dev<byte>(lock[4]).store(0, relaxed);
    done = true;
  }
}

// kernel published grid 2 block 32
// inout x int32 = np.zeros(32) -> _
// inout f uint8 = np.zeros(6) -> [0, 0, 9, 0, 0, 1]
// out y int32 = np.arange(32)
extern "C" __global__ void published(int *x, byte *f, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    x[t] = t;
    __syncthreads();
    if (t == 0) f[2] = 9, dev<byte>(f[5]).store(1, release);
  } else {
    if (t == 0) while (!dev<byte>(f[5]).load(acquire)) ;
    __syncthreads();
    y[t] = x[t];
  }
}

// kernel published_relaxed grid 2 block 32
// inout x int32 = np.zeros(32) -> _
// inout f uint8 = np.zeros(6) -> _
// out y int32 = np.zeros(32)
extern "C" __global__ void published_relaxed(int *x, byte *f, int *y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    x[t] = t;  // <- race
    __syncthreads();
    if (t == 0) dev<byte>(f[5]).store(1, relaxed);
  } else {
    if (t == 0) while (!dev<byte>(f[5]).load(acquire)) ;
    __syncthreads();
    y[t] = x[t];  // <- race
  }
}

// kernel again grid 2 block 1
// inout x int32 = [0] -> _
// inout f uint8 = [1, 0] -> _
// out y int32 = [5]
extern "C" __global__ void again(int *x, byte *f, int *y) {
  if (blockIdx.x == 0) {
    x[0] = 5;
    dev<byte>(f[0]).store(1, release);  // as it was
    dev<byte>(f[1]).fetch_or(1, release);
  } else {
    while (!dev<byte>(f[1]).fetch_and(1, acquire)) ;
    y[0] = x[0];
  }
}

// kernel halves grid 2 block 48
// inout p int16 = np.zeros(5) -> [95, 7, 95, 8, 95]
extern "C" __global__ void halves(short *p) {
  short i = blockIdx.x * 48 + threadIdx.x;
  for (int k = 0; k < 5; k += 2) dev<short>(p[k]).fetch_max(i);
  if (i == 40) p[1] = 7, p[3] = 8;
}

// kernel half_read grid 2 block 48
// inout p int16 = np.zeros(5) -> _
// out y int32 = np.zeros(96)
extern "C" __global__ void half_read(short *p, int *y) {
  dev<short>(p[4]).fetch_add(1);  // <- race
  y[blockIdx.x * 48 + threadIdx.x] = p[4];  // <- race
}

// kernel odd_half grid 1 block 1
// inout p uint8 = np.zeros(16) -> _
extern "C" __global__ void odd_half(byte *p) {
  dev<short>(*(short *)(p + 3)).fetch_add(1);  // <- invalid-access
}

// kernel claims grid 1 block 128
// inout n int32 = [0] -> [4]
extern "C" __global__ void claims(int *n) {
  __shared__ bool taken[4];
  if (threadIdx.x < 4) taken[threadIdx.x] = false;
  __syncthreads();
  if (!blk<bool>(taken[threadIdx.x % 4]).exchange(true)) atomicAdd(n, 1);
}

// kernel kinds grid 1 block 64
// inout c uint8 = np.zeros(3) -> [1, 0, 0]
// inout p int8 = np.zeros(6) -> [0, 0, 3, 4, 0, 0]
// inout b uint8 = np.zeros(5) -> [12, 64, 128, 0, 63]
extern "C" __global__ void kinds(Color *c, Pair *p, byte *b) {
  int t = threadIdx.x;
  dev<Color>(c[0]).store(GREEN);
  if (t == 0) dev<Pair>(p[1]).exchange(Pair{3, 4});
  dev<byte>(b[0]).fetch_or(4 << t % 2);
  dev<byte>(b[1])++;
  dev<byte>(b[2]).fetch_sub(2, cuda::memory_order_acq_rel);
  dev<byte>(b[3]).fetch_xor(t);
  dev<byte>(b[4]).fetch_max(t);
}

// kernel byte_histogram grid 2 block 128
// in x uint8 = rng.integers(0, 16, 256)
// inout h uint8 = np.zeros(33) -> np.append([(x[:128] == k).sum() for k in range(16)] + [(x[128:] == k).sum() for k in range(16)], 0)
extern "C" __global__ void byte_histogram(const byte *x, byte *h) {
  __shared__ byte own[16];
  int t = threadIdx.x;
  if (t < 16) own[t] = 0;
  __syncthreads();
  blk<byte>(own[x[blockIdx.x * 128 + t]]).fetch_add(1, relaxed);
  __syncthreads();
  if (t < 16) h[blockIdx.x * 16 + t] = own[t];
}

// kernel blocks_apart grid 4 block 32
// inout n uint8 = np.zeros(4) -> np.full(4, 32)
extern "C" __global__ void blocks_apart(byte *n) { blk<byte>(n[blockIdx.x]).fetch_add(1); }

// kernel block_scope grid 4 block 32
// inout n uint8 = np.zeros(4) -> _
extern "C" __global__ void block_scope(byte *n) {
  blk<byte>(n[blockIdx.x / 2]).fetch_add(1);  // <- race
}

// kernel lost grid 4 block 32
// inout n uint8 = np.zeros(3) -> _
extern "C" __global__ void lost(byte *n) {
  dev<byte> a(n[1]);
  a.store(a.load(relaxed) + 1, relaxed);  // <- lost-update
}

// kernel word_over_byte grid 1 block 64
// inout p uint8 = np.zeros(8) -> _
extern "C" __global__ void word_over_byte(byte *p) {
  if (threadIdx.x < 32) dev<byte>(p[5]).fetch_add(1);  // <- race
  else ((int *)p)[1] = 1;  // <- race
}

// kernel half_over_byte grid 1 block 64
// inout p uint8 = np.zeros(8) -> _
extern "C" __global__ void half_over_byte(byte *p) {
  if (threadIdx.x < 32) dev<byte>(p[5]).fetch_add(1);  // <- race
  else dev<unsigned short>(*(unsigned short *)(p + 4)).fetch_or(2);  // <- race
}

// kernel own_swap grid 1 block 64
// inout p uint32 = np.zeros(2) -> _
extern "C" __global__ void own_swap(unsigned *p) {
  byte *b = (byte *)p;
  if (threadIdx.x < 32) {
    unsigned old = 0, seen;
    while ((seen = atomicCAS(p, old, (old & ~0xFFu) | ((old + 1) & 0xFFu))) != old) old = seen;  // <- race
  } else if (threadIdx.x == 40) {
    b[1] = 1;  // <- race
  }
}

// kernel own_swap_alone grid 1 block 64
// inout p uint32 = np.zeros(2) -> [64, 1]
extern "C" __global__ void own_swap_alone(unsigned *p) {
  unsigned old = 0, seen;
  while ((seen = atomicCAS(p, old, (old & ~0xFFu) | ((old + 1) & 0xFFu))) != old) old = seen;
  if (threadIdx.x == 40) ((byte *)p)[4] = 1;
}

// kernel own_and_library grid 1 block 32
// inout p uint32 = [256, 0] -> [288, 0]
// out y int32 = np.full(32, 256)
extern "C" __global__ void own_and_library(unsigned *p, unsigned *y) {
  byte *b = (byte *)p + threadIdx.x % 1;
  y[threadIdx.x] = *(unsigned *)((unsigned long long)b & ~3ull);
  __syncthreads();
  dev<byte>(*b).fetch_add(1, relaxed);
}

// Two locks in one word; the loop is unrolled.
// kernel two_locks grid 3 block 32
// inout lock uint8 = np.zeros(8) -> np.zeros(8)
// inout n int32 = [0, 0] -> [3, 3]
extern "C" __global__ void two_locks(byte *lock, int *n) {
  if (threadIdx.x) return;
  for (int r = 0; r < 2; ++r) {
    int k = (blockIdx.x + r) % 2;
    dev<byte> l(lock[k]);
    while (l.exchange(1, acquire)) {}
    ++n[k];
    l.store(0, release);
  }
}
