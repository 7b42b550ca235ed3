"""`grader replay`: a grade made again from its record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.cli.terminal import show, width
from grader.faults import Fault

if TYPE_CHECKING:
    from grader.batch.replay import Replay
    from grader.grading.record import Grade
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from grader.cli.batch import Unsafe
from grader.cli.options import Backend, Json, Limit, Threads, resolved
from grader.cli.terminal import check_writable, finished, progress, write_json
from grader.faults import LabFault

if TYPE_CHECKING:
    from grader.batch.replay import ReplayInputs
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course as CourseFile
    from grader.grading.cases import RunOptions
    from grader.grading.record import Grade

# What a replay says: a verdict a grade, and what differs.

NAME = 40
SHOWN = 20
"""Differences that are listed; --json has all of them."""


@dataclass(frozen=True)
class Telling:
    """What came of one grade: a replay, or why there is none."""

    record: Grade
    seen: Replay | None
    fault: Fault | None = None

    @property
    def code(self) -> int:
        if self.seen is None:
            return self.fault.exit_code if self.fault else 3
        return int(not self.seen.is_same)


def replay_json(telling: Telling) -> dict[str, Any]:
    """What came of one grade, as other tools read it."""
    told: dict[str, Any] = {"student": telling.record.student, "file": telling.record.file}
    seen = telling.seen
    if seen is None:
        return told | {"same": False, "fault": str(telling.fault)}
    return told | {
        "same": seen.is_same,
        "conditions": [vars(difference) for difference in seen.changed_conditions],
        "verdict": [vars(difference) for difference in seen.verdict],
        "notes": list(seen.notes),
        "grade": seen.made.to_json() if seen.made else None,
    }


def show_replay(telling: Telling, *, several: bool) -> None:
    """What came of it, on stdout; among several with the student's name."""
    from rich.text import Text

    from grader.reports.printable import clip, printable, wrap

    record, seen = telling.record, telling.seen
    text = Text()
    for title, rows in _listed(seen):
        text.append(f"{title}\n", "bold")
        for row in rows[:SHOWN]:
            lines = wrap(printable(str(row)), width() - 2, "  ")
            text.append("".join(f"  {line}\n" for line in lines))
        if len(rows) > SHOWN:
            text.append(f"  and {len(rows) - SHOWN} more\n")
    said, style = _said(telling)
    name = f"{clip(printable(record.student or record.file), NAME)}: " if several else ""
    text.append("\n".join(wrap(printable(name + said), width(), "  ")), style)
    show(text)


def _listed(seen: Replay | None) -> list[tuple[str, Sequence[object]]]:
    """What is listed before the verdict, under its titles."""
    lists = (
        ("not as it was when this was graded:", seen.changed_conditions),
        ("the record does not say what is seen now:", seen.verdict),
        ("taken from the record:", seen.notes),
    ) if seen else ()  # fmt: skip
    return [(title, rows) for title, rows in lists if rows]


def _said(telling: Telling) -> tuple[str, str]:
    """The verdict of a replay in one line, and its style."""
    from grader.reports.text import score_line

    seen = telling.seen
    if seen is None:
        return f"cannot be replayed: {' '.join(str(telling.fault).split())}", "bold red"
    if seen.is_same:
        return f"the same again: {score_line(telling.record).plain}", "bold green"
    if seen.made is None:
        return "nothing was graded: this is not what the grade was made of", "bold red"
    if seen.verdict:
        return "the verdict differs", "bold red"
    return "the same verdict, under other conditions", "bold"


GradeFile = Annotated[
    Path, typer.Argument(metavar="GRADE.json", help="What check or batch wrote with --json.")
]
SourceFile = Annotated[
    Path | None,
    typer.Option("--source", metavar="FILE.cu", help="What was graded, if no --db has it."),
]
Db = Annotated[str, typer.Option("--db", metavar="URL", help="The gradebook that has the source.")]
Student = Annotated[
    str, typer.Option("--student", metavar="ID", help="Whose grade.  [default: all]")
]
Course = Annotated[
    Path | None,
    typer.Option("--course", metavar="DIR", help="A folder with course.yaml, or labs/ of its own."),
]
Again = Annotated[bool, typer.Option("--again", help="Measure speed anew; needs the GPU.")]


def replay(
    grade: GradeFile,
    source: SourceFile = None,
    db: Db = "",
    course: Course = None,
    student: Student = "",
    again: Again = False,
    threads: Threads = None,
    limit: Limit = 20.0,
    json: Json = None,
    unsafe: Unsafe = False,
) -> int:
    """Make the grades of GRADE.json again, and say what differs.

    Takes the source by --source or from a gradebook, and the seed of hidden inputs from --course.
    Speed is judged by the recorded times. Exit code 0: nothing differs; 1: something does.
    """
    from grader.sandbox.call import require_sandbox

    check_writable(json)
    records = grades_of(grade, _enrolled(student, course))
    if source is not None and len(records) > 1:
        what = f"{len(records)} grades here, and one --source"
        raise LabFault(what, where=str(grade), fix="choose one with --student ID, or use --db")
    require_sandbox(unsafe=unsafe)
    tellings = []
    with given_by(source, db, course) as given:
        for record in records:
            telling = _one(record, given, Asked(course, again, threads, limit), len(records) > 1)
            tellings.append(telling)
            if json != "-":
                show_replay(telling, several=len(records) > 1)
    if json:
        every = [replay_json(telling) for telling in tellings]
        one = {"same": all(told["same"] for told in every), "replays": every}
        write_json(every[0] if len(every) == 1 else one, json)
    return max((telling.code for telling in tellings), default=0)


