"""One line of an export: a student, the grade that counts, the points after all rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from grader.course.roster import Student
from grader.record import Grade

FAILED = "this machine failed: grade it again"
WHY = {
    "incomplete": FAILED,
    "missing": "nothing handed in",
    "waiting": "not graded yet: `grader batch` goes on where it was",
}
"""Why an entry of a gradebook has no points, by its status."""


@dataclass(frozen=True)
class ExportRow:
    """`points` of `out_of` are after lateness and override; None while there are none, and then
    `why` says what is missing. `note` is what lateness or an override did. `grade` is None when
    points were given without one; `source` is the text that was graded, "" where it is not at
    hand. `enrolled` is whether a roster has the student, None where there is no roster."""

    student: Student
    grade: Grade | None
    points: float | None
    out_of: float
    note: str = ""
    why: str = ""
    source: str = ""
    enrolled: bool | None = None

    @property
    def share(self) -> float:
        """The points as a share of all, from 0 to 1; 0 without points, 1 when nothing is asked."""
        if self.points is None:
            return 0.0
        return min(max(self.points / self.out_of, 0.0), 1.0) if self.out_of else 1.0


@dataclass(frozen=True)
class Options:
    """`column` is the title of the assignment's column, "" for the lab's; `identifier` what Moodle
    knows students by."""

    column: str = ""
    identifier: str = "email"


def row_of(grade: Grade, student: Student | None = None, enrolled: bool | None = None) -> ExportRow:
    """A grade's own line, without a gradebook: no lateness, the points that were judged. Without a
    student, the one whom the grade names, else its file."""
    known = student or Student(grade.student or PurePath(grade.file).stem)
    failed = grade.score.status == "incomplete"
    points = None if failed else grade.score.points
    why = FAILED if failed else ""
    return ExportRow(known, grade, points, grade.score.judged_max, why=why, enrolled=enrolled)


def scaled(row: ExportRow, points: float) -> ExportRow:
    """The same line where all is worth `points`."""
    if row.points is None:
        return replace(row, out_of=points)
    factor = points / row.out_of if row.out_of else 0.0
    return replace(row, points=round(row.points * factor, 2), out_of=points)


def title(rows: Sequence[ExportRow], options: Options) -> str:
    """What the column of this assignment is called."""
    named = (row.grade.lab for row in rows if row.grade)
    return options.column or next(named, "") or "lab"
