"""A grade as a value, and as the JSON object that other tools read (schema 1), both ways."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from grader.checks.result import Result, Status
from grader.faults import LabFault
from grader.labs.model import Visibility
from grader.launch import Finding, LineCounters

# Results -> points. Whose fault decides: an error is ours, and never costs the student points.

GradeStatus = Literal["graded", "incomplete"]


@dataclass(frozen=True)
class Score:
    """`points` of `judged_max` that were judged, of `max_score` in all.

    What this backend cannot judge (`unjudged`) and what the machine failed to judge (`error`)
    leaves `judged_max`; an error also makes the grade `incomplete`, to be tried again.
    """

    points: float
    judged_max: float
    max_score: float
    status: GradeStatus


def total(results: Iterable[Result]) -> Score:
    """The sum over all checks, to a hundredth of a point."""
    every = tuple(results)
    judged = [result for result in every if result.status not in ("unjudged", "error")]
    return Score(
        points=round(sum(result.points for result in judged), 2),
        judged_max=round(sum(result.max_points for result in judged), 2),
        max_score=round(sum(result.max_points for result in every), 2),
        status="incomplete" if any(r.status == "error" for r in every) else "graded",
    )


SCHEMA = 1

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class CaseLine:
    """One case of a grade: whether its output is right and nothing wrong was seen in it."""

    name: str
    size: str
    visibility: Visibility
    status: Status


@dataclass(frozen=True)
class Provenance:
    """How a grade came about. `seed` is an identifier, never the seed itself; `started` is ISO
    8601 in UTC; `seconds` the whole grading's wall time; `samples` timings in seconds by name;
    `lab_sha256` the digest of the lab's files (labfile/digest.py).
    """

    seed: str
    toolchain: Mapping[str, str]
    grader_version: str
    started: str
    seconds: float
    device: str | None = None
    driver: str | None = None
    clocks: Mapping[str, Any] | None = None
    samples: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: _EMPTY)
    lab_sha256: str = ""


@dataclass(frozen=True)
class Grade:
    """What one submission got, and why. `file` is the submission's name as messages show it.
    `lines` are the counters of each source line in the case `lines_on`, the largest one: of the
    optimised program on the simulator; none when it did not run. `printed` is a public case and
    what printf left there, in no record: who asks for a grade may read it, nothing is judged.
    """

    lab: str
    title: str
    file: str
    student: str
    submission_sha256: str
    backend: str
    score: Score
    checks: tuple[Result, ...]
    cases: tuple[CaseLine, ...]
    provenance: Provenance
    lines: tuple[LineCounters, ...] = ()
    lines_on: str = ""
    printed: tuple[str, str] = ("", "")

    @property
    def exit_code(self) -> int:
        """0 when everything judged passed, 1 when the work fell short, 3 when the machine did."""
        if self.score.status == "incomplete":
            return 3
        return int(any(check.status in ("fail", "blocked") for check in self.checks))

    def to_json(self) -> dict[str, Any]:
        """The grade object of the JSON contract: plain dicts, lists, strings and numbers."""
        return {
            "schema": SCHEMA,
            "lab": self.lab,
            "title": self.title,
            "file": self.file,
            "student": self.student,
            "submission_sha256": self.submission_sha256,
            "backend": self.backend,
            "status": self.score.status,
            "score": self.score.points,
            "judged_max": self.score.judged_max,
            "max_score": self.score.max_score,
            "checks": [check_json(check) for check in self.checks],
            "cases": [
                {"name": c.name, "size": c.size, "visibility": c.visibility, "status": c.status}
                for c in self.cases
            ],
            "provenance": provenance_json(self.provenance),
            "lines": [{"line": at.line, "counters": dict(at.counters)} for at in self.lines],
            "lines_on": self.lines_on,
        }


def grade_from_json(value: object) -> Grade:
    """The grade that `to_json` made this object of; a number that JSON text lacks comes back as
    NaN. Keys that it does not know are passed over. Raises LabFault, which names the first key that
    does not fit.
    """
    if not isinstance(value, Mapping) or value.get("schema") != SCHEMA:
        what = f"this is no grade object of schema {SCHEMA}"
        raise LabFault(what, fix="give what `grader check --json` or `grader batch --json` wrote")
    score = {key: value.get(key) for key in ("judged_max", "max_score", "status")}
    given = {**value, "score": {"points": value.get("score"), **score}}
    try:
        return _reader().validate_python(_restored(given))
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        where = ".".join(str(part) for part in error["loc"])
        raise LabFault(f"not a grade object: {error['msg'].lower()}", where=where) from None


@cache
def _reader() -> TypeAdapter[Grade]:
    return TypeAdapter(Grade)


def _restored(value: Any, key: str = "") -> Any:
    """What `to_json` and JSON text leave out, put back: numbers that are none, empty words."""
    if isinstance(value, Mapping):
        return {name: _absent(key, name, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_restored(item, key) for item in value]
    return value


def _absent(key: str, name: str, item: Any) -> Any:
    if item is None and key in ("measurements", "counters"):
        return math.nan
    if item is None and key == "findings" and name in ("space", "hazard"):
        return ""
    return _restored(item, name)


def check_json(check: Result) -> dict[str, Any]:
    """One check of a grade object."""
    return {
        "name": check.name,
        "status": check.status,
        "points": check.points,
        "max_points": check.max_points,
        "summary": check.summary,
        "findings": [whole_finding_json(finding) for finding in check.findings],
        "measurements": dict(check.measurements),
        "visibility": check.visibility,
        "cases": dict(check.cases),
        "measured_on": check.measured_on,
    }


def whole_finding_json(finding: Finding) -> dict[str, Any]:
    """One finding of a grade: the contract's keys, and all that a report of it shows."""
    other = finding.other
    told = finding_json(finding) | {
        "column": finding.column,
        "text": finding.text,
        "access": finding.access,
        "variable": finding.variable,
        "detail": finding.detail,
        "cases": list(finding.cases),
        "origins": [{"name": o.name, "line": o.line} for o in finding.origins],
    }
    if other:
        told["other"] |= {"block": list(other.block), "access": other.access, "text": other.text}
    return told


def finding_json(finding: Finding) -> dict[str, Any]:
    """One finding with the contract's keys; what is not known is null."""
    other = finding.other
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
        "count": finding.count,
        "space": finding.space or None,
        "hazard": finding.hazard or None,
        "block": list(finding.block) if finding.block else None,
        "thread": list(finding.thread) if finding.thread else None,
        "other": {"line": other.line, "thread": list(other.thread)} if other else None,
        "hint": finding.hint,
    }


def provenance_json(provenance: Provenance) -> dict[str, Any]:
    """The provenance of a grade object."""
    return {
        "seed": provenance.seed,
        "toolchain": dict(provenance.toolchain),
        "device": provenance.device,
        "driver": provenance.driver,
        "clocks": dict(provenance.clocks) if provenance.clocks is not None else None,
        "grader_version": provenance.grader_version,
        "started": provenance.started,
        "seconds": provenance.seconds,
        "samples": {name: list(values) for name, values in provenance.samples.items()},
        "lab_sha256": provenance.lab_sha256,
    }
