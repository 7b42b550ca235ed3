"""The mutants of a lab as rows of text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from grader.authoring.mutation.mutants import Mutant
from grader.authoring.mutation.verdict import Tried
from grader.labs.files import Document, read_document
from grader.labs.schema import Strict

# Why a mutant may survive: `solutions/<lab>/equivalent.yaml`, written by the lab's author.
#
# An entry is about the mutants of one operator on the lines of one text, so that it outlives edits
# elsewhere in the file. One that fits no survivor is a mistake: either the mutant is caught now, or
# the line has changed.

FILE = "equivalent.yaml"


class Entry(Strict):
    """A reason: `line` is the solution's line without its indentation, `change` as the table of
    mutants shows it. `only: speed` says that a GPU's clock alone can tell the mutant.
    """

    operator: str
    line: str
    change: str
    reason: str = Field(min_length=10)
    only: Literal["speed"] | None = None


class Reasons(Strict):
    """The file: `mutants`, a list of entries."""

    mutants: tuple[Entry, ...]


@dataclass(frozen=True)
class Reasoned:
    """Mutants with the reasons that fit, and where each entry stands that fits none."""

    tried: tuple[Tried, ...]
    stale: tuple[str, ...] = ()


def apply_reasons(path: Path, tried: Sequence[Tried]) -> Reasoned:
    """The survivors with their reasons from the file at `path`, when there is one. Raises
    LabFault for a file that cannot be read.
    """
    if not path.exists():
        return Reasoned(tuple(tried))
    document = read_document(path, Reasons)
    entries: tuple[Entry, ...] = document.model.mutants
    used: set[int] = set()
    reasoned = tuple(_reasoned(one, entries, used) for one in tried)
    return Reasoned(reasoned, tuple(_stale(document, entries, used)))


def _reasoned(one: Tried, entries: Sequence[Entry], used: set[int]) -> Tried:
    if one.verdict.outcome != "survived":
        return one
    mutant = one.mutant
    for index, entry in enumerate(entries):
        if (entry.operator, entry.line, entry.change) == (
            mutant.operator,
            mutant.was,
            mutant.change,
        ):
            used.add(index)
            return replace(one, reason=entry.reason, only=entry.only or "")
    return one


def _stale(document: Document, entries: Sequence[Entry], used: set[int]) -> Iterable[str]:
    for index, entry in enumerate(entries):
        if index not in used:
            where = f"{document.file}:{document.line_of(('mutants', index))}"
            yield f"{where}: no survivor is {entry.operator} of `{entry.line}`: {entry.change}"


# What a lab has to hold about its mutants, from their verdicts: no I/O.

MOST_REASONED = 0.10
"""The share of a lab's mutants that may survive for a reason that only a person gave."""


@dataclass(frozen=True)
class Demand:
    """One thing to hold: what, whether it does, and what was seen."""

    what: str
    holds: bool
    seen: str


def demands(lab: str, reasoned: Reasoned, checks: Collection[str]) -> Iterator[Demand]:
    """The summary first, then one line for each thing that does not hold: a mutant that survives,
    one that the public cases miss, a reason that fits nothing or names a check that is none of the
    lab's `checks`, too many reasons.
    """
    file = f"solutions/{lab}/{FILE}"
    faults = [*_survivors(reasoned.tried, file), *_hidden(reasoned.tried)]
    faults += [Demand("a reason for a mutant", False, where) for where in reasoned.stale]
    faults += _unjudged(reasoned.tried, file, checks)
    faults += _too_many(reasoned.tried, file)
    yield Demand("mutants", not faults, summary(reasoned.tried))
    yield from faults


def summary(tried: Sequence[Tried]) -> str:
    """How many there are, how many were caught and by which check, and what became of the rest."""
    checks = Counter(one.verdict.check for one in tried if one.is_caught)
    by = ", ".join(f"{name} {count}" for name, count in checks.most_common())
    same = sum(one.verdict.outcome == "same-ptx" for one in tried)
    speed = sum(one.only == "speed" for one in tried)
    reasons = sum(bool(one.reason) for one in tried) - speed
    alive = sum(one.survives for one in tried)
    rest = ((same, "equivalent"), (reasons, "equivalent by reason"), (speed, "only speed"),
            (alive, "not caught"))  # fmt: skip
    parts = [f"{checks.total()} caught ({by})" if by else "none caught"]
    return ", ".join([str(len(tried)), *parts, *(f"{n} {what}" for n, what in rest if n)])


def diff(mutant: Mutant) -> str:
    """The edit as a person reads it: the line before and after, or what was moved."""
    shown = f"- {mutant.was} + {mutant.now}" if mutant.now else f"{mutant.was}: {mutant.change}"
    return f"line {mutant.line}: {shown}"


def _survivors(tried: Sequence[Tried], file: str) -> Iterator[Demand]:
    for one in tried:
        if one.survives:
            fix = f"add a public case or a check that sees it, or a reason to {file}"
            seen = f"{diff(one.mutant)}  No check fails: {fix}"
            yield Demand(f"mutant {one.mutant.name}", False, seen)


def _hidden(tried: Sequence[Tried]) -> Iterator[Demand]:
    for one in tried:
        if one.verdict.seen == "hidden":
            seen = f"{diff(one.mutant)}  Only hidden cases see it: add a public case that does"
            yield Demand(f"mutant {one.mutant.name}", False, seen)


def _unjudged(tried: Sequence[Tried], file: str, checks: Collection[str]) -> Iterator[Demand]:
    for one in tried:
        if one.only and one.only not in checks:
            seen = f"{file} says that `{one.only}` sees it, and this lab has no such check"
            yield Demand(f"mutant {one.mutant.name}", False, seen)


def _too_many(tried: Sequence[Tried], file: str) -> list[Demand]:
    reasons = sum(bool(one.reason) and one.only == "" for one in tried)
    most = int(MOST_REASONED * len(tried))
    if reasons <= most:
        return []
    seen = f"{reasons} of {len(tried)} mutants are equivalent by a reason in {file}, at most {most}"
    return [Demand("reasons for mutants", False, seen)]


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
