"""A loop that never ends is found without running it to the limit, and no other loop is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.compile.program import Program
from grader.launch import Array, Finding, Launch, Scalar, Trace
from grader.simulator.simulate import simulate
from tests.trusted import compile_here

NEVER_CHANGES = "nothing that the condition of this loop depends on changes"
STEPS = 40_000_000
"""A limit that takes seconds to reach."""

ORBIT = """
extern "C" __global__ void k(const unsigned* x, const unsigned* target, unsigned* out,
                             unsigned a, unsigned c, unsigned mask)
{
    unsigned at = x[threadIdx.x], end = target[threadIdx.x], passes = 0;
    while (at != end) {
        at = (at * a + c) & mask;
        ++passes;
    }
    out[threadIdx.x] = at;
}
"""

ENDLESS = {
    "no condition": "for (;;) n += out[0];",
    "no increment": "for (int i = t; i < n;) out[t] += 1;",
    "other variable": "int i = 0, j = 0; while (i < n) { out[t] += i; ++j; }",
    "inner variable": "for (int i = 0; i < n; ++i) for (int j = 0; j < 4; ++i) out[t] = j, i = -1;",
    "alternates": "int i = 1; while (i != 3) { i = -i; out[t] += i; }",
    "halves zero": "int i = 0; do { i /= 2; out[t] = i; } while (i < 1);",
    "a barrier": "for (int i = 0; i < n; i *= 2) { out[t] += 1; __syncthreads(); }",
    "one lane": "if (t == 3) while (n > 0) atomicAdd(&out[0], 1); else out[t] = 1;",
    "a call": "int i = 0; while (i < n) atomicMax(&out[0], same(i));",
    "unsigned": "for (unsigned i = n; i >= 0u; --i) { if (i > (unsigned)n) i = n; out[t] = i; }",
}
"""Bodies of a kernel that does not end."""

ENDING = {
    "long": "for (int i = 0; i < 30000; ++i) out[t] += 1;",
    "state in memory": "out[t] = 0; while (out[t] < 30000) out[t] = out[t] + 1;",
    "leaves from inside": "int i = 0; for (;;) { if (++i > 30000) break; }  out[t] = i;",
    "state of another lane": (
        "int i = 0; while (__shfl_sync(~0u, i, 0) < 20000) if (t % 32 == 0) ++i; out[t] = i;"
    ),
    "slow counter": "int i = 0, j = 0; while (j < 300) { if (++i % 100 == 0) ++j; } out[t] = j;",
    "another thread's flag": (
        "volatile int* f = out; if (t == 40) { for (int i = 0; i < 20000; ++i) f[2] = i; "
        "__threadfence(); f[1] = 1; } else if (t == 0) { while (f[1] == 0) ; }"
    ),
    "64 bits": "for (long long i = 0; i < 30000ll << 33; i += 1ll << 33) out[t] += 1;",
    "floats": "for (float x = 0.0f; x < 30000.0f; x += 1.0f) out[t] += 1;",
    "returns from inside": "for (int i = 0; i < 9000; ++i) returns(out, 5);",
    "recomputed bound": "int b = 1; for (int i = 0; i < b; ++i) { b = i < 20000 ? i + 2 : 0; }",
}
"""Bodies of a kernel that ends after more passes than are needed to look for a repetition."""

KERNEL = """
__device__ __noinline__ int same(int i) {{ return i; }}
__device__ __noinline__ void returns(int* out, int n)
{{
    for (int i = 0;; ++i) {{
        out[threadIdx.x] = i;
        asm volatile("{{.reg .pred p; setp.eq.s32 p, %0, %1; @p ret;}}" ::"r"(i), "r"(n));
    }}
}}
extern "C" __global__ void k(int* out, int n) {{ int t = threadIdx.x;
{}
}}
"""


def zeros(count: int) -> Array:
    return Array("out", (count,), "int32", np.zeros(count, np.int32), read_back=True)


def compiled(source: str) -> Program:
    return compile_here(source.encode(), "a.cu")


def run(program: Program, *args: Array | Scalar, threads: int = 64, steps: int = 0) -> Trace:
    launch = Launch("k", (1, 1, 1), (threads, 1, 1), args)
    (trace,) = simulate(program, [launch], limit=60.0, steps=steps or STEPS)
    return trace


def timeouts(trace: Trace) -> list[Finding]:
    return [finding for finding in trace.errors if finding.kind == "timeout"]


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_loop_is_found(name: str) -> None:
    trace = run(compiled(KERNEL.format(ENDLESS[name])), zeros(64), Scalar("n", 8, "int32"))
    says = "so `i >= 0u` is always true" if name == "unsigned" else NEVER_CHANGES
    assert [says in finding.message for finding in timeouts(trace)] == [True]
    assert timeouts(trace)[0].line == 11


@pytest.mark.parametrize("name", ENDING)
def test_ending_loop_runs_to_its_end(name: str) -> None:
    trace = run(compiled(KERNEL.format(ENDING[name])), zeros(64), Scalar("n", 8, "int32"))
    assert trace.ended
    assert timeouts(trace) == []


def test_an_access_outside_comes_first() -> None:
    """The address changes, although the condition does not: the access that is wrong is found."""
    source = KERNEL.format("for (int i = 0; n > 0; ++i) out[t + 64 * i] = 1;")
    trace = run(compiled(source), zeros(64 * 9000), Scalar("n", 8, "int32"), steps=600_000)
    assert "invalid-access" in {finding.kind for finding in trace.errors}


ORBITS = compiled(ORBIT)


def ends(x: int, end: int, a: int, c: int, mask: int) -> bool:
    seen = set()
    while x != end and x not in seen:
        seen.add(x)
        x = (x * a + c) & mask
    return x == end


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=40, max_size=40),
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from([0, 1, 3, 7, 15, 31]),
)
@settings(max_examples=60)
def test_verdict_is_that_of_the_orbit(
    pairs: list[tuple[int, int]], a: int, c: int, mask: int
) -> None:
    """Each thread follows its own orbit, of a period of up to 32, to a value that may be on it."""
    columns = (np.array(column, np.uint32) for column in zip(*pairs, strict=True))
    arrays = (Array(n, (40,), "uint32", x) for n, x in zip(("x", "target"), columns, strict=True))
    numbers = (Scalar(n, x, "uint32") for n, x in (("a", a), ("c", c), ("mask", mask)))
    given = (*arrays, Array("out", (40,), "uint32"), *numbers)
    trace = run(ORBITS, *given, threads=40)
    endless = not all(ends(*pair, a, c, mask) for pair in pairs)
    assert [NEVER_CHANGES in finding.message for finding in timeouts(trace)] == [True] * endless


WAITS = """
__device__ bool ended(unsigned bar, unsigned parity) {{
    int done;
    asm volatile("{{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; "
                 "selp.s32 %0, 1, 0, p;}}" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    return done;
}}
extern "C" __global__ void k(int* out, int n)
{{
    __shared__ unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(n));
    __syncthreads();
    {}
    out[threadIdx.x] = 1;
}}
"""
ARRIVE = 'asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory"); '
EXPECT = (
    'if (threadIdx.x == 0) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 64;" '
    '::"r"(at) : "memory"); '
)
STANDSTILLS = {
    "too many expected": (ARRIVE + "while (!ended(at, 0)) ;", 65, "64 of 65 arrivals"),
    "the next phase": (ARRIVE + "while (!ended(at, 0)) ; while (!ended(at, 1)) ;", 64, "0 of 64"),
    "no copy": (EXPECT + "while (!ended(at, 0)) ;", 1, "no copy brings 64 bytes"),
    "a count of none": (ARRIVE + "while (!ended(at, 0)) ;", 0, "its count is 0"),
    "a flag": ("volatile int* f = out; while (f[1] == 0) ;", 1, "for `out[1]`, which is 0"),
    "a count": (
        "atomicAdd(out, 1); while (atomicAdd(out, 0) < 65) ;",
        1,
        "for `out[0]`, which is 64",
    ),
    "a lock": ("while (atomicCAS(&out[3], 0, -2)) ;", 1, "for `out[3]`, which is -2"),
    "a shared flag": (
        "__shared__ int f; if (!threadIdx.x) f = 7; __syncthreads(); "
        "while (atomicOr(&f, 0) != 8) ;",
        1,
        "for `f`, which is 7",
    ),
    "a double": (
        "double* d = (double*)out; while (atomicAdd(d, 0.0) == 0) ;",
        1,
        "wait for others in loops",
    ),
}
"""Bodies of a kernel whose threads wait forever, the barrier's count, and words of the finding."""


