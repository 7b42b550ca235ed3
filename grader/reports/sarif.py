"""The problems of a grade as a SARIF 2.1.0 log: one run, one result for each problem.

SARIF is the Static Analysis Results Interchange Format, an OASIS standard
(https://docs.oasis-open.org/sarif/sarif/v2.1.0/). A file of an archive and a cell of a notebook are
nested artifacts (section 3.24.3), whose regions count the lines of that file or cell.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from grader import __version__, dataclass
from grader.checks.causes import cause_kinds
from grader.grading.record import Grade
from grader.reports.finding import terms_of
from grader.reports.printable import printable
from grader.reports.problems import Place, Problem
from grader.reports.text import score_line

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif_log(grade: Grade, found: Sequence[Problem], folder: Path) -> dict[str, Any]:
    """Return the log.

    Args:
        grade: The grade, for its score.
        found: Its problems.
        folder: Files below it are named relative to it; others by a file: URI.
    """
    artifacts = _Artifacts(folder)
    kinds = list(dict.fromkeys(problem.kind for problem in found))
    results = [_result(problem, kinds, artifacts) for problem in found]
    complete = grade.score.status != "incomplete"
    invocation: dict[str, Any] = {"executionSuccessful": complete, "exitCode": grade.exit_code}
    if not complete:
        text = {"text": score_line(grade, 1000).plain}
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": text}]
    run = {
        "tool": {"driver": {
            "name": "warpgrade",
            "semanticVersion": __version__,
            "rules": _rules(kinds),
        }},
        "invocations": [invocation],
        "artifacts": artifacts.rows,
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": {
            "lab": printable(grade.lab),
            "score": grade.score.points,
            "judged_max": grade.score.judged_max,
            "max_score": grade.score.max_score,
            "status": grade.score.status,
        },
    }  # fmt: skip
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rules(kinds: Iterable[str]) -> list[dict[str, Any]]:
    """Return a rule for each kind, with what the glossary or the table of causes says of it."""
    known, terms = cause_kinds(), terms_of(kinds)
    rows = []
    for kind in kinds:
        row: dict[str, Any] = {"id": kind}
        if kind in terms:
            row["fullDescription"] = {"text": " ".join(terms[kind].text.split())}
        if kind in known:
            what = known[kind].what.format(name="a variable")
            row["shortDescription"] = {"text": what[:1].upper() + what[1:]}
        rows.append(row)
    return rows


@dataclass
class _Artifacts:
    """The files of a log, each once; a part of a file has the file as its parent."""

    folder: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    index: dict[tuple[str, ...], int] = field(default_factory=dict)

    def location(self, place: Place) -> dict[str, Any]:
        """Return the artifactLocation of a place."""
        key: tuple[str, ...] = ()
        row: dict[str, Any] = {}
        for depth, part in enumerate((self._uri(place.path), *place.inside)):
            uri = part if not depth else f"/{quote(printable(part))}"
            parent, key = self.index.get(key), (*key, part)
            row = {"uri": uri}
            if key not in self.index:
                self.index[key] = len(self.rows)
                nested = {} if parent is None else {"parentIndex": parent}
                self.rows.append({"location": dict(row), **nested})
        return {**row, "index": self.index[key]}

    def _uri(self, path: Path) -> str:
        full = Path(os.path.abspath(path))
        try:
            below = full.relative_to(os.path.abspath(self.folder))
        except ValueError:
            return "file://" + quote(os.fsencode(full))
        return quote(os.fsencode(below))


def _result(problem: Problem, kinds: Sequence[str], artifacts: _Artifacts) -> dict[str, Any]:
    finding = problem.finding
    related = [
        {"id": number, **_location(other.place, artifacts), "message": {"text": other.text}}
        for number, other in enumerate(problem.related, 1)
    ]
    # The same problem in the next version, where its line has another number.
    own = (problem.kind, finding.variable, str(problem.place.inside), finding.text.strip())
    digest = hashlib.sha256("\0".join(own).encode("utf-8", "replace")).hexdigest()
    return {
        "ruleId": problem.kind,
        "ruleIndex": kinds.index(problem.kind),
        "level": _LEVELS[problem.severity],
        "message": {"text": problem.sentences},
        "locations": [_location(problem.place, artifacts)],
        **({"relatedLocations": related} if related else {}),
        "partialFingerprints": {"warpgrade/v1": digest[:32]},
    }


def _location(place: Place, artifacts: _Artifacts) -> Mapping[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": artifacts.location(place)}
    if place.line:
        physical["region"] = {"startLine": place.line, "startColumn": place.column}
    return {"physicalLocation": physical}
