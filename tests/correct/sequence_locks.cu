// Sequence locks whose readers copy by a function that is not inlined: it is in one piece with its caller for an analysis.
// Torn values are discarded; wrong where a look or a fence is missing.

// kernel copied_apart grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(4) -> np.full(4,4)
// out bad int32 = np.zeros(1)
__noinline__ __device__ void copy_out_apart(int *to, const volatile int *from) {
    for (int i = 0; i < 4; i++) to[i] = from[i];
}
__noinline__ __device__ void copy_in_apart(volatile int *to, int v) {
    for (int i = 0; i < 4; i++) to[i] = v;
}
extern "C" __global__ void copied_apart(volatile unsigned *seq, volatile int *data, int *bad) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            copy_in_apart(data, v);
            __threadfence();
            *seq = s + 2;
        }
    } else {
        int n = 0;
        for (int k = 0; k < 4; k++) {
            int x[4];
            unsigned s1, s2;
            do {
                s1 = *seq;
                __threadfence();
                copy_out_apart(x, data);
                __threadfence();
                s2 = *seq;
            } while (s1 != s2 || (s1 & 1));
            n += x[0] != x[3] || x[1] != x[2];
        }
        *bad = n;
    }
}

// kernel no_fence_behind_the_copy grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(4) -> np.full(4,4)
// out bad int32 = np.zeros(1)
__noinline__ __device__ void copy_out_unfenced(int *to, const volatile int *from) {
    for (int i = 0; i < 4; i++) to[i] = from[i];  // <- race
}
__noinline__ __device__ void copy_in_unfenced(volatile int *to, int v) {
    for (int i = 0; i < 4; i++) to[i] = v;
}
extern "C" __global__ void no_fence_behind_the_copy(volatile unsigned *seq, volatile int *data, int *bad) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            copy_in_unfenced(data, v);
            __threadfence();
            *seq = s + 2;
        }
    } else {
        int n = 0;
        for (int k = 0; k < 4; k++) {
            int x[4];
            unsigned s1, s2;
            do {
                s1 = *seq;
                __threadfence();
                copy_out_unfenced(x, data);
                s2 = *seq;
            } while (s1 != s2 || (s1 & 1));
            n += x[0] != x[3] || x[1] != x[2];
        }
        *bad = n;
    }
}

// kernel one_look grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(4) -> np.full(4,4)
// out bad int32 = np.zeros(1)
__noinline__ __device__ void copy_out_once(int *to, const volatile int *from) {
    for (int i = 0; i < 4; i++) to[i] = from[i];  // <- race
}
__noinline__ __device__ void copy_in_once(volatile int *to, int v) {
    for (int i = 0; i < 4; i++) to[i] = v;
}
extern "C" __global__ void one_look(volatile unsigned *seq, volatile int *data, int *bad) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            copy_in_once(data, v);
            __threadfence();
            *seq = s + 2;
        }
    } else {
        int n = 0;
        for (int k = 0; k < 4; k++) {
            int x[4];
            while (*seq & 1) {}
            __threadfence();
            copy_out_once(x, data);
            __threadfence();
            n += x[0] != x[3] || x[1] != x[2];
        }
        *bad = n;
    }
}

struct Record { float x, y; int count; };
__noinline__ __device__ void take(Record *to, const volatile Record *from, int n) {
    if (n > 0) to->x = from->x;
    if (n > 1) to->y = from->y;
    to->count = from->count;
}
// kernel record_taken_apart grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([6])
// inout data float32 = np.zeros(3) -> _
// value n int32 = 2
// out bad int32 = np.zeros(1)
extern "C" __global__ void record_taken_apart(unsigned *seq, volatile Record *data, int n, int *bad) {
    volatile unsigned *s = seq;
    if (threadIdx.x) return;
    if (blockIdx.x == 1) {
        for (int v = 1; v <= 3; v++) {
            *s = *s + 1;
            __threadfence();
            data->x = v;
            data->y = v;
            data->count = v;
            __threadfence();
            *s = *s + 1;
        }
        return;
    }
    int torn = 0;
    for (int k = 0; k < 3; k++) {
        Record r;
        unsigned before, after;
        do {
            before = *s;
            __threadfence();
            take(&r, data, n);
            __threadfence();
            after = *s;
        } while (before != after || before & 1);
        torn += r.x != r.y || r.count != (int)r.x;
    }
    *bad = torn;
}

__device__ volatile int number, left_side, right_side;

