"""Limits of printed text, shared memory, copies and the parameters of calls."""

from __future__ import annotations

import time

import numpy as np
import pytest

from grader.launch import Array, Launch, Scalar, Trace
from grader.simulator.core.bindings import core
from grader.simulator.core.encode import PRINTED
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.ptx.model import PtxError
from grader.simulator.ptx.parser import parse
from grader.simulator.simulate import simulate
from tests.trusted import compile_here


def ran(source: str, launch: Launch) -> Trace:
    (trace,) = simulate(compile_here(source.encode(), "k.cu"), [launch])
    assert trace.ended and not trace.errors, trace.findings
    return trace


PRINTS = """#include <cstdio>
extern "C" __global__ void k(int *x) {
  for (int i = 0; i < x[0]; ++i) printf("%015d", i);
}
"""


@pytest.mark.parametrize(("count", "cut"), [(PRINTED // 15, False), (PRINTED // 15 + 1, True)])
def test_printed_text_is_kept_up_to_its_limit(count: int, cut: bool) -> None:
    x = Array("x", (1,), "int32", np.array([count], "i4"))
    text = ran(PRINTS, Launch("k", (1, 1, 1), (1, 1, 1), (x,))).printed
    integer = "".join(f"{i:015d}" for i in range(count))
    assert text.startswith(integer[:PRINTED])
    assert ("[printf: only the first 64 KiB are kept]" in text) == cut
    assert len(text) <= PRINTED + 60


COPIES = """
extern "C" __global__ void k(const char *in, char *out) {{
  __shared__ __align__(16) char s[32 * {size}];
  unsigned at = __cvta_generic_to_shared(s + threadIdx.x * {size});
  const char *from = in + (31 - threadIdx.x) * {size};
  asm volatile("cp.async.{how}.shared.global [%0], [%1], {size};" :: "r"(at), "l"(from) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < {size}; ++i) out[threadIdx.x * {size} + i] = s[threadIdx.x * {size} + i];
}}
"""


@pytest.mark.parametrize(("how", "size"), [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)])
def test_asynchronous_copies_of_each_size(how: str, size: int) -> None:
    data = np.arange(32 * size, dtype="int8")
    args = (Array("in", data.shape, "int8", data), Array("out", data.shape, "int8", None, True))
    trace = ran(COPIES.format(how=how, size=size), Launch("k", (1, 1, 1), (32, 1, 1), args))
    assert np.array_equal(trace.outputs[1], data.reshape(32, size)[::-1].reshape(-1))


TILE = """
extern "C" __global__ void k(const float *in, float *out) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < 12288; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 12288; i += blockDim.x) out[i] = tile[12287 - i];
}
"""


def tiled(shared: int) -> tuple[np.ndarray, Launch]:
    data = np.arange(12288, dtype="f4")
    args = (Array("in", (12288,), "float32", data), Array("out", (12288,), "float32", None, True))
    return data, Launch("k", (1, 1, 1), (256, 1, 1), args, shared)


def test_tile_of_48_kib_is_accepted() -> None:
    data, launch = tiled(48 << 10)
    assert np.array_equal(ran(TILE, launch).outputs[1], data[::-1])


def test_larger_tile_is_refused_and_smaller_tile_overrun() -> None:
    program = compile_here(TILE.encode(), "k.cu")
    (more,) = simulate(program, [tiled((48 << 10) + 4)[1]])
    assert [f.kind for f in more.errors] == ["launch-failure"]
    (less,) = simulate(program, [tiled((48 << 10) - 4)[1]])
    assert {f.kind for f in less.errors} == {"invalid-access"}


CALLS = """.version 8.3
.target sm_90
.address_size 64
.func (.param .{result} r) f(.param .{takes} p)
{{
  .reg .b32 %v;
  ld.param.u32 %v, [p];
  st.param.b32 [r], %v;
  ret;
}}
.visible .entry k(.param .u64 x)
{{
  .reg .b32 %a;
  .param .{gives} q;
  .param .{wants} w;
  mov.u32 %a, 7;
  st.param.b32 [q], %a;
  call.uni (w), f, (q);
  ld.param.b32 %a, [w];
  ret;
}}
"""
SAME = {"takes": "b32", "gives": "b32", "result": "b32", "wants": "b32"}


@pytest.mark.parametrize("change", ["takes", "gives", "result", "wants"])
def test_call_with_parameters_of_other_sizes_is_refused(change: str) -> None:
    decode(parse(CALLS.format(**SAME)), "k", core().known)
    with pytest.raises(PtxError, match="a call with [48] bytes in [qw] for [48]"):
        decode(parse(CALLS.format(**SAME | {change: "b64"})), "k", core().known)


@pytest.mark.parametrize("declared", [".shared .align 4 .b8 a[{}];", ".extern .shared .b8 a[{}];"])
@pytest.mark.parametrize(("size", "refused"), [(1 << 10, False), (1 << 30, True)])
def test_more_shared_memory_than_any_device_has_is_refused(
    declared: str, size: int, refused: bool
) -> None:
    text = (
        ".version 9.0\n.target sm_90\n.address_size 64\n"
        + declared.format(size)
        + "\n.visible .entry k()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, a;\nret;\n}\n"
    )
    module = parse(text)
    machine = Machine(module, decode(module, "k", core().known))
    launch = Launch("k", (1, 1, 1), (1, 1, 1), ())
    if refused:
        with pytest.raises(PtxError, match="more than any device"):
            machine.run(launch, Limits(), count=False)
    else:
        assert machine.run(launch, Limits(), count=False).ended


GRID_BARRIER = """
extern "C" __global__ void k(volatile int *came, volatile int *go, int *y, int rounds) {
  int t = threadIdx.x, n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + t;
  for (int r = 1; r <= rounds; ++r) {
    y[i] = r;
    __threadfence();
    came[i] = r;
    if (blockIdx.x == 0) {
      for (int j = t; j < n; j += blockDim.x) while (came[j] < r) {}
      __threadfence();
      __syncthreads();
      for (int j = t; j < n; j += blockDim.x) go[j] = r;
    }
    while (go[i] < r) {}
    __threadfence();
  }
}
"""


def grid_barrier(rounds: int, limit: float) -> tuple[Trace, float]:
    """The trace of a grid barrier of 192 threads with volatile arrays, and its seconds."""
    zeros = np.zeros(192, "i4")
    arrays = [Array(name, (192,), "int32", zeros, True) for name in ("came", "go", "y")]
    launch = Launch("k", (6, 1, 1), (32, 1, 1), (*arrays, Scalar("rounds", rounds, "int32")))
    program = compile_here(GRID_BARRIER.encode(), "k.cu")
    begun = time.thread_time()
    (trace,) = simulate(program, [launch], limit=limit)
    return trace, time.thread_time() - begun


def test_grid_barrier_with_volatile_arrays_is_fast_and_clean() -> None:
    """What a release carries is shared: the time grows with the threads, not with their square."""
    trace, seconds = grid_barrier(4, 60)
    assert trace.ended and not trace.errors, trace.findings
    assert seconds < 12


PRODUCT = """
__device__ volatile float tiles[2][36][256];
extern "C" __global__ void k(const float *a, const float *b, float *out, int n) {
  int tx = threadIdx.x, ty = threadIdx.y, block = blockIdx.y * gridDim.x + blockIdx.x;
  float sum = 0;
  for (int phase = 0; phase < n / 16; ++phase) {
    tiles[0][block][ty * 16 + tx] = a[(blockIdx.y * 16 + ty) * n + phase * 16 + tx];
    tiles[1][block][ty * 16 + tx] = b[(phase * 16 + ty) * n + blockIdx.x * 16 + tx];
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum += tiles[0][block][ty * 16 + k] * tiles[1][block][k * 16 + tx];
    __syncthreads();
  }
  out[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = sum;
}
"""


def test_barriers_bound_what_is_known_of_volatile_data() -> None:
    """Reads before a barrier are no evidence: 25 times a plain tile, with the other orders."""
    n, data = 96, np.ones((96, 96), "f4")
    args = (
        Array("a", (n, n), "float32", data), Array("b", (n, n), "float32", data),
        Array("out", (n, n), "float32", None, True), Scalar("n", n, "int32"),
    )  # fmt: skip
    least = []
    for source in (PRODUCT, PRODUCT.replace("volatile ", "")):
        program, taken = compile_here(source.encode(), "k.cu"), []
        for _ in range(3):
            begun = time.thread_time()
            (trace,) = simulate(program, [Launch("k", (6, 6, 1), (16, 16, 1), args)])
            taken.append(time.thread_time() - begun)
            assert not trace.errors and (trace.outputs[2] == n).all()
        least.append(min(taken))
    assert least[0] < 45 * least[1]


@pytest.mark.parametrize("limit", [0.5, 2.0])
def test_limit_of_processor_time_holds_for_all_runs_of_a_launch(limit: float) -> None:
    trace, seconds = grid_barrier(10_000, limit)
    assert not trace.ended
    assert [f.kind for f in trace.errors] == ["timeout"]
    assert "time limit" in trace.errors[0].message
    assert seconds < limit + 1


def test_limit_of_processor_time_holds_between_short_blocks() -> None:
    program = compile_here(
        b'extern "C" __global__ void k(int *x) { x[blockIdx.x & 7] = 1; }', "k.cu"
    )
    x = Array("x", (8,), "int32", None, True)
    begun = time.thread_time()
    (trace,) = simulate(program, [Launch("k", (1 << 24, 1, 1), (32, 1, 1), (x,))], limit=0.5)
    assert not trace.ended and time.thread_time() - begun < 1.5


def test_limit_of_processor_time_holds_where_a_run_is_repeated() -> None:
    """A run is void that writes to an array which it was presumed to leave as it is."""
    program = compile_here(
        b'extern "C" __global__ void k(int *in, int *x, int n, int when) {\n'
        b"  for (int i = 0; i < n; ++i) {\n"
        b"    x[threadIdx.x] = x[threadIdx.x] * 3 + i;\n"
        b"    if (i == when) in[threadIdx.x] = 2;\n"
        b"  }\n"
        b"}\n",
        "k.cu",
    )
    zeros = np.zeros(32, np.int32)
    arrays = Array("in", (32,), "int32", zeros), Array("x", (32,), "int32", zeros, read_back=True)

    def seconds(n: int, when: int, limit: float) -> float:
        numbers = Scalar("n", n, "int32"), Scalar("when", when, "int32")
        launch, begun = Launch("k", (1, 1, 1), (32, 1, 1), (*arrays, *numbers)), time.thread_time()
        (trace,) = simulate(program, [launch], limit=limit)
        assert trace.ended == (n < 1 << 30)
        return time.thread_time() - begun

    rounds, limit = 1 << 17, 3.0
    both = min(seconds(rounds, -1, limit) for _ in range(2))
    late = int(0.8 * limit / both * rounds)  # by the slower of two variants, at least
    assert min(seconds(1 << 30, late, limit) for _ in range(2)) < limit + 1
