"""One student's line of a class report, as plain values."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from unicodedata import normalize

from grader.grading.record import Grade
from grader.reports.printable import clip, printable
from grader.reports.redact import redact
from grader.reports.text import MAX_NAME_CELLS

MAX_SLUG = 40
MAX_SHORT_CELLS = 24
_BASE_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i"}
)
"""Letters of names that Unicode does not take for a plain letter with a mark."""
_UNSAFE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class ReportRow:
    """`student` is the name that is shown, `source` the text of what was graded ("" when it is no
    text). `late` says in words what lateness did, `override` who set the points by hand and why;
    `points` are those that count after both, None where they are the grade's own; where the course
    scales them, `most` says what they are of. `received` is when the submission came in, as it is
    to be shown.
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
        """What the points that count are of."""
        return self.grade.score.judged_max if self.most is None else self.most

    @property
    def effective_points(self) -> float | None:
        """The points that count; None while the grade is incomplete and nobody set any."""
        if self.points is None and self.grade.score.status == "incomplete":
            return None
        return self.grade.score.points if self.points is None else self.points


def display_name(row: ReportRow) -> str:
    """The student's name, else the file's, as it is shown."""
    named = (row.student, row.grade.student, row.grade.file)
    name = next((name for name in named if name.strip()), "(no name)")
    return clip(printable(name), MAX_NAME_CELLS)


def short_name(name: str) -> str:
    """A check's name or a kind of finding, as a cell of a table shows it."""
    return clip(printable(name), MAX_SHORT_CELLS)


def for_student(row: ReportRow) -> ReportRow:
    """The row as its student may see it: the grade redacted, an override without the instructor's
    words.
    """
    override = "the points were set by hand" if row.override else ""
    return replace(row, grade=redact(row.grade), override=override)


def page_names(rows: Sequence[ReportRow]) -> tuple[str, ...]:
    """A file name for each row's page, without folder or suffix: letters, digits and hyphens,
    each once even where file names know no case, and the same again for the same students.
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
