// Loops of compare-and-swaps. A plain read that only begins such a loop is right: a stale value makes the
// first swap fail. Where anything else depends on the value that was read plainly, it is a race.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ double add_double(double *where, double v) {
  unsigned long long *bits = (unsigned long long *)where, old = *bits, seen;
  do {
    seen = old;
    old = atomicCAS(bits, seen, __double_as_longlong(__longlong_as_double(seen) + v));
  } while (seen != old);
  return __longlong_as_double(old);
}
// kernel sum_of_doubles grid 4 block 64
// in x float64 = np.arange(256)
// inout y float64 = [0] -> [x.sum()]
extern "C" __global__ void sum_of_doubles(const double *x, double *y) {
  add_double(y, x[blockIdx.x * 64 + threadIdx.x]);
}

// kernel largest_in_shared grid 1 block 64
// in x float32 = rng.normal(size=64)
// out y float32 = [x.max()]
extern "C" __global__ void largest_in_shared(const float *x, float *y) {
  __shared__ float most;
  if (threadIdx.x == 0) most = x[0];
  __syncthreads();
  int *bits = (int *)&most, old = *bits, seen;
  do {
    seen = old;
    old = atomicCAS(bits, seen, __float_as_int(fmaxf(x[threadIdx.x], __int_as_float(seen))));
  } while (seen != old);
  __syncthreads();
  if (threadIdx.x == 0) y[0] = most;
}

// Half of a word; which half does not depend on what was read.
// kernel shorts grid 2 block 64
// inout y uint16 = np.zeros(4) -> [32, 64, 96, 128]
extern "C" __global__ void shorts(unsigned short *y) {
  unsigned short *p = y + threadIdx.x % 4;
  unsigned high = (size_t)p & 2, v = threadIdx.x % 4 + 1;
  unsigned *word = (unsigned *)((size_t)p - high), old = *word, seen, sum;
  do {
    seen = old;
    sum = v + (high ? seen >> 16 : seen & 0xffff);
    old = atomicCAS(word, seen, high ? (seen & 0xffff) | sum << 16 : (seen & 0xffff0000) | (sum & 0xffff));
  } while (seen != old);
}

// The address is computed twice, and a branch chooses the new value.
// kernel elements_of_an_array grid 2 block 64
// in x float32 = np.arange(384) % 17
// inout y float32 = np.zeros(3) -> [16, 16, 16]
extern "C" __global__ void elements_of_an_array(const float *x, float *y) {
  for (int k = 0; k < 3; ++k) {
    float v = x[(blockIdx.x * 64 + threadIdx.x) * 3 + k], old = y[k], seen;
    do {
      seen = old;
      int next = __float_as_int(v > seen ? v : seen);
      old = __int_as_float(atomicCAS((int *)&y[k], __float_as_int(seen), next));
    } while (seen != old);
  }
}

struct Bins {
  int *count;
  template <class F> __device__ int update(int k, F f) {
    int old = count[k], seen;
    do { seen = old; old = atomicCAS(&count[k], seen, f(seen)); } while (seen != old);
    return old;
  }
};
// kernel member_and_lambda grid 2 block 64
// inout y int32 = np.ones(4) -> np.full(4, 33)
extern "C" __global__ void member_and_lambda(int *y) {
  Bins{y}.update(threadIdx.x % 4, [](int v) { return v + 1; });
}

// A loop without a condition, which ends where the swap succeeds.
__device__ float scale(float *p, float v) {
  int old = __float_as_int(*p), seen;
  while (true) {
    seen = old;
    old = atomicCAS((int *)p, seen, __float_as_int(__int_as_float(seen) * v));
    if (seen == old) break;
  }
  return __int_as_float(old) * v;
}
// kernel product grid 2 block 16
// inout y float32 = [1] -> [2.0 ** 32]
extern "C" __global__ void product(float *y) { scale(y, 2.f); }

