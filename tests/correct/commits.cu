// Numbers that threads draw, and counts of what is done. What one thread has drawn another one may finish first: a count of
// filled slots does not tell which ones are, and that all are drawn not that all are done. Last, wake-ups that are lost.
#include <cooperative_groups.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;

// kernel counts_filled_slots grid 3 block 32
// inout q int32 = np.zeros(64) -> _
// inout c int32 = np.zeros(2) -> np.array([64,64])
// inout sum int32 = np.zeros(1) -> np.array([64*65//2])
extern "C" __global__ void counts_filled_slots(int *q, int *c, int *sum) {
    int *tail = &c[0], *filled = &c[1];
    if (blockIdx.x > 0) {
        int slot = atomicAdd(tail, 1);
        q[slot] = (blockIdx.x - 1) * 32 + threadIdx.x + 1;
        __threadfence();
        atomicAdd(filled, 1);
    } else if (threadIdx.x == 0) {
        for (int i = 0; i < 64; i++) {
            while (atomicAdd(filled, 0) <= i) {}
            __threadfence();
            *sum += q[i];  // <- race
        }
    }
}

// kernel slots_of_blocks grid 4 block 32
// inout q int32 = np.zeros(3) -> _
// inout tail int32 = np.zeros(1) -> _
// inout filled int32 = np.zeros(1) -> np.array([3])
// out out int32 = np.zeros(3)
extern "C" __global__ void slots_of_blocks(int *q, int *tail, int *filled, int *out) {
    if (threadIdx.x) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> t(*tail), f(*filled);
    if (blockIdx.x < 3) {
        int s = t.fetch_add(1, cuda::memory_order_relaxed);
        q[s] = blockIdx.x + 5;
        f.fetch_add(1, cuda::memory_order_release);
    } else {
        int s = 0;
        for (int i = 0; i < 3; i++) {
            while (f.load(cuda::memory_order_acquire) < i + 1) {}
            s += q[i];  // <- race
        }
        out[0] = s - 18; out[1] = out[2] = 0;
    }
}

// kernel slots_in_shared_memory grid 1 block 96
// out out int32 = np.array([3])
extern "C" __global__ void slots_in_shared_memory(int *out) {
    __shared__ int q[2], head, done;
    if (threadIdx.x == 0) head = done = 0;
    __syncthreads();
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    if (l) return;
    if (w < 2) {
        int s = atomicAdd(&head, 1);
        q[s] = w + 1;
        __threadfence_block();
        atomicAdd(&done, 1);
    } else {
        int sum = 0;
        for (int i = 0; i < 2; i++) {
            while (atomicAdd(&done, 0) <= i);
            __threadfence_block();
            sum += q[i];  // <- race
        }
        out[0] = sum;
    }
}

// kernel consumers_draw_too grid 4 block 32
// inout q int32 = np.zeros(64) -> _
// inout c int32 = np.zeros(3) -> np.array([64,64,64])
// inout sum int32 = np.zeros(1) -> np.array([64*65//2])
extern "C" __global__ void consumers_draw_too(int *q, int *c, int *sum) {
    if (blockIdx.x < 2) {
        int slot = atomicAdd(&c[0], 1);
        q[slot] = blockIdx.x * 32 + threadIdx.x + 1;
        __threadfence();
        atomicAdd(&c[1], 1);
    } else {
        int mine = atomicAdd(&c[2], 1);
        while (atomicAdd(&c[1], 0) <= mine) {}
        __threadfence();
        atomicAdd(sum, q[mine]);  // <- race
    }
}

// kernel reads_as_many_as_are_filled grid 3 block 64
// inout slots float32 = np.zeros(128) -> _
// inout head uint32 = np.zeros(1,np.uint32) -> np.array([128])
// inout commit uint32 = np.zeros(1,np.uint32) -> np.array([128])
// out total float32 = np.array([128])
extern "C" __global__ void reads_as_many_as_are_filled(float *slots, unsigned *head, unsigned *commit, float *total) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> h(*head), c(*commit);
    if (blockIdx.x < 2) {
        unsigned at = h.fetch_add(1, cuda::memory_order_relaxed);
        slots[at] = 1.0f;
        c.fetch_add(1, cuda::memory_order_release);
    } else if (threadIdx.x == 0) {
        unsigned seen = 0; float s = 0;
        while (seen < 128) {
            unsigned n = c.load(cuda::memory_order_acquire);
            for (; seen < n; ++seen) s += slots[seen];  // <- race
        }
        *total = s;
    }
}

