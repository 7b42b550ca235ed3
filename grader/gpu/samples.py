"""What a measurement has seen so far, and whether it wants more."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.gpu.clock import dropped
from grader.packing import Arrays
from grader.speed.speedup import interval, settled
from grader.speed.timing import counted, paired

BASELINE, SUBMISSION, OWN = 0, 1, 2
BASE = "base"
"""What stands before the pair in the names of the baseline's outputs."""

SURE = 4
"""Pairs in each of which the baseline's output is verified; then it is in ever fewer."""

FEWEST = 20
"""Pairs that a measurement has even when its time is spent."""

LOOK = 10
"""Pairs from one look at whether enough is known to the next, once there are as many as the plan
asks for at least: a look goes through all of them, and takes as long as a pair does."""

HOPELESS = 8
"""Pairs after which a kernel far below the minimum is believed to be that slow."""


def is_checked(seed: bytes, pair: int) -> bool:
    """Whether the baseline's output of that pair is verified too. Of the pairs from n / 2 to n,
    as of any that far apart, SURE * log(2) are; which ones nobody knows who has not the seed."""
    digest = hmac.new(seed, f"baseline\0{pair}".encode(), hashlib.sha256).digest()
    return int.from_bytes(digest, "little") % (pair // SURE + 1) == 0


@dataclass
class Record:
    """What was seen so far. `times` are (baseline, submission) in seconds, `stopped` is why no
    more was measured: "timeout", "error", or nothing."""

    times: list[tuple[float, float]] = field(default_factory=list)
    clocks: list[int] = field(default_factory=list)
    outputs: Arrays = field(default_factory=dict)
    overhead: float = 0.0
    empty: float = 0.0
    stopped: str = ""
    culprit: int = OWN
    error: str = ""
    text: str = ""

    def ratios(self) -> list[float]:
        """Of the pairs that count, as the parent will count them."""
        pairs = paired(self.times, dropped(self.clocks), self.overhead, self.empty)
        return [pair.ratio for pair in counted(pairs)]


def wanted(record: Record, plan: Mapping[str, Any], spent: float) -> bool:
    """Whether another pair is to be measured, after so many seconds."""
    pairs = len(record.times) - 1  # the first only warms up
    if pairs >= plan["most"] or (spent > plan["budget"] and pairs >= FEWEST):
        return False
    if pairs > plan["least"] and (pairs - plan["least"]) % LOOK:
        return True
    ratios = record.ratios()
    if len(ratios) >= HOPELESS and interval(ratios)[1] < plan["minimum"] / 2:
        return False
    return not settled(ratios, plan["minimum"], plan["full"], plan["least"])