// kernel stored_too grid 2 block 64
// inout y int32 = [0] -> _
// inout z int32 = np.zeros(128) -> _
// finds race error `y[0]`
extern "C" __global__ void stored_too(int *y, int *z) {
  int old = *y, seen;
  z[blockIdx.x * 64 + threadIdx.x] = old;
  do { seen = old; old = atomicCAS(y, seen, seen + 1); } while (seen != old);
}

// kernel returned_without_a_swap grid 2 block 64
// inout y int32 = [0] -> _
// inout z int32 = np.zeros(128) -> _
// finds race error `y[0]`
__device__ int next(int *y, bool peek) {
  int old = *y, seen;
  if (peek) return old;
  do { seen = old; old = atomicCAS(y, seen, seen + 1); } while (seen != old);
  return old;
}
extern "C" __global__ void returned_without_a_swap(int *y, int *z) {
  z[blockIdx.x * 64 + threadIdx.x] = next(y, threadIdx.x % 2);
}

// kernel swaps_another_place grid 2 block 64
// inout y int32 = [0, 0] -> _
// finds race error `y[0]`
extern "C" __global__ void swaps_another_place(int *y) {
  int old = y[0], seen;
  do { seen = old; old = atomicCAS(&y[1], seen, seen + 1); } while (seen != old);
  atomicAdd(y, 1);
}

// kernel reads_plainly_in_each_round grid 2 block 64
// inout y int32 = [0] -> _
// finds race error `y[0]`
extern "C" __global__ void reads_plainly_in_each_round(int *y) {
  int seen;
  do { seen = y[0]; } while (atomicCAS(y, seen, seen + 1) != seen);
}

// kernel gives_up_early grid 2 block 64
// inout y int32 = [0] -> _
// finds race warning `y[0]`
extern "C" __global__ void gives_up_early(int *y) {
  int old = *y, seen, v = threadIdx.x * 37 % 64;
  do { if (old >= v) break; seen = old; old = atomicCAS(y, seen, v); } while (seen != old);
}

__device__ float greatest(float *at, float v) {
  int *p = (int *)at, old = *p, seen;
  while (v > __int_as_float(old)) {
    seen = old;
    old = atomicCAS(p, seen, __float_as_int(v));
    if (seen == old) break;
  }
  return __int_as_float(old);
}

// what the function returns is ignored, as if it returned nothing
// kernel greatest_alone grid 2 block 64
// inout y float32 = [0] -> _
// finds race warning `y[0]`
extern "C" __global__ void greatest_alone(float *y) { greatest(y, threadIdx.x * 37 % 64); }

// kernel greatest_kept grid 2 block 64
// inout y float32 = [0] -> _
// inout z float32 = np.zeros(128) -> _
// finds race error `y[0]`
extern "C" __global__ void greatest_kept(float *y, float *z) {
  z[blockIdx.x * 64 + threadIdx.x] = greatest(y, threadIdx.x * 37 % 64);
}

// kernel greatest_tested grid 2 block 64
// inout y float32 = [0] -> _
// inout z int32 = [0] -> _
// finds race error `y[0]`
extern "C" __global__ void greatest_tested(float *y, int *z) {
  if (greatest(y, threadIdx.x * 37 % 64) > 60) atomicAdd(z, 1);
}

// kernel tries_once grid 2 block 64
// inout y int32 = [0] -> _
// finds race error `y[0]`
extern "C" __global__ void tries_once(int *y) {
  int old = *y;
  atomicCAS(y, old, old + 1);
}

// kernel another_thread_stores grid 2 block 64
// inout y int32 = [0] -> _
// finds race error `y[0]`
extern "C" __global__ void another_thread_stores(int *y) {
  if (threadIdx.x + blockIdx.x == 0) y[0] = 5;
  int old = *y, seen;
  do { seen = old; old = atomicCAS(y, seen, seen + 1); } while (seen != old);
}

// kernel count_of_16_bits grid 2 block 64
// inout y uint16 = [7] -> [135]
extern "C" __global__ void count_of_16_bits(unsigned short *y) {
  unsigned short old = *y, assumed;
  do {
    assumed = old;
    old = atomicCAS(y, assumed, (unsigned short)(assumed + 1));
  } while (assumed != old);
}