// kernel blocks_fill_slots grid 4 block 64
// inout slots int32 = np.zeros(4) -> _
// inout n int32 = np.zeros(2) -> np.array([3,3])
// out total int32 = np.array([6])
extern "C" __global__ void blocks_fill_slots(int *slots, int *n, int *total) {
    auto block = cg::this_thread_block();
    if (blockIdx.x < 3) {
        __shared__ int at;
        if (block.thread_rank() == 0) at = atomicAdd(&n[0], 1);
        block.sync();
        if (block.thread_rank() == 63) { slots[at] = blockIdx.x + 1; __threadfence(); }
        block.sync();
        if (block.thread_rank() == 0) atomicAdd(&n[1], 1);
    } else if (block.thread_rank() == 0) {
        int s = 0;
        for (int i = 0; i < 3; i++) { while (atomicOr(&n[1], 0) < i + 1) __nanosleep(20); __threadfence(); s += slots[i]; }  // <- race
        *total = s;
    }
}

// kernel warps_fill_batches grid 3 block 32
// inout slots int32 = np.zeros(64) -> _
// inout n uint32 = np.zeros(2,np.uint32) -> np.array([64,64])
// inout total int32 = np.zeros(1) -> np.array([64])
extern "C" __global__ void warps_fill_batches(int *slots, unsigned *n, int *total) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    if (blockIdx.x) {
        unsigned base = 0;
        if (warp.thread_rank() == 0) base = atomicAdd(&n[0], 32u);
        base = warp.shfl(base, 0);
        slots[base + warp.thread_rank()] = 1;
        __threadfence();
        warp.sync();
        if (warp.thread_rank() == 0) atomicAdd(&n[1], 32u);
    } else {
        int s = 0;
        for (unsigned k = 32; k <= 64; k += 32) {
            if (warp.thread_rank() == 0) while (atomicAdd(&n[1], 0u) < k) {}
            __threadfence();
            warp.sync();
            s += slots[k - 32 + warp.thread_rank()];  // <- race
        }
        atomicAdd(total, s);
    }
}

// Without a race: the output alone tells.
// kernel filled_too_late grid 3 block 32 orders wrong
// inout slots int32 = np.zeros(2) -> _
// inout n int32 = np.zeros(2) -> np.array([2,2])
// out total int32 = np.array([3])
extern "C" __global__ void filled_too_late(int *slots, int *n, int *total) {
    if (threadIdx.x) return;
    if (blockIdx.x) {
        int at = atomicAdd(&n[0], 1);
        atomicAdd(&n[1], 1);
        atomicExch(&slots[at], blockIdx.x);
    } else {
        while (atomicAdd(&n[1], 0) < 2) {}
        *total = atomicAdd(&slots[0], 0) + atomicAdd(&slots[1], 0);
    }
}

// kernel waits_for_all grid 4 block 32
// inout q int32 = np.zeros(64) -> _
// inout c int32 = np.zeros(3) -> np.array([64,64,64])
// inout sum int32 = np.zeros(1) -> np.array([64*65//2])
extern "C" __global__ void waits_for_all(int *q, int *c, int *sum) {
    if (blockIdx.x < 2) {
        int slot = atomicAdd(&c[0], 1);
        q[slot] = blockIdx.x * 32 + threadIdx.x + 1;
        __threadfence();
        atomicAdd(&c[1], 1);
    } else {
        int mine = atomicAdd(&c[2], 1);
        while (atomicAdd(&c[1], 0) < 64) {}
        __threadfence();
        atomicAdd(sum, q[mine]);
    }
}

// kernel slots_have_flags grid 4 block 32
// inout q int32 = np.zeros(64) -> _
// inout ready int32 = np.zeros(64) -> np.ones(64)
// inout c int32 = np.zeros(3) -> np.array([64,0,64])
// inout sum int32 = np.zeros(1) -> np.array([64*65//2])
extern "C" __global__ void slots_have_flags(int *q, int *ready, int *c, int *sum) {
    if (blockIdx.x < 2) {
        int slot = atomicAdd(&c[0], 1);
        q[slot] = blockIdx.x * 32 + threadIdx.x + 1;
        __threadfence();
        atomicExch(&ready[slot], 1);
    } else {
        int mine = atomicAdd(&c[2], 1);
        while (atomicAdd(&ready[mine], 0) == 0) {}
        __threadfence();
        atomicAdd(sum, q[mine]);
    }
}

