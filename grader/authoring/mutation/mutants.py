"""Make the mutants of a source: the edits of every operator, named, without duplicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from difflib import SequenceMatcher
from importlib import import_module
from itertools import accumulate
from typing import Any, Literal

from grader import dataclass, regex
from grader.compile.syntax import Node, Tree, parse
from grader.launch import Finding


@dataclass(frozen=True)
class Edit:
    """One edit of a source text; the rest stays the same, byte for byte.

    Attributes:
        start: The first byte to replace.
        end: The byte after the last one to replace.
        new: The text to put there.
        line: The line of the edited construct, from 1.
        change: The edit in one line, for people.
    """

    start: int
    end: int
    new: str
    line: int
    change: str


_SUFFIX = "_edits"

Operator = Callable[[Tree], Iterator[Edit]]
"""A function that takes the syntax tree of a source and yields edits, in the order of the text."""


@dataclass(frozen=True)
class Mutant:
    """A source after one edit.

    Attributes:
        name: `<operator>-<line>-<n>`, the same for the same source.
        was: The edited line before the edit, without indentation.
        now: The line after the edit; empty when the edit changes several lines.
        change: The edit in one line.
        source: The whole text after the edit.
    """

    name: str
    operator: str
    line: int
    was: str
    now: str
    change: str
    source: str


def replaced(node: Node, new: str, change: str = "") -> Edit:
    """Return the edit that replaces a node by `new`."""
    change = change or f"{node.text} -> {new}"
    return Edit(node.start, node.end, new, node.line, change)


def applied(source: bytes, edit: Edit) -> bytes:
    """Return the source after the edit."""
    return source[: edit.start] + edit.new.encode() + source[edit.end :]


def operators() -> Mapping[str, Operator]:
    """Find every mutation operator by its name, `barrier-moved` for `barrier_moved_edits`.

    An operator is a function whose name ends in `_edits`, in the module `operators`.
    """
    module = import_module("grader.authoring.mutation.operators")  # it imports this one
    return {
        name.removesuffix(_SUFFIX).replace("_", "-"): function
        for name, function in vars(module).items()
        if name.endswith(_SUFFIX)
    }


def make_mutants(source: str) -> tuple[Mutant, ...]:
    """Return the mutants of a source, in the order of its lines, without equal texts."""
    data, lines = source.encode(), source.splitlines()
    tree = parse(source)
    offered = sorted(
        ((edit.line, edit.start, name, edit) for name, edits in operators().items()
         for edit in edits(tree)),
        key=lambda row: row[:3],
    )  # fmt: skip
    return tuple(_named(data, lines, ((name, edit) for _, _, name, edit in offered)))


def _named(data: bytes, lines: list[str], offered: Iterator[tuple[str, Edit]]) -> Iterator[Mutant]:
    counts: Counter[tuple[str, int]] = Counter()
    made = {data}
    for name, edit in offered:
        mutated = applied(data, edit)
        if mutated in made:
            continue
        made.add(mutated)
        counts[name, edit.line] += 1
        label = f"{name}-{edit.line}-{counts[name, edit.line]}"
        was, text = lines[edit.line - 1].strip(), mutated.decode()
        yield Mutant(label, name, edit.line, was, _now(lines, text, edit), edit.change, text)


def _now(lines: list[str], mutated: str, edit: Edit) -> str:
    """Return the edited line after the edit; empty when other lines changed too."""
    new = mutated.splitlines()
    at = edit.line - 1
    only = new[:at] == lines[:at] and new[at + 1 :] == lines[at + 1 :]
    return new[at].strip() if only and len(new) == len(lines) else ""


Outcome = Literal["caught", "same-ptx", "survived"]

SYMPTOMS = frozenset({"wrong-output", "unwritten-output", "spill"})
"""Kinds of finding whose line shows the effect, not the cause: the store of an output, the kernel
that spills."""

_DEBUG = regex(r"\s*(//|\.loc\b|\.file\b|\$L__tmp\d+:|$)")
_SECTION = regex(r"\s*\.section\b")


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
