// The grader's kernels: those around a timed launch, and those that measure a GPU's peaks.

typedef unsigned int u32;

// to[i] = from[starts[i / length] + i % length]: new inputs (grader/gpu/buffers.py).
template <typename T>
__device__ void move(T* to, const T* from, const u32* starts, u32 length, u32 size)
{
    u32 step = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
        to[i] = from[starts[i / length] + i % length];
    }
}

#define MOVE(bytes, T)                                                                            \
    extern "C" __global__ void move##bytes(T* to, const T* from, const u32* starts, u32 length,   \
                                           u32 size)                                              \
    {                                                                                             \
        move(to, from, starts, length, size);                                                     \
    }

MOVE(1, unsigned char)
MOVE(2, unsigned short)
MOVE(4, unsigned int)
MOVE(8, unsigned long long)

// What a launch takes when the kernel does nothing.
extern "C" __global__ void empty()
{
}

// Reads all of `data`, whose words are zero, so that a cache holds nothing else and nothing that has
// yet to be written back: a write-back would be charged to the kernel that comes next.
extern "C" __global__ void flush(const uint4* data, u32 size, u32* out)
{
    u32 bits = 0;
    u32 step = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
        uint4 word = data[i];
        bits |= word.x | word.y | word.z | word.w;
    }
    if (bits) {
        *out = bits;
    }
}

// Every element read once and written once.
extern "C" __global__ void copy(uint4* to, const uint4* from, u32 size)
{
    u32 step = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
        to[i] = from[i];
    }
}

#define CHAINS 8
#define TURNS 16

// rounds * TURNS * CHAINS fused multiply-adds a thread, in independent chains; `out` is written
// only for a sum that none of them gives, so that nothing can be left out.
extern "C" __global__ void multiply_add(float* out, float factor, float term, u32 rounds)
{
    float sum[CHAINS];
    for (int c = 0; c < CHAINS; ++c) {
        sum[c] = threadIdx.x + c;
    }
    for (u32 r = 0; r < rounds; ++r) {
#pragma unroll
        for (int t = 0; t < TURNS; ++t) {
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) {
                sum[c] = fmaf(sum[c], factor, term);
            }
        }
    }
    float total = 0.0f;
    for (int c = 0; c < CHAINS; ++c) {
        total += sum[c];
    }
    if (total == -1.0f) {
        out[threadIdx.x] = total;
    }
}
