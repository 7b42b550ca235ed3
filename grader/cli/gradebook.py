"""`grader gradebook`: show grades and their history, and change them as an instructor."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple
from zoneinfo import ZoneInfo

from grader.cli.terminal import (
    STDOUT,
    Argument,
    Group,
    Json,
    Option,
    check_writable,
    say,
    show,
    width,
    write_json,
)
from grader.faults import LabFault, MachineFault, did_you_mean

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course

COURSE_FILE = "course.yaml"

gradebook = Group("Show, override and audit grades; import the roster.")

LabName = Annotated[str, Argument(metavar="LAB", help="The lab, such as tiled-matmul.")]
Who = Annotated[
    str, Argument(metavar="STUDENT", help="The student's ID, login, email address or name.")
]
Db = Annotated[
    str,
    Option(
        "--db", metavar="URL", help="The gradebook: a SQLite file or postgresql://USER@HOST/NAME."
    ),
]
CourseFolder = Annotated[
    Path | None,
    Option("--course", metavar="DIR", help="The folder with course.yaml.  [default: .]"),
]
Author = Annotated[
    str,
    Option("--author", metavar="NAME", help="Your name for the audit log.  [default: login name]"),
]


class Session(NamedTuple):
    """An open gradebook, and its course when there is one."""

    book: Gradebook
    course: Course | None

    @property
    def zone(self) -> tzinfo:
        """The time zone for displayed times."""
        return ZoneInfo(self.course.timezone) if self.course else UTC

    def lab(self, word: str) -> str:
        """Return the name of a lab.

        Raises LabFault when the course, or without one the gradebook, does not contain it.
        """
        if self.course:
            self.course.policy(word)
        elif word not in (known := self.book.labs()):
            labs = f"it has: {', '.join(known)}" if known else "the gradebook is empty"
            fix = did_you_mean(word, known) or labs
            raise LabFault(f"there are no grades of lab `{word}`", where=self.book.name, fix=fix)
        return word

    def student(self, word: str) -> str:
        """Return the ID of a student. Raises LabFault for an unknown or ambiguous one."""
        known = self.book.students()
        found = self.course.student_id(word, known) if self.course else word
        if found in known or (self.course and self.course.student(word)):
            return found
        fix = did_you_mean(word, known) or "run `grader gradebook show LAB` to list the students"
        raise LabFault(f"there is no student `{word}`", where=self.book.name, fix=fix)


@contextmanager
def opened(
    db: str, folder: Path | None, *, create: bool = False, check: bool = True
) -> Iterator[Session]:
    """Open the gradebook of `--db`, or else of the course, and `check` it against its audit.

    The course is that of `--course`, or of a course.yaml in the current folder.

    Raises:
        LabFault: No gradebook is named, or it does not exist and `create` is not set.
        MachineFault: The gradebook is damaged.
    """
    from grader.cli.batch import apply_course
    from grader.gradebook.book import open_gradebook
    from grader.gradebook.course import read_course

    here = Path(COURSE_FILE).is_file()
    course = read_course(folder or Path()) if folder is not None or here else None
    if not db and course is None:
        what = "no gradebook is named, and this folder has no course.yaml"
        raise LabFault(what, fix="name the gradebook with --course DIR or --db URL")
    book = open_gradebook(db or (course.gradebook if course else ""), create=create, check=check)
    try:
        if course is not None and check:
            apply_course(book, course)
        yield Session(book, course)
    finally:
        book.close()


def _author(author: str) -> str:
    """Return the author: as named, or else the login name. Raises LabFault without one."""
    if author.strip():
        return author.strip()
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise LabFault("this user has no login name", fix="add --author NAME") from None


@gradebook.command("show", short_help="Show the points of each student.")
def show_lab(lab: LabName, db: Db = "", course: CourseFolder = None, json: Json = None) -> int:
    """Show the points of each student of LAB, after lateness and overrides."""
    from grader.gradebook.entries import entries_json, entry_table

    check_writable(json)
    with opened(db, course) as session:
        entries = session.book.entries(session.lab(lab), course=session.course)
        if json != STDOUT:
            show(entry_table(entries, session.zone, width()))
        if json:
            write_json(entries_json(lab, entries), json)
    return 0


@gradebook.command("override", short_help="Replace the points of a student.")
def override(
    lab: LabName,
    student: Who,
    points: Annotated[
        float | None,
        Argument(min=0, max=1e6, metavar="POINTS", help="The points that count."),
    ] = None,
    reason: Annotated[
        str, Option("--reason", metavar="TEXT", help="The reason, kept in the audit log.")
    ] = "",
    remove: Annotated[bool, Option("--remove", help="Remove the override.")] = False,
    author: Author = "",
    db: Db = "",
    course: CourseFolder = None,
) -> int:
    """Replace the computed points of a student by POINTS, or remove the override.

    The author and the reason are kept in the audit log.
    """
    if remove == (points is not None):
        raise LabFault("give either POINTS or --remove")
    if not reason.strip():
        raise LabFault("an override needs a reason", fix="add --reason TEXT")
    if points is not None and points != points:
        raise LabFault("`nan` is not a number of POINTS")
    with opened(db, course) as session:
        student_id = session.student(student)
        session.book.override(session.lab(lab), student_id, points, _author(author), reason.strip())
        say(
            f"{lab}: {student_id} "
            + ("has the computed points" if remove else f"has {points:g} points")
        )
        for entry in session.book.entries(lab, course=session.course):
            if entry.student == student_id and (points or 0) > (entry.max_points or points or 0):
                say(f"  that is more than the full points of the lab, {entry.max_points:g}")
    return 0


@gradebook.command("audit", short_help="Show every change of the gradebook.")
def audit(
    lab: Annotated[str | None, Argument(metavar="LAB", help="Only this lab.")] = None,
    student: Annotated[
        str | None, Option("--student", metavar="S", help="Only this student.")
    ] = None,
    verify: Annotated[
        bool, Option("--verify", help="Verify the chain of the audit and all stored data.")
    ] = False,
    expect: Annotated[
        str,
        Option("--expect", metavar="HEAD", help="A head that --verify printed before."),
    ] = "",
    db: Db = "",
    course: CourseFolder = None,
    json: Json = None,
) -> int:
    """Show every change with its author, the old and the new value, and the reason.

    Or verify that no line and no stored data was changed outside the grader.
    """
    from grader.gradebook.entries import event_lines, events_json

    check_writable(json)
    if verify or expect:
        if lab or student:
            raise LabFault("--verify is for the whole gradebook", fix="leave out LAB and --student")
        return _verify(expect, db, course, json)
    with opened(db, course) as session:
        events = session.book.audit(lab, session.student(student) if student else None)
        if json != STDOUT:
            show(event_lines(events, session.zone))
        if json:
            write_json(events_json(events), json)
    return 0


def _verify(expect: str, db: str, course: Path | None, json: str | None) -> int:
    """Show whether the gradebook agrees with its audit; return 3 when it does not."""
    from grader.gradebook.entries import verification_json, verification_lines

    with opened(db, course, check=False) as session:
        verification = session.book.verify(expect.strip().lower())
    if json != STDOUT:
        show(verification_lines(verification))
    if json:
        write_json(verification_json(verification), json)
    return MachineFault.exit_code if verification.problems else 0


@gradebook.command("recompute", short_help="Recompute all points of a lab.")
def recompute(lab: LabName, author: Author = "", db: Db = "", course: CourseFolder = None) -> int:
    """Recompute all points of LAB after a change of rules or grades, and show the differences."""
    from grader.gradebook.entries import points_change_lines

    with opened(db, course) as session:
        moved = session.book.recompute(session.lab(lab), _author(author), course=session.course)
        show(points_change_lines(moved))
    return 0


@gradebook.command("roster", short_help="Import the course's roster.")
def roster(
    file: Annotated[
        Path | None,
        Argument(metavar="FILE.csv", help="The roster.  [default: the roster of course.yaml]"),
    ] = None,
    author: Author = "",
    db: Db = "",
    course: CourseFolder = None,
) -> int:
    """Import a roster that Canvas, Moodle or Gradescope exported.

    Submissions and grades do not change.
    """
    from grader.gradebook.ledger import read_roster

    with opened(db, course, create=True) as session:
        course_students = session.course.students if session.course else ()
        students = read_roster(file) if file else course_students
        if not students:
            raise LabFault(
                "there is no roster", fix="name FILE.csv, or set `roster:` in course.yaml"
            )
        for line in session.book.enroll(students, _author(author)):
            say(line)
        count = "1 student is" if len(students) == 1 else f"{len(students)} students are"
        say(f"{count} enrolled in {session.book.name}")
    return 0


@gradebook.command("secret", short_help="Create the secret of the course.")
def secret(course: CourseFolder = None) -> int:
    """Create the file with the secret of the course, which seeds the hidden inputs.

    Only you can read the file. An existing file is kept.
    """
    from grader.gradebook.course import make_secret, secret_file

    path = secret_file(course or Path())
    make_secret(path)
    say(f"wrote {path}; keep a copy where students cannot read it")
    return 0