class Asked(NamedTuple):
    """How the user wants it."""

    course: Path | None
    again: bool
    threads: int | None
    limit: float


def _one(record: Grade, given: Given, asked: Asked, several: bool) -> Telling:
    """One grade made again. Among several, one that cannot be is told like the others."""
    from grader.batch.replay import replay as replayed
    from grader.labs.reading import lab_roots, load_lab

    try:
        own = asked.course and (asked.course / "labs").is_dir()
        lab = load_lab(record.lab, lab_roots(asked.course if own else None))
        what = given.sources(record)
        how = _how(record, asked.again, asked.threads, asked.limit)
        seen = replayed(lab, record, what, how, again=asked.again, progress=progress)
    except Fault as fault:
        finished()
        if not several:
            raise
        return Telling(record, None, fault)
    finished()
    return Telling(record, seen)


def _how(record: Grade, again: bool, threads: int | None, limit: float) -> RunOptions:
    """As it was graded: on a GPU where there is one, if it had one."""
    from grader.grading.cases import RunOptions

    if record.backend == "sim":
        return RunOptions("sim", threads=threads, limit=limit)
    return RunOptions(
        resolved(Backend.gpu if again else Backend.auto), threads=threads, limit=limit
    )


def _course_in(folder: Path | None) -> CourseFile | None:
    from grader.gradebook.course import COURSE_FILE, read_course

    return read_course(folder) if folder and (folder / COURSE_FILE).is_file() else None


def _enrolled(word: str, folder: Path | None) -> str:
    """The student's ID where the course knows them by that word; else the word itself."""
    course = _course_in(folder) if word else None
    student = course.student(word) if course else None
    return student.id if student else word


def grades_of(file: Path, student: str) -> list[Grade]:
    """The grades of a JSON file, or that student's alone. Raises LabFault."""
    import json

    from grader.faults import did_you_mean
    from grader.grading.record import grade_from_json

    try:
        held = json.loads(file.read_text("utf-8"))
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(file), fix="check the name and the folder") from None
    except (ValueError, RecursionError) as error:
        fix = "give what `grader check --json` wrote"
        raise LabFault(f"this is no JSON: {error}", where=str(file), fix=fix) from None
    every = held["grades"] if isinstance(held, dict) and "grades" in held else [held]
    try:
        grades = [grade_from_json(one) for one in every]
    except LabFault as fault:
        where = f"{file}: {fault.where}" if fault.where else str(file)
        raise LabFault(fault.what, where=where, fix=fault.fix) from None
    named = [grade for grade in grades if student in ("", grade.student)]
    if not named:
        fix = did_you_mean(student, [g.student for g in grades]) or "leave --student out: all"
        raise LabFault(f"no grade here is {student or 'any'}'s", where=str(file), fix=fix)
    return named


@dataclass(frozen=True)
class Given:
    """Where sources come from: a file, else a gradebook; and the course that has the seed."""

    file: Path | None
    book: Gradebook | None
    course: CourseFile | None

    def sources(self, record: Grade) -> ReplayInputs:
        """What the grade was made of. Raises LabFault where nobody has it."""
        from grader.batch.replay import ReplayInputs
        from grader.grading.pipeline import seed_id
        from grader.labs.quiz import AnswerSheet, parse_answer_sheet, read_answer_sheet
        from grader.submissions.files import read_regular_file

        seeded = record.provenance.seed != seed_id(b"")  # `grader check` uses no seed
        if seeded and self.course is None:
            what = "its hidden inputs were drawn from the secret of a course"
            raise LabFault(what, fix="add --course DIR, the folder with that course.yaml")
        seed = self.course.seed(record.lab) if self.course and seeded else b""
        if self.file is not None:
            return ReplayInputs(
                read_regular_file(self.file), read_answer_sheet(self.file.parent), seed
            )
        if self.book is None:
            fix = "name it with --source FILE.cu, or the gradebook that has it with --db"
            raise LabFault(f"{record.file} is needed, which was graded", fix=fix)
        stored = self.book.source(record.submission_sha256)
        if stored is None:
            what = f"no submission there has the SHA-256 {record.submission_sha256}"
            fix = "name the file itself with --source FILE.cu"
            raise LabFault(what, where=self.book.name, fix=fix)
        answers = stored.answers
        sheet = AnswerSheet(exists=False) if answers is None else parse_answer_sheet(answers)
        return ReplayInputs(stored.data, sheet, seed)


@contextmanager
def given_by(file: Path | None, db: str, folder: Path | None) -> Iterator[Given]:
    """What --source, --db and --course name. Raises LabFault where the gradebook is not there."""
    course = _course_in(folder)
    where = db or (course.gradebook if course else "")
    if file is not None or not where:
        yield Given(file, None, course)
        return
    from grader.gradebook.book import open_gradebook

    book = open_gradebook(where, create=False)
    try:
        yield Given(None, book, course)
    finally:
        book.close()