__device__ void write_sides() {
    for (int n = 1; n < 3; n++) {
        number = 2 * n - 1;
        __threadfence();
        left_side = n;
        right_side = n;
        __threadfence();
        number = 2 * n;
    }
}
// kernel sides_of_block grid 1 block 64
// inout out int32 = [0] -> [0]
extern "C" __global__ void sides_of_block(int *out) {
    if (threadIdx.x % 32) return;
    if (threadIdx.x == 0) {
        write_sides();
        return;
    }
    int a = 0, b = 0;
    bool same = false;
    for (int n = 0; n < 100 && !same; n++) {
        int first = number;
        __threadfence_block();
        a = left_side;
        b = right_side;
        __threadfence_block();
        same = first == number && first % 2 == 0;
    }
    if (same) out[0] = a - b;
}
// Wrong: a fence of the block's scope orders nothing that another block writes.
// kernel sides_of_another_block grid 2 block 32
// inout out int32 = [0] -> [0]
// hints Use the device's: __threadfence instead of __threadfence_block
extern "C" __global__ void sides_of_another_block(int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int n = 1; n < 3; n++) {
            number = 2 * n - 1;
            __threadfence();
            left_side = n;  // <- race
            right_side = n;  // <- race
            __threadfence();
            number = 2 * n;
        }
        return;
    }
    int a = 0, b = 0;
    bool same = false;
    for (int n = 0; n < 100 && !same; n++) {
        int first = number;
        __threadfence();
        a = left_side;  // <- race
        b = right_side;  // <- race
        __threadfence_block();
        same = first == number && first % 2 == 0;
    }
    if (same) out[0] = a - b;
}
// kernel sides_with_more_fences grid 2 block 32
// inout out int32 = [0] -> [0]
extern "C" __global__ void sides_with_more_fences(int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        write_sides();
        return;
    }
    int a = 0, b = 0;
    bool same = false;
    for (int n = 0; n < 100 && !same; n++) {
        int first = number;
        __threadfence_block();
        __threadfence();
        a = left_side;
        __threadfence_block();
        b = right_side;
        __threadfence();
        same = first == number && first % 2 == 0;
    }
    if (same) out[0] = a - b;
}

// kernel chosen_if_confirmed grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(2) -> np.full(2,4)
// out out int32 = np.zeros(1)
extern "C" __global__ void chosen_if_confirmed(volatile unsigned *seq, volatile int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            data[0] = v;
            data[1] = v;
            __threadfence();
            *seq = s + 2;
        }
    } else {
        unsigned s1 = *seq;
        __threadfence();
        int a = data[0], b = data[1];
        __threadfence();
        unsigned s2 = *seq;
        bool same = s1 == s2 && !(s1 & 1);
        out[0] = same ? a - b : 0;
    }
}

// kernel chosen_without_fence grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(2) -> np.full(2,4)
// out out int32 = np.zeros(1)
extern "C" __global__ void chosen_without_fence(volatile unsigned *seq, volatile int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            data[0] = v;
            data[1] = v;
            __threadfence();
            *seq = s + 2;
        }
    } else {
        unsigned s1 = *seq;
        __threadfence();
        int a = data[0], b = data[1];  // <- race
        unsigned s2 = *seq;
        bool same = s1 == s2 && !(s1 & 1);
        out[0] = same ? a - b : 0;
    }
}

// kernel chosen_if_torn grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(2) -> np.full(2,4)
// out out int32 = np.zeros(1)
extern "C" __global__ void chosen_if_torn(volatile unsigned *seq, volatile int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            data[0] = v;
            data[1] = v;
            __threadfence();
            *seq = s + 2;
        }
    } else {
        unsigned s1 = *seq;
        __threadfence();
        int a = data[0], b = data[1];  // <- race
        __threadfence();
        unsigned s2 = *seq;
        bool same = s1 == s2 && !(s1 & 1);
        out[0] = same ? 0 : a - b;
    }
}

// kernel counted_if_confirmed grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(2) -> np.full(2,4)
// out out int32 = np.zeros(1)
extern "C" __global__ void counted_if_confirmed(volatile unsigned *seq, volatile int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            data[0] = v;
            data[1] = v;
            __threadfence();
            *seq = s + 2;
        }
    } else {
        int torn = 0;
        for (int k = 0; k < 6; k++) {
            unsigned s1 = *seq;
            __threadfence();
            int a = data[0], b = data[1];
            __threadfence();
            unsigned s2 = *seq;
            torn += s1 == s2 && s1 % 2 == 0 && a != b ? 1 : 0;
        }
        *out = torn;
    }
}