// kernel counts_in_the_order_of_slots grid 4 block 32
// inout q int32 = np.zeros(2) -> _
// inout c int32 = np.zeros(3) -> np.array([2,2,2])
// inout sum int32 = np.zeros(1) -> np.array([3])
extern "C" __global__ void counts_in_the_order_of_slots(int *q, int *c, int *sum) {
    if (threadIdx.x) return;
    if (blockIdx.x < 2) {
        int slot = atomicAdd(&c[0], 1);
        q[slot] = blockIdx.x + 1;
        __threadfence();
        while (atomicAdd(&c[1], 0) != slot) {}
        __threadfence();
        atomicExch(&c[1], slot + 1);
    } else {
        int mine = atomicAdd(&c[2], 1);
        while (atomicAdd(&c[1], 0) <= mine) {}
        __threadfence();
        atomicAdd(sum, q[mine]);
    }
}

// kernel counts_batches_in_order grid 3 block 32
// inout slots int32 = np.zeros(64) -> _
// inout n uint32 = np.zeros(2,np.uint32) -> np.array([64,64])
// inout total int32 = np.zeros(1) -> np.array([64])
extern "C" __global__ void counts_batches_in_order(int *slots, unsigned *n, int *total) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    if (blockIdx.x) {
        unsigned base = 0;
        if (warp.thread_rank() == 0) base = atomicAdd(&n[0], 32u);
        base = warp.shfl(base, 0);
        slots[base + warp.thread_rank()] = 1;
        __threadfence();
        warp.sync();
        if (warp.thread_rank() == 0) { while (atomicAdd(&n[1], 0u) != base) {} __threadfence(); atomicAdd(&n[1], 32u); }
    } else {
        int s = 0;
        for (unsigned k = 32; k <= 64; k += 32) {
            if (warp.thread_rank() == 0) while (atomicAdd(&n[1], 0u) < k) {}
            __threadfence();
            warp.sync();
            s += slots[k - 32 + warp.thread_rank()];
        }
        atomicAdd(total, s);
    }
}

// kernel all_drawn grid 4 block 32
// inout c int32 = np.zeros(1) -> np.array([4])
// inout part int32 = np.zeros(4) -> _
// inout sum int32 = np.zeros(1) -> np.array([10])
extern "C" __global__ void all_drawn(int *c, int *part, int *sum) {
    if (threadIdx.x) return;
    int t = atomicAdd(c, 1);
    part[t] = t + 1;
    __threadfence();
    if (t == 0) {
        while (atomicAdd(c, 0) < 4) {}
        __threadfence();
        int s = 0;
        for (int i = 0; i < 4; i++) s += part[i];  // <- race
        *sum = s;
    }
}

// kernel first_without_work_sums grid 4 block 32
// inout c int32 = np.zeros(2) -> _
// inout part int32 = np.zeros(8) -> _
// inout sum int32 = np.zeros(1) -> np.array([36])
extern "C" __global__ void first_without_work_sums(int *c, int *part, int *sum) {
    if (threadIdx.x) return;
    while (true) {
        int t = atomicAdd(&c[0], 1);
        if (t < 8) {
            part[t] = t + 1;
            __threadfence();
        } else {
            if (t == 8) {
                __threadfence();
                int s = 0;
                for (int i = 0; i < 8; i++) s += part[i];  // <- race
                *sum = s;
            }
            break;
        }
    }
}

// kernel all_drawn_in_a_block grid 1 block 128
// out out int32 = np.array([6])
extern "C" __global__ void all_drawn_in_a_block(int *out) {
    __shared__ int next, v[4];
    if (threadIdx.x == 0) next = 0;
    __syncthreads();
    if (threadIdx.x % 32) return;
    cuda::atomic_ref<int, cuda::thread_scope_block> n(next);
    int t = n.fetch_add(1, cuda::memory_order_acq_rel);
    v[t] = t;
    if (t == 0) {
        while (n.load(cuda::memory_order_acquire) != 4) {}
        *out = v[0] + v[1] + v[2] + v[3];  // <- race
    }
}

