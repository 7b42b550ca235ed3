"""The rows of a class: what a page shows of each student, and many grades as one table."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from unicodedata import normalize

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from grader import dataclass, regex, replace
from grader.checks.causes import sort_findings
from grader.checks.result import Result
from grader.faults import pluralize
from grader.grading.record import Grade, HiddenFeedback
from grader.reports.printable import clip, printable, wrap
from grader.reports.redact import redact
from grader.reports.text import MAX_NAME_CELLS, STATUS_WORDS

MAX_SLUG = 40
MAX_SHORT_CELLS = 24
_BASE_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i"}
)
"""Letters that Unicode does not decompose into a base letter and a mark."""
_UNSAFE = regex(r"[^a-z0-9]+")


@dataclass(frozen=True)
class ReportRow:
    """One student's grade with everything that a page shows.

    Attributes:
        student: The name to show.
        grade: The grade.
        source: The graded source, "" when it is not text.
        late: What lateness changed, in words.
        override: Who set the points by hand, and why.
        points: The points after lateness and override; None when they are the grade's own.
        received: When the submission was received, as text.
        most: The points of full marks when the course scales them.
    """

    student: str
    grade: Grade
    source: str
    late: str = ""
    override: str = ""
    points: float | None = None
    received: str = ""
    most: float | None = None

    @property
    def judged_max(self) -> float:
        """The points of full marks among the evaluated checks, or the course's own."""
        return self.grade.score.judged_max if self.most is None else self.most

    @property
    def effective_points(self) -> float | None:
        """The points that count; None while the grade is incomplete and has no override."""
        if self.points is None and self.grade.score.status == "incomplete":
            return None
        return self.grade.score.points if self.points is None else self.points


def display_name(row: ReportRow) -> str:
    """Return the name to show: the student's, otherwise the file's."""
    named = (row.student, row.grade.student, row.grade.file)
    name = next((name for name in named if name.strip()), "(no name)")
    return clip(printable(name), MAX_NAME_CELLS)


def short_name(name: str) -> str:
    """Shorten a check's name or a kind of finding for a cell of a table."""
    return clip(printable(name), MAX_SHORT_CELLS)


def for_student(row: ReportRow, feedback: HiddenFeedback = "score") -> ReportRow:
    """Return the row as its student may see it: redacted, without the instructor's remarks."""
    override = "the points were set by hand" if row.override else ""
    return replace(row, grade=redact(row.grade, feedback), override=override)


def page_names(rows: Sequence[ReportRow]) -> tuple[str, ...]:
    """Return a file name for each row's page, without folder and suffix.

    Names have letters, digits and hyphens, differ even on case-insensitive file systems, and are
    the same for the same students every time.
    """
    names: list[str] = []
    times: Counter[str] = Counter()
    for row in rows:
        plain = _ascii(row.student)
        slug = _UNSAFE.sub("-", plain)[:MAX_SLUG].strip("-")
        digest = hashlib.sha256(row.student.encode("utf-8", "surrogatepass")).hexdigest()[:6]
        name = f"{slug}-{digest}" if slug else digest
        times[name] += 1
        names.append(name if times[name] == 1 else f"{name}-again{times[name] - 1}")
    return tuple(names)


def _ascii(name: str) -> str:
    plain = normalize("NFKD", name.lower().translate(_BASE_LETTERS))
    return plain.encode("ascii", "ignore").decode()


MAX_WHO_CELLS = 14
SCORE_CELLS = 9
MIN_FINDING_CELLS = 12
"""Minimum width of the last column, the main finding."""


def class_table(grades: Sequence[Grade], width: int = 80) -> Text:
    """Show one line per submission: student, score, points of each check, main finding.

    The points of a check that passed are green; `-` is not evaluated, `!` is a system error.
    """
    if not grades:
        return Text("no submissions")
    names = list(dict.fromkeys(c.name for g in grades for c in g.checks if c.max_points))
    whose = "student" if any(grade.student for grade in grades) else "file"
    who = min(max(len(whose), *(cell_len(_who(grade)) for grade in grades)), MAX_WHO_CELLS)
    columns = _widths(names, width - who - SCORE_CELLS - MIN_FINDING_CELLS - 4)
    head = Text(f"{whose:<{who}}  {'score':>{SCORE_CELLS}}", "bold")
    for name, cells in zip(names, columns, strict=True):
        head.append(f" {set_cell_size(printable(name), min(cells, cell_len(name))):>{cells}}")
    head.append("  main finding")
    lines = [head, *(_line(grade, names, columns, who, width) for grade in grades)]
    return Text("\n").join([*lines, Text(), _footer(grades, width)])


def main_finding(grade: Grade) -> str:
    """Return the kind of the first error, causes before consequences; "" when there is none."""
    findings = sort_findings(f for check in grade.checks for f in check.findings)
    return next((f.kind for f in findings if f.severity == "error"), "")


def _who(grade: Grade) -> str:
    return printable(grade.student or grade.file)


def _widths(names: Sequence[str], room: int) -> list[int]:
    """Make each column as wide as its check's name; shorten all equally when there is no room."""
    most = max((len(name) for name in names), default=0)
    while most > 4 and sum(min(len(n), most) + 1 for n in names) > room:
        most -= 1
    return [max(min(len(name), most), 4) for name in names]


def _line(grade: Grade, names: Sequence[str], columns: Sequence[int], who: int, width: int) -> Text:
    checks = {check.name: check for check in grade.checks}
    name = clip(_who(grade), who)
    line = Text(name + " " * (who - cell_len(name)))
    done = grade.score.status == "graded"
    score = f"{grade.score.points:g}/{grade.score.judged_max:g}" if done else "incomplete"
    line.append(f"  {clip(score, SCORE_CELLS + 1):>{SCORE_CELLS}}", "bold")
    for check, cells in zip(names, columns, strict=True):
        mark, style = _mark(checks.get(check))
        line.append(f" {mark:>{cells}}", style)
    line.append("  " + clip(main_finding(grade), max(width - cell_len(line.plain) - 2, 4)))
    return line


def _mark(check: Result | None) -> tuple[str, str]:
    if check is None:
        return "", ""
    style = STATUS_WORDS[check.status][1]
    marks = {"unjudged": "-", "error": "!"}
    return marks.get(check.status, f"{check.points:.4g}"), style


def _footer(grades: Sequence[Grade], width: int) -> Text:
    """Summarize the scores and count the main findings."""
    graded = [grade.score for grade in grades if grade.score.status == "graded"]
    full = sum(score.points == score.judged_max for score in graded)
    line = f"{pluralize(len(grades), 'submission')}, {full} with full marks"
    if graded:
        mean = sum(score.points for score in graded) / len(graded)
        line += f", mean {mean:.1f} of {max(score.judged_max for score in graded):g}"
    if len(graded) < len(grades):
        line += f", {len(grades) - len(graded)} incomplete"
    lines = wrap(line, width, "  ")
    kinds = Counter(kind for grade in grades if (kind := main_finding(grade)))
    if kinds:
        listed = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        lines += wrap(f"main findings: {listed}", width, "  ")
    return Text("\n".join(lines))
