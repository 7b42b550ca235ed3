"""Whether a report names the line that is wrong, or the line of code next to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

from grader.launch import Finding

SYMPTOMS = frozenset({"wrong-output", "unwritten-output", "spill"})
"""Kinds whose line is where the harm shows, not where it comes from: the store of an output, and
the kernel that spills as a whole."""


@dataclass(frozen=True)
class Told:
    """Whether an error of the report names the line; whether there is an error at all; and every
    line that the errors name, origins included."""

    named: bool
    located: bool
    lines: tuple[int, ...] = ()


def told(right: str, wrong: str, errors: Iterable[Finding]) -> Told:
    """What the errors say about the lines in which a wrong source differs from the right one."""
    found = tuple(errors)
    lines, rows = changed_lines(right, wrong), code_rows(wrong)
    named = any(_near(row, line, rows) for f in found for row in lines for line in _spans(f))
    every = {f.line for f in found} | {f.other.line for f in found if f.other}
    every |= {origin.line for f in found for origin in f.origins}
    return Told(named, bool(found), tuple(sorted(every - {0})))


def changed_lines(right: str, wrong: str) -> frozenset[int]:
    """The lines of `wrong`, from 1, that are not in `right`, and the line after each gap where
    lines of `right` are missing. Empty lines, comments and indentation make no difference."""
    old = [line for _, line in _lines(right)]
    new = _lines(wrong)
    matcher = SequenceMatcher(None, old, [line for _, line in new], autojunk=False)
    changed: set[int] = set()
    for what, _, _, first, last in matcher.get_opcodes():
        if what != "equal":
            end = min(max(last, first + 1), len(new))
            changed |= {number for number, _ in new[first:end]}
    return frozenset(changed)


def _lines(source: str) -> list[tuple[int, str]]:
    stripped = ((n, line.strip()) for n, line in enumerate(source.splitlines(), 1))
    return [(n, line) for n, line in stripped if line and not line.startswith("//")]


def code_rows(source: str) -> tuple[int, ...]:
    """For every line, from 0 for the place before the first, how many lines of code there are up
    to it: lines without code (empty, a comment, braces alone) lie at their predecessor's row."""
    return tuple(accumulate((_is_code(line) for line in source.splitlines()), initial=0))


def _is_code(line: str) -> bool:
    bare = line.strip()
    return bool(bare.strip("{} ")) and not bare.startswith("//")


def _spans(finding: Finding) -> tuple[range, ...]:
    """The lines that a finding speaks of: between a hazard's two accesses a barrier is missing,
    and what the accessed place depends on is told as its origins."""
    origins = tuple(range(o.line, o.line + 1) for o in finding.origins)
    return (*_accesses(finding), *origins)


def _accesses(finding: Finding) -> tuple[range, ...]:
    if finding.line == 0:
        return ()
    if finding.other is None or finding.other.line == 0:
        return (range(finding.line, finding.line + 1),)
    low, high = sorted((finding.line, finding.other.line))
    if finding.kind == "race":
        return (range(low, high + 1),)
    return (range(low, low + 1), range(high, high + 1))


def _near(line: int, span: range, rows: tuple[int, ...]) -> bool:
    if line in span:
        return True
    last = len(rows) - 1
    ends = (rows[min(n, last)] for n in (span[0], span[-1]))
    return any(abs(rows[min(line, last)] - end) <= 1 for end in ends)
