"""What changed from one grade to the next of the same file: findings and points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from grader import dataclass
from grader.checks.causes import sort_findings
from grader.grading.record import Grade
from grader.launch import Finding
from grader.reports.finding import message
from grader.reports.printable import clip, printable, wrap

MAX_ROWS = 8
"""Findings of each kind of change that are listed."""


@dataclass(frozen=True)
class Comparison:
    """What changed.

    Attributes:
        gone: The findings of the earlier grade that are not in the later one.
        new: The findings of the later grade that were not in the earlier one.
        points: By check, the points before and after, where they differ.
    """

    gone: tuple[Finding, ...]
    new: tuple[Finding, ...]
    points: tuple[tuple[str, float, float], ...]


def compare_grades(before: Grade, after: Grade) -> Comparison:
    """Compare two grades of one lab.

    A finding is the same when its kind, its variable and the text of its lines are: its line has
    another number when lines are added above it.
    """
    old, own = _findings(before), _findings(after)
    earned = {check.name: check.points for check in before.checks}
    points = tuple(
        (check.name, earned.get(check.name, 0.0), check.points)
        for check in after.checks
        if earned.get(check.name, 0.0) != check.points
    )
    return Comparison(_without(old, own), _without(own, old), points)


def _findings(grade: Grade) -> list[Finding]:
    return sort_findings(f for check in grade.checks for f in check.findings)


def _without(findings: Sequence[Finding], others: Sequence[Finding]) -> tuple[Finding, ...]:
    known = Counter(map(_key, others))
    left = []
    for finding in findings:
        key = _key(finding)
        known[key] -= 1
        if known[key] < 0:
            left.append(finding)
    return tuple(left)


def _key(finding: Finding) -> tuple[str, ...]:
    other = finding.other.text.strip() if finding.other else ""
    own = (finding.kind, finding.severity, finding.file, finding.variable, finding.text.strip())
    return (*own, other, "" if finding.text.strip() else finding.message)


def comparison_text(before: Grade, after: Grade, width: int = 80) -> Text:
    """Return what changed as lines of at most `width` cells."""
    changed = compare_grades(before, after)
    rows = [*_score_rows(before, after, changed, width)]
    for word, style, findings in (
        ("gone", "green", changed.gone),
        ("new", "bold red", changed.new),
    ):
        rows += [Text(row, style) for row in _rows(word, findings, width)]
    return Text("\n").join(rows)


def _score_rows(before: Grade, after: Grade, changed: Comparison, width: int) -> Iterator[Text]:
    old, new = before.score, after.score
    if not changed.points and not changed.gone and not changed.new:
        yield Text(f"no change: score {new.points:g} of {new.judged_max:g}")
        return
    if old.points == new.points:
        head = f"score {new.points:g} of {new.judged_max:g}, as before"
    else:
        head = f"score {old.points:g} -> {new.points:g} of {new.judged_max:g}"
    each = [f"{printable(name)} {was:g} -> {now:g}" for name, was, now in changed.points]
    head += f" ({', '.join(each)})" if each else ""
    style = "bold green" if new.points > old.points else "bold"
    yield from (Text(line, style) for line in wrap(head, width, "  "))


def _rows(word: str, findings: Sequence[Finding], width: int) -> Iterator[str]:
    for finding in findings[:MAX_ROWS]:
        place = f" at {printable(finding.file)}:{finding.line}" if finding.line else ""
        text = f"  {word:<5}{printable(finding.kind)}{place}: {message(finding)}"
        yield clip(text.replace("\xa0", " "), width)
    if len(findings) > MAX_ROWS:
        yield f"  {word:<5}and {len(findings) - MAX_ROWS} more"
