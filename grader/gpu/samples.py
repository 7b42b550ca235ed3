"""What a measurement has seen so far, and whether it wants more."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.gpu.speedup import counted_pairs, is_settled, make_pairs, median_interval
from grader.sandbox.launches import Arrays

# The GPU's clock as NVML tells it: a clock that drops makes a kernel look slower than it is.

THROTTLE_RATIO = 0.9
"""A pair counts while the clock is at least this share of the highest that was seen."""


@dataclass(frozen=True)
class Clock:
    """NVML and its handle of one GPU; both None where NVML does not answer."""

    nvml: Any = None
    handle: Any = None

    def megahertz(self) -> int:
        """The multiprocessors' clock now, 0 when it is not known."""
        if self.nvml is None:
            return 0
        try:
            return int(self.nvml.nvmlDeviceGetClockInfo(self.handle, self.nvml.NVML_CLOCK_SM))
        except self.nvml.NVMLError:
            return 0


def open_clock(bus: str) -> Clock:
    """The clock of the GPU at that PCI address; one that knows nothing where NVML is missing."""
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
    """For each pair whether the clock had dropped when it ran; 0 is a clock that nobody told."""
    highest = max(clocks, default=0)
    return tuple(0 < clock < THROTTLE_RATIO * highest for clock in clocks)


BASELINE, SUBMISSION, EMPTY_KERNEL = 0, 1, 2
BASELINE_PREFIX = "base"
"""What stands before the pair in the names of the baseline's outputs."""

ALWAYS_VERIFIED = 4
"""Pairs in each of which the baseline's output is verified; then it is in ever fewer."""

MIN_PAIRS = 20
"""Pairs that a measurement has even when its time is spent."""

LOOK_INTERVAL = 10
"""Pairs from one look at whether enough is known to the next, once there are as many as the plan
asks for at least: a look goes through all of them, and takes as long as a pair does."""

HOPELESS_PAIRS = 8
"""Pairs after which a kernel far below the minimum is believed to be that slow."""


def is_baseline_verified(seed: bytes, pair: int) -> bool:
    """Whether the baseline's output of that pair is verified too. Of the pairs from n / 2 to n,
    as of any that far apart, SURE * log(2) are; which ones nobody knows who has not the seed.
    """
    digest = hmac.new(seed, f"baseline\0{pair}".encode(), hashlib.sha256).digest()
    return int.from_bytes(digest, "little") % (pair // ALWAYS_VERIFIED + 1) == 0


@dataclass
class Record:
    """What was seen so far. `times` are (baseline, submission) in seconds, `stopped` is why no
    more was measured: "timeout", "error", or nothing.
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
        """Of the pairs that count, as the parent will count them."""
        pairs = make_pairs(self.times, throttled(self.clocks), self.overhead, self.empty)
        return [pair.ratio for pair in counted_pairs(pairs)]


def needs_more_pairs(record: Record, plan: Mapping[str, Any], spent: float) -> bool:
    """Whether another pair is to be measured, after so many seconds."""
    pairs = len(record.times) - 1  # the first only warms up
    if pairs >= plan["most"] or (spent > plan["budget"] and pairs >= MIN_PAIRS):
        return False
    if pairs > plan["least"] and (pairs - plan["least"]) % LOOK_INTERVAL:
        return True
    ratios = record.ratios()
    if len(ratios) >= HOPELESS_PAIRS and median_interval(ratios)[1] < plan["minimum"] / 2:
        return False
    return not is_settled(ratios, plan["minimum"], plan["full"], plan["least"])
