"""Two submissions of one student compared: source, checks, findings and counters.

A finding of the older submission is the same as one of the newer when both have its kind and stand
at the same line, wherever that line is now: lines are aligned by their text, not by their numbers.
Aligning takes the time of sorting the lines, whatever they contain.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Literal

from grader import dataclass, replace
from grader.checks.findings import location_key
from grader.checks.result import Result
from grader.grading.record import Grade, full_finding_json
from grader.launch import Finding
from grader.submissions.sources import source_places

MAX_LINES = 4000
"""Lines of each submission that are compared."""

MAX_CELLS = 400
"""Characters of a line that are shown."""

CONTEXT = 3
"""Unchanged lines that are shown around a change."""

_LINE_SUMS: Mapping[str, str] = {
    "requests to global memory": "l1tex__t_requests_pipe_lsu_mem_global_op_",
    "bank conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_",
}
"""Counters that are summed over the lines, and how their names begin."""


@dataclass(frozen=True)
class Revision:
    """One of two submissions: its text, and its grade as the reader may see it or None."""

    text: str
    grade: Grade | None

    @property
    def lines(self) -> list[str]:
        """The lines that are compared, as the compiler counts them."""
        text = self.text.removeprefix("\ufeff").removesuffix("\n")
        return [line.removesuffix("\r") for line in text.split("\n")[:MAX_LINES]]

    @property
    def findings(self) -> list[Finding]:
        """The findings of all checks, each once."""
        checks = self.grade.checks if self.grade else ()
        return list({location_key(f): f for check in checks for f in check.findings}.values())

    def rows(self) -> Mapping[tuple[str, int], int]:
        """The row of the text, from 1, of each place that findings name."""
        places = source_places(self.text, self.grade.file) if self.grade else []
        return {place: row for row, place in enumerate(places, start=1)}


@dataclass(frozen=True)
class DiffLine:
    """A line of the difference; a number is 0 where the text has no such line.

    Of the kind `place`, it stands for the unchanged lines that are left out.
    """

    kind: Literal["same", "removed", "added", "place"]
    old: int
    new: int
    text: str


@dataclass(frozen=True)
class Change:
    """A finding that is gone, new, or remaining; the lines are those of both texts or 0."""

    state: Literal["gone", "new", "remaining"]
    finding: Finding
    old: int
    new: int


@dataclass(frozen=True)
class CheckPair:
    """A check in both grades; None where one does not have it."""

    name: str
    old: Result | None
    new: Result | None

    @property
    def changed(self) -> bool:
        """Whether the verdict or the points differ."""
        told = [(one.status, one.points) if one else None for one in (self.old, self.new)]
        return told[0] != told[1]


@dataclass(frozen=True)
class CounterPair:
    """A number in both grades; None where one does not have it."""

    name: str
    old: float | None
    new: float | None

    @property
    def difference(self) -> float | None:
        """The new number less the old one."""
        return None if self.old is None or self.new is None else self.new - self.old


@dataclass(frozen=True)
class RevisionChanges:
    """What changed from the older to the newer submission."""

    diff: tuple[DiffLine, ...]
    checks: tuple[CheckPair, ...]
    findings: tuple[Change, ...]
    counters: tuple[CounterPair, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        return {
            "diff": [vars_of(one, "kind", "old", "new", "text") for one in self.diff],
            "checks": [
                {"name": one.name, "changed": one.changed, "old": _check(one.old),
                 "new": _check(one.new)}
                for one in self.checks
            ],
            "findings": [
                {"state": one.state, "old_line": one.old, "new_line": one.new,
                 "finding": full_finding_json(one.finding)}
                for one in self.findings
            ],
            "counters": [vars_of(one, "name", "old", "new", "difference") for one in self.counters],
        }  # fmt: skip


def vars_of(value: object, *names: str) -> dict[str, Any]:
    """Return some attributes of a value by their names."""
    return {name: getattr(value, name) for name in names}


def _check(check: Result | None) -> dict[str, Any] | None:
    names = ("status", "points", "max_points", "summary")
    return vars_of(check, *names) if check else None


def compare_revisions(old: Revision, new: Revision) -> RevisionChanges:
    """Compare two submissions; without both grades, only their texts."""
    pairs = aligned(old.lines, new.lines)
    graded = old.grade is not None and new.grade is not None
    return RevisionChanges(
        tuple(_diff(old.lines, new.lines, pairs)),
        tuple(_checks(old.grade, new.grade)) if graded else (),
        tuple(_changes(old, new, pairs)) if graded else (),
        tuple(_counters(old.grade, new.grade)) if graded else (),
    )


Pairs = list[tuple[int, int]]


def aligned(old: Sequence[str], new: Sequence[str]) -> Pairs:
    """Return the indices of lines that are the same, growing in both texts.

    White space within a line makes no difference. Lines that each text has once are the anchors,
    of which as many as possible stay in order; around them equal lines follow.
    """
    a, b = ([" ".join(line.split()) for line in text] for text in (old, new))
    ends = [(-1, -1), *_in_order(_unique_pairs(a, b)), (len(a), len(b))]
    pairs: Pairs = []
    for (i, j), (k, m) in zip(ends, ends[1:], strict=False):
        if i >= 0:
            pairs.append((i, j))
        while i + 1 < k and j + 1 < m and a[i + 1] == b[j + 1]:
            i, j = i + 1, j + 1
            pairs.append((i, j))
        behind: Pairs = []
        while k - 1 > i and m - 1 > j and a[k - 1] == b[m - 1]:
            k, m = k - 1, m - 1
            behind.append((k, m))
        pairs += reversed(behind)
    return pairs


def _unique_pairs(a: Sequence[str], b: Sequence[str]) -> Pairs:
    """Return the places of lines that each text has once, in the order of the first."""
    counts = Counter(a), Counter(b)
    place = {line: k for k, line in enumerate(b)}
    once = (k for k, line in enumerate(a) if line and counts[0][line] == counts[1][line] == 1)
    return [(k, place[a[k]]) for k in once]


def _in_order(pairs: Pairs) -> Pairs:
    """Return a longest part of the pairs that grows in both: patience sorting."""
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for k, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        before.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [j]
        piles[pile : pile + 1] = [k]
    found, at = [], piles[-1] if piles else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _diff(old: Sequence[str], new: Sequence[str], pairs: Pairs) -> Iterator[DiffLine]:
    """Yield the changed lines with some unchanged ones around them."""
    lines = list(_all_lines(old, new, pairs))
    changed = [k for k, line in enumerate(lines) if line.kind != "same"]
    near = {
        at for k in changed for at in range(max(k - CONTEXT, 0), min(k + CONTEXT + 1, len(lines)))
    }
    last = -1
    for k in sorted(near):
        if k > last + 1:
            yield DiffLine("place", lines[k].old, lines[k].new, f"{k - last - 1} unchanged lines")
        yield replace(lines[k], text=lines[k].text[:MAX_CELLS])
        last = k


def _all_lines(old: Sequence[str], new: Sequence[str], pairs: Pairs) -> Iterator[DiffLine]:
    i = j = 0
    for a, b in [*pairs, (len(old), len(new))]:
        yield from (DiffLine("removed", k + 1, 0, old[k]) for k in range(i, a))
        yield from (DiffLine("added", 0, k + 1, new[k]) for k in range(j, b))
        if a < len(old) and old[a] == new[b]:
            yield DiffLine("same", a + 1, b + 1, old[a])
        elif a < len(old):
            yield DiffLine("removed", a + 1, 0, old[a])
            yield DiffLine("added", 0, b + 1, new[b])
        i, j = a + 1, b + 1


def _checks(old: Grade | None, new: Grade | None) -> Iterator[CheckPair]:
    first, second = ({c.name: c for c in grade.checks} if grade else {} for grade in (old, new))
    for name in dict.fromkeys([*first, *second]):
        yield CheckPair(name, first.get(name), second.get(name))


def _changes(old: Revision, new: Revision, pairs: Pairs) -> Iterator[Change]:
    """Pair the findings of one kind: at the same line, then within a changed part."""
    follow = _Followed(old.lines, new.lines, pairs)
    before, after = old.rows(), new.rows()
    waiting = [(finding, _row(finding, after)) for finding in new.findings]
    rest: list[tuple[Finding, int]] = []
    for finding in old.findings:
        row = _row(finding, before)
        found = _take(waiting, finding, [follow.line(row)] if row else [0])
        if found is None:
            rest.append((finding, row))
        else:
            yield Change("remaining", found[0], row, found[1])
    for finding, row in rest:
        found = _take(waiting, finding, follow.part(row)) if row else None
        if found is None:
            yield Change("gone", finding, row, 0)
        else:
            yield Change("remaining", found[0], row, found[1])
    for finding, row in waiting:
        yield Change("new", finding, 0, row)


def _row(finding: Finding, rows: Mapping[tuple[str, int], int]) -> int:
    """Return the row of the text that a finding is at; 0 for none."""
    return rows.get((finding.file, finding.line), finding.line)


def _take(
    waiting: list[tuple[Finding, int]], like: Finding, rows: Iterable[int]
) -> tuple[Finding, int] | None:
    """Take the finding of that kind at one of the rows out of the list, the most similar one."""
    known = set(rows)
    found = [one for one in waiting if one[0].kind == like.kind and one[1] in known]
    if not found:
        return None
    best = max(found, key=lambda one: _likeness(one[0], like))
    waiting.remove(best)
    return best


def _likeness(a: Finding, b: Finding) -> tuple[bool, ...]:
    names = ("message", "variable", "access", "space", "hazard", "column", "severity")
    return tuple(getattr(a, name) == getattr(b, name) for name in names)


class _Followed:
    """Where rows of the older text are in the newer one; rows count from 1, 0 is none."""

    def __init__(self, old: Sequence[str], new: Sequence[str], pairs: Pairs) -> None:
        a, b = ([" ".join(line.split()) for line in text] for text in (old, new))
        self._rows = {i + 1: j + 1 for i, j in _unique_pairs(a, b)}  # lines that were moved too
        self._rows |= {i + 1: j + 1 for i, j in pairs}
        self._ends = [(-1, -1), *pairs, (len(old), len(new))]
        self._starts = [i for i, _ in self._ends]

    def line(self, row: int) -> int:
        """Return the row that has the line now."""
        return self._rows.get(row, 0) or -1

    def part(self, row: int) -> range:
        """Return the rows of the part that has taken the place of the changed part with a row."""
        if row in self._rows:
            return range(0)
        k = bisect_left(self._starts, row - 1)
        if k >= len(self._ends):
            return range(0)
        return range(self._ends[k - 1][1] + 2, self._ends[k][1] + 1)


def _counters(old: Grade | None, new: Grade | None) -> Iterator[CounterPair]:
    first, second = (dict(_numbers(grade)) if grade else {} for grade in (old, new))
    for name in dict.fromkeys([*first, *second]):
        yield CounterPair(name, first.get(name), second.get(name))


def _numbers(grade: Grade) -> Iterator[tuple[str, float]]:
    """Yield what was counted and measured, each with its name and the case that it is of."""
    if grade.cost:
        on = f" ({grade.cost.case})"
        yield f"cost{on}", grade.cost.total
        yield f"sectors{on}", grade.cost.sectors
        yield f"wavefronts{on}", grade.cost.wavefronts
        yield f"thread instructions{on}", grade.cost.thread_instructions
    for name, prefix in _LINE_SUMS.items() if grade.lines else ():
        every = (v for at in grade.lines for n, v in at.counters.items() if n.startswith(prefix))
        yield f"{name} ({grade.lines_on})", sum(every)
    for check in grade.checks:
        on = f" ({check.measured_on})" if check.measured_on else ""
        for name, value in check.measurements.items():
            if not isfinite(value):
                continue
            yield f"{check.name}: {name.replace('_', ' ')}{on}", value