// kernel scaled_if_confirmed grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(2) -> np.full(2,4)
// out out int32 = np.zeros(1)
extern "C" __global__ void scaled_if_confirmed(volatile unsigned *seq, volatile int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            data[0] = v;
            data[1] = v;
            __threadfence();
            *seq = s + 2;
        }
    } else {
        int sum = 0;
        for (int k = 0; k < 3; k++) {
            unsigned s1 = *seq;
            __threadfence();
            int a = data[0], b = data[1];
            __threadfence();
            unsigned s2 = *seq;
            int same = s1 == s2 && s1 % 2 == 0;
            sum += same * (a - b);
        }
        *out = sum;
    }
}

// kernel confirmed_by_all_lanes grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(32) -> np.full(32,4)
// out out int32 = np.zeros(32)
extern "C" __global__ void confirmed_by_all_lanes(volatile unsigned *seq, volatile int *data, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            if (t == 0) *seq = 2 * v - 1;
            __threadfence();
            __syncwarp();
            data[t] = v;
            __threadfence();
            __syncwarp();
            if (t == 0) *seq = 2 * v;
        }
    } else {
        int v;
        bool same;
        do {
            unsigned s1 = *seq;
            __threadfence();
            v = data[t];
            __threadfence();
            unsigned s2 = *seq;
            same = s1 == s2 && !(s1 & 1);
        } while (!__all_sync(~0u, same));
        out[t] = v < 0 || v > 4;
    }
}

// kernel confirmed_by_all_lanes_without_fence grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(32) -> np.full(32,4)
// out out int32 = np.zeros(32)
extern "C" __global__ void confirmed_by_all_lanes_without_fence(volatile unsigned *seq, volatile int *data, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            if (t == 0) *seq = 2 * v - 1;
            __threadfence();
            __syncwarp();
            data[t] = v;
            __threadfence();
            __syncwarp();
            if (t == 0) *seq = 2 * v;
        }
    } else {
        int v;
        bool same;
        do {
            unsigned s1 = *seq;
            __threadfence();
            v = data[t];  // <- race
            unsigned s2 = *seq;
            same = s1 == s2 && !(s1 & 1);
        } while (!__all_sync(~0u, same));
        out[t] = v < 0 || v > 4;
    }
}

// kernel confirmed_by_any_lane grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(32) -> np.full(32,4)
// out out int32 = np.zeros(32)
extern "C" __global__ void confirmed_by_any_lane(volatile unsigned *seq, volatile int *data, int *out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            if (t == 0) *seq = 2 * v - 1;
            __threadfence();
            __syncwarp();
            data[t] = v;
            __threadfence();
            __syncwarp();
            if (t == 0) *seq = 2 * v;
        }
    } else {
        int v;
        bool same;
        do {
            unsigned s1 = *seq;
            __threadfence();
            v = data[t];  // <- race
            __threadfence();
            unsigned s2 = *seq;
            same = s1 == s2 && !(s1 & 1);
        } while (!__any_sync(~0u, same));
        out[t] = v < 0 || v > 4;
    }
}

// kernel looks_compared_by_bits grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(2) -> np.full(2,4)
// out out int32 = np.zeros(1)
extern "C" __global__ void looks_compared_by_bits(volatile unsigned *seq, volatile int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            data[0] = v;
            data[1] = v;
            __threadfence();
            *seq = s + 2;
        }
    } else {
        unsigned s1, s2;
        int a, b;
        do {
            s1 = *seq;
            __threadfence();
            a = data[0], b = data[1];
            __threadfence();
            s2 = *seq;
        } while ((s1 ^ s2) | (s1 & 1));
        *out = a - b;
    }
}

// kernel looks_compared_by_bits_but_odd grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data int32 = np.zeros(2) -> np.full(2,4)
// out out int32 = np.zeros(1)
extern "C" __global__ void looks_compared_by_bits_but_odd(volatile unsigned *seq, volatile int *data, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            data[0] = v;
            data[1] = v;
            __threadfence();
            *seq = s + 2;
        }
    } else {
        unsigned s1, s2;
        int a, b;
        do {
            s1 = *seq;
            __threadfence();
            a = data[0], b = data[1];  // <- race
            __threadfence();
            s2 = *seq;
        } while (s1 ^ s2);
        *out = a - b;
    }
}

