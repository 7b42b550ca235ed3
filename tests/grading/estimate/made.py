"""Machines with known parameters, and sweeps and kernels as they would be measured on them.

The numbers are round. They are nobody's measurements, and no file of them is outside of tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from grader.gpu.sweep import POINTS
from grader.grading.estimate.fit import Sample
from grader.grading.estimate.machine import MachineFile, fitted
from grader.grading.estimate.model import ARITHMETIC, Fit, Machine, estimate
from grader.simulator.workload import Work

NAME = "NVIDIA Made"
MULTIPROCESSORS = 100
CLOCK = 1e9
LAUNCH = 2e-6

RATES = {
    "read": 1e12, "write": 8e11, "l2": 4e12, "l2_write": 2e12, "l2_masked": 1e12,
    "l1_wavefront": 1e11, "l1_request": 1e11, "shared": 1e11, "issue": 4e11,
    "atomic_global": 5e10, "atomic_global_same": 1e9, "atomic_shared": 5e10,
    "atomic_shared_same": 2e11, **dict.fromkeys(ARITHMETIC, 1e11), "fma32": 4e11,
}  # fmt: skip
LATENCIES = {
    "l1": 3e-8, "l2": 2e-7, "dram": 6e-7, "shared": 2e-8, "barrier": 2e-8,
    **dict.fromkeys(ARITHMETIC, 5e-9), "slot": 4 * MULTIPROCESSORS / RATES["issue"],
}  # fmt: skip


def a_machine(**more: Any) -> Machine:
    """Return the machine with other values for some of its fields."""
    made = Machine(NAME, (9, 0), MULTIPROCESSORS, RATES, LATENCIES, LAUNCH, 1e9)
    return replace(made, **more)


def points_of(machine: Machine) -> dict[str, list[list[float]]]:
    """Return the points that a sweep would measure on a machine, with the cost of a launch."""
    seconds = {name: 1 / rate for name, rate in machine.rates.items()}
    seconds |= {f"{name} latency": value for name, value in machine.latencies.items()}
    same = seconds["atomic_shared"] + 31 * seconds["atomic_shared_same"]
    seconds |= {"blocks": 1 / machine.blocks, "atomic_shared_same": same}
    rest = {point.name: 1e-9 for point in POINTS}
    return {
        name: [[amount, LAUNCH + amount * each] for amount in (1e6, 2e6)]
        for name, each in (rest | seconds).items()
        if name in rest
    }


def works(count: int, seed: int) -> list[Work]:
    """Draw the work of some launches, with another limit that binds in each."""
    draw = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        size = {name: 10 ** draw.uniform(6, 9) for name in ("lines", "waves", "slots", "fma", "l2")}
        out.append(
            Work(
                blocks=int(draw.integers(50, 5000)), threads=256, registers=32, shared_bytes=4096,
                executed={"fma32": size["fma"], "int32": size["slots"] / 4}, slots=size["slots"],
                requests=size["lines"] / 2, l1_wavefronts=size["lines"], wavefronts=size["waves"],
                l2_read=4 * size["l2"], l2_written=size["l2"], l2_masked=size["l2"] / 10,
                dram_read=size["l2"], dram_written=size["l2"], missed=0.3, cold=0.1,
                flop=64 * size["fma"],
                chain={"fma32": draw.uniform(10, 1e3), "global": draw.uniform(10, 1e3)},
            )
        )  # fmt: skip
    return out


def samples(machine: Machine, fit: Fit, labs: int = 4, each: int = 4) -> tuple[Sample, ...]:
    """Return kernels of some labs whose times the model itself makes with a fit."""
    drawn = works(labs * each, 7)
    return tuple(
        Sample(f"lab-{k % labs}", f"{k // labs}.cu", estimate(one, machine, fit).seconds, one)
        for k, one in enumerate(drawn)
    )


def a_file(kernels: tuple[Sample, ...], baselines: Mapping[str, str] | None = None) -> MachineFile:
    """Return the content of a machine file with these kernels."""
    machine = a_machine()
    fit, errors, _ = fitted(kernels, machine)
    return MachineFile(
        NAME, machine.capability, MULTIPROCESSORS, LAUNCH, (1000, 1000), points_of(machine),
        kernels, baselines or {}, fit, errors, "580.1", {"cuda": "13.0"},
    )  # fmt: skip
