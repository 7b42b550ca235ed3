"""Nsight Compute's counters of one launch, to stand beside the simulator's.

Names: Nsight Compute documentation, "Metrics Reference". They are the hardware's own; a launch is
replayed until all are counted, with the clocks as they are.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from grader.compile.program import Program
from grader.gpu.tool import observed, required
from grader.launch import Launch

NAME = "ncu"
DURATION = "gpu__time_duration.sum"
_KERNEL = "Kernel Name"


@dataclass(frozen=True)
class Profile:
    """What Nsight Compute counted in one launch, by metric name; `seconds` the kernel's time,
    None where it was not measured."""

    counters: Mapping[str, float]
    seconds: float | None


def profiled(
    program: Program, launch: Launch, metrics: Iterable[str], limit: float = 20.0
) -> Profile:
    """The hardware's value of each metric that it knows, for one launch.

    Raises MachineFault when this machine has no GPU or no Nsight Compute, or when its counters
    are closed to this user, and StudentFault."""
    path = required(NAME, "nsight-compute")
    names = [*dict.fromkeys(hardware(metrics)), DURATION]
    command = [str(path), "--clock-control", "none", "--csv", "--page", "raw"]
    command += ["--print-units", "base", "--metrics", ",".join(names), "--log-file", "{report}"]
    (report,) = observed(program, [launch], [command], limit)
    counted = counters(report.text, names)
    time = counted.pop(DURATION, None)
    return Profile(counted, None if time is None else time / 1e9)


def hardware(names: Iterable[str]) -> list[str]:
    """The metrics that are the hardware's; those that we define at PTX level are not asked for."""
    return [name for name in names if not name.startswith("ptx__")]


def counters(text: str, names: Iterable[str]) -> dict[str, float]:
    """The values in the raw page of one kernel: a header, a row of units, a row a launch."""
    lines = [line for line in text.splitlines() if not line.startswith("==")]
    for row in csv.DictReader(lines):
        if row.get(_KERNEL):
            read = {name: _number(row.get(name) or "") for name in names}
            return {name: value for name, value in read.items() if value is not None}
    return {}


def _number(text: str) -> float | None:
    """None too for what could not be counted, "n/a" or "nan": another process used the GPU."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if isfinite(value) else None
