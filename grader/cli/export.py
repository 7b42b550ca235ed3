"""`grader export`: write grades in the format of another system."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from grader.cli.terminal import (
    STDOUT,
    Argument,
    Course,
    Option,
    note_public_part,
    say,
    write,
    write_file,
)
from grader.faults import LabFault, MachineFault

if TYPE_CHECKING:
    from grader.export.formats import ExportRow, Format, LeftOut, Options
    from grader.gradebook.course import Course as CourseFile
    from grader.gradebook.ledger import Student
    from grader.gradebook.policy import FeedbackPolicy
    from grader.gradebook.values import Entry
    from grader.grading.record import HiddenFeedback
    from grader.labs.model import Lab

AUTOGRADER, CLASSROOM50 = "gradescope-autograder", "classroom50-autograder"
TEMPLATE = "github-template"
PROGRAMS = {
    AUTOGRADER: "Gradescope: a zip that grades there; needs LAB.",
    CLASSROOM50: "Classroom 50: a folder with autograder.py that grades there; needs LAB.",
    TEMPLATE: "GitHub: a template repository that grades with Actions; needs LAB.",
}
"""What grades elsewhere: the names, and their lines in the list of formats."""

Words = Annotated[
    list[str] | None,
    Argument(metavar="[FORMAT] GRADE.json...|LAB", help="Files with grades, or the name of a lab."),
]


def export(
    arguments: Words = None,
    format: Annotated[
        str, Option("--format", metavar="F", help="The format; `list` shows all.")
    ] = "",
    db: Annotated[
        str, Option("--db", metavar="URL", help="Read the grades of LAB from this gradebook.")
    ] = "",
    course: Course = None,
    out: Annotated[
        str, Option("--out", metavar="F", help="The file or folder to write.  [default: -]")
    ] = "",
    points: Annotated[
        float | None, Option("--points", min=0.01, help="Full points in the other system.")
    ] = None,
    column: Annotated[
        str, Option("--column", metavar="TITLE", help="The column of the assignment.")
    ] = "",
    identifier: Annotated[
        Literal["email", "id"], Option("--identifier", help="How Moodle identifies students.")
    ] = "email",
    wheel: Annotated[
        Path | None, Option("--wheel", help="The wheel that an autograder installs.")
    ] = None,
) -> int:
    """Export grades to Gradescope, PrairieLearn, Canvas, Moodle, Classroom 50, JUnit or HTML.

    Grades are read from GRADE.json files. With --db, or a --course that has a gradebook, name the
    LAB instead. `gradescope-autograder LAB` writes a zip that grades on Gradescope,
    `classroom50-autograder LAB` a folder for Classroom 50, and `github-template LAB` a repository
    that grades with GitHub Actions.
    """
    arguments = list(arguments or [])
    name = format or (arguments.pop(0) if arguments else "list")
    if name == "list":
        return _list()
    if name in PROGRAMS:
        write_program = {AUTOGRADER: _autograder, CLASSROOM50: _classroom50, TEMPLATE: _template}
        return write_program[name](_one_lab(name, arguments, course), course, out, wheel)
    from grader.export.formats import Options, find_format, scale_points, select_rows

    chosen = find_format(name)
    rows = _from_gradebook(arguments, db, course) if db or _has_gradebook(course) else None
    rows = list(_from_files(arguments, course)) if rows is None else rows
    if points is not None:
        rows = [scale_points(row, points) for row in rows]
    options = Options(column, identifier, _feedback(rows, course), dict(os.environ))
    exported, left_out = select_rows(chosen, rows, options)
    _report_left_out(left_out)
    if exported and (advice := chosen.advice(options)):
        say(f"note: {advice}")
    report_extra_points(exported)
    if exported:
        _write(chosen, exported, options, out)
    return max((_exit_code(item) for item in left_out), default=0)


def report_extra_points(rows: Sequence[ExportRow]) -> None:
    """Say which students have more than full marks, which another system may cut or refuse."""
    extra = [row for row in rows if row.points is not None and row.points > row.out_of > 0]
    if extra:
        first = f"{extra[0].student.id} with {extra[0].points:g} of {extra[0].out_of:g}"
        more = f" and {len(extra) - 1} more" if extra[1:] else ""
        say(f"more than full marks: {first}{more}; an override set them, check that it should")


def _list() -> int:
    from grader.export.formats import find_format, format_names

    for name in format_names():
        write(f"{name:<22} {find_format(name).title}\n")
    for name, line in PROGRAMS.items():
        write(f"{name:<22} {line}\n")
    return 0


def _one_lab(name: str, arguments: Sequence[str], course: Path | None) -> Lab:
    from grader.labs.reading import lab_roots, load_lab

    if len(arguments) != 1:
        raise LabFault("one lab is needed", fix=f"write: grader export {name} LAB")
    has_labs = course is not None and (course / "labs").is_dir()
    return load_lab(arguments[0], lab_roots(course if has_labs else None))


def _classroom50(lab: Lab, course: Path | None, out: str, wheel: Path | None) -> int:
    from grader.cli.course import write_work_folder
    from grader.export.container.classroom50 import assignment_files

    folder = Path(out or lab.name)
    write_work_folder(folder, assignment_files(lab, wheel=wheel), force=True)
    say(f"commit {folder} to your repository `classroom50` as CLASSROOM/autograders/ASSIGNMENT/")
    say("it has the public cases only, because Classroom 50 publishes these files")
    return 0


def _template(lab: Lab, course: Path | None, out: str, wheel: Path | None) -> int:
    from grader.cli.course import page_of, write_work_folder
    from grader.export.container.github import template_files

    if wheel is not None:
        fix = "commit the wheel to the repository and set the action's input `package` to its path"
        raise LabFault(f"--wheel is not for {TEMPLATE}", fix=fix)
    folder = Path(out or f"{lab.name}-template")
    write_work_folder(folder, template_files(lab, page_of(lab), own=course is not None))
    say(f"push {folder} to a repository and make it a template (Settings, Template repository)")
    return 0


def _autograder(lab: Lab, course: Path | None, out: str, wheel: Path | None) -> int:
    import secrets

    from grader.checks.suite import plan
    from grader.export.container.run_autograder import autograder_zip
    from grader.gradebook.course import read_course
    from grader.labs.files import write_atomically

    note_public_part([lab])
    has_course = course is not None and _has_gradebook(course)
    seed = read_course(course).seed(lab.name) if course and has_course else secrets.token_bytes(32)
    path = Path(out or f"{lab.name}-autograder.zip")
    policy = _policy_of(lab.name, course) if course and has_course else None
    write_atomically(path, autograder_zip(lab, seed, wheel=wheel, feedback=policy), private=True)
    say(f"wrote {path}; it contains the hidden cases, so only you can read it on this machine")
    points_on_simulator = sum(check.points for check in plan(lab) if check.can_evaluate_on("sim"))
    say(f"upload it to Gradescope; the assignment is worth {points_on_simulator:g} points there")
    return 0


def _policy_of(lab: str, course: Path) -> FeedbackPolicy:
    """Return the course's policy of feedback for a lab."""
    from grader.gradebook.course import read_course

    held = read_course(course)
    return held.labs[lab].feedback if lab in held.labs else held.feedback