// kernel last_tile_sums grid 3 block 32
// inout next int32 = np.zeros(1) -> _
// inout part int32 = np.zeros(6) -> _
// inout total int32 = np.zeros(1) -> np.array([21])
extern "C" __global__ void last_tile_sums(int *next, int *part, int *total) {
    __shared__ int tile;
    for (;;) {
        if (threadIdx.x == 0) tile = atomicAdd(next, 1);
        __syncthreads();
        int t = tile;
        __syncthreads();
        if (t >= 6) break;
        if (threadIdx.x == 0) { part[t] = t + 1; __threadfence(); }
        if (t == 5 && threadIdx.x == 0) {
            int s = 0;
            for (int k = 0; k < 6; k++) s += part[k];  // <- race
            *total = s;
        }
    }
}

// Without a race: the output alone tells.
// kernel sums_once_all_are_drawn grid 3 block 32 orders wrong
// inout next int32 = np.zeros(1) -> _
// inout part int32 = np.zeros(6) -> _
// inout total int32 = np.zeros(1) -> np.array([21])
extern "C" __global__ void sums_once_all_are_drawn(int *next, int *part, int *total) {
    if (threadIdx.x) return;
    for (int t; (t = atomicAdd(next, 1)) < 6;) { atomicExch(&part[t], t + 1); }
    if (blockIdx.x == 0) {
        while (atomicAdd(next, 0) < 6 + 1) {}
        int s = 0;
        for (int k = 0; k < 6; k++) s += atomicAdd(&part[k], 0);
        *total = s;
    }
}

// kernel last_without_work_sums_alone grid 4 block 32
// inout c int32 = np.zeros(2) -> _
// inout part int32 = np.zeros(8) -> _
// inout sum int32 = np.zeros(1) -> np.array([36])
extern "C" __global__ void last_without_work_sums_alone(int *c, int *part, int *sum) {
    if (threadIdx.x) return;
    while (true) {
        int t = atomicAdd(&c[0], 1);
        if (t < 8) {
            part[t] = t + 1;
            __threadfence();
        } else {
            if (t == 8 + gridDim.x - 1) {
                __threadfence();
                int s = 0;
                for (int i = 0; i < 8; i++) s += part[i];
                *sum = s;
            }
            break;
        }
    }
}

// kernel counts_what_is_done grid 4 block 32
// inout c int32 = np.zeros(2) -> np.array([4,4])
// inout part int32 = np.zeros(4) -> _
// inout sum int32 = np.zeros(1) -> np.array([10])
extern "C" __global__ void counts_what_is_done(int *c, int *part, int *sum) {
    if (threadIdx.x) return;
    int t = atomicAdd(&c[0], 1);
    part[t] = t + 1;
    __threadfence();
    atomicAdd(&c[1], 1);
    if (t == 0) {
        while (atomicAdd(&c[1], 0) < 4) {}
        __threadfence();
        int s = 0;
        for (int i = 0; i < 4; i++) s += part[i];
        *sum = s;
    }
}

// kernel last_done_sums grid 3 block 32
// inout next int32 = np.zeros(2) -> _
// inout part int32 = np.zeros(6) -> _
// inout total int32 = np.zeros(1) -> np.array([21])
extern "C" __global__ void last_done_sums(int *next, int *part, int *total) {
    if (threadIdx.x) return;
    for (int t; (t = atomicAdd(next, 1)) < 6;) {
        part[t] = t + 1;
        __threadfence();
        if (atomicAdd(next + 1, 1) == 5) {
            __threadfence();
            int s = 0;
            for (int k = 0; k < 6; k++) s += part[k];
            *total = s;
        }
    }
}

// kernel wakes_nobody_yet grid 2 block 32
// inout state int32 = np.zeros(2) -> _
// out out int32 = np.ones(1)
extern "C" __global__ void wakes_nobody_yet(int *state, int *out) {
    int *work = &state[0], *waiting = &state[1];
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        if (atomicAdd(work, 0) == 0) {
            atomicExch(waiting, 1);
            while (atomicAdd(waiting, 0) == 1) {}  // <- timeout
        }
        *out = 1;
    } else {
        atomicExch(work, 1);
        __threadfence();
        if (atomicAdd(waiting, 0) == 1) atomicExch(waiting, 0);
    }
}

