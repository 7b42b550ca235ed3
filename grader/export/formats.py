"""Finds a format by its name, and sorts out which rows it can tell."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import PurePath
from types import ModuleType
from typing import Literal

from grader import export as folder
from grader.faults import LabFault, did_you_mean
from grader.gradebook.roster import Student
from grader.grading.record import Grade
from grader.reports.redact import redact

# One line of an export: a student, the grade that counts, the points after all rules.

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
    hand. `enrolled` is whether a roster has the student, None where there is no roster.
    """

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
    knows students by.
    """

    column: str = ""
    identifier: str = "email"


def row_from_grade(
    grade: Grade, student: Student | None = None, enrolled: bool | None = None
) -> ExportRow:
    """A grade's own line, without a gradebook: no lateness, the points that were judged. Without a
    student, the one whom the grade names, else its file.
    """
    known = student or Student(grade.student or PurePath(grade.file).stem)
    failed = grade.score.status == "incomplete"
    points = None if failed else grade.score.points
    why = FAILED if failed else ""
    return ExportRow(known, grade, points, grade.score.judged_max, why=why, enrolled=enrolled)


def scale_points(row: ExportRow, points: float) -> ExportRow:
    """The same line where all is worth `points`."""
    if row.points is None:
        return replace(row, out_of=points)
    factor = points / row.out_of if row.out_of else 0.0
    return replace(row, points=round(row.points * factor, 2), out_of=points)


def column_title(rows: Sequence[ExportRow], options: Options) -> str:
    """What the column of this assignment is called."""
    named = (row.grade.lab for row in rows if row.grade)
    return options.column or next(named, "") or "lab"


SEVERAL_GRADES = "there is more than one grade of this student; a gradebook knows which counts"
NOT_IN_ROSTER = (
    "not in the roster, so not in the course there: mend the roster, or add a line to it"
)


def _no_advice(options: Options) -> str:
    return ""


@dataclass(frozen=True)
class Format:
    """One format. `export` takes rows that are fit, exactly one where `each` submission has a
    document of its own; `unfit` says why a row is not. `unique`: a student has one row at most, and
    has to be in the roster where there is one. `advice` is what to tell whoever exports, or "".
    """

    name: str
    title: str
    each: bool
    suffix: str
    reader: Literal["student", "staff"]
    export: Callable[[Sequence[ExportRow], Options], str]
    unfit: Callable[[ExportRow, Options], str]
    unique: bool = False
    advice: Callable[[Options], str] = _no_advice


@dataclass(frozen=True)
class LeftOut:
    """A row that is not exported, and why."""

    row: ExportRow
    why: str


def format_names() -> tuple[str, ...]:
    """Every format there is, by looking into the folder."""
    return tuple(format.name for format in map(_format, _modules()) if format)


def find_format(name: str) -> Format:
    """The format of that name. Raises LabFault, which names the nearest."""
    known = {format.name: format for format in map(_format, _modules()) if format}
    if name in known:
        return known[name]
    fix = did_you_mean(name, known) or f"the formats there are: {', '.join(known)}"
    raise LabFault(f"there is no export format `{name}`", fix=fix)


def select_rows(
    format: Format, rows: Iterable[ExportRow], options: Options
) -> tuple[tuple[ExportRow, ...], tuple[LeftOut, ...]]:
    """The rows that the format can tell, redacted where students read it, and those it cannot."""
    every = tuple(rows)
    count = Counter(row.student.id for row in every) if format.unique else Counter()
    reasons = [_problem(format, row, options, count[row.student.id]) for row in every]
    kept = (row for row, why in zip(every, reasons, strict=True) if not why)
    left = (LeftOut(row, why) for row, why in zip(every, reasons, strict=True) if why)
    return tuple(_for_reader(format, row) for row in kept), tuple(left)


def _problem(format: Format, row: ExportRow, options: Options, times: int) -> str:
    if format.unique and row.enrolled is False:
        return NOT_IN_ROSTER
    return SEVERAL_GRADES if times > 1 else format.unfit(row, options)


def _for_reader(format: Format, row: ExportRow) -> ExportRow:
    if format.reader == "staff" or row.grade is None:
        return row
    return replace(row, grade=redact(row.grade))


def _modules() -> Iterable[ModuleType]:
    for found in pkgutil.iter_modules(folder.__path__):
        yield import_module(f"{folder.__name__}.{found.name}")


def _format(module: ModuleType) -> Format | None:
    if not hasattr(module, "export"):
        return None
    return Format(
        name=module.__name__.rpartition(".")[2].replace("_", "-"),
        title=(module.export.__doc__ or "").strip().splitlines()[0],
        each=module.EACH,
        suffix=module.SUFFIX,
        reader=module.READER,
        export=module.export,
        unfit=module.unfit,
        unique=getattr(module, "UNIQUE", False),
        advice=getattr(module, "advice", _no_advice),
    )
