"""A grade as a value, and as the JSON object that other tools read (schema 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from grader.check.result import Result, Status
from grader.lab import Visibility
from grader.launch import Finding
from grader.score import Score

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
    8601 in UTC; `seconds` the whole grading's wall time; `samples` timings in seconds by name."""

    seed: str
    toolchain: Mapping[str, str]
    grader_version: str
    started: str
    seconds: float
    device: str | None = None
    driver: str | None = None
    clocks: Mapping[str, Any] | None = None
    samples: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True)
class Grade:
    """What one submission got, and why. `file` is the submission's name as messages show it."""

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
        }


def check_json(check: Result) -> dict[str, Any]:
    """One check of a grade object."""
    return {
        "name": check.name,
        "status": check.status,
        "points": check.points,
        "max_points": check.max_points,
        "summary": check.summary,
        "findings": [
            finding_json(f)
            | {"column": f.column, "text": f.text, "cases": list(f.cases)}
            | {"origins": [{"name": o.name, "line": o.line} for o in f.origins]}
            for f in check.findings
        ],
        "measurements": dict(check.measurements),
        "visibility": check.visibility,
    }


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
        "seconds": round(provenance.seconds, 3),
        "samples": {name: list(values) for name, values in provenance.samples.items()},
    }
