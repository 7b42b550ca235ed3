"""What of a grade a student may see: nothing that tells a hidden case's size or values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from grader.checks.findings import place
from grader.checks.result import Result, Status
from grader.grading.record import CaseLine, Grade
from grader.launch import Finding

HIDDEN_CURE = "try sizes of your own: 1, a prime, one more than a tile, one side much longer"


def redact(grade: Grade) -> Grade:
    """The grade for the student's eyes.

    Hidden cases lose their names and sizes; a finding that was seen only in hidden cases keeps
    its kind and its line of the student's own source and loses the rest; measurements that were
    taken on a hidden case are dropped; a hidden check keeps its points alone.
    """
    aliases = _aliases(grade.cases)
    if grade.lines_on in aliases:
        grade = replace(grade, lines=(), lines_on="")
    return replace(
        grade,
        checks=tuple(_check(check, aliases) for check in grade.checks),
        cases=tuple(_case(case, aliases) for case in grade.cases),
    )


def _aliases(cases: Collection[CaseLine]) -> Mapping[str, str]:
    """Hidden cases' names, and what they are called instead."""
    hidden = [case.name for case in cases if case.visibility == "hidden"]
    return {name: f"hidden-{number}" for number, name in enumerate(hidden, start=1)}


def _case(case: CaseLine, aliases: Mapping[str, str]) -> CaseLine:
    if case.name not in aliases:
        return case
    return replace(case, name=aliases[case.name], size="")


def _check(check: Result, aliases: Mapping[str, str]) -> Result:
    if check.visibility == "hidden":
        return replace(check, summary="", findings=(), measurements={}, cases={}, measured_on="")
    shown = tuple(f for f in check.findings if not _is_hidden(f, aliases))
    told = {place(finding) for finding in shown}
    rest = [f for f in check.findings if _is_hidden(f, aliases) and place(f) not in told]
    cases: Mapping[str, Status] = {aliases.get(n, n): s for n, s in check.cases.items()}
    kept = replace(check, findings=(*shown, *map(_blank, rest)), cases=cases)
    if check.measured_on in aliases:
        kept = replace(kept, summary="judged on a hidden case", measurements={}, measured_on="")
    return kept


def _is_hidden(finding: Finding, aliases: Mapping[str, str]) -> bool:
    """Whether any hidden case went into this finding; public and hidden ones fold apart."""
    return any(name in aliases for name in finding.cases)


def _blank(finding: Finding) -> Finding:
    """A hidden case's finding: its kind and its place in the student's own file."""
    return Finding(
        kind=finding.kind,
        severity=finding.severity,
        message=f"{finding.kind.replace('-', ' ')} in a hidden case",
        file=finding.file,
        line=finding.line,
        column=finding.column,
        text=finding.text,
        hint=HIDDEN_CURE,
        origins=finding.origins,
    )
