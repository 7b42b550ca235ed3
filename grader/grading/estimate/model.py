"""A model of a kernel's time on one GPU: the work of a launch -> limits in seconds -> an estimate.

Each limit is a time that the launch takes at least: the work that one part of the GPU does, over
the rate that a microbenchmark measured for this part (grader/gpu/sweep.py). None of the rates is
taken from a data sheet. The limits:

- bandwidth of device memory: the bytes of the arrays, each once, as a cold cache has them loaded
- bandwidth of the L2 cache: the bytes that blocks load, each sector once a block; its writes, of
  whole sectors and of parts: all stores, since the L1 cache writes through
- L1 cache: wavefronts of requests to global and local memory; shared memory: its wavefronts. One
  unit serves both in turn
- each class of arithmetic instructions, and the issue of instructions
- atomics: all of them, and those on the 256 bytes that have the most, which one unit executes
- latency: the chain of a warp, for as many turns as the resident warps leave

Units of a GPU work at the same time, but not perfectly: the estimate is a soft maximum of the
limits of units, the p-norm, times a factor. Limits of one unit do not add up: an instruction that
waits for its pipe waits to be issued. Exponent and factor are fitted (fit.py). With an infinite
exponent and the factor 1 it is the roofline of all levels of memory: the model is compared with it.

Sources: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009; S. Hong, H. Kim, "An
analytical model for a GPU architecture with memory-level and thread-level parallelism awareness",
ISCA 2009, for the turns of resident warps; NVIDIA, "Nsight Compute: Kernel Profiling Guide", for
the units and their counters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from grader import dataclass
from grader.compile.launch_limits import blocks_per_multiprocessor
from grader.launch import MULTIPROCESSOR_LIMITS
from grader.simulator.workload import Work

LIMITS = MappingProxyType(
    {
        "dram": "bandwidth of device memory",
        "l2": "bandwidth of the L2 cache",
        "l2_write": "writes to the L2 cache (coalescing, local arrays)",
        "l1": "requests to the L1 cache (coalescing)",
        "shared": "shared memory",
        "fma32": "multiplies and adds",
        "int32": "integer and logic instructions",
        "mad32": "integer products",
        "fma64": "double precision",
        "conversion": "conversions of types",
        "special": "special functions",
        "division": "divisions",
        "integer_division": "integer divisions",
        "shuffle": "exchange between lanes",
        "issue": "issue of instructions",
        "atomic": "atomics",
        "latency": "latency",
    }
)
"""The limits, and what a report calls them."""

ARITHMETIC = (
    "fma32", "int32", "mad32", "fma64", "conversion", "special", "division", "integer_division",
    "shuffle",
)  # fmt: skip
"""The classes of instructions that have a limit of their own."""

ROOFLINE = ("dram", "l2", "l2_write", "l1", "shared", "fma32", "fma64")
"""The limits of the roofline of all levels of memory."""


class NotEstimated(Exception):
    """There is no estimate; the message says why, in a clause."""


@dataclass(frozen=True)
class Machine:
    """The measured parameters of one GPU.

    Attributes:
        name: CUDA's name of the device.
        capability: its compute capability.
        multiprocessors: how many it has.
        rates: by name, what the whole GPU does in a second: bytes for "read", "write" and "l2";
            of sectors that are written as a whole and in part for "l2_write" and "l2_masked";
            wavefronts for "l1_wavefront" and "shared", requests for "l1_request"; instructions of
            warps for ARITHMETIC and "issue"; see sweep.py for atomics.
        latencies: by name, seconds from one instruction to the next that needs its result.
        launch: seconds of an empty launch, beyond two events with nothing between them.
        blocks: blocks that start in a second.
    """

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    rates: Mapping[str, float]
    latencies: Mapping[str, float]
    launch: float
    blocks: float


@dataclass(frozen=True)
class Fit:
    """What is fitted to measured kernels.

    Attributes:
        exponent: the exponent p of the soft maximum, at least 1.
        factor: what its result is multiplied by.
    """

    exponent: float = 4.0
    factor: float = 1.0


@dataclass(frozen=True)
class Estimate:
    """The time of one launch: `seconds`, the largest of the `limits`, and all of them."""

    seconds: float
    binding: str
    limits: Mapping[str, float] = field(default_factory=dict)


def estimate(work: Work, machine: Machine, fit: Fit) -> Estimate:
    """Estimate the time of a launch, in seconds.

    It grows with every count of the work, or stays as it is.

    Raises:
        NotEstimated: the launch does not fit this GPU, or the compute capability is not known.
    """
    limits = dict(limits_of(work, machine))
    total = _soft_maximum(limits, fit.exponent)
    binding = max(limits, key=lambda name: limits[name])
    return Estimate(machine.launch + fit.factor * total, binding, limits)


def roofline(work: Work, machine: Machine) -> float:
    """Return the seconds of the roofline of all levels of memory, which nothing is fitted to."""
    limits = limits_of(work, machine)
    return machine.launch + max(limits[name] for name in ROOFLINE)


def limits_of(work: Work, machine: Machine) -> Mapping[str, float]:
    """Return each limit in seconds.

    Raises:
        NotEstimated: as `estimate`.
    """
    resident = _resident_blocks(work, machine)
    busiest = math.ceil(work.blocks / machine.multiprocessors)
    tail = busiest * machine.multiprocessors / work.blocks
    rates = machine.rates
    l1 = max(work.l1_wavefronts / rates["l1_wavefront"], work.requests / rates["l1_request"])
    shared = work.wavefronts / rates["shared"]
    unit = l1 + shared
    limits = {
        "dram": work.dram_read / rates["read"] + work.dram_written / rates["write"],
        "l2": work.l2_read / rates["l2"],
        "l2_write": work.l2_written / rates["l2_write"] + work.l2_masked / rates["l2_masked"],
        "l1": tail * (unit if l1 >= shared else l1),
        "shared": tail * (unit if shared > l1 else shared),
        "issue": max(tail * work.slots / rates["issue"], work.blocks / machine.blocks),
        "atomic": _atomics(work, machine, tail),
        "latency": math.ceil(busiest / resident) * _chain(work, machine),
    }
    return limits | {name: tail * work.executed.get(name, 0.0) / rates[name] for name in ARITHMETIC}


def _resident_blocks(work: Work, machine: Machine) -> int:
    """The blocks that a multiprocessor runs at a time."""
    device = MULTIPROCESSOR_LIMITS.get(machine.capability)
    if device is None:
        raise NotEstimated("the limits of its compute capability are not known")
    resident = blocks_per_multiprocessor(device, work.threads, work.registers, work.shared_bytes)
    if not resident:
        raise NotEstimated("its blocks do not fit a multiprocessor")
    return resident


def _atomics(work: Work, machine: Machine, tail: float) -> float:
    """The time of atomics: in the L2 cache for global memory, in each multiprocessor for shared."""
    made, rates = work.atomics, machine.rates
    spread = made.get("operations", 0.0) / rates["atomic_global"]
    waits = made.get("hottest", 0.0) / rates["atomic_global_same"]
    shared = made.get("shared requests", 0.0) / rates["atomic_shared"]
    shared += made.get("shared serial", 0.0) / rates["atomic_shared_same"]
    return max(spread, waits, tail * shared)


def _chain(work: Work, machine: Machine) -> float:
    """The seconds of a warp's chain, when it runs alone."""
    known = machine.latencies
    loaded = work.chain.get("global", 0.0) * _load_latency(work, machine)
    stalls = loaded + sum(
        many * known[_LATENCY_OF.get(kind, kind)]
        for kind, many in work.chain.items()
        if kind != "global"
    )
    slots = work.slots / (work.blocks * work.warps)
    return stalls + slots * known["slot"]


_LATENCY_OF = {"local": "l1", "atomic": "l2"}


def _load_latency(work: Work, machine: Machine) -> float:
    """The mean latency of a load: of L1, of L2 for a block's first load of a sector, of DRAM."""
    known = machine.latencies
    from_l2 = work.missed * (known["l2"] - known["l1"])
    from_dram = work.cold * (known["dram"] - known["l2"])
    return known["l1"] + from_l2 + from_dram


_UNIT_OF = {**dict.fromkeys(("issue", *ARITHMETIC), "core"), "l1": "l1", "shared": "l1"}
"""The units that have several limits; each other limit is of a unit of its own."""


def _soft_maximum(limits: Mapping[str, float], exponent: float) -> float:
    """The p-norm of the units' limits: the maximum for a large exponent, the sum for 1."""
    most = max(limits.values())
    if not most:
        return 0.0
    units: dict[str, float] = {}
    for name, value in limits.items():
        unit = _UNIT_OF.get(name, name)
        units[unit] = max(units.get(unit, 0.0), value)
    total = math.fsum(math.pow(value / most, exponent) for value in units.values())
    return most * math.pow(total, 1 / exponent)
