"""What a lab is graded on, in a table made from lab.yaml, so that a page cannot say otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from grader.fault import LabFault
from grader.lab import CheckSpec, Lab

Words = Callable[[Lab, CheckSpec], list[str]]

SHARED = {
    "none": "no shared memory",
    "static": "a static shared array is used",
    "dynamic": "dynamic shared memory is used, and no static",
    "any": "shared memory is used",
}
SILENT = ("dims", "kind", "budget", "fixed", "flop", "bytes", "cublas", "full")
"""Options that say how something is measured, not what is asked."""


def graded_table(lab: Lab) -> str:
    """One row a check: its points and what it asks, as a Markdown table. Raises LabFault for an
    option that there are no words for."""
    rows = ["| check | points | what it asks |", "| --- | ---: | --- |"]
    for check in lab.checks:
        asks = "; ".join(asked(lab, check))
        rows.append(f"| {check.name} | {check.points:g} | {asks} |")
    return "\n".join([*rows, "", _total(lab)])


def _total(lab: Lab) -> str:
    hidden = sum(case.visibility == "hidden" for case in lab.cases)
    said = f"Together {lab.max_score:g} points."
    if hidden:
        said += f" The instructor's grading has {hidden} hidden cases more, of other sizes."
    if any(check.name == "speed" for check in lab.checks):
        said += " Without a GPU speed is not judged, and the grade says so."
    return said


def asked(lab: Lab, check: CheckSpec) -> list[str]:
    """What one check asks, a clause each."""
    general: Mapping[str, Words] = {
        "output": _output,
        "sync": lambda *_: ["no race, no barrier that part of a block misses"],
        "memory": lambda *_: [
            "no access out of bounds or misaligned, nothing read that was never written"
        ],
        "quiz": _quiz,
    }
    said = general[check.name](lab, check) if check.name in general else []
    said += [_option(lab, check, name, value) for name, value in _telling(check).items()]
    if not said:
        raise LabFault(f"no words for the check `{check.name}`", where=check.where)
    return said


def _telling(check: CheckSpec) -> dict[str, Any]:
    return {name: value for name, value in check.options.items() if name not in SILENT}


def _output(lab: Lab, check: CheckSpec) -> list[str]:
    public = [case.name for case in lab.cases if case.visibility == "public"]
    return [f"the right answer in every case: {', '.join(public)}"]


def _quiz(lab: Lab, check: CheckSpec) -> list[str]:
    return [f"the {len(lab.quiz)} questions below, answered in `answers.yaml`"]


def _option(lab: Lab, check: CheckSpec, name: str, value: Any) -> str:
    words: Mapping[str, Callable[[Any], str]] = {
        "max_global_bytes_ratio": lambda v: (
            f"at most {_shown(v)} of the bytes that the baseline loads from global memory"
        ),
        "max_sectors_per_request": lambda v: (
            f"at most {v:g} sectors of 32 bytes for a request of a warp"
        ),
        "min_bytes_per_sector": lambda v: f"at least {v:g} of a sector's 32 bytes used",
        "max_global_atomics": lambda v: f"at most {_shown(v)} atomics on global memory",
        "shared": lambda v: SHARED[v],
        "max_registers": lambda v: f"at most {v} registers a thread",
        "max_static_shared_bytes": lambda v: f"at most {v:,} static shared bytes a block",
        "no_spills": lambda v: "no local memory" if v else "local memory is allowed",
        "constant": lambda v: (
            "constant memory is really read" if v else "no constant memory needed"
        ),
        "min_occupancy": lambda v: f"theoretical occupancy at least {100 * v:g} %",
        "minimum": lambda v: _speed(lab, v, check.options["full"]),
    }
    if name not in words:
        where = f"{check.where}.{name}"
        raise LabFault(f"no words for the option `{name}` of `{check.name}`", where=where)
    return words[name](value)


def _shown(value: float | str) -> str:
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"


def _speed(lab: Lab, minimum: float, full: float) -> str:
    said = (
        f"on a GPU: {minimum:g} times the baseline's speed for the first point,"
        f" {full:g} times for all"
    )
    for device, band in lab.bands.items():
        said += f"; on an {device}: {band.minimum:g} and {band.full:g}"
    return said
