"""`grader replay`: a grade made again from its record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grader.cli.batch import Unsafe
from grader.cli.options import Backend, Course, Json, Limit, Threads, resolved
from grader.cli.terminal import (
    check_writable,
    finished,
    progress,
    show,
    width,
    write_json,
)
from grader.fault import LabFault

if TYPE_CHECKING:
    from grader.cases import How
    from grader.course.course import Course as CourseFile
    from grader.record import Grade
    from grader.replay.replay import Replay, Sources

SHOWN = 20
"""Differences that are listed; --json has all of them."""

GradeFile = Annotated[
    Path, typer.Argument(metavar="GRADE.json", help="What check or batch wrote with --json.")
]
SourceFile = Annotated[
    Path | None,
    typer.Option("--source", metavar="FILE.cu", help="What was graded, if no --db has it."),
]
Db = Annotated[str, typer.Option("--db", metavar="URL", help="The gradebook that has the source.")]
Student = Annotated[
    str, typer.Option("--student", metavar="ID", help="Whose grade, where the file has many.")
]
Again = Annotated[
    bool, typer.Option("--again", help="Measure speed anew; needs the GPU.")
]  # fmt: skip


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
    """Make the grade of GRADE.json again, and say what differs.

    Takes the source by --source or from a gradebook, and the seed of hidden inputs from --course.
    Speed is judged by the recorded times. Exit code 0: nothing differs; 1: something does.
    """
    from grader.box import refuse_unconfined
    from grader.labfile.spec import lab_roots, load_lab
    from grader.replay.replay import replay as replayed

    check_writable(json)
    record = one_grade(grade, student)
    school = _course(course)
    roots = lab_roots(course if course and (course / "labs").is_dir() else None)
    lab = load_lab(record.lab, roots)
    given = sources(record, source, db, school)
    refuse_unconfined(unsafe=unsafe)
    seen = replayed(lab, record, given, _how(record, again, threads, limit), again=again,
                    progress=progress)  # fmt: skip
    finished()
    if json:
        write_json(replay_json(seen), json)
    if json != "-":
        show_replay(record, seen)
    return int(not seen.is_same)


def _how(record: Grade, again: bool, threads: int | None, limit: float) -> How:
    """As it was graded: on a GPU where there is one, if it had one."""
    from grader.cases import How

    if record.backend == "sim":
        return How("sim", threads=threads, limit=limit)
    return How(resolved(Backend.gpu if again else Backend.auto), threads=threads, limit=limit)


def one_grade(file: Path, student: str) -> Grade:
    """The grade of a JSON file: its only one, or that student's. Raises LabFault."""
    import json

    from grader.nearest import did_you_mean
    from grader.record import grade_from_json

    try:
        held = json.loads(file.read_text("utf-8"))
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(file), mend="check the name and the folder") from None
    except ValueError as error:
        mend = "give what `grader check --json` wrote"
        raise LabFault(f"this is no JSON: {error}", where=str(file), mend=mend) from None
    every = held["grades"] if isinstance(held, dict) and "grades" in held else [held]
    try:
        grades = [grade_from_json(one) for one in every]
    except LabFault as fault:
        where = f"{file}: {fault.where}" if fault.where else str(file)
        raise LabFault(fault.what, where=where, mend=fault.mend) from None
    named = [grade for grade in grades if not student or grade.student == student]
    if len(named) == 1:
        return named[0]
    known = [grade.student for grade in grades]
    mend = did_you_mean(student, known) if student else "choose one with --student ID"
    raise LabFault(f"{len(named)} grades here, of {len(grades)}", where=str(file), mend=mend)


def sources(record: Grade, source: Path | None, db: str, course: CourseFile | None) -> Sources:
    """What the grade was made of. Raises LabFault where nobody has it."""
    from grader.grade import seed_id
    from grader.quiz.sheet import AnswerSheet, read_sheet, sheet_of
    from grader.replay.replay import Sources
    from grader.submission import read_bytes

    seeded = record.provenance.seed != seed_id(b"")  # `grader check` uses no seed
    seed = course.seed(record.lab) if course and seeded else b""
    if source is not None:
        return Sources(read_bytes(source), read_sheet(source.parent), seed)
    where = db or (course.gradebook if course else "")
    if not where:
        mend = "name it with --source FILE.cu, or the gradebook that has it with --db"
        raise LabFault(f"{record.file} is needed, which was graded", mend=mend)
    from grader.gradebook.book import open_gradebook

    book = open_gradebook(where, create=False)
    try:
        stored = book.source(record.submission_sha256)
    finally:
        book.close()
    if stored is None:
        what = f"no submission there has the SHA-256 {record.submission_sha256}"
        raise LabFault(what, where=where, mend="name the file itself with --source FILE.cu")
    given = stored.answers
    answers = AnswerSheet(found=False) if given is None else sheet_of(given)
    return Sources(stored.data, answers, seed)


def _course(folder: Path | None) -> CourseFile | None:
    from grader.course.course import FILE, read_course

    return read_course(folder) if folder and (folder / FILE).is_file() else None


def replay_json(seen: Replay) -> dict[str, Any]:
    """What differs, as other tools read it."""
    return {
        "same": seen.is_same,
        "conditions": [vars(difference) for difference in seen.unlike],
        "verdict": [vars(difference) for difference in seen.verdict],
        "notes": list(seen.notes),
        "grade": seen.made.to_json() if seen.made else None,
    }


def show_replay(record: Grade, seen: Replay) -> None:
    """What came of it, on stdout."""
    from rich.text import Text

    from grader.report.clean import clean, wrap
    from grader.report.text import score_line

    text = Text()
    for title, rows in (
        ("not as it was when this was graded:", seen.unlike),
        ("the record does not say what is seen now:", seen.verdict),
        ("taken from the record:", seen.notes),
    ):
        if rows:
            text.append(title + "\n", "bold")
        for row in rows[:SHOWN]:
            lines = wrap(clean(str(row)), width() - 2, "  ")
            text.append("".join(f"  {line}\n" for line in lines))
        if len(rows) > SHOWN:
            text.append(f"  and {len(rows) - SHOWN} more\n")
    if seen.is_same:
        text.append(f"the same again: {score_line(record).plain}", "bold green")
    elif seen.made is None:
        text.append("nothing was graded: this is not what the grade was made of", "bold red")
    elif seen.verdict:
        text.append("the verdict differs", "bold red")
    else:
        text.append("the same verdict, under other conditions", "bold")
    show(text)
