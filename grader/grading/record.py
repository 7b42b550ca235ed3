"""A grade as a value and as the JSON object that other tools read (schema 1); the score.

A system error never costs the student points: what was not evaluated leaves `judged_max`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from grader import dataclass
from grader.checks.causes import Cause, Explanation, Fix, find_causes
from grader.checks.result import Result, Status, Verdict
from grader.compile.ptx_lines import PtxLine
from grader.faults import LabFault
from grader.grading.cost import Cost, TimeEstimate
from grader.labs.model import Visibility
from grader.launch import Finding, LineCounters

if TYPE_CHECKING:
    from pydantic import TypeAdapter

GradeStatus = Literal["graded", "incomplete"]

HiddenFeedback = Literal["score", "kind", "full"]
"""What a student reads about hidden cases: each check's points, kinds of findings, or all."""


@dataclass(frozen=True)
class Score:
    """The points of a grade.

    Attributes:
        points: the points earned.
        judged_max: the points of all evaluated checks. Checks that this backend cannot evaluate
            (`unjudged`) and checks that a system error stopped (`error`) do not count.
        max_score: the points of all checks.
        status: "incomplete" after a system error, so that the submission is graded again.
    """

    points: float
    judged_max: float
    max_score: float
    status: GradeStatus


def total_score(results: Iterable[Result]) -> Score:
    """Sum the points over all checks, to a hundredth of a point."""
    every = tuple(results)
    evaluated = [result for result in every if result.status not in ("unjudged", "error")]
    return Score(
        points=round(sum(result.points for result in evaluated), 2),
        judged_max=round(sum(result.max_points for result in evaluated), 2),
        max_score=round(sum(result.max_points for result in every), 2),
        status="incomplete" if any(r.status == "error" for r in every) else "graded",
    )


SCHEMA = 1

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class CaseResult:
    """One case of a grade: it passes with the right output and without errors."""

    name: str
    size: str
    visibility: Visibility
    status: Status


@dataclass(frozen=True)
class Provenance:
    """How a grade was made.

    Attributes:
        seed: an identifier of the seed, never the seed itself.
        toolchain: versions by tool name.
        grader_version: the version of this package.
        started: ISO 8601 in UTC.
        seconds: wall time of the whole grading.
        device: the GPU's name.
        driver: the driver's release.
        clocks: the lowest and highest clock in MHz.
        samples: timings in seconds by name.
        lab_sha256: the digest of the lab's files (grader.labs.reading.lab_digest).
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
    """The result of one submission, with its reasons.

    Attributes:
        lab: the lab's name.
        title: the lab's title.
        file: the submission's name as messages show it.
        student: the student's name, or "".
        submission_sha256: the digest of the submission.
        backend: "sim" or "gpu".
        score: the points.
        checks: one result per check, `compile` first.
        cases: one result per case.
        provenance: how the grade was made.
        lines: the counters of each source line in the case `lines_on`, on the simulator, or ().
        lines_on: the largest case.
        printed: the first public case in which the kernel prints, and its text. Not part of the
            JSON record, and not graded.
        explanation: what explains the findings, from the source and the public cases alone.
        hidden_feedback: what a student's copy shows of hidden cases; "" for the whole record.
        cost: the simulated cost in the case `lines_on`; None where it was not measured.
        ptx: the PTX of each line of the submission, where the lab lets students read it.
        estimates: the estimated time on GPUs that were measured; no points depend on it.
    """

    lab: str
    title: str
    file: str
    student: str
    submission_sha256: str
    backend: str
    score: Score
    checks: tuple[Result, ...]
    cases: tuple[CaseResult, ...]
    provenance: Provenance
    lines: tuple[LineCounters, ...] = ()
    lines_on: str = ""
    printed: tuple[str, str] = ("", "")
    explanation: Explanation = Explanation()
    hidden_feedback: HiddenFeedback | Literal[""] = ""
    cost: Cost | None = None
    ptx: tuple[PtxLine, ...] = ()
    estimates: tuple[TimeEstimate, ...] = ()

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The findings of all checks, grouped by the mistake that causes them."""
        return find_causes((f for c in self.checks for f in c.findings), self.explanation)

    @property
    def exit_code(self) -> int:
        """0: every evaluated check passed; 1: one failed or is blocked; 3: a system error."""
        if self.score.status == "incomplete":
            return 3
        return int(any(check.status in ("fail", "blocked") for check in self.checks))

    def to_json(self) -> dict[str, Any]:
        """Return the grade as a JSON object: plain dicts, lists, strings and numbers."""
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
            "cases": [asdict(case) for case in self.cases],
            "provenance": provenance_json(self.provenance),
            "lines": [line_json(at) for at in self.lines],
            "lines_on": self.lines_on,
            "causes": [cause_json(cause, self.checks) for cause in self.causes],
            "explanation": asdict(self.explanation),
            **({"hidden_feedback": self.hidden_feedback} if self.hidden_feedback else {}),
            **({"cost": self.cost.to_json()} if self.cost else {}),
            **({"ptx": [asdict(at) for at in self.ptx]} if self.ptx else {}),
            **({"estimates": [asdict(one) for one in self.estimates]} if self.estimates else {}),
        }


