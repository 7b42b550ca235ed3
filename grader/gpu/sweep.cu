// The microbenchmarks of grader/gpu/sweep.py. All have one signature:
//
//   data    a buffer of at least size words, zero unless a list of indices is chased in it
//   out     written only for a sum that no run gives, so that nothing can be left out
//   size    words of the buffer that a round uses, or a mask
//   stride  what sets neighboring lanes apart, or a shift; see each kernel
//   rounds  what the amount of work is proportional to
//
// Loads whose number counts are volatile assembly: neither NVVM nor ptxas merges, moves or drops them.

typedef unsigned int u32;

#define KERNEL(name)                                                                              \
    extern "C" __global__ void name(u32* data, u32* out, u32 size, u32 stride, u32 rounds)

__device__ u32 thread_of_grid()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ u32 load_cached(const u32* at)
{
    u32 value;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(at));
    return value;
}

__device__ u32 load_l2(const u32* at)
{
    u32 value;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(at));
    return value;
}

__device__ uint4 load_l2(const uint4* at)
{
    uint4 value;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(at));
    return value;
}

__device__ u32 bits_of(uint4 word)
{
    return word.x | word.y | word.z | word.w;
}

#define LOADS 4

// Reads size * rounds words of 16 bytes, each once.
KERNEL(read_once)
{
    const uint4* words = (const uint4*)data;
    u32 step = gridDim.x * blockDim.x, end = size * rounds, bits = 0;
    u32 i = thread_of_grid();
    for (; i + (LOADS - 1) * step < end; i += LOADS * step) {
        uint4 word[LOADS];
#pragma unroll
        for (u32 k = 0; k < LOADS; ++k) {
            word[k] = load_l2(words + i + k * step);
        }
#pragma unroll
        for (u32 k = 0; k < LOADS; ++k) {
            bits |= bits_of(word[k]);
        }
    }
    for (; i < end; i += step) {
        bits |= bits_of(load_l2(words + i));
    }
    if (bits == 1) {
        *out = bits;
    }
}

// Writes size * rounds words of 16 bytes, each once.
KERNEL(write_once)
{
    uint4* words = (uint4*)data;
    u32 step = gridDim.x * blockDim.x, end = size * rounds;
    for (u32 i = thread_of_grid(); i < end; i += step) {
        words[i] = make_uint4(0, 0, 0, 0);
    }
}

// Writes in every round the same size words of 16 bytes; each thread the words of 4 bytes of `stride` in
// a row, with one store each.
KERNEL(write_again)
{
    u32 step = gridDim.x * blockDim.x, end = 4 * size / stride;
    for (u32 r = 0; r < rounds; ++r) {
        for (u32 i = thread_of_grid(); i < end; i += step) {
            for (u32 k = 0; k < stride; ++k) {
                asm volatile("st.global.u32 [%0], %1;" ::"l"(data + i * stride + k), "r"(r));
            }
        }
    }
}

// Reads size * rounds words of 16 bytes and writes them behind the last one.
KERNEL(copy_once)
{
    uint4* words = (uint4*)data;
    u32 step = gridDim.x * blockDim.x, end = size * rounds;
    for (u32 i = thread_of_grid(); i < end; i += step) {
        words[end + i] = load_l2(words + i);
    }
}

// Reads the same size words of 16 bytes in every round, past the L1 cache; where depends on the round
// before, as in read_l1.
KERNEL(read_again)
{
    const uint4* words = (const uint4*)data;
    u32 step = gridDim.x * blockDim.x, bits = 0;
    for (u32 r = 0; r < rounds; ++r) {
        u32 i = thread_of_grid() + bits;
        for (; i + (LOADS - 1) * step < size; i += LOADS * step) {
            uint4 word[LOADS];
#pragma unroll
            for (u32 k = 0; k < LOADS; ++k) {
                word[k] = load_l2(words + i + k * step);
            }
#pragma unroll
            for (u32 k = 0; k < LOADS; ++k) {
                bits |= bits_of(word[k]);
            }
        }
        for (; i < size; i += step) {
            bits |= bits_of(load_l2(words + i));
        }
    }
    if (bits == 1) {
        *out = bits;
    }
}

#define UNROLL 8

