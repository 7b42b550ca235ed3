"""`grader replay`: a grade made again from its record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from grader.cli.batch import Unsafe
from grader.cli.options import Backend, Json, Limit, Threads, resolved
from grader.cli.replaywords import Telling, replay_json, show_replay
from grader.cli.terminal import check_writable, finished, progress, write_json
from grader.fault import Fault, LabFault

if TYPE_CHECKING:
    from grader.cases import How
    from grader.course.course import Course as CourseFile
    from grader.gradebook.book import Gradebook
    from grader.record import Grade
    from grader.replay.replay import Sources

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
    from grader.box import refuse_unconfined

    check_writable(json)
    records = grades_of(grade, _enrolled(student, course))
    if source is not None and len(records) > 1:
        what = f"{len(records)} grades here, and one --source"
        raise LabFault(what, where=str(grade), mend="choose one with --student ID, or use --db")
    refuse_unconfined(unsafe=unsafe)
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
    from grader.labfile.spec import lab_roots, load_lab
    from grader.replay.replay import replay as replayed

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


def _how(record: Grade, again: bool, threads: int | None, limit: float) -> How:
    """As it was graded: on a GPU where there is one, if it had one."""
    from grader.cases import How

    if record.backend == "sim":
        return How("sim", threads=threads, limit=limit)
    return How(resolved(Backend.gpu if again else Backend.auto), threads=threads, limit=limit)


def _course_in(folder: Path | None) -> CourseFile | None:
    from grader.course.course import FILE, read_course

    return read_course(folder) if folder and (folder / FILE).is_file() else None


def _enrolled(word: str, folder: Path | None) -> str:
    """The student's ID where the course knows them by that word; else the word itself."""
    course = _course_in(folder) if word else None
    student = course.student(word) if course else None
    return student.id if student else word


def grades_of(file: Path, student: str) -> list[Grade]:
    """The grades of a JSON file, or that student's alone. Raises LabFault."""
    import json

    from grader.nearest import did_you_mean
    from grader.record import grade_from_json

    try:
        held = json.loads(file.read_text("utf-8"))
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(file), mend="check the name and the folder") from None
    except (ValueError, RecursionError) as error:
        mend = "give what `grader check --json` wrote"
        raise LabFault(f"this is no JSON: {error}", where=str(file), mend=mend) from None
    every = held["grades"] if isinstance(held, dict) and "grades" in held else [held]
    try:
        grades = [grade_from_json(one) for one in every]
    except LabFault as fault:
        where = f"{file}: {fault.where}" if fault.where else str(file)
        raise LabFault(fault.what, where=where, mend=fault.mend) from None
    named = [grade for grade in grades if student in ("", grade.student)]
    if not named:
        mend = did_you_mean(student, [g.student for g in grades]) or "leave --student out: all"
        raise LabFault(f"no grade here is {student or 'any'}'s", where=str(file), mend=mend)
    return named


@dataclass(frozen=True)
class Given:
    """Where sources come from: a file, else a gradebook; and the course that has the seed."""

    file: Path | None
    book: Gradebook | None
    course: CourseFile | None

    def sources(self, record: Grade) -> Sources:
        """What the grade was made of. Raises LabFault where nobody has it."""
        from grader.grade import seed_id
        from grader.quiz.sheet import AnswerSheet, read_sheet, sheet_of
        from grader.replay.replay import Sources
        from grader.submission import read_bytes

        seeded = record.provenance.seed != seed_id(b"")  # `grader check` uses no seed
        if seeded and self.course is None:
            what = "its hidden inputs were drawn from the secret of a course"
            raise LabFault(what, mend="add --course DIR, the folder with that course.yaml")
        seed = self.course.seed(record.lab) if self.course and seeded else b""
        if self.file is not None:
            return Sources(read_bytes(self.file), read_sheet(self.file.parent), seed)
        if self.book is None:
            mend = "name it with --source FILE.cu, or the gradebook that has it with --db"
            raise LabFault(f"{record.file} is needed, which was graded", mend=mend)
        stored = self.book.source(record.submission_sha256)
        if stored is None:
            what = f"no submission there has the SHA-256 {record.submission_sha256}"
            mend = "name the file itself with --source FILE.cu"
            raise LabFault(what, where=self.book.name, mend=mend)
        answers = stored.answers
        sheet = AnswerSheet(found=False) if answers is None else sheet_of(answers)
        return Sources(stored.data, sheet, seed)


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
