"""`grader export`: grades in the form that another system reads."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grader.cli.options import Course
from grader.cli.terminal import STDOUT, say, write_file
from grader.faults import LabFault, MachineFault
from grader.labs.files import write_atomically

if TYPE_CHECKING:
    from grader.export.formats import ExportRow, Format, LeftOut, Options
    from grader.gradebook.course import Course as CourseFile
    from grader.gradebook.roster import Student
    from grader.gradebook.values import Entry

AUTOGRADER = "gradescope-autograder"

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FORMAT] GRADE.json...|LAB", help="Grades, or the lab's name."),
]


def export(
    words: Words = None,
    format: Annotated[
        str, typer.Option("--format", metavar="F", help="The format; `list` shows them.")
    ] = "",
    db: Annotated[
        str, typer.Option("--db", metavar="URL", help="Take LAB's grades from this gradebook.")
    ] = "",
    course: Course = None,
    out: Annotated[
        str, typer.Option("--out", metavar="F", help="The file or folder to write.  [default: -]")
    ] = "",
    points: Annotated[
        float | None, typer.Option("--points", min=0.01, help="What full marks are worth there.")
    ] = None,
    column: Annotated[
        str, typer.Option("--column", metavar="TITLE", help="The assignment's column.")
    ] = "",
    identifier: Annotated[
        Literal["email", "id"], typer.Option("--identifier", help="What Moodle knows students by.")
    ] = "email",
    wheel: Annotated[
        Path | None, typer.Option("--wheel", help="The package to put into the autograder's zip.")
    ] = None,
) -> int:
    """Write grades for Gradescope, PrairieLearn, Canvas, Moodle, JUnit, check50 or GitHub; as HTML.

    Grades come from GRADE.json files, or with --db or a --course that has a gradebook, from there:
    then name the LAB. `gradescope-autograder LAB` writes the zip that grades on Gradescope.
    """
    given = list(words or [])
    name = format or (given.pop(0) if given else "list")
    if name == "list":
        return _list()
    if name == AUTOGRADER:
        return _autograder(given, course, out, wheel)
    from grader.export.formats import Options, find_format, scale_points, select_rows

    chosen = find_format(name)
    rows = _from_gradebook(given, db, course) if db or _has_gradebook(course) else None
    rows = list(_from_files(given, course)) if rows is None else rows
    if points is not None:
        rows = [scale_points(row, points) for row in rows]
    options = Options(column, identifier)
    kept, left = select_rows(chosen, rows, options)
    _tell(left)
    if kept and (advice := chosen.advice(options)):
        say(f"note: {advice}")
    if kept:
        _write(chosen, kept, options, out)
    return max((_code(item) for item in left), default=0)


def _list() -> int:
    from grader.export.formats import find_format, format_names

    for name in format_names():
        typer.echo(f"{name:<22} {find_format(name).title}")
    typer.echo(f"{AUTOGRADER:<22} Gradescope: the zip that grades there; name the LAB.")
    return 0


def _autograder(words: Sequence[str], course: Path | None, out: str, wheel: Path | None) -> int:
    import secrets

    from grader.checks.suite import plan
    from grader.export.container.build import autograder_zip
    from grader.gradebook.course import read_course
    from grader.labs.reading import lab_roots, load_lab

    if len(words) != 1:
        raise LabFault("name one lab", fix=f"grader export {AUTOGRADER} LAB")
    lab = load_lab(words[0], lab_roots(course if course and (course / "labs").is_dir() else None))
    held = course is not None and _has_gradebook(course)
    seed = read_course(course).seed(lab.name) if course and held else secrets.token_bytes(32)
    path = Path(out or f"{lab.name}-autograder.zip")
    write_atomically(path, autograder_zip(lab, seed, wheel=wheel), private=True)
    say(f"wrote {path}, with the hidden cases in it: you alone can read it here")
    judged = sum(check.points for check in plan(lab) if check.can_evaluate_on("sim"))
    say(f"upload it to Gradescope; the assignment is worth {judged:g} points there")
    return 0


def _has_gradebook(course: Path | None) -> bool:
    return course is not None and (course / "course.yaml").is_file()


def _from_gradebook(words: Sequence[str], db: str, folder: Path | None) -> list[ExportRow] | None:
    """The rows of one lab; None when the words name files."""
    from grader.gradebook.book import open_gradebook
    from grader.gradebook.course import read_course

    if not db and any(word.endswith(".json") or word == STDOUT for word in words):
        return None
    if len(words) != 1:
        raise LabFault("name the lab whose grades are meant", fix="grader export FORMAT LAB --db")
    course = read_course(folder) if folder and _has_gradebook(folder) else None
    url = db or (course.gradebook if course else "")
    if "://" not in url and not Path(url).is_file():  # opening one would make it
        raise LabFault("there is no such gradebook", where=url, fix="`grader batch` makes one")
    book = open_gradebook(url)
    try:
        entries = book.entries(words[0], course=course)
        texts = {one.id: one.data.decode("utf-8", "replace") for one in book.submissions(words[0])}
    finally:
        book.close()
    if not entries:
        raise LabFault(f"there is nothing of the lab `{words[0]}`", where=book.name)
    return [_row(entry, course, texts.get(entry.submission or 0, "")) for entry in entries]


def _row(entry: Entry, course: CourseFile | None, source: str) -> ExportRow:
    from grader.export.formats import WHY, ExportRow
    from grader.gradebook.roster import Student
    from grader.grading.record import grade_from_json

    student = course.student(entry.student) if course else None
    return ExportRow(
        student or Student(entry.student, entry.name),
        grade_from_json(entry.grade_json) if entry.grade_json else None,
        entry.points,
        entry.max_points or 0.0,
        entry.note,
        "" if entry.points is not None else WHY.get(entry.status, entry.status),
        source,
        _enrolled(student, course),
    )


def _enrolled(student: Student | None, course: CourseFile | None) -> bool | None:
    """Whether the roster has the student; None without a roster."""
    return student is not None if course is not None and course.students else None


def _from_files(words: Sequence[str], folder: Path | None) -> Iterator[ExportRow]:
    """A row a grade, with its student from the roster where there is one."""
    from grader.export.formats import row_from_grade
    from grader.gradebook.course import read_course
    from grader.grading.record import grade_from_json

    course: CourseFile | None = read_course(folder) if _has_gradebook(folder) and folder else None
    if not words:
        raise LabFault("there are no grades to export", fix="name GRADE.json files, or use --db")
    for word in words:
        for value in _objects(word):
            grade = grade_from_json(value)
            student = course.student(grade.student) if course else None
            yield row_from_grade(grade, student, _enrolled(student, course))


def _objects(word: str) -> list[Any]:
    """The grade objects of one file: itself, or its `grades`."""
    try:
        data = sys.stdin.buffer.read() if word == STDOUT else Path(word).read_bytes()
        value = json.loads(data)
    except OSError as error:
        raise LabFault(f"cannot read the file: {error.strerror}", where=word) from None
    except ValueError as error:
        fix = "give what `grader check --json` or `grader batch --json` wrote"
        raise LabFault(f"not JSON: {error}", where=word, fix=fix) from None
    several = value.get("grades") if isinstance(value, dict) else None
    return list(several) if isinstance(several, list) else [value]


def _write(chosen: Format, rows: Sequence[ExportRow], options: Options, out: str) -> None:
    """One document, or one a submission into a folder."""
    if chosen.each and (len(rows) > 1 or out.endswith("/") or Path(out or STDOUT).is_dir()):
        folder = _folder(chosen, rows, out)
        for row, stem in zip(rows, stems(rows), strict=True):
            path = folder / f"{stem}{chosen.suffix}"
            write_file(path, chosen.export([row], options).encode())
        return
    text = chosen.export(rows, options)
    if out in ("", STDOUT):
        typer.echo(text, nl=False)
    else:
        write_file(Path(out), text.encode())


def _folder(chosen: Format, rows: Sequence[ExportRow], out: str) -> Path:
    """The folder of --out, made where it is missing. Raises LabFault."""
    fix = "name a folder with --out"
    if out in ("", STDOUT):
        what = f"{chosen.name} has a file for each of {len(rows)} submissions"
        raise LabFault(what, where=out, fix=fix)
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot make the folder: {error.strerror}"
        raise LabFault(what, where=out, fix=fix) from None
    return Path(out)


def stems(rows: Sequence[ExportRow]) -> list[str]:
    """A file's name for each row: the student's ID in plain characters, no two alike."""
    taken: dict[str, int] = {}
    names = []
    for row in rows:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", row.student.id).strip("._")[:80] or "student"
        taken[plain.lower()] = number = taken.get(plain.lower(), 0) + 1
        names.append(plain if number == 1 else f"{plain}~{number}")
    return names


def _tell(left: Sequence[LeftOut]) -> None:
    from grader.export.fields import one_line

    for item in left:
        student = item.row.student
        name = f" ({student.name})" if student.name not in ("", student.id) else ""
        say(one_line(f"left out: {student.id}{name}: {item.why}"))


def _code(item: LeftOut) -> int:
    """What this machine failed is its fault; all else is told and no fault."""
    from grader.export.formats import FAILED

    return MachineFault.exit_code if item.row.why == FAILED else 0