__device__ __half add_half(__half *where, __half v) {
  unsigned short *bits = reinterpret_cast<unsigned short *>(where), old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __half_as_ushort(__hadd(__ushort_as_half(assumed), v)));
  } while (assumed != old);
  return __ushort_as_half(old);
}
// kernel sum_of_halves grid 2 block 64
// inout y float16 = np.zeros(4) -> [32, 32, 32, 32]
extern "C" __global__ void sum_of_halves(__half *y) { add_half(y + threadIdx.x % 4, __float2half(1.0f)); }

// kernel largest_half grid 2 block 64
// in x float16 = rng.normal(size=128)
// inout y float16 = [-100] -> [x.max()]
extern "C" __global__ void largest_half(const __half *x, __half *y) {
  __half v = x[blockIdx.x * 64 + threadIdx.x], old = *y;
  unsigned short assumed, seen = __half_as_ushort(old);
  do {
    assumed = seen;
    seen = atomicCAS((unsigned short *)y, assumed, __half_as_ushort(__hmax(v, __ushort_as_half(assumed))));
  } while (assumed != seen);
}

// kernel sum_of_bfloats grid 2 block 64
// inout y uint16 = [0] -> [0x4300]
extern "C" __global__ void sum_of_bfloats(__nv_bfloat16 *y) {
  unsigned short *bits = (unsigned short *)y, old = *bits, assumed;
  do {
    assumed = old;
    __nv_bfloat16 next = __hadd(__ushort_as_bfloat16(assumed), __float2bfloat16(1.0f));
    old = atomicCAS(bits, assumed, __bfloat16_as_ushort(next));
  } while (assumed != old);
}

// kernel signed_of_16_bits grid 2 block 64
// inout y int16 = [-64] -> [64]
extern "C" __global__ void signed_of_16_bits(short *y) {
  short old = y[0], assumed;
  do {
    assumed = old;
    old = (short)atomicCAS((unsigned short *)y, (unsigned short)assumed, (unsigned short)(assumed + 1));
  } while (assumed != old);
}

// kernel bits_of_64 grid 2 block 64
// inout y uint64 = [0, 0] -> [2**64 - 1, 0]
extern "C" __global__ void bits_of_64(unsigned long long *y) {
  unsigned long long old = y[0], assumed;
  do {
    assumed = old;
    old = atomicCAS(y, assumed, assumed | 1ull << threadIdx.x);
  } while (assumed != old);
}

// kernel shorts_in_shared grid 1 block 64
// out y uint32 = [64 * 3, 64]
extern "C" __global__ void shorts_in_shared(unsigned *y) {
  __shared__ unsigned short sums[2];
  if (threadIdx.x < 2) sums[threadIdx.x] = 0;
  __syncthreads();
  for (int k = 0; k < 2; ++k) {
    unsigned short old = sums[k], assumed;
    do {
      assumed = old;
      old = atomicCAS(&sums[k], assumed, (unsigned short)(assumed + (k ? 1 : 3)));
    } while (old != assumed);
  }
  __syncthreads();
  if (threadIdx.x < 2) y[threadIdx.x] = sums[threadIdx.x];
}

// kernel short_stored_too grid 2 block 64
// inout y uint16 = [0] -> _
// inout z uint16 = np.zeros(128) -> _
extern "C" __global__ void short_stored_too(unsigned short *y, unsigned short *z) {
  unsigned short old = *y, assumed;  // <- race
  z[blockIdx.x * 64 + threadIdx.x] = old;
  do {
    assumed = old;
    old = atomicCAS(y, assumed, (unsigned short)(assumed + 1));  // <- race
  } while (assumed != old);
}

// Swaps the low half of what was read: the rest of it is not compared.
// kernel half_of_what_was_read grid 2 block 64
// inout y uint32 = [0] -> _
extern "C" __global__ void half_of_what_was_read(unsigned *y) {
  unsigned old = *y, assumed;  // <- race
  do {
    assumed = old;
    old = atomicCAS((unsigned short *)y, (unsigned short)assumed, (unsigned short)(assumed + 1));  // <- race
  } while ((unsigned short)assumed != (unsigned short)old);
}

