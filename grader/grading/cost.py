"""The simulated cost of a kernel: one number, from three counters of one launch.

The unit is a warp instruction: what a multiprocessor issues four times a cycle. In a cycle it also
serves one wavefront of shared memory, and its share of the device's memory is about half a sector.
So a sector costs as much as 8 warp instructions, a wavefront as much as 4. These are round numbers
of today's devices, not a model of one: they give every kernel of a lab the same yardstick.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader import dataclass
from grader.launch import WARP_SIZE, Trace

SECTOR, WAVEFRONT = 8, 4
"""What a sector of global memory and a wavefront of shared memory cost, in warp instructions."""

_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
_INSTRUCTIONS = "ptx__thread_inst_executed.sum"


@dataclass(frozen=True)
class Cost:
    """What one launch costs.

    Attributes:
        case: The name of the launch's case.
        sectors: 32-byte sectors of global memory that loads, stores and atomics touch.
        wavefronts: Passes through shared memory.
        thread_instructions: Instructions, summed over the threads.
        baseline: What the lab's baseline costs in the same case; None where it was not measured.
    """

    case: str
    sectors: int
    wavefronts: int
    thread_instructions: int
    baseline: Cost | None = None

    @property
    def exact(self) -> int:
        """The cost in instructions of a thread: a whole number, which orders without rounding."""
        units = SECTOR * self.sectors + WAVEFRONT * self.wavefronts
        return WARP_SIZE * units + self.thread_instructions

    @property
    def total(self) -> float:
        """The cost in warp instructions."""
        return self.exact / WARP_SIZE

    def to_json(self) -> dict[str, Any]:
        """Return the cost as a grade object has it; `total` is computed from the counters."""
        return {
            "case": self.case,
            "sectors": self.sectors,
            "wavefronts": self.wavefronts,
            "thread_instructions": self.thread_instructions,
            "total": self.total,
            "baseline": self.baseline.to_json() if self.baseline else None,
        }


def cost_of(trace: Trace, case: str, baseline: Trace | None = None) -> Cost | None:
    """Return what a launch on the simulator cost; None when it did not end or was not measured.

    `baseline` is the launch of the lab's baseline in the same case.
    """
    if not trace.ended or _INSTRUCTIONS not in trace.counters:
        return None
    sectors, wavefronts = (_sum(trace.counters, prefix) for prefix in (_SECTORS, _WAVEFRONTS))
    instructions = int(trace.counters[_INSTRUCTIONS])
    base = cost_of(baseline, case) if baseline else None
    return Cost(case, sectors, wavefronts, instructions, base)


def _sum(counters: Mapping[str, float], prefix: str) -> int:
    return int(sum(value for name, value in counters.items() if name.startswith(prefix)))


@dataclass(frozen=True)
class TimeEstimate:
    """An estimated range of the time of a lab's timed launch on a GPU that was measured.

    Attributes:
        device: CUDA's name of the GPU.
        low, high: The range in seconds, from the model's error on held-back kernels.
        limit: Which limit of the GPU binds.
        error: The median relative error on held-back kernels.
        speedup_low, speedup_high: The range of the speedup over the baseline's measured time; None
            where that was not measured.
    """

    device: str
    low: float
    high: float
    limit: str
    error: float
    speedup_low: float | None = None
    speedup_high: float | None = None
