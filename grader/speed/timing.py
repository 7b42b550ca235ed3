"""How fast a kernel is beside a baseline: what is asked for and what was seen, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from grader.compile.program import Program
from grader.launch import Finding, Launch
from grader.speed.speedup import rank

Verify = Callable[[Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any]]], str]
"""Given the inputs of one timed launch and what it left in its outputs, by argument name: empty
when they are right, else what is wrong, in one line."""


@dataclass(frozen=True)
class TimingPlan:
    """One launch of the submission's program to be timed against the same work by `baseline`.

    Inputs are the arrays of `launch` and of `baseline_launch`, from which fresh ones are made by
    `seed` before every timed launch. The ratio time(baseline) / time(submission) earns points
    from `minimum` to `full`; sampling stops when it is settled on which side it lies, or when
    `budget` seconds or `most` pairs are spent. `cublas` asks for the speed of cuBLAS' product of
    these m, n and k in float32, without tensor cores, on the same GPU. Arrays named in `fixed` stay
    as they are (sorted keys, indices); one launch may take `limit` seconds.
    """

    baseline: Program
    baseline_launch: Launch
    launch: Launch
    minimum: float
    full: float
    seed: bytes = b""
    budget: float = 3.0
    least: int = 50
    most: int = 400
    cublas: tuple[int, int, int] | None = None
    fixed: tuple[str, ...] = ()
    limit: float = 10.0


@dataclass(frozen=True)
class Pair:
    """One launch of each, next to each other: seconds by CUDA events, what the events
    cost taken off. `throttled`: the clock had dropped, the pair does not count."""

    baseline: float
    submission: float
    throttled: bool = False

    @property
    def ratio(self) -> float:
        return self.baseline / self.submission


SHORTEST = 1e-9
"""Seconds that a launch takes at least, where an empty kernel's are not known."""


def paired(
    times: Sequence[tuple[float, float]],
    throttled: Sequence[bool],
    overhead: float,
    empty: float = 0.0,
) -> tuple[Pair, ...]:
    """The pairs of measured (baseline, submission) seconds that include the events' `overhead`, as
    does `empty`, an empty kernel's: no kernel is faster than that, whatever the events say.

    The first only warms up and is left out. Who stops a measurement and who judges it both look
    at these: what the events cost moves the ratio of two short kernels."""
    least = max(empty - overhead, SHORTEST)
    return tuple(
        Pair(max(a - overhead, least), max(b - overhead, least), drop)
        for (a, b), drop in zip(times, throttled, strict=True)
    )[1:]


def counted(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Those that count: the ones that ran at full clock, where they are enough for an interval;
    else all of them, since a GPU that throttles most of the time is as fast as that."""
    sound = tuple(pair for pair in pairs if not pair.throttled)
    return sound if rank(len(sound)) else tuple(pairs)


@dataclass(frozen=True)
class Timing:
    """What a plan's measurement gave: `pairs` in the order they ran, `overhead` in seconds of the
    events around a launch, which are taken off, and `empty` of an empty kernel, which are not.
    `findings` say why it ended early: a wrong timed output, a crash, a hang.

    `peaks` are measured on the same GPU: "copy_bytes_per_second", "fma_flop_per_second" and, where
    the plan asks for it, "cublas_flop_per_second" (2 m n k over its time). `verified` counts the
    timed outputs that were right. `clocks` are the multiprocessors' in MHz after each pair; empty
    where NVML does not answer: then no throttling is seen."""

    pairs: tuple[Pair, ...]
    overhead: float = 0.0
    findings: tuple[Finding, ...] = ()
    ended: bool = True
    peaks: Mapping[str, float] = field(default_factory=dict)
    device: str = ""
    verified: int = 0
    clocks: tuple[int, ...] = ()
    empty: float = 0.0

    @property
    def ratios(self) -> tuple[float, ...]:
        """The ratios that count."""
        return tuple(pair.ratio for pair in counted(self.pairs))