// kernel half_tried_once grid 2 block 64
// inout y float16 = [0] -> _
extern "C" __global__ void half_tried_once(__half *y) {
  unsigned short *bits = (unsigned short *)y, old = *bits;  // <- race
  __half next = __hadd(__ushort_as_half(old), __float2half(1.0f));
  atomicCAS(bits, old, __half_as_ushort(next));  // <- race
}

// Members of what is swapped, by a union, by memcpy in a function, and by a bit-field. What is read may be split by the compiler.
union Pair { struct { unsigned sum, count; }; unsigned long long bits; };
// kernel pair_in_a_union grid 2 block 64
// inout y uint64 = [0] -> [128 << 32 | 2 * 2016]
extern "C" __global__ void pair_in_a_union(unsigned long long *y) {
  Pair old, next;
  old.bits = *y;
  while (true) {
    next.sum = old.sum + threadIdx.x;
    next.count = old.count + 1;
    unsigned long long seen = atomicCAS(y, old.bits, next.bits);
    if (seen == old.bits) break;
    old.bits = seen;
  }
}

template <typename To, typename From> __device__ To bits_of(const From &from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
struct Fields { unsigned count : 10, most : 22; };
__device__ unsigned counted(unsigned word, unsigned v) {
  Fields f = bits_of<Fields>(word);
  f.count++;
  f.most = max((unsigned)f.most, v);
  return bits_of<unsigned>(f);
}
// kernel fields_by_memcpy grid 2 block 64
// inout y uint32 = [0] -> [63 << 10 | 128]
extern "C" __global__ void fields_by_memcpy(unsigned *y) {
  unsigned old = *y, seen;
  do old = atomicCAS(y, seen = old, counted(old, threadIdx.x)); while (old != seen);
}

// kernel fields_kept grid 2 block 64
// inout y uint32 = [0] -> _
// inout z uint32 = np.zeros(128) -> _
extern "C" __global__ void fields_kept(unsigned *y, unsigned *z) {
  unsigned old = *y, seen;  // <- race
  z[blockIdx.x * 64 + threadIdx.x] = bits_of<Fields>(old).count;
  do old = atomicCAS(y, seen = old, counted(old, threadIdx.x)); while (old != seen);  // <- race
}

// A volatile read in shared memory may be tested, and repeated in each round. It is no flag, and no data.
// kernel volatile_in_shared grid 1 block 64
// out y int32 = [64, 63, 2016]
extern "C" __global__ void volatile_in_shared(int *y) {
  __shared__ int count, most, sum;
  if (threadIdx.x == 0) count = most = sum = 0;
  __syncthreads();
  int old = *(volatile int *)&count, seen, me = threadIdx.x;
  do { seen = old; old = atomicCAS(&count, seen, seen + 1); } while (old != seen);
  for (old = *(volatile int *)&most; old < me; old = seen)
    if ((seen = atomicCAS(&most, old, me)) == old) break;
  do seen = *(volatile int *)&sum; while (atomicCAS(&sum, seen, seen + me) != seen);
  __syncthreads();
  if (threadIdx.x == 0) { y[0] = count; y[1] = most; y[2] = sum; }
}

// kernel volatile_kept grid 1 block 64
// inout y int32 = np.zeros(64) -> _
// hints Read it by a load of cuda::atomic_ref.
extern "C" __global__ void volatile_kept(int *y) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  int old = *(volatile int *)&count, seen;  // <- race
  y[threadIdx.x] = old;
  do { seen = old; old = atomicCAS(&count, seen, seen + 1); } while (old != seen);  // <- race
}

// The swap behind the first one takes no result of it: it expects what was read before.
// kernel swapped_again grid 2 block 64
// inout y int32 = [0] -> _
extern "C" __global__ void swapped_again(int *y) {
  int old = *y;  // <- race
  if (atomicCAS(y, old, old + 1) != old)  // <- race
    while (atomicCAS(y, threadIdx.x, threadIdx.x + 1) < threadIdx.x) {}
}
