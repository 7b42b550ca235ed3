"""When two programs are the same to the GPU: the same optimised PTX, apart from where it came from.

The compiler then makes the same machine code of both, so no run of any input tells them apart.
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

# What became of one mutant, as a value and as JSON.

Outcome = Literal["caught", "same-ptx", "survived"]


@dataclass(frozen=True)
class Verdict:
    """How a lab met a mutant.

    `seen` is "public" when the public cases caught it, "hidden" when only all of them did. `check`
    and `kind` are the failed check and the finding that say most; `lines` are all that the errors
    named. `named` says that one of them is the mutated line or next to it, `located` that there
    was an error to name it.
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
        """Plain values, which `from_json` reads back."""
        return {**asdict(self), "lines": list(self.lines)}


def from_json(row: Any) -> Verdict | None:
    """The verdict of `to_json`; None for anything else."""
    if not isinstance(row, Mapping) or set(row) != {f.name for f in fields(Verdict)}:
        return None
    return Verdict(**{**row, "lines": tuple(row["lines"])})


@dataclass(frozen=True)
class Tried:
    """A mutant with its verdict; `reason` is why it may survive, "" when none is written, `only`
    the check that alone can see it ("speed").
    """

    mutant: Mutant
    verdict: Verdict
    reason: str = ""
    only: str = ""

    @property
    def is_misplaced(self) -> bool:
        """Caught by errors that name other lines, or none."""
        return self.is_caught and self.verdict.located and not self.verdict.named

    @property
    def is_caught(self) -> bool:
        return self.verdict.outcome == "caught"

    @property
    def survives(self) -> bool:
        """Neither caught nor equivalent, and nobody says why."""
        return self.verdict.outcome == "survived" and not self.reason


# Whether a report names the line that is wrong, or the line of code next to it.

SYMPTOMS = frozenset({"wrong-output", "unwritten-output", "spill"})
"""Kinds whose line is where the harm shows, not where it comes from: the store of an output, and
the kernel that spills as a whole."""


@dataclass(frozen=True)
class Told:
    """Whether an error of the report names the line; whether there is an error at all; and every
    line that the errors name, origins included.
    """

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
    lines of `right` are missing. Empty lines, comments and indentation make no difference.
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
    """For every line, from 0 for the place before the first, how many lines of code there are up
    to it: lines without code (empty, a comment, braces alone) lie at their predecessor's row.
    """
    return tuple(accumulate((_is_code(line) for line in source.splitlines()), initial=0))


def _is_code(line: str) -> bool:
    bare = line.strip()
    return bool(bare.strip("{} ")) and not bare.startswith("//")


def _spans(finding: Finding) -> tuple[range, ...]:
    """The lines that a finding speaks of: between a hazard's two accesses a barrier is missing,
    and what the accessed place depends on is told as its origins.
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


_DEBUG = re.compile(r"\s*(//|\.loc\b|\.file\b|\$L__tmp\d+:|$)")
_SECTION = re.compile(r"\s*\.section\b")


def essence(ptx: str) -> str:
    """PTX text without line numbers, file names, debug sections, comments and spacing."""
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
