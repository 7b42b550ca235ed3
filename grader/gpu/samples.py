"""The samples of a measurement so far, when it ends, and the GPU's clock (NVML)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.gpu.speedup import counted_pairs, is_settled, make_pairs, median_interval
from grader.launch import Arrays

THROTTLE_RATIO = 0.9
"""A pair counts while the clock is at least this share of the highest measured clock."""


@dataclass(frozen=True)
class Clock:
    """NVML and its handle of one GPU; both None where NVML is not available."""

    nvml: Any = None
    handle: Any = None

    def megahertz(self) -> int:
        """Return the multiprocessors' current clock in MHz, 0 when it is unknown."""
        if self.nvml is None:
            return 0
        try:
            return int(self.nvml.nvmlDeviceGetClockInfo(self.handle, self.nvml.NVML_CLOCK_SM))
        except self.nvml.NVMLError:
            return 0


def open_clock(bus: str) -> Clock:
    """Open the clock of the GPU at a PCI address; its values are 0 where NVML is missing."""
    try:
        import pynvml
    except ImportError:
        return Clock()
    try:
        pynvml.nvmlInit()
        return Clock(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(bus.encode()))
    except pynvml.NVMLError:
        return Clock()


def throttled(clocks: Sequence[int]) -> tuple[bool, ...]:
    """Return for each pair whether the clock had dropped; a clock of 0 is unknown."""
    highest = max(clocks, default=0)
    return tuple(0 < clock < THROTTLE_RATIO * highest for clock in clocks)


BASELINE, SUBMISSION, EMPTY_KERNEL = 0, 1, 2
BASELINE_PREFIX = "base"
"""Prefix of the names of the baseline's outputs."""

ALWAYS_VERIFIED = 4
"""The first pairs, in each of which the baseline's output is verified; later in ever fewer."""

MIN_PAIRS = 20
"""Pairs that a measurement takes even when its time is spent."""

LOOK_INTERVAL = 10
"""Pairs between two tests of the stopping rule, once the plan's minimum is reached: a test goes
through all pairs, and takes as long as a pair does."""

HOPELESS_PAIRS = 8
"""Pairs after which a measurement far below the minimum ends."""


def is_baseline_verified(seed: bytes, pair: int) -> bool:
    """Return whether the baseline's output of a pair is verified too.

    Of the pairs from n / 2 to n, ALWAYS_VERIFIED * log(2) are, on average. Without the secret seed
    they cannot be predicted.
    """
    digest = hmac.new(seed, f"baseline\0{pair}".encode(), hashlib.sha256).digest()
    return int.from_bytes(digest, "little") % (pair // ALWAYS_VERIFIED + 1) == 0


@dataclass
class Record:
    """The samples so far.

    Attributes:
        times: (baseline, submission) in seconds; the first pair warms up.
        clocks: MHz after each pair.
        outputs: buffers for verification, by name.
        overhead: seconds between two events with nothing between them.
        empty: seconds of an empty kernel, with overhead.
        stopped: why the measurement ended early: "timeout", "error" or "".
        culprit: the side that was running: BASELINE, SUBMISSION or EMPTY_KERNEL.
        error: CUDA's name of the error.
        text: CUDA's text of the error.
    """

    times: list[tuple[float, float]] = field(default_factory=list)
    clocks: list[int] = field(default_factory=list)
    outputs: Arrays = field(default_factory=dict)
    overhead: float = 0.0
    empty: float = 0.0
    stopped: str = ""
    culprit: int = EMPTY_KERNEL
    error: str = ""
    text: str = ""

    def ratios(self) -> list[float]:
        """Return the ratios of the pairs that count, as the parent computes them."""
        pairs = make_pairs(self.times, throttled(self.clocks), self.overhead, self.empty)
        return [pair.ratio for pair in counted_pairs(pairs)]


def needs_more_pairs(record: Record, plan: Mapping[str, Any], spent: float) -> bool:
    """Return whether to measure another pair, after `spent` seconds."""
    pairs = len(record.times) - 1  # the first pair warms up
    if pairs >= plan["most"] or (spent > plan["budget"] and pairs >= MIN_PAIRS):
        return False
    if pairs > plan["least"] and (pairs - plan["least"]) % LOOK_INTERVAL:
        return True
    ratios = record.ratios()
    if len(ratios) >= HOPELESS_PAIRS and median_interval(ratios)[1] < plan["minimum"] / 2:
        return False
    return not is_settled(ratios, plan["minimum"], plan["full"], plan["least"])