// UNROLL loads a round through the L1 cache; the lanes of a warp are `stride` words apart. Where a
// round loads depends on what the one before loaded, zero: ptxas drops a load that repeats another.
KERNEL(read_l1)
{
    u32 at = threadIdx.x % 32 * stride, bits = 0;
    for (u32 r = 0; r < rounds; ++r) {
        u32 value[UNROLL];
#pragma unroll
        for (u32 k = 0; k < UNROLL; ++k) {
            value[k] = load_cached(data + at + (stride == 1 ? 32 * k : k));
        }
#pragma unroll
        for (u32 k = 0; k < UNROLL; ++k) {
            bits |= value[k];
        }
        at += bits;
    }
    if (bits == 1) {
        *out = bits;
    }
}

#define SHARED_WORDS 1280

// UNROLL loads a round from shared memory; the lanes of a warp are `stride` words apart.
KERNEL(read_shared)
{
    __shared__ u32 tile[SHARED_WORDS];
    for (u32 i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x) {
        tile[i] = 0;
    }
    __syncthreads();
    const volatile u32* mine = tile + threadIdx.x % 32 * stride;
    u32 bits = 0;
    for (u32 r = 0; r < rounds; ++r) {
        u32 value[UNROLL];
#pragma unroll
        for (u32 k = 0; k < UNROLL; ++k) {
            value[k] = mine[32 * k];
        }
#pragma unroll
        for (u32 k = 0; k < UNROLL; ++k) {
            bits |= value[k];
        }
    }
    if (bits == 1) {
        *out = bits;
    }
}

// One lane follows a list of indices, through the L1 cache or past it: rounds dependent loads.
KERNEL(chase_l1)
{
    u32 at = stride;
    for (u32 r = 0; r < rounds; ++r) {
        at = load_cached(data + at);
    }
    if (at == 1) {
        *out = at;
    }
}

KERNEL(chase_l2)
{
    u32 at = stride;
    for (u32 r = 0; r < rounds; ++r) {
        at = load_l2(data + at);
    }
    if (at == 1) {
        *out = at;
    }
}

// The same in shared memory.
KERNEL(chase_shared)
{
    __shared__ u32 list[SHARED_WORDS];
    for (u32 i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x) {
        list[i] = (i + stride) % SHARED_WORDS;
    }
    __syncthreads();
    const volatile u32* start = list;
    u32 at = 0;
    for (u32 r = 0; r < rounds; ++r) {
        at = start[at];
    }
    if (at == SHARED_WORDS) {
        *out = at;
    }
}

#define CHAINS 8
#define TURNS 8

