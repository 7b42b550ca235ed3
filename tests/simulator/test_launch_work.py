"""The work of a launch, counted from a sample of its blocks; the chains of its warps.

Wavefronts are compared with what Nsight Compute counted on GPUs (tests/counters/*.json), also those
of the tiled products, where ptxas merges loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.launch import Array, Launch, Scalar, pack_launches
from grader.simulator import work
from grader.simulator.exchange import pack_program
from grader.simulator.records import distinct_pairs
from grader.simulator.workload import Work
from tests.counters.test_counters import MEASURED, SOURCES, program, read
from tests.trusted import compile_here

WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
INSTRUCTIONS = "smsp__inst_executed.sum"
HEAD = 'extern "C" __global__ void k(float* a, int n)\n'


def reply(source: str, launch: Launch) -> Mapping[str, Any]:
    return answer(compile_here(source.encode(), "k.cu"), launch)


def answer(compiled: Any, launch: Launch) -> Mapping[str, Any]:
    rows, arrays = pack_launches([launch])
    request = {"program": pack_program(compiled), "launches": rows, "steps": 0, "limit": 20.0}
    made: Mapping[str, Any] = work.run({**request, "threads": 1}, arrays)[0]
    return made


def counted(body: str, n: int, *, grid: int = 1, block: int = 32, size: int = 1 << 14) -> Work:
    array = Array("a", (size,), "float32", np.zeros(size, np.float32), True)
    made = reply(
        HEAD + body, Launch("k", (grid, 1, 1), (block, 1, 1), (array, Scalar("n", n, "int32")))
    )
    return Work(**made["work"])


@cache
def measured(name: str) -> Work:
    made = answer(program(name), read(SOURCES[name].read_text()).launch())
    return Work(**made["work"])


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_wavefronts_are_those_of_the_gpu(name: str) -> None:
    gpu = MEASURED[name]
    theirs = gpu[WAVEFRONTS.format("ld")] + gpu[WAVEFRONTS.format("st")]
    atomics = gpu["smsp__inst_executed_op_shared_atom.sum"]
    if not atomics:
        assert measured(name).wavefronts == pytest.approx(theirs)


def test_slots_are_about_the_instructions_of_the_gpu() -> None:
    """ptxas adds what every kernel begins and ends with: kernels of some length are compared."""
    ratios = [
        measured(name).slots / MEASURED[name][INSTRUCTIONS]
        for name in SOURCES
        if MEASURED[name][INSTRUCTIONS] > 5000 and has_no_division(name)
    ]
    assert len(ratios) >= 6
    assert 0.75 < np.median(ratios) < 1.25


def has_no_division(name: str) -> bool:
    return measured(name).executed.get("integer_division", 0) == 0


EACH = [
    ("strided_2", 1.5), ("strided_32", 16.5), ("vector_float4", 4), ("copy_32bit", 1),
    ("misaligned", 1),
]  # fmt: skip
"""Wavefronts of a request: the mean of a load, of the pattern in the name, and a store in a row."""


@pytest.mark.parametrize(("name", "wavefronts"), EACH)
def test_wavefronts_of_a_request_to_global_memory(name: str, wavefronts: float) -> None:
    made = measured(name)
    gpu = MEASURED[name]
    assert made.requests == sum(gpu[REQUESTS.format(op)] for op in ("ld", "st"))
    assert made.l1_wavefronts / made.requests == pytest.approx(wavefronts)


STRIDES = [(3, 1), (5, 2), (9, 3), (33, 8), (2, 2), (4, 4), (32, 32)]
"""What a load of lanes so many words apart took on an H200, in cycles, rounded."""


@pytest.mark.parametrize(("stride", "wavefronts"), STRIDES)
def test_lines_of_different_banks_go_together(stride: int, wavefronts: int) -> None:
    made = counted("{ a[1 << 13 | threadIdx.x] = a[threadIdx.x * n]; }", stride)
    assert made.l1_wavefronts == wavefronts + 1


def test_stores_write_sectors_through_the_l1_cache() -> None:
    whole = counted("{ a[threadIdx.x] = n; }", 1)
    some = counted("{ a[threadIdx.x * 8] = n; }", 1)
    assert (whole.l2_written, whole.l2_masked) == (32 * 4, 0)
    assert (some.l2_written, some.l2_masked) == (0, 32 * 32)


def test_a_local_array_is_written_through_too() -> None:
    """Lanes that write different elements write different words of 32 lanes."""
    body = "{ float w[16]; for (int j = 0; j < 16; ++j) w[(FIRST + j) % 16] = j; "
    body += "a[threadIdx.x] = w[n]; }"
    same = counted(body.replace("FIRST", "n"), 3)
    other = counted(body.replace("FIRST", "threadIdx.x + n"), 3)
    assert same.l2_written == (16 + 1) * 32 * 4 and same.l2_masked == 0
    assert (other.l2_written, other.l2_masked) == (32 * 4, 16 * 32 * 32)
    assert other.l1_wavefronts > same.l1_wavefronts + 16 * 2


STRONG = (
    "{ float s = 0, x; for (int i = 0; i < n; ++i) { "
    'asm volatile("ld.LOAD.global.f32 %0, [%1];" : "=f"(x) : "l"(a + threadIdx.x)); s += x; } '
    "a[threadIdx.x] = s; }"
)


@pytest.mark.parametrize("load", ["volatile", "relaxed.gpu", "acquire.sys"])
def test_strong_loads_are_read_from_l2_each_time(load: str) -> None:
    assert counted(STRONG.replace("LOAD", load), 64).l2_read == 64 * 32 * 4
    assert counted(STRONG.replace("LOAD", "weak"), 64).l2_read == 32 * 4


WIDE = [
    ("lane", 4), ("lane * 2", 8), ("lane * 4", 16), ("lane * 8", 32), ("lane * 0", 2),
    ("lane / 2 * 8", 16), ("lane / 2 * 4", 8), ("lane / 2", 2), ("lane % 2 * 8", 2),
]  # fmt: skip
"""The word of 16 bytes that each lane loads, and the wavefronts of that."""

WIDE_LOAD = (
    "{ __shared__ float4 s[256]; int lane = threadIdx.x; s[lane * 8].x = a[lane]; __syncthreads(); "
    "float4 v = s[WORD]; __syncwarp(); ((float4*)a)[lane] = v; }"
)


@pytest.mark.parametrize(("word", "wavefronts"), WIDE)
def test_wide_loads_from_shared_memory_meet_in_groups_of_four_banks(
    word: str, wavefronts: int
) -> None:
    made, least = (
        counted(WIDE_LOAD.replace("WORD", text), 0).wavefronts for text in (word, "lane * 0")
    )
    assert made - least == wavefronts - 2


def test_a_byte_is_a_part_of_its_sector() -> None:
    made = counted("{ ((char*)a)[threadIdx.x] = n; }", 1)
    assert (made.l2_written, made.l2_masked) == (0, 32)


def test_a_sample_stands_for_the_grid() -> None:
    body = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; a[i] = a[i] * 2.0f + 1.0f; }"
    made = counted(body, 0, grid=64, block=256)
    assert (made.blocks, made.threads, made.warps) == (64, 256, 8)
    assert made.executed["fma32"] == 64 * 8 and made.requests == 2 * 64 * 8
    assert made.flop == 2 * 64 * 256
    assert made.l2_read == made.dram_read == made.dram_written == 4 * 64 * 256
    assert made.missed == made.cold == 1.0


def test_what_a_block_loads_again_is_read_from_l2_once() -> None:
    body = "{ float s = 0; for (int i = 0; i < n; ++i) s += a[i]; a[n + threadIdx.x] = s; }"
    made = counted(body, 256, grid=8, block=64)
    assert made.l2_read == 8 * 4 * 256
    assert made.missed == pytest.approx(8 * 4 * 256 / (8 * 2 * 256 * 32))


def test_one_lane_uses_a_sector_and_pays_for_all_of_it() -> None:
    body = "{ int i = threadIdx.x * 8; a[1 << 13 | threadIdx.x] = a[i]; }"
    made = counted(body, 0)
    assert made.l2_read == 32 * 32 and made.missed == 1.0


@pytest.mark.parametrize(("step", "kind"), [("x * 3.0f + 1.0f", "fma32"), ("sqrtf(x)", "division")])
def test_the_chain_of_a_loop_grows_with_its_dependent_instructions(step: str, kind: str) -> None:
    body = f"{{ float x = a[0]; for (int i = 0; i < n; ++i) x = {step}; a[threadIdx.x] = x; }}"
    few, many = counted(body, 64), counted(body, 192)
    assert many.chain[kind] - few.chain[kind] == 128


def test_independent_instructions_are_not_in_a_chain() -> None:
    one = "{ float x = a[0], y = x, z = x; for (int i = 0; i < n; ++i) { x = x * 3.0f + 1.0f; "
    body = one + "y = y * 5.0f + 1.0f; z = z * 7.0f + 1.0f; } a[threadIdx.x] = x + y + z; }"
    made = counted(body, 192)
    assert made.executed["fma32"] >= 3 * 192
    assert made.chain["fma32"] < 200


def test_loads_of_an_iteration_go_together_and_those_that_depend_do_not() -> None:
    together = "{ float s = 0; for (int i = 0; i < n; i += 4) s += a[i] + a[i + 1] + a[i + 2] + "
    together += "a[i + 3]; a[threadIdx.x] = s; }"
    chase = "{ int i = 0; for (int k = 0; k < n; ++k) i = ((volatile int*)a)[i]; a[0] = i; }"
    assert counted(together, 256).chain["global"] <= 256 / 4 + 1
    assert counted(chase, 256).chain["global"] == 256


def test_atomics_on_one_address_take_turns() -> None:
    same = counted("{ atomicAdd(a, 1.0f); }", 0, grid=4)
    row = counted("{ atomicAdd(a + threadIdx.x, 1.0f); }", 0, grid=4)
    assert same.atomics == {"operations": 4 * 32, "hottest": 4 * 32}
    far = counted("{ atomicAdd(a + threadIdx.x * 64, 1.0f); }", 0, grid=4)
    assert row.atomics == {"operations": 4 * 4, "hottest": 4 * 4}
    assert far.atomics == {"operations": 4 * 32, "hottest": 4}


REFUSED = [
    ("{ while (((volatile float*)a)[0] == 0.0f) ; }", "wait"),
    ("{ asm volatile(\"{.reg .b64 t; mov.b64 t, 0; .reg .f32 x, y, z, w; tex.1d.v4.f32.s32 "
     "{x, y, z, w}, [t, {0}];}\"); }", "tex"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "why"), REFUSED)
def test_what_is_not_modelled_is_said(body: str, why: str) -> None:
    array = Array("a", (32,), "float32", np.zeros(32, np.float32), True)
    launch = Launch("k", (2, 1, 1), (32, 1, 1), (array, Scalar("n", 0, "int32")))
    made = reply(HEAD + body, launch)
    assert "work" not in made and why in made["problem"]


@pytest.mark.parametrize("leader", ["blockIdx.x == 0", "blockIdx.x == gridDim.x - 1"])
def test_a_block_that_does_the_work_of_all_is_not_sampled(leader: str) -> None:
    """One block adds all elements, the sampled ones return at once."""
    body = f"{{ if ({leader}) for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] += 1; }}"
    array = Array("a", (1 << 20,), "float32", np.zeros(1 << 20, np.float32), True)
    arguments = (array, Scalar("n", 1 << 20, "int32"))
    made = reply(HEAD + body, Launch("k", (4096, 1, 1), (256, 1, 1), arguments))
    assert made == {"problem": "its first or last block does far more than the others"}


def test_a_block_that_does_a_little_more_is_no_reason() -> None:
    body = "{ int i = blockIdx.x * 256 + threadIdx.x; if (i < n) a[i] += 1; if (!i) a[n - 1] = n; }"
    assert counted(body, 1 << 14, grid=64, block=256).executed


WIDE = st.one_of(st.integers(0, 40), st.integers(-(1 << 62), (1 << 62) - 1))
PAIRS = st.lists(st.tuples(st.integers(0, 1 << 20), WIDE), min_size=1)


@given(PAIRS)
def test_distinct_pairs_are_those_of_the_columns(pairs: list[tuple[int, int]]) -> None:
    columns = np.array(pairs, np.int64).T
    assert np.array_equal(np.stack(distinct_pairs(*columns)), np.unique(columns, axis=1))