// kernel notifies_nobody_yet grid 2 block 32
// inout work int32 = np.zeros(1) -> _
// inout sleeping int32 = np.zeros(1) -> _
// out out int32 = np.ones(1)
extern "C" __global__ void notifies_nobody_yet(int *work, int *sleeping, int *out) {
    if (threadIdx.x) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> w(*work), s(*sleeping);
    if (blockIdx.x == 1) {
        while (w.load() == 0) {
            s.store(1);
            s.wait(1);  // <- timeout
        }
        *out = 1;
    } else {
        w.store(1);
        if (s.load()) { s.store(0); s.notify_one(); }
    }
}

// kernel parks_after_its_task_came grid 1 block 96
// out got int32 = np.array([1,2])
extern "C" __global__ void parks_after_its_task_came(int *got) {
    __shared__ int task[2], idle[2];
    int w = threadIdx.x / 32;
    if (threadIdx.x < 2) task[threadIdx.x] = idle[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 32) return;
    if (w < 2) {
        cuda::atomic_ref<int, cuda::thread_scope_block> t(task[w]), i(idle[w]);
        if (t.load(cuda::memory_order_acquire) == 0) {
            i.store(1, cuda::memory_order_release);
            while (i.load(cuda::memory_order_acquire) == 1) {}  // <- timeout
        }
        got[w] = t.load(cuda::memory_order_acquire);
    } else {
        for (int k = 0; k < 2; k++) {
            cuda::atomic_ref<int, cuda::thread_scope_block> t(task[k]), i(idle[k]);
            t.store(k + 1, cuda::memory_order_release);
            if (i.load(cuda::memory_order_acquire)) i.store(0, cuda::memory_order_release);
        }
    }
}

// kernel posts_before_it_waits grid 3 block 32
// inout st int32 = np.zeros(3) -> _
// out out int32 = np.ones(3)
extern "C" __global__ void posts_before_it_waits(int *st, int *out) {
    int *count = &st[0], *waiters = &st[1], *wake = &st[2];
    if (threadIdx.x) return;
    if (blockIdx.x < 2) {
        int c = atomicSub(count, 1);
        if (c <= 0) {
            atomicAdd(count, 1);
            atomicAdd(waiters, 1);
            while (atomicAdd(wake, 0) <= 0) {}  // <- timeout
            atomicSub(wake, 1);
        }
    } else {
        for (int k = 0; k < 2; k++) {
            if (atomicAdd(waiters, 0) > 0) { atomicSub(waiters, 1); atomicAdd(wake, 1); }
            else atomicAdd(count, 1);
        }
    }
    out[blockIdx.x] = 1;
}

// kernel tests_again grid 2 block 32
// inout state int32 = np.zeros(2) -> _
// out out int32 = np.ones(1)
extern "C" __global__ void tests_again(int *state, int *out) {
    int *work = &state[0], *waiting = &state[1];
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        if (atomicAdd(work, 0) == 0) {
            atomicExch(waiting, 1);
            __threadfence();
            while (atomicAdd(waiting, 0) == 1 && atomicAdd(work, 0) == 0) {}
        }
        *out = 1;
    } else {
        atomicExch(work, 1);
        __threadfence();
        if (atomicAdd(waiting, 0) == 1) atomicExch(waiting, 0);
    }
}

// kernel waits_for_its_task grid 1 block 96
// out got int32 = np.array([1,2])
extern "C" __global__ void waits_for_its_task(int *got) {
    __shared__ int task[2], idle[2];
    int w = threadIdx.x / 32;
    if (threadIdx.x < 2) task[threadIdx.x] = idle[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 32) return;
    if (w < 2) {
        cuda::atomic_ref<int, cuda::thread_scope_block> t(task[w]);
        while (t.load(cuda::memory_order_acquire) == 0) {}
        got[w] = t.load(cuda::memory_order_acquire);
    } else {
        for (int k = 0; k < 2; k++) {
            cuda::atomic_ref<int, cuda::thread_scope_block> t(task[k]), i(idle[k]);
            t.store(k + 1, cuda::memory_order_release);
            if (i.load(cuda::memory_order_acquire)) i.store(0, cuda::memory_order_release);
        }
    }
}
