"""One student's row of a class report, and the file name of the student's page."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from unicodedata import normalize

from grader.grading.record import Grade, HiddenFeedback
from grader.reports.printable import clip, printable
from grader.reports.redact import redact
from grader.reports.text import MAX_NAME_CELLS

MAX_SLUG = 40
MAX_SHORT_CELLS = 24
_BASE_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i"}
)
"""Letters that Unicode does not decompose into a base letter and a mark."""
_UNSAFE = re.compile(r"[^a-z0-9]+")


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
