"""The simulator's counters, resources, occupancy and outputs against those of a real GPU.

`h200.json` has Nsight Compute's counters and `outputs-h200.npz` the outputs of every kernel here,
run from the very PTX that the simulator runs. EXCEPT names each difference and its cause.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.launch import Trace
from grader.sim.metrics import (
    BYTES,
    CONFLICTS,
    FLOPS,
    RATIO,
    REQUESTS,
    SECTORS,
    WAVEFRONTS,
)
from grader.sim.simulate import simulate
from tests.fuzz.corpus import read

HERE = Path(__file__).parent
KERNELS = {path.stem: path for path in sorted(HERE.glob("*.cu"))}
MEASURED: Mapping[str, Any] = json.loads((HERE / "h200.json").read_text())
GLOBAL = [name.format(op) for name in (REQUESTS, SECTORS, BYTES) for op in ("ld", "st")]
SHARED = [name.format(op) for name in (WAVEFRONTS, CONFLICTS) for op in ("ld", "st")]
FLOP = [FLOPS.format(p + op) for p in "fd" for op in ("add", "mul", "fma")]
LIMITS = [f"launch__occupancy_limit_{of}" for of in ("blocks", "registers", "shared_mem", "warps")]
WARPS = 64

UNROLLED = "ptxas unrolls a loop whose trip count differs between lanes: they load in other copies"
MERGED = "ptxas merges four neighbouring shared loads into one of 16 bytes"
SQRT = "ptxas expands the square root into a sequence with products of its own"
AGAIN = "ptxas works some products out again rather than hold them in registers"
SUNK = "ptxas moves the last sum into the branch of the one lane that stores it"
EXCEPT = {
    ("divergent", REQUESTS.format("ld")): UNROLLED,
    ("divergent", SECTORS.format("ld")): UNROLLED,
    ("tiled_matmul_8", WAVEFRONTS.format("ld")): MERGED,
    ("tiled_matmul_16", WAVEFRONTS.format("ld")): MERGED,
    ("tiled_matmul_32", WAVEFRONTS.format("ld")): MERGED,
    ("launch_bounds", FLOPS.format("fmul")): SQRT,
    ("launch_bounds", FLOPS.format("ffma")): SQRT,
    ("many_registers", FLOPS.format("ffma")): AGAIN,
    ("reduction_shuffle", FLOPS.format("fadd")): SUNK,
}


@cache
def trace(name: str) -> Trace:
    text = KERNELS[name].read_text()
    program = compile_source(text.encode(), f"{name}.cu")
    return simulate(program, [read(text).launch()])[0]


def gpu(name: str) -> Mapping[str, float]:
    found: Mapping[str, float] = MEASURED["kernels"][name]
    return found


def test_every_kernel_was_measured() -> None:
    assert set(MEASURED["kernels"]) == set(KERNELS) and len(KERNELS) >= 25
    assert set(MEASURED["machine"]) >= {"device", "driver", "nvrtc", "ncu", "date"}


@pytest.mark.parametrize("name", KERNELS)
def test_counters_are_the_gpu_s(name: str) -> None:
    ours, theirs = trace(name).counters, gpu(name)
    differ = {
        metric: (ours[metric], theirs[metric])
        for metric in (*GLOBAL, *SHARED, *FLOP)
        if ours[metric] != theirs[metric]
    }
    assert set(differ) == {metric for kernel, metric in EXCEPT if kernel == name}, differ


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("op", ["ld", "st"])
def test_bytes_per_sector_to_ncu_s_two_decimals(name: str, op: str) -> None:
    if (name, SECTORS.format(op)) not in EXCEPT:
        metric = RATIO.format(op)
        assert trace(name).counters.get(metric, 0) == pytest.approx(gpu(name)[metric], abs=0.006)


@pytest.mark.parametrize("name", KERNELS)
def test_resources_and_occupancy_are_the_gpu_s(name: str) -> None:
    """ncu gives no fewer than 16 registers, the least that are allocated."""
    ours, theirs = trace(name).resources, gpu(name)
    assert ours.registers is not None and ours.theoretical_occupancy is not None
    assert max(16, ours.registers) == theirs["launch__registers_per_thread"]
    assert ours.static_shared_bytes == theirs["launch__shared_mem_per_block_static"]
    warps = -(-prod(read(KERNELS[name].read_text()).block) // 32)
    blocks = min(theirs[limit] for limit in LIMITS)
    assert ours.theoretical_occupancy == min(1, blocks * warps / WARPS)


@pytest.mark.parametrize("name", KERNELS)
def test_outputs_are_the_gpu_s_bit_for_bit(name: str) -> None:
    ours = trace(name)
    with np.load(HERE / "outputs-h200.npz") as held:
        theirs = {k: held[f"{name}.{k}"] for k in ours.outputs}
    assert theirs
    for k, value in theirs.items():
        known = ~ours.unwritten.get(k, np.zeros(value.shape, bool))
        assert np.array_equal(ours.outputs[k][known], value[known], equal_nan=True)


def test_exceptions_are_of_kernels_and_counters_that_exist() -> None:
    for kernel, metric in EXCEPT:
        assert kernel in KERNELS and metric in gpu(kernel)