def _feedback(rows: Sequence[ExportRow], course: Path | None) -> HiddenFeedback:
    """Return what students read now about the hidden cases of these grades' labs."""
    from datetime import UTC, datetime

    from grader.gradebook.course import read_course

    if course is None or not _has_gradebook(course):
        return "score"
    held, now = read_course(course), datetime.now(UTC)
    settings = {held.hidden_feedback(row.grade.lab, now) for row in rows if row.grade}
    return next(iter(settings)) if len(settings) == 1 else "score"


def _has_gradebook(course: Path | None) -> bool:
    return course is not None and (course / "course.yaml").is_file()


def _from_gradebook(
    arguments: Sequence[str], db: str, folder: Path | None
) -> list[ExportRow] | None:
    """Return the rows of one lab; None when the arguments name files."""
    from grader.cli.batch import apply_course
    from grader.gradebook.book import open_gradebook
    from grader.gradebook.course import read_course

    if not db and any(argument.endswith(".json") or argument == STDOUT for argument in arguments):
        return None
    if len(arguments) != 1:
        raise LabFault("one lab is needed", fix="write: grader export FORMAT LAB --db URL")
    course = read_course(folder) if folder and _has_gradebook(folder) else None
    url = db or (course.gradebook if course else "")
    if "://" not in url and not Path(url).is_file():  # opening it would create it
        fix = "check the path; `grader batch` creates a gradebook"
        raise LabFault("the gradebook does not exist", where=url, fix=fix)
    book = open_gradebook(url)
    try:
        if course is not None:
            apply_course(book, course)
        entries = book.entries(arguments[0], course=course)
        texts = {
            one.id: one.data.decode("utf-8", "replace") for one in book.submissions(arguments[0])
        }
    finally:
        book.close()
    if not entries:
        raise LabFault(f"there are no grades of lab `{arguments[0]}`", where=book.name)
    return [_row(entry, course, texts.get(entry.submission or 0, "")) for entry in entries]