@pytest.mark.parametrize("name", STANDSTILLS)
def test_a_wait_that_no_thread_can_end_is_found_soon(name: str) -> None:
    body, count, words = STANDSTILLS[name]
    trace = run(compiled(WAITS.format(body)), zeros(64), Scalar("n", count, "int32"))
    assert [words in finding.message for finding in timeouts(trace)] == [True]


HAND_OVER = """
#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(int *out, int n) {
    __shared__ Barrier full, empty;
    int t = threadIdx.x;
    if (t == 0) { init(&full, n); init(&empty, 33); }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        if (t == 0) { (void)full.arrive(); empty.arrive_and_wait(); }
        if (t >= 32) { full.arrive_and_wait(); (void)empty.arrive(); }
    }
    out[t] = 1;
}
"""


def test_the_barrier_that_holds_up_the_others_comes_first() -> None:
    """The first warp waits for another one, whose arrivals are missing because its threads wait."""
    trace = run(compiled(HAND_OVER), zeros(64), Scalar("n", 34, "int32"))
    full, empty = timeouts(trace)
    assert "`full`" in full.message and "33 of 34 arrivals" in full.message
    assert "`empty`" in empty.message and "1 of 33 arrivals" in empty.message
    assert full.line == 12 and empty.line == 11 and full.follows < empty.follows
    right = run(compiled(HAND_OVER), zeros(64), Scalar("n", 33, "int32"))
    assert right.ended and not timeouts(right)


