"""check50's JSON, for tools that read the output of `check50 -o json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from grader.checks.causes import sort_findings
from grader.checks.result import Result
from grader.checks.suite import check_info
from grader.export.fields import check_text, clipped, summary
from grader.export.formats import ExportRow, Options
from grader.grading.record import Grade, dumps
from grader.reports.printable import printable

EACH = True
SUFFIX = ".json"
READER: Literal["student", "staff"] = "student"

COMPILE = "compile"
PASSED = {"pass": True, "fail": False}
"""Other statuses mean that the check did not run, which is null in check50's JSON."""


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """check50: the JSON object of one submission."""
    (row,) = rows
    return dumps(results(row))


def row_problem(row: ExportRow, options: Options) -> str:
    """Require a grade; an incomplete one has an `error` instead of results."""
    return "" if row.grade else row.why or "there is no grade to show"


def results(row: ExportRow) -> dict[str, Any]:
    """Return the JSON object of a row that has no problem."""
    grade = row.grade
    assert grade is not None
    head: dict[str, Any] = {"slug": grade.lab, "version": grade.provenance.grader_version}
    if grade.score.status == "incomplete":
        return head | {"error": _error(grade)}
    return head | {"results": [_result(check, grade) for check in grade.checks]}


def _error(grade: Grade) -> dict[str, Any]:
    why = next((summary(check) for check in grade.checks if check.status == "error"), "")
    return {"type": "MachineFault", "value": why, "traceback": [], "data": {}}


def _result(check: Result, grade: Grade) -> dict[str, Any]:
    known = check_info(check.name)
    first = _dependency(check, grade)
    passed = PASSED.get(check.status)
    return {
        "name": clipped(printable(check.name), 100),
        "description": known.title if known else "The file compiles.",
        "passed": passed,
        "log": check_text(check).splitlines(),
        "cause": None if passed else _cause(check),
        "data": {"points": check.points, "max_points": check.max_points},
        "dependency": first,
    }


def _cause(check: Result) -> dict[str, Any]:
    hint = next((f.hint for f in sort_findings(check.findings) if f.hint), None)
    return {"rationale": summary(check), "help": clipped(printable(hint), 500) if hint else None}


def _dependency(check: Result, grade: Grade) -> str | None:
    """Name the check that must pass before this one: its dependency, otherwise `compile`."""
    names = [other.name for other in grade.checks]
    known = check_info(check.name)
    first = known.depends.on if known and known.depends else COMPILE
    for name in (first, COMPILE):
        if name in names and name != check.name:
            return name
    return None
