"""Remove from a grade everything that reveals a hidden case's size or values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from grader.checks.findings import location_key
from grader.checks.result import Result, Status
from grader.grading.record import CaseResult, Grade
from grader.launch import Finding

HIDDEN_HINT = (
    "Test other sizes yourself: 1, a prime number, one more than a multiple of the tile, "
    "one side much longer than the other."
)


def redact(grade: Grade) -> Grade:
    """Return the grade as the student may see it.

    Hidden cases lose their names and sizes. A finding that occurred only in hidden cases keeps its
    kind and its line of the student's own source. Measurements taken on a hidden case are removed.
    A hidden check keeps its points only.
    """
    aliases = _case_aliases(grade.cases)
    if grade.lines_on in aliases:
        grade = replace(grade, lines=(), lines_on="")
    return replace(
        grade,
        checks=tuple(_check(check, aliases) for check in grade.checks),
        cases=tuple(_case(case, aliases) for case in grade.cases),
    )


def _case_aliases(cases: Collection[CaseResult]) -> Mapping[str, str]:
    """Map the names of hidden cases to the names shown instead."""
    hidden = [case.name for case in cases if case.visibility == "hidden"]
    return {name: f"hidden-{number}" for number, name in enumerate(hidden, start=1)}


def _case(case: CaseResult, aliases: Mapping[str, str]) -> CaseResult:
    if case.name not in aliases:
        return case
    return replace(case, name=aliases[case.name], size="")


def _check(check: Result, aliases: Mapping[str, str]) -> Result:
    if check.visibility == "hidden":
        return replace(check, summary="", findings=(), measurements={}, cases={}, measured_on="")
    shown = tuple(f for f in check.findings if not _is_hidden(f, aliases))
    public = {location_key(finding) for finding in shown}
    rest = [f for f in check.findings if _is_hidden(f, aliases) and location_key(f) not in public]
    cases: Mapping[str, Status] = {aliases.get(n, n): s for n, s in check.cases.items()}
    kept = replace(check, findings=(*shown, *map(_hidden_finding, rest)), cases=cases)
    if check.measured_on in aliases:
        kept = replace(kept, summary="evaluated on a hidden case", measurements={}, measured_on="")
    return kept


def _is_hidden(finding: Finding, aliases: Mapping[str, str]) -> bool:
    """Whether a hidden case contributed; findings of public and hidden cases are not merged."""
    return any(name in aliases for name in finding.cases)


def _hidden_finding(finding: Finding) -> Finding:
    """Keep only a finding's kind and its place in the student's own file."""
    return Finding(
        kind=finding.kind,
        severity=finding.severity,
        message=f"{finding.kind.replace('-', ' ')} in a hidden case",
        file=finding.file,
        line=finding.line,
        column=finding.column,
        text=finding.text,
        hint=HIDDEN_HINT,
        origins=finding.origins,
    )