// name: CHAINS * TURNS operations a round, in CHAINS independent chains.
// name_chain: as many, each of which needs the one before.
#define ARITHMETIC(name, T, start, step)                                                          \
    KERNEL(name)                                                                                  \
    {                                                                                             \
        T x[CHAINS], a = (T)size, b = (T)stride;                                                  \
        for (u32 c = 0; c < CHAINS; ++c) {                                                        \
            x[c] = (T)(start);                                                                    \
        }                                                                                         \
        for (u32 r = 0; r < rounds; ++r) {                                                        \
            _Pragma("unroll") for (u32 t = 0; t < TURNS; ++t)                                     \
            {                                                                                     \
                _Pragma("unroll") for (u32 c = 0; c < CHAINS; ++c)                                \
                {                                                                                 \
                    x[c] = step(x[c], a, b);                                                      \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
        u32 bits = 0;                                                                             \
        for (u32 c = 0; c < CHAINS; ++c) {                                                        \
            bits |= (u32)x[c];                                                                    \
        }                                                                                         \
        if (bits == 0x7FFFFFFF) {                                                                 \
            *out = bits;                                                                          \
        }                                                                                         \
    }                                                                                             \
    KERNEL(name##_chain)                                                                          \
    {                                                                                             \
        u32 c = 0;                                                                                \
        T x = (T)(start), a = (T)size, b = (T)stride;                                             \
        for (u32 r = 0; r < rounds; ++r) {                                                        \
            _Pragma("unroll") for (u32 t = 0; t < CHAINS * TURNS; ++t)                            \
            {                                                                                     \
                x = step(x, a, b);                                                                \
            }                                                                                     \
        }                                                                                         \
        if ((u32)x == 0x7FFFFFFF) {                                                               \
            *out = (u32)x;                                                                        \
        }                                                                                         \
    }

template <typename T>
__device__ T multiply_add(T x, T a, T b)
{
    return x * a + b;
}

__device__ float fused(float x, float a, float b)
{
    return fmaf(x, a, b);
}

__device__ double fused(double x, double a, double b)
{
    return fma(x, a, b);
}

// Two integer instructions that nothing folds into one.
__device__ u32 add_and_xor(u32 x, u32 a, u32 b)
{
    u32 sum;
    asm volatile("add.u32 %0, %1, %2;" : "=r"(sum) : "r"(x), "r"(a));
    asm volatile("xor.b32 %0, %1, %2;" : "=r"(x) : "r"(sum), "r"(b));
    return x;
}

__device__ float exponential(float x, float, float)
{
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

// Two conversions. What is between them keeps ptxas from leaving out one that undoes the other.
__device__ u32 convert(u32 x, u32 a, u32)
{
    float real;
    asm volatile("cvt.rn.f32.u32 %0, %1;" : "=f"(real) : "r"(x));
    real = __uint_as_float(__float_as_uint(real) ^ a);
    asm volatile("cvt.rzi.u32.f32 %0, %1;" : "=r"(x) : "f"(real));
    return x;
}

__device__ float divide(float x, float a, float)
{
    asm volatile("div.rn.f32 %0, %1, %0;" : "+f"(x) : "f"(a));
    return x;
}

__device__ u32 divide_whole(u32 x, u32 a, u32)
{
    asm volatile("div.u32 %0, %1, %0;" : "+r"(x) : "r"(a));
    return x | 1;
}

__device__ u32 exchange(u32 x, u32, u32)
{
    asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xFFFFFFFF;" : "+r"(x));
    return x;
}

ARITHMETIC(fma32, float, threadIdx.x + c, fused)
ARITHMETIC(fma64, double, threadIdx.x + c, fused)
ARITHMETIC(mad32, u32, threadIdx.x + c, multiply_add)
ARITHMETIC(int32, u32, threadIdx.x + c, add_and_xor)
ARITHMETIC(special, float, 0.001f * (threadIdx.x + c), exponential)
ARITHMETIC(conversion, u32, threadIdx.x + c, convert)
ARITHMETIC(division, float, 1.5f + threadIdx.x + c, divide)
ARITHMETIC(integer_division, u32, threadIdx.x + c + 1, divide_whole)
ARITHMETIC(shuffle, u32, threadIdx.x + c, exchange)

// CHAINS * TURNS operations a round, in turns a fused multiply-add and an integer operation, which
// different pipes execute.
KERNEL(issue)
{
    float x[CHAINS / 2], a = (float)size, b = (float)stride;
    u32 n[CHAINS / 2];
    for (u32 c = 0; c < CHAINS / 2; ++c) {
        x[c] = (float)(threadIdx.x + c);
        n[c] = threadIdx.x + c;
    }
    for (u32 r = 0; r < rounds; ++r) {
#pragma unroll
        for (u32 t = 0; t < TURNS; ++t) {
#pragma unroll
            for (u32 c = 0; c < CHAINS / 2; ++c) {
                x[c] = fmaf(x[c], a, b);
                n[c] = t % 2 ? n[c] + stride : n[c] ^ size;
            }
        }
    }
    u32 bits = 0;
    for (u32 c = 0; c < CHAINS / 2; ++c) {
        bits |= (u32)x[c] | n[c];
    }
    if (bits == 0x7FFFFFFF) {
        *out = bits;
    }
}

#define BARRIERS 8

KERNEL(barrier)
{
    for (u32 r = 0; r < rounds; ++r) {
#pragma unroll
        for (u32 k = 0; k < BARRIERS; ++k) {
            __syncthreads();
        }
    }
}

// UNROLL atomics a round: 1 << stride neighboring threads update the same of `size` words, a power
// of two.
KERNEL(atomic_global)
{
    u32 thread = thread_of_grid() >> stride;
    for (u32 r = 0; r < rounds; ++r) {
#pragma unroll
        for (u32 k = 0; k < UNROLL; ++k) {
            atomicAdd(data + ((thread + (r * UNROLL + k) * 32) & (size - 1)), 1u);
        }
    }
}

KERNEL(atomic_shared)
{
    __shared__ u32 bins[1024];
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) {
        bins[i] = 0;
    }
    __syncthreads();
    u32 thread = threadIdx.x >> stride;
    for (u32 r = 0; r < rounds; ++r) {
#pragma unroll
        for (u32 k = 0; k < UNROLL; ++k) {
            atomicAdd(bins + ((thread + k * 32) & (size - 1)), 1u);
        }
    }
    __syncthreads();
    if (bins[threadIdx.x % 1024] == 0xFFFFFFFF) {
        *out = 1;
    }
}

// Nothing: what a launch and its blocks take.
KERNEL(empty)
{
}