def test_a_wait_for_a_slow_thread_is_none_without_end() -> None:
    """Nothing changes for long, while one warp computes in registers what it arrives after."""
    body = (
        "int i = 1; if (threadIdx.x == 40) for (int j = 0; j < 200000; ++j) i = i * 5 + j; "
        f"if (i != 7) {{ {ARRIVE} }} while (!ended(at, 0)) ;"
    )
    trace = run(compiled(WAITS.format(body)), zeros(64), Scalar("n", 64, "int32"))
    assert trace.ended
    assert timeouts(trace) == []


def test_a_wait_that_does_not_repeat_names_the_barrier_at_the_limit() -> None:
    """It counts its rounds, so that no repetition is proven: the limit says what was waited for."""
    body = ARRIVE + "int rounds = 0; while (!ended(at, 0)) ++rounds; out[0] = rounds;"
    launch = Launch("k", (1, 1, 1), (64, 1, 1), (zeros(64), Scalar("n", 65, "int32")))
    (trace,) = simulate(compiled(WAITS.format(body)), [launch], limit=3.0)
    (found,) = timeouts(trace)
    assert "time limit while threads waited for `bar`: 64 of 65 arrivals" in found.message
    assert "smaller problem" not in found.hint


TIMED = """
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/chrono>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ cuda::latch<cuda::thread_scope_device> latch{{129}};
__device__ cuda::counting_semaphore<cuda::thread_scope_device> places{{63}};
extern "C" __global__ void k(int *out, int n) {{
    __shared__ Barrier bar;
    if (threadIdx.x == 0) init(&bar, n);
    __syncthreads();
    cuda::std::chrono::microseconds soon(100);
    long long start = clock64();
    {}
}}
"""
CLOCK_WAITS = {
    "a barrier": ("bar.arrive_and_wait();", "64 of 65 arrivals"),
    "a token": ("bar.wait(bar.arrive());", "64 of 65 arrivals"),
    "a latch": ("latch.arrive_and_wait();", "wait for others in loops"),
    "a semaphore": ("places.acquire();", "wait for others in loops"),
    "again and again": (
        "auto t = bar.arrive(); while (!bar.try_wait_for(cuda::std::move(t), soon)) ;",
        "64 of 65 arrivals",
    ),
    "a time too": (
        "latch.count_down(); while (!latch.try_wait() && clock64() >= start) ;",
        "wait for others in loops",
    ),
}
"""Waits that read clocks to sleep longer, by what they wait for; words of the finding."""


@pytest.mark.parametrize("name", CLOCK_WAITS)
def test_a_wait_that_reads_clocks_is_known_to_be_endless(name: str) -> None:
    body, words = CLOCK_WAITS[name]
    grid = (2, 1, 1) if name == "a latch" else (1, 1, 1)
    launch = Launch("k", grid, (64, 1, 1), (zeros(64), Scalar("n", 65, "int32")))
    (trace,) = simulate(compiled(TIMED.format(body)), [launch], steps=4_000_000)
    messages = [finding.message for finding in timeouts(trace)]
    assert [(words in m, "deadlock" in m) for m in messages] == [(True, True)], messages


TIMED_ENDS = {
    "given up": (
        "auto t = bar.arrive(); out[threadIdx.x] = 1 + bar.try_wait_for(cuda::std::move(t), soon);",
        1,
    ),
    "in time": (
        "if (threadIdx.x == 40) { while (clock64() - start < 60000) ; (void)bar.arrive(); } "
        "auto t = bar.arrive(); out[threadIdx.x] = 1 + bar.try_wait_for(cuda::std::move(t), soon);",
        2,
    ),
    "a delay": ("while (clock64() - start < 1000000) ; out[threadIdx.x] = 7;", 7),
    "short times": (
        "int longest = 0; for (long long last = start, now; (now = clock64()) - start < 400000; "
        "last = now) longest = max(longest, int(now - last)); out[threadIdx.x] = longest < 100000;",
        1,
    ),
}
"""Code whose result depends on the time that passed, and the result."""


@pytest.mark.parametrize("name", TIMED_ENDS)
def test_a_result_that_depends_on_time_is_not_that_of_a_leap(name: str) -> None:
    body, result = TIMED_ENDS[name]
    out = Array("out", (64,), "int32", np.zeros(64, "i4"), True)
    launch = Launch("k", (1, 1, 1), (64, 1, 1), (out, Scalar("n", 65, "int32")))
    (trace,) = simulate(compiled(TIMED.format(body)), [launch])
    assert trace.ended, trace.findings
    assert set(trace.outputs[0].tolist()) == {result}
