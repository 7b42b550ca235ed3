"""Export formats and their rows.

An ExportRow is one line of an export: a student, the grade that counts, the points after all rules.
`find_format` finds a format by its name, `select_rows` separates the rows that it can export.
"""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from pathlib import PurePath
from types import ModuleType
from typing import Literal

from grader import dataclass, replace
from grader import export as folder
from grader.faults import LabFault, did_you_mean
from grader.gradebook.ledger import Student
from grader.grading.record import Grade, HiddenFeedback
from grader.reports.redact import redact

FAILED = "system error (not the submission): grade it again"
WHY = {
    "incomplete": FAILED,
    "missing": "nothing submitted",
    "waiting": "not graded yet: run `grader batch` again to continue",
}
"""Why an entry of a gradebook has no points, by its status."""

RETIRED = {
    "github-classroom": (
        "GitHub Classroom was retired on August 28, 2026: there is no service to export to",
        "use `classroom50-autograder` for Classroom 50, or `github-template` for a repository that "
        "grades with GitHub Actions (handouts/exports.md)",
    )
}
"""Formats of services that have ended: why, and what to use."""

SEVERAL_GRADES = "more than one grade of this student: export from a gradebook, which selects one"
NOT_IN_ROSTER = "not in the roster, so not in the course: fix the roster, or add the student to it"


@dataclass(frozen=True)
class ExportRow:
    """One student's grade and points.

    Attributes:
        student: The student, from the roster when there is one.
        grade: The grade; None when points were given without one.
        points: The points after lateness and override; None when there are none.
        out_of: The points of full marks.
        note: What lateness or an override changed.
        why: Why there are no points.
        source: The source that was graded, "" when it is not available.
        enrolled: Whether the roster has the student; None without a roster.
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
        """The points as a share from 0 to 1; 0 without points, 1 when full marks are 0."""
        if self.points is None:
            return 0.0
        return min(max(self.points / self.out_of, 0.0), 1.0) if self.out_of else 1.0


@dataclass(frozen=True)
class Options:
    """Options of an export.

    `column` is the title of the assignment's column, "" for the lab's name. `identifier` is the
    one by which Moodle finds students: "email" or "id". `hidden_feedback` is what students read
    about hidden cases. `run` has the variables of the service that runs the grader.
    """

    column: str = ""
    identifier: str = "email"
    hidden_feedback: HiddenFeedback = "score"
    run: Mapping[str, str] = field(default_factory=dict)


def row_from_grade(
    grade: Grade, student: Student | None = None, enrolled: bool | None = None
) -> ExportRow:
    """Return the row of a grade without a gradebook: no lateness, the points of the grade.

    Without `student`, the row names the grade's student, otherwise its file.
    """
    known = student or Student(grade.student or PurePath(grade.file).stem)
    failed = grade.score.status == "incomplete"
    points = None if failed else grade.score.points
    why = FAILED if failed else ""
    return ExportRow(known, grade, points, grade.score.judged_max, why=why, enrolled=enrolled)


def scale_points(row: ExportRow, points: float) -> ExportRow:
    """Return the row with full marks worth `points`."""
    if row.points is None:
        return replace(row, out_of=points)
    factor = points / row.out_of if row.out_of else 0.0
    return replace(row, points=round(row.points * factor, 2), out_of=points)


def column_title(rows: Sequence[ExportRow], options: Options) -> str:
    """Return the title of the assignment's column."""
    named = (row.grade.lab for row in rows if row.grade)
    return options.column or next(named, "") or "lab"


def _no_advice(options: Options) -> str:
    return ""


@dataclass(frozen=True)
class Format:
    """One export format.

    Attributes:
        name: The name on the command line.
        title: The line in the list of formats.
        each: Whether every submission gets a document of its own.
        suffix: The suffix of the file.
        reader: Who reads the document; students get redacted grades.
        export: Makes the document from rows without a problem, exactly one when `each`.
        row_problem: Says why a row cannot be exported.
        unique: Whether a student has at most one row and must be in the roster.
        advice: A note for the instructor who exports, or "".
    """

    name: str
    title: str
    each: bool
    suffix: str
    reader: Literal["student", "staff"]
    export: Callable[[Sequence[ExportRow], Options], str]
    row_problem: Callable[[ExportRow, Options], str]
    unique: bool = False
    advice: Callable[[Options], str] = _no_advice


@dataclass(frozen=True)
class LeftOut:
    """A row that is not exported, and why."""

    row: ExportRow
    why: str


def format_names() -> tuple[str, ...]:
    """Return the names of all formats in this package."""
    return tuple(format.name for format in map(_format, _modules()) if format)


def find_format(name: str) -> Format:
    """Return the format of that name. Raises LabFault, which names the closest match."""
    known = {format.name: format for format in map(_format, _modules()) if format}
    if name in known:
        return known[name]
    if name in RETIRED:
        what, fix = RETIRED[name]
        raise LabFault(what, fix=fix)
    fix = did_you_mean(name, known) or f"the formats there are: {', '.join(known)}"
    raise LabFault(f"there is no export format `{name}`", fix=fix)


def select_rows(
    format: Format, rows: Iterable[ExportRow], options: Options
) -> tuple[tuple[ExportRow, ...], tuple[LeftOut, ...]]:
    """Separate the rows that the format can export, redacted for students, from the others."""
    every = tuple(rows)
    count = Counter(row.student.id for row in every) if format.unique else Counter()
    reasons = [_reason(format, row, options, count[row.student.id]) for row in every]
    kept = (row for row, why in zip(every, reasons, strict=True) if not why)
    left = (LeftOut(row, why) for row, why in zip(every, reasons, strict=True) if why)
    return tuple(_for_reader(format, row, options) for row in kept), tuple(left)


def _reason(format: Format, row: ExportRow, options: Options, times: int) -> str:
    if format.unique and row.enrolled is False:
        return NOT_IN_ROSTER
    return SEVERAL_GRADES if times > 1 else format.row_problem(row, options)


def _for_reader(format: Format, row: ExportRow, options: Options) -> ExportRow:
    if format.reader == "staff" or row.grade is None:
        return row
    return replace(row, grade=redact(row.grade, options.hidden_feedback))


def _modules() -> Iterable[ModuleType]:
    for module in pkgutil.iter_modules(folder.__path__):
        yield import_module(f"{folder.__name__}.{module.name}")


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
        row_problem=module.row_problem,
        unique=getattr(module, "UNIQUE", False),
        advice=getattr(module, "advice", _no_advice),
    )