def line_json(at: LineCounters) -> dict[str, Any]:
    """Return the counters of one source line."""
    return {"line": at.line, "file": at.file, "counters": dict(at.counters)}


def grade_from_json(value: object) -> Grade:
    """Read a grade that `to_json` wrote.

    A number that JSON cannot hold is read as NaN; unknown keys are ignored.

    Raises:
        LabFault: `value` is not such an object; the message names the first invalid key.
    """
    from pydantic import ValidationError

    if not isinstance(value, Mapping) or value.get("schema") != SCHEMA:
        what = f"not a grade object of schema {SCHEMA}"
        raise LabFault(what, fix="use the output of `grader check --json` or `grader batch --json`")
    score = {key: value.get(key) for key in ("judged_max", "max_score", "status")}
    given = {**value, "score": {"points": value.get("score"), **score}}
    try:
        return _reader().validate_python(_with_defaults(given))
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        where = ".".join(str(part) for part in error["loc"])
        raise LabFault(f"not a grade object: {error['msg'].lower()}", where=where) from None


@cache
def _reader() -> TypeAdapter[Grade]:
    from pydantic import TypeAdapter

    return TypeAdapter(Grade)


def _with_defaults(value: Any, key: str = "") -> Any:
    """Restore the values that JSON replaces by null: NaN and empty strings."""
    if isinstance(value, Mapping):
        return {name: _default_if_null(key, name, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_defaults(item, key) for item in value]
    return value


def _default_if_null(key: str, name: str, item: Any) -> Any:
    if item is None and key in ("measurements", "counters"):
        return math.nan
    if item is None and key == "findings" and name in ("space", "hazard"):
        return ""
    return _with_defaults(item, name)


def cause_json(cause: Cause, checks: Sequence[Result]) -> dict[str, Any]:
    """Return one cause of a grade object; its findings are places in `checks`."""
    places = [
        {"check": check.name, "index": index, "follows": finding != cause.finding}
        for check in checks
        for index, finding in enumerate(check.findings)
        if finding in cause.findings
    ]
    return {
        "kind": cause.kind,
        "line": cause.line,
        "file": cause.file,
        "what": cause.what or cause.finding.message,
        "findings": sorted(places, key=lambda place: bool(place["follows"])),
        "fix": _fix_json(cause.fix),
    }


def _fix_json(fix: Fix | None) -> dict[str, Any]:
    if fix is None:
        return {"confirmed": False}
    return {"confirmed": True, "kind": fix.kind, "line": fix.line, "diff": fix.diff or None}


def check_json(check: Result) -> dict[str, Any]:
    """Return one check of a grade object."""
    return {
        "name": check.name,
        "status": check.status,
        "points": check.points,
        "max_points": check.max_points,
        "summary": check.summary,
        "findings": [full_finding_json(finding) for finding in check.findings],
        "measurements": dict(check.measurements),
        "visibility": check.visibility,
        "cases": dict(check.cases),
        "measured_on": check.measured_on,
        **({"public": _verdict_json(check.public)} if check.public else {}),
    }


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "status": verdict.status,
        "summary": verdict.summary,
        "share": verdict.share,
        "findings": [full_finding_json(finding) for finding in verdict.findings],
        "measurements": dict(verdict.measurements),
        "cases": dict(verdict.cases),
        "measured_on": verdict.measured_on,
    }


def full_finding_json(finding: Finding) -> dict[str, Any]:
    """Return one finding of a grade, with all that a report shows of it."""
    other = finding.other
    row = finding_json(finding) | {
        "column": finding.column,
        "text": finding.text,
        "access": finding.access,
        "variable": finding.variable,
        "detail": finding.detail,
        "cases": list(finding.cases),
        "origins": [{"name": o.name, "line": o.line, "file": o.file} for o in finding.origins],
        "follows": finding.follows,
        "calls": [asdict(call) for call in finding.calls],
    }
    if other:
        row["other"] |= {"block": list(other.block), "access": other.access, "text": other.text}
        row["other"] |= {"file": other.file, "calls": [asdict(call) for call in other.calls]}
    return row


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return one finding as `grader run --json` writes it; unknown values are null."""
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
    """Return the provenance of a grade object."""
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


def grades_json(grades: Iterable[Grade]) -> dict[str, Any]:
    """Return `{"grades": [...]}`, the object of `grader batch`."""
    return {"grades": [grade.to_json() for grade in grades]}


def dumps(value: Mapping[str, Any]) -> str:
    """Return strict JSON text, indented and ending in a newline; NaN and infinities become null."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
