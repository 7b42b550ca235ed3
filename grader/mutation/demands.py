"""What a lab has to hold about its mutants, from their verdicts: no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from grader.mutation.edit import Mutant
from grader.mutation.reasons import FILE, Reasoned
from grader.mutation.verdict import Tried

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
    lab's `checks`, too many reasons."""
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
            mend = f"add a public case or a check that sees it, or a reason to {file}"
            seen = f"{diff(one.mutant)}  No check fails: {mend}"
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
