"""Verdicts on mutants, the lines that reports name, and the equality of programs.

Two programs are equivalent when their optimized PTX is equal, apart from line numbers and names of
files: the compiler then makes the same machine code of both, so no input can distinguish them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any, Literal

from grader.authoring.mutation.mutants import Mutant
from grader.launch import Finding

Outcome = Literal["caught", "same-ptx", "survived"]

SYMPTOMS = frozenset({"wrong-output", "unwritten-output", "spill"})
"""Kinds of finding whose line shows the effect, not the cause: the store of an output, the kernel
that spills."""

_DEBUG = re.compile(r"\s*(//|\.loc\b|\.file\b|\$L__tmp\d+:|$)")
_SECTION = re.compile(r"\s*\.section\b")


@dataclass(frozen=True)
class Verdict:
    """The result of grading one mutant. The names of the fields are stored in the cache.

    Attributes:
        outcome: Caught by a check, equivalent to the solution, or not caught.
        seen: "public" when the public cases caught it, "hidden" when only hidden cases did.
        check: The failed check that best explains the mistake.
        kind: The kind of its first error.
        message: The message of that error.
        lines: All lines that the errors name.
        named: Whether one of the lines is the mutated line or next to it.
        located: Whether there is an error.
    """

    outcome: Outcome
    seen: str = ""
    check: str = ""
    kind: str = ""
    message: str = ""
    lines: tuple[int, ...] = ()
    named: bool = False
    located: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return plain values, which `verdict_from_json` reads back."""
        return {**asdict(self), "lines": list(self.lines)}


def verdict_from_json(row: Any) -> Verdict | None:
    """Return the verdict that `to_json` wrote; None for anything else."""
    if not isinstance(row, Mapping) or set(row) != {f.name for f in fields(Verdict)}:
        return None
    return Verdict(**{**row, "lines": tuple(row["lines"])})


@dataclass(frozen=True)
class MutantResult:
    """A mutant with its verdict.

    Attributes:
        reason: The author's reason why it may survive; empty when there is none.
        only: The only check that can catch it ("speed"); empty when there is none.
    """

    mutant: Mutant
    verdict: Verdict
    reason: str = ""
    only: str = ""

    @property
    def is_misplaced(self) -> bool:
        """Whether it was caught by errors, none of which names the mutated line."""
        return self.is_caught and self.verdict.located and not self.verdict.named

    @property
    def is_caught(self) -> bool:
        """Whether a check failed."""
        return self.verdict.outcome == "caught"

    @property
    def survives(self) -> bool:
        """Whether it is neither caught nor equivalent, and has no reason."""
        return self.verdict.outcome == "survived" and not self.reason


@dataclass(frozen=True)
class ReportedLines:
    """The lines that the errors of a report name.

    Attributes:
        named: Whether one of them is the faulty line or the line of code next to it.
        located: Whether there is an error.
        lines: All lines that the errors name, origins included.
    """

    named: bool
    located: bool
    lines: tuple[int, ...] = ()


def reported_lines(right: str, wrong: str, errors: Iterable[Finding]) -> ReportedLines:
    """Compare the lines that errors name with those in which a wrong source differs."""
    findings = tuple(errors)
    changed, rows = changed_lines(right, wrong), code_rows(wrong)
    named = any(_near(line, span, rows) for f in findings for line in changed for span in _spans(f))
    lines = {f.line for f in findings} | {f.other.line for f in findings if f.other}
    lines |= {origin.line for f in findings for origin in f.origins}
    return ReportedLines(named, bool(findings), tuple(sorted(lines - {0})))


def changed_lines(right: str, wrong: str) -> frozenset[int]:
    """Return the lines of `wrong`, from 1, that differ from `right`.

    Where lines of `right` are missing, the line after the gap counts. Empty lines, comments and
    indentation are ignored.
    """
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
    """Count the lines of code up to every line; the first entry is 0, for the start of the file.

    Lines without code (empty, a comment, only braces) have the count of the line before them.
    """
    return tuple(accumulate((_is_code(line) for line in source.splitlines()), initial=0))


def _is_code(line: str) -> bool:
    bare = line.strip()
    return bool(bare.strip("{} ")) and not bare.startswith("//")


def _spans(finding: Finding) -> tuple[range, ...]:
    """Return the lines of a finding: its accesses, and the origins of the accessed address.

    A race covers all lines between its two accesses, because the missing barrier belongs there.
    """
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


def normalized_ptx(ptx: str) -> str:
    """Return PTX text without line numbers, file names, debug sections, comments and spacing."""
    lines: list[str] = []
    inside = False
    for line in ptx.splitlines():
        if _SECTION.match(line):
            inside = True
        elif inside:
            inside = line.strip() != "}"
        elif not _DEBUG.match(line):
            lines.append(" ".join(line.partition("//")[0].split()))
    return "\n".join(lines)