// kernel greatest_that_is_confirmed grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data float32 = np.zeros(2) -> np.full(2,4)
// out out float32 = np.zeros(1)
extern "C" __global__ void greatest_that_is_confirmed(volatile unsigned *seq, volatile float *data, float *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            data[0] = v;
            data[1] = v;
            __threadfence();
            *seq = s + 2;
        }
    } else {
        float most = 0;
        for (int k = 0; k < 3; k++) {
            unsigned s1 = *seq;
            __threadfence();
            float a = data[0], b = data[1];
            __threadfence();
            bool same = s1 == *seq && !(s1 & 1);
            most = fmaxf(most, same ? fabsf(a - b) : 0.f);
        }
        *out = most;
    }
}

// kernel greatest_without_fence grid 2 block 32
// inout seq uint32 = np.zeros(1,np.uint32) -> np.array([8])
// inout data float32 = np.zeros(2) -> np.full(2,4)
// out out float32 = np.zeros(1)
extern "C" __global__ void greatest_without_fence(volatile unsigned *seq, volatile float *data, float *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) {
            unsigned s = *seq;
            *seq = s + 1;
            __threadfence();
            data[0] = v;
            data[1] = v;
            __threadfence();
            *seq = s + 2;
        }
    } else {
        float most = 0;
        for (int k = 0; k < 3; k++) {
            unsigned s1 = *seq;
            __threadfence();
            float a = data[0], b = data[1];  // <- race
            bool same = s1 == *seq && !(s1 & 1);
            most = fmaxf(most, same ? fabsf(a - b) : 0.f);
        }
        *out = most;
    }
}

// kernel read_in_one_line grid 2 block 32
// inout cell uint32 = np.zeros(3,np.uint32) -> np.array([8,4,4])
// out out int32 = np.zeros(1)
struct Cell_read_in_one_line {
    volatile unsigned seq;
    volatile int x, y;
    __device__ void write(int v) { seq++; __threadfence(); x = v; y = v; __threadfence(); seq++; }
    __device__ bool read(int &a, int &b) const { unsigned s = seq; if (s & 1) return false; __threadfence(); a = x; b = y; __threadfence(); return seq == s; }
};
extern "C" __global__ void read_in_one_line(Cell_read_in_one_line *cell, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) cell->write(v);
    } else {
        int a, b;
        while (!cell->read(a, b)) {}
        *out = a - b;
    }
}

// kernel read_in_one_line_without_fence grid 2 block 32
// inout cell uint32 = np.zeros(3,np.uint32) -> np.array([8,4,4])
// out out int32 = np.zeros(1)
struct Cell_read_in_one_line_without_fence {
    volatile unsigned seq;
    volatile int x, y;
    __device__ void write(int v) { seq++; __threadfence(); x = v; y = v; __threadfence(); seq++; }
    __device__ bool read(int &a, int &b) const { unsigned s = seq; if (s & 1) return false; __threadfence(); a = x; b = y; return seq == s; }  // <- race
};
extern "C" __global__ void read_in_one_line_without_fence(Cell_read_in_one_line_without_fence *cell, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int v = 1; v <= 4; v++) cell->write(v);
    } else {
        int a, b;
        while (!cell->read(a, b)) {}
        *out = a - b;
    }
}

// Wrong: the last store of the writer does not release. Reads that acquire do not change that.
// kernel relaxed_end grid 3 block 1
// inout seq int32 = np.zeros(1) -> np.array([4])
// inout data int32 = np.zeros(3) -> np.array([2, 4, 6])
// out good int32 = np.ones(3)
// hints Use `memory_order_release` in line E<
#include <cuda/atomic>
using device_int = cuda::atomic_ref<int, cuda::thread_scope_device>;
extern "C" __global__ void relaxed_end(int *seq, int *data, int *good) {
    device_int s(*seq), a(data[0]), b(data[1]), c(data[2]);
    if (blockIdx.x == 0) {
#pragma unroll 1
        for (int i = 1; i <= 2; ++i) {
            int v = s.load(cuda::memory_order_relaxed);
            s.store(v + 1, cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
            a.store(i, cuda::memory_order_relaxed);
            b.store(2 * i, cuda::memory_order_relaxed);
            c.store(3 * i, cuda::memory_order_relaxed);
            s.store(v + 2, cuda::memory_order_relaxed);  // <E
        }
        good[0] = 1;
        return;
    }
    int ok = 1;
    for (int n = 0; n < 5;) {
        int v = s.load(cuda::memory_order_acquire);
        if (v & 1) continue;
        int x = a.load(cuda::memory_order_relaxed);  // <- race
        int y = b.load(cuda::memory_order_relaxed);
        int z = c.load(cuda::memory_order_relaxed);
        cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
        if (s.load(cuda::memory_order_relaxed) != v) continue;
        ok &= y == 2 * x && z == 3 * x;
        ++n;
    }
    good[blockIdx.x] = ok;
}
