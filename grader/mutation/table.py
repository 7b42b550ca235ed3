"""The mutants of a lab as rows of text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.mutation.demands import diff
from grader.mutation.verdict import Tried


def table(tried: Sequence[Tried]) -> list[str]:
    """Two rows a mutant: its name with what became of it, and the edit."""
    return [
        row for one in tried for row in (f"{one.mutant.name:<22} {fate(one)}", diff(one.mutant))
    ]


def fate(one: Tried) -> str:
    """What became of it: the check and the kind of finding, and the lines that were told."""
    verdict = one.verdict
    if one.reason:
        return f"{'only speed' if one.only else 'equivalent by reason'}: {one.reason}"
    if verdict.outcome == "same-ptx":
        return "equivalent: the same optimised PTX"
    if verdict.outcome == "survived":
        return "not caught"
    lines = f", line {', '.join(map(str, verdict.lines))}" if verdict.lines else ""
    hidden = ", by hidden cases only" if verdict.seen == "hidden" else ""
    missed = ", which is not the wrong one" if one.is_misplaced else ""
    return f"{verdict.check}: {verdict.kind or 'no finding'}{lines}{missed}{hidden}"


def mutant_json(one: Tried) -> dict[str, Any]:
    """One mutant of `grader labs check --json`."""
    mutant = one.mutant
    return {
        "name": mutant.name,
        "operator": mutant.operator,
        "line": mutant.line,
        "was": mutant.was,
        "now": mutant.now,
        "change": mutant.change,
        "reason": one.reason or None,
        "only": one.only or None,
        **one.verdict.to_json(),
    }