def _row(entry: Entry, course: CourseFile | None, source: str) -> ExportRow:
    from grader.export.formats import WHY, ExportRow
    from grader.gradebook.ledger import Student
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
    """Return whether the roster has the student; None without a roster."""
    return student is not None if course is not None and course.students else None


def _from_files(arguments: Sequence[str], folder: Path | None) -> Iterator[ExportRow]:
    """Yield one row per grade, with the student from the roster when there is one."""
    from grader.export.formats import row_from_grade
    from grader.gradebook.course import read_course
    from grader.grading.record import grade_from_json

    course: CourseFile | None = read_course(folder) if _has_gradebook(folder) and folder else None
    if not arguments:
        raise LabFault("there are no grades to export", fix="name GRADE.json files, or use --db")
    for argument in arguments:
        for value in _objects(argument):
            grade = grade_from_json(value)
            student = course.student(grade.student) if course else None
            yield row_from_grade(grade, student, _enrolled(student, course))


def _objects(argument: str) -> list[Any]:
    """Return the grade objects of one file: the object itself, or its `grades`."""
    try:
        data = sys.stdin.buffer.read() if argument == STDOUT else Path(argument).read_bytes()
        value = json.loads(data)
    except OSError as error:
        raise LabFault(f"cannot read the file: {error.strerror}", where=argument) from None
    except ValueError as error:
        fix = "use a file that `grader check --json` or `grader batch --json` wrote"
        raise LabFault(f"the file is not JSON: {error}", where=argument, fix=fix) from None
    several = value.get("grades") if isinstance(value, dict) else None
    return list(several) if isinstance(several, list) else [value]


def _write(chosen: Format, rows: Sequence[ExportRow], options: Options, out: str) -> None:
    """Write one document, or one per submission into a folder."""
    if chosen.each and (len(rows) > 1 or out.endswith("/") or Path(out or STDOUT).is_dir()):
        folder = _folder(chosen, rows, out)
        for row, stem in zip(rows, stems(rows), strict=True):
            path = folder / f"{stem}{chosen.suffix}"
            write_file(path, chosen.export([row], options).encode("utf-8", "replace"))
        return
    text = chosen.export(rows, options)
    if out in ("", STDOUT):
        write(text)
    else:
        write_file(Path(out), text.encode("utf-8", "replace"))


def _folder(chosen: Format, rows: Sequence[ExportRow], out: str) -> Path:
    """Return the folder of --out, created when missing; raises LabFault."""
    fix = "name a folder with --out"
    if out in ("", STDOUT):
        what = f"{chosen.name} writes one file for each of {len(rows)} submissions"
        raise LabFault(what, where=out, fix=fix)
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot create the folder: {error.strerror}"
        raise LabFault(what, where=out, fix=fix) from None
    return Path(out)


def stems(rows: Sequence[ExportRow]) -> list[str]:
    """Return a distinct file name for each row: the student's ID in plain characters."""
    taken: dict[str, int] = {}
    names = []
    for row in rows:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", row.student.id).strip("._")[:80] or "student"
        taken[stem.lower()] = number = taken.get(stem.lower(), 0) + 1
        names.append(stem if number == 1 else f"{stem}~{number}")
    return names


def _report_left_out(left_out: Sequence[LeftOut]) -> None:
    from grader.export.fields import one_line

    for item in left_out:
        student = item.row.student
        name = f" ({student.name})" if student.name not in ("", student.id) else ""
        say(one_line(f"left out: {student.id}{name}: {item.why}"))


def _exit_code(item: LeftOut) -> int:
    """Return 3 for a system error; other rows that are left out are no error."""
    from grader.export.formats import FAILED

    return MachineFault.exit_code if item.row.why == FAILED else 0
