"""`grader portal extensions` and `groups`: deadlines of single students, and who submits together.

Both show what counts, and where it comes from: staff, or course.yaml.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

from grader.cli.portal import CourseFolder, Reason, opened
from grader.cli.terminal import STDOUT, Argument, Json, LabName, Option, say, write, write_json
from grader.faults import LabFault
from grader.reports.printable import printable

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course


def extensions(
    lab: Annotated[str | None, Argument(metavar="[LAB]", help="Only this lab.")] = None,
    file: Annotated[
        Path | None,
        Option(
            "--import", metavar="FILE.csv", help="Set those of a file: student, lab, due, reason."
        ),
    ] = None,
    course: CourseFolder = Path("."),
    json: Json = None,
) -> int:
    """List the extensions that count, or import those of a CSV file: all of it, or nothing.

    The columns are student, lab, due and reason; `none` as due removes what staff decided. The same
    file again changes nothing.
    """
    from grader.cli.batch import apply_course, author
    from grader.gradebook.course import read_course
    from grader.gradebook.extensions import read_extensions

    course_file = read_course(course)
    labs = [lab] if lab else list(course_file.labs)
    for name in labs:
        course_file.policy(name)
    with opened(course_file) as book:
        book.enroll(course_file.students, author())
        apply_course(book, course_file)
        if file is not None:
            rows = read_extensions(file, course_file)
            changed = book.extend_all(rows, author())
            say(f"{len(changed)} of {len(rows)} extensions are new or changed")
        found = [row for name in labs for row in _extensions(book, name)]
    if json != STDOUT:
        zone = ZoneInfo(course_file.timezone)
        for row in found:
            due = f"{row['due'].astimezone(zone):%Y-%m-%d %H:%M}"
            line = f"{row['lab']}  {row['student']}  {due}  {_who(row)}: {row['reason']}"
            write(printable(line) + "\n")
    if json:
        write_json({"extensions": _with_text(found)}, json)
    return 0


def _who(row: dict[str, Any]) -> str:
    return str(row["author"] if row["origin"] == "staff" else row["origin"])


def _with_text(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with their times in ISO 8601."""
    times = ("due", "at")
    return [row | {k: row[k].isoformat() for k in times if k in row} for row in rows]


def _extensions(book: Gradebook, lab: str) -> list[dict[str, Any]]:
    return [{"lab": lab, "student": who, **vars(one)} for who, one in book.extensions(lab).items()]


def groups(
    lab: LabName,
    student: Annotated[
        str | None, Argument(metavar="[STUDENT]", help="The student to put into a group.")
    ] = None,
    group: Annotated[
        str | None,
        Argument(metavar="[GROUP]", help="Its name; `none`; or `course`, for course.yaml's."),
    ] = None,
    reason: Reason = "",
    earlier: Annotated[
        bool, Option("--earlier", help="What the group has submitted so far counts for all of it.")
    ] = False,
    course: CourseFolder = Path("."),
    json: Json = None,
) -> int:
    """Show the groups of a lab, or put a student into one.

    A submission counts for those who are in the group when it is received. A change takes nothing
    from anybody; with --earlier, it also gives.
    """
    from grader.cli.batch import apply_course
    from grader.gradebook.course import read_course

    if (student is None) != (group is None) or student is not None and not reason.strip():
        fix = "write: grader portal groups LAB STUDENT GROUP --reason TEXT"
        raise LabFault("a change needs a student, a group and a reason", fix=fix)
    course_file = read_course(course)
    course_file.policy(lab)
    with opened(course_file) as book:
        if student is not None and group is not None:
            _put(book, course_file, lab, student, group, reason.strip(), earlier=earlier)
        else:
            apply_course(book, course_file)
        found = [vars(one) for one in book.groups.members(lab).values()]
    found.sort(key=lambda row: (row["team"] == "", row["team"], row["student"]))
    if json != STDOUT:
        for row in found:
            line = f"{row['team'] or 'alone'}  {row['student']}  {_who(row)}"
            write(printable(line + (f": {row['reason']}" if row["reason"] else "")) + "\n")
    if json:
        write_json({"lab": lab, "members": _with_text(found)}, json)
    return 0


def _put(
    book: Gradebook, course: Course, lab: str, student: str, group: str, reason: str, *,
    earlier: bool,
) -> None:  # fmt: skip
    from grader.cli.batch import apply_course, author

    book.enroll(course.students, author())
    apply_course(book, course)
    who = course.student_id(student)
    team = {"none": "", "course": None}.get(group, group)
    count = book.groups.put(lab, who, team, author(), reason, earlier=earlier)
    if earlier:
        say(f"{count} earlier submissions count for more students now")
