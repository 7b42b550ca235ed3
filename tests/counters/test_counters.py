"""The simulator's counters, resources, occupancy and outputs against those of a real GPU.

`h*.json` have Nsight Compute's counters and `outputs-h*.npz` the outputs of every kernel here, each
from one GPU, run from the very PTX that the simulator runs. EXCEPT names each difference and its
cause; TO_MEASURE the kernels that are newer than the reading (`make truth-gpu` reads anew).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.compile.program import Program
from grader.launch import Trace
from grader.simulator.counters import (
    BYTES,
    CONFLICTS,
    FLOPS,
    GLOBAL_ATOMICS,
    GLOBAL_REDUCTIONS,
    RATIO,
    REQUESTS,
    SECTORS,
    SHARED_ATOMICS,
    SHARED_INSTRUCTIONS,
    WAVEFRONTS,
)
from grader.simulator.simulate import simulate
from tests.fuzz.corpus import read
from tests.trusted import compile_here

HERE = Path(__file__).parent
TO_MEASURE: frozenset[str] = frozenset()
SOURCES = {path.stem: path for path in sorted(HERE.glob("*.cu"))}
KERNELS = {name: path for name, path in SOURCES.items() if name not in TO_MEASURE}
READINGS: list[dict[str, Any]] = [json.loads(p.read_text()) for p in sorted(HERE.glob("h*.json"))]
MEASURED: Mapping[str, Mapping[str, float]] = {
    name: counters for reading in READINGS for name, counters in reading["kernels"].items()
}
GLOBAL = [name.format(op) for name in (REQUESTS, SECTORS, BYTES) for op in ("ld", "st")]
SHARED = [
    name.format(op) for name in (WAVEFRONTS, CONFLICTS, SHARED_INSTRUCTIONS) for op in ("ld", "st")
]
ATOMICS = [name.format(op) for name in (REQUESTS, SECTORS) for op in ("atom", "red")] + [
    GLOBAL_REDUCTIONS,
    SHARED_ATOMICS,
]
FLOP = [FLOPS.format(p + op) for p in "fd" for op in ("add", "mul", "fma")]
LIMITS = [f"launch__occupancy_limit_{of}" for of in ("blocks", "registers", "shared_mem", "warps")]
WARPS = 64

UNROLLED = "ptxas unrolls a loop whose trip count differs between lanes: they load in other copies"
MERGED = "ptxas merges four neighbouring shared loads into one of 16 bytes"
MERGED_PAIRS = "ptxas merges two neighbouring shared loads into one of 8 bytes"
SQRT = "ptxas expands the square root into a sequence with products of its own"
AGAIN = "ptxas works some products out again rather than hold them in registers"
SUNK = "ptxas moves the last sum into the branch of the one lane that stores it"
AGAIN_RED = "lanes that add to one address go one after the other, each with its sector"
EXCEPT = {
    ("divergent_unrolled", REQUESTS.format("ld")): UNROLLED,
    ("divergent_unrolled", SECTORS.format("ld")): UNROLLED,
    ("histogram_global", SECTORS.format("red")): AGAIN_RED,
    **{(f"tiled_matmul_{n}", SHARED_INSTRUCTIONS.format("ld")): MERGED for n in (8, 16, 32)},
    ("tiled_matmul_8", WAVEFRONTS.format("ld")): MERGED,
    ("tiled_matmul_16", WAVEFRONTS.format("ld")): MERGED,
    ("tiled_matmul_32", WAVEFRONTS.format("ld")): MERGED,
    ("register_tile", SHARED_INSTRUCTIONS.format("ld")): MERGED_PAIRS,
    ("register_tile", WAVEFRONTS.format("ld")): MERGED_PAIRS,
    ("atomics_64bit", SECTORS.format("red")): AGAIN_RED,
    ("launch_bounds", FLOPS.format("fmul")): SQRT,
    ("launch_bounds", FLOPS.format("ffma")): SQRT,
    ("many_registers", FLOPS.format("ffma")): AGAIN,
    ("reduction_shuffle", FLOPS.format("fadd")): SUNK,
}


@cache
def program(name: str) -> Program:
    return compile_here(SOURCES[name].read_bytes(), f"{name}.cu")


@cache
def trace(name: str) -> Trace:
    return simulate(program(name), [read(SOURCES[name].read_text()).launch()])[0]


def gpu(name: str) -> Mapping[str, float]:
    return MEASURED[name]


@cache
def outputs() -> Mapping[str, NDArray[Any]]:
    """What GPUs left in every array: "kernel.argument"."""
    return {k: v for path in HERE.glob("outputs-*.npz") for k, v in np.load(path).items()}


def test_every_kernel_was_measured() -> None:
    assert set(MEASURED) == set(KERNELS) and len(KERNELS) >= 25
    assert set(SOURCES) >= TO_MEASURE and not TO_MEASURE & set(MEASURED)
    for reading in READINGS:
        assert set(reading["machine"]) >= {"device", "driver", "nvrtc", "ncu", "date"}


@pytest.mark.parametrize("name", KERNELS)
def test_counters_match_the_gpu(name: str) -> None:
    ours, theirs = trace(name).counters, gpu(name)
    differ = {
        metric: (ours.get(metric, 0.0), theirs[metric])
        for metric in (*GLOBAL, *SHARED, *ATOMICS, *FLOP)
        if ours.get(metric, 0.0) != theirs[metric]
    }
    assert set(differ) == {metric for kernel, metric in EXCEPT if kernel == name}, differ


@pytest.mark.parametrize("name", [n for n in KERNELS if GLOBAL_ATOMICS in gpu(n)])
def test_atomics_with_a_result_match_the_gpu(name: str) -> None:
    assert trace(name).counters.get(GLOBAL_ATOMICS, 0.0) == gpu(name)[GLOBAL_ATOMICS]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("op", ["ld", "st"])
def test_bytes_per_sector_match_ncu_to_two_decimals(name: str, op: str) -> None:
    if (name, SECTORS.format(op)) not in EXCEPT:
        metric = RATIO.format(op)
        assert trace(name).counters.get(metric, 0) == pytest.approx(gpu(name)[metric], abs=0.006)


@pytest.mark.parametrize("name", KERNELS)
def test_resources_and_occupancy_match_the_gpu(name: str) -> None:
    """ncu gives no fewer than 16 registers, the least that are allocated."""
    ours, theirs = trace(name).resources, gpu(name)
    assert ours.registers is not None and ours.theoretical_occupancy is not None
    assert max(16, ours.registers) == theirs["launch__registers_per_thread"]
    assert ours.static_shared_bytes == theirs["launch__shared_mem_per_block_static"]
    warps = -(-prod(read(KERNELS[name].read_text()).block) // 32)
    blocks = min(theirs[limit] for limit in LIMITS)
    assert ours.theoretical_occupancy == min(1, blocks * warps / WARPS)


@pytest.mark.parametrize("name", KERNELS)
def test_outputs_match_the_gpu_bit_for_bit(name: str) -> None:
    ours = trace(name)
    theirs = {k: outputs()[f"{name}.{k}"] for k in ours.outputs}
    assert theirs
    for k, value in theirs.items():
        known = ~ours.unwritten.get(k, np.zeros(value.shape, bool))
        assert np.array_equal(ours.outputs[k][known], value[known], equal_nan=True)


def test_red_counts_one_sector_for_each_lane_of_an_address() -> None:
    """The rule behind AGAIN_RED: lanes of different addresses go together, and the passes that a
    repeated address needs each count their own sectors.
    """
    launch = read(KERNELS["histogram_global"].read_text()).launch()
    bins = np.asarray(launch.args[0].data)[:256].reshape(-1, 32)  # type: ignore[union-attr]
    assert sum(map(_sectors_in_turn, bins)) == gpu("histogram_global")[SECTORS.format("red")]
    alone = trace("histogram_global").counters[SECTORS.format("red")]
    assert sum(len(set(warp // 8)) for warp in bins) == alone


def _sectors_in_turn(bins: Any) -> int:
    """Sectors of one warp's increments of 4-byte bins, eight in a sector."""
    left, sectors = list(bins), 0
    while left:
        now = set(left)
        sectors += len({b // 8 for b in now})
        for b in now:
            left.remove(b)
    return sectors


def test_branches_are_not_comparable() -> None:
    """Most kernels that branch in PTX do not on the GPU: ptxas predicates what is short."""
    branching = [name for name in KERNELS if re.search(r"@!?%p\d+ bra", program(name).ptx)]
    none = [name for name in branching if gpu(name)["smsp__sass_branch_targets.sum"] == 0]
    assert len(none) > len(branching) / 2


def test_unrolled_loop_has_copies_for_four_two_and_one_iterations() -> None:
    """The rule behind UNROLLED: with it the numbers are the GPU's."""
    choice = np.asarray(read(SOURCES["divergent"].read_text()).launch().args[0].data)  # type: ignore[union-attr]
    requests = sectors = 0
    for warp in np.arange(128).reshape(-1, 32):
        loads = [warp, warp, 127 - warp[choice[warp] % 3 == 0]]
        others = warp[choice[warp] % 3 != 0]
        rounds = choice[others] % 5
        for copy, before in ((4, 0), (2, 4), (1, 6)):
            lanes = (rounds & copy) > 0
            first = others[lanes] + (rounds[lanes] & before)
            loads += [(first + j) % 128 for j in range(copy)]
        requests += sum(len(at) > 0 for at in loads)
        sectors += sum(len(set(at // 8)) for at in loads)
    measured = gpu("divergent_unrolled")
    assert requests == measured[REQUESTS.format("ld")]
    assert sectors == measured[SECTORS.format("ld")]


def test_loop_that_is_not_unrolled_loads_as_in_its_ptx() -> None:
    """`#pragma unroll 1` reaches ptxas; the counts of the other are ours with no unrolling."""
    assert '.pragma "nounroll"' in program("divergent").ptx
    assert "nounroll" not in program("divergent_unrolled").ptx
    kept = trace("divergent").counters
    assert [kept[name.format("ld")] for name in (REQUESTS, SECTORS)] == [28, 106]


def test_exceptions_name_existing_kernels_and_counters() -> None:
    for kernel, metric in EXCEPT:
        assert kernel in KERNELS and metric in gpu(kernel)
