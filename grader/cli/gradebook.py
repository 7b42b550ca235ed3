"""`grader gradebook`: what a class has got, and what an instructor may do about it."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple
from zoneinfo import ZoneInfo

import typer

from grader.cli.options import Json
from grader.cli.terminal import STDOUT, check_writable, say, show, width, write_json
from grader.faults import LabFault, did_you_mean

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course

COURSE_FILE = "course.yaml"

gradebook = typer.Typer(
    no_args_is_help=True, help="Show grades; override, recompute, audit; import the roster."
)

LabName = Annotated[str, typer.Argument(metavar="LAB", help="The lab, such as tiled-matmul.")]
Who = Annotated[str, typer.Argument(metavar="STUDENT", help="ID, login, e-mail address or name.")]
Db = Annotated[
    str, typer.Option("--db", metavar="URL", help="A SQLite file, or postgresql://USER@HOST/NAME.")
]
CourseFolder = Annotated[
    Path | None,
    typer.Option("--course", metavar="DIR", help="A folder with course.yaml.  [default: .]"),
]
Author = Annotated[
    str, typer.Option("--author", metavar="NAME", help="Who does it.  [default: who is logged in]")
]


class Opened(NamedTuple):
    """A gradebook, and the course that it belongs to when that is known."""

    book: Gradebook
    course: Course | None

    @property
    def zone(self) -> tzinfo:
        """The zone that times are told in."""
        return ZoneInfo(self.course.timezone) if self.course else UTC

    def lab(self, word: str) -> str:
        """The lab that is meant. Raises LabFault: neither the course nor, without one, the
        gradebook has it.
        """
        if self.course:
            self.course.policy(word)
        elif word not in (known := self.book.labs()):
            fix = did_you_mean(word, known) or f"there is: {', '.join(known) or 'nothing yet'}"
            raise LabFault(f"there is nothing of a lab `{word}`", where=self.book.name, fix=fix)
        return word

    def student(self, word: str) -> str:
        """The student that is meant, as the gradebook knows them. Raises LabFault: nobody is."""
        found = self.course.student(word) if self.course else None
        known = self.book.students()
        if found or word in known:
            return found.id if found else word
        fix = did_you_mean(word, known) or "`grader gradebook show LAB` lists them"
        raise LabFault(f"there is no student `{word}`", where=self.book.name, fix=fix)


@contextmanager
def opened(db: str, folder: Path | None, *, create: bool = False) -> Iterator[Opened]:
    """The gradebook that is meant: `--db`, else that of `--course`; the course is by default that
    of a course.yaml here. Raises LabFault: none is named, or there is none yet and `create` is not
    set.
    """
    from grader.gradebook.book import open_gradebook
    from grader.gradebook.course import read_course

    here = Path(COURSE_FILE).is_file()
    course = read_course(folder or Path()) if folder is not None or here else None
    if not db and course is None:
        what = "no gradebook is named, and there is no course.yaml here"
        raise LabFault(what, fix="name one: --course DIR, or --db FILE or URL")
    book = open_gradebook(db or (course.gradebook if course else ""), create=create)
    try:
        yield Opened(book, course)
    finally:
        book.close()


def _author(author: str) -> str:
    """Who does it: as named, else the login name. Raises LabFault for a user without one."""
    if author.strip():
        return author.strip()
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise LabFault("this user has no name", fix="say who does it: --author NAME") from None


@gradebook.command("show", short_help="What counts for each student of a lab.")
def show_lab(lab: LabName, db: Db = "", course: CourseFolder = None, json: Json = None) -> int:
    """Show what counts for each student of LAB: points after lateness and overrides."""
    from grader.gradebook.entries import entries_json, entry_table

    check_writable(json)
    with opened(db, course) as held:
        entries = held.book.entries(held.lab(lab), course=held.course)
        if json != STDOUT:
            show(entry_table(entries, held.zone, width()))
        if json:
            write_json(entries_json(lab, entries), json)
    return 0


@gradebook.command("override", short_help="Give points by hand, with a reason.")
def override(
    lab: LabName,
    student: Who,
    points: Annotated[
        float | None, typer.Argument(min=0, max=1e6, metavar="POINTS", help="What counts.")
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; kept with it.")
    ] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Take the override back.")] = False,
    author: Author = "",
    db: Db = "",
    course: CourseFolder = None,
) -> int:
    """Give POINTS instead of the computed ones, or take that back. Author and reason are kept."""
    if remove == (points is not None):
        raise LabFault("give either POINTS or --remove")
    if not reason.strip():
        raise LabFault("an override needs a reason", fix="--reason TEXT says why")
    if points is not None and points != points:
        raise LabFault("`nan` is no number of POINTS")
    with opened(db, course) as held:
        who = held.student(student)
        held.book.override(held.lab(lab), who, points, _author(author), reason.strip())
        say(f"{lab}: {who} " + ("has the computed points" if remove else f"has {points:g} points"))
        for entry in held.book.entries(lab, course=held.course):
            if entry.student == who and (points or 0) > (entry.max_points or points or 0):
                say(f"  that is more than full marks, which are {entry.max_points:g}")
    return 0


@gradebook.command("audit", short_help="Every change that was made.")
def audit(
    lab: Annotated[str | None, typer.Argument(metavar="LAB", help="Of this lab only.")] = None,
    student: Annotated[
        str | None, typer.Option("--student", metavar="S", help="Of this student only.")
    ] = None,
    db: Db = "",
    course: CourseFolder = None,
    json: Json = None,
) -> int:
    """Show every change that was ever made: who, what, what was before and after, and why."""
    from grader.gradebook.entries import event_lines, events_json

    check_writable(json)
    with opened(db, course) as held:
        events = held.book.audit(lab, held.student(student) if student else None)
        if json != STDOUT:
            show(event_lines(events, held.zone))
        if json:
            write_json(events_json(events), json)
    return 0


@gradebook.command("recompute", short_help="Work all points of a lab out again.")
def recompute(lab: LabName, author: Author = "", db: Db = "", course: CourseFolder = None) -> int:
    """Work all points of LAB out again, after the rules or grades have changed; show who moved."""
    from grader.gradebook.entries import points_change_lines

    with opened(db, course) as held:
        moved = held.book.recompute(held.lab(lab), _author(author), course=held.course)
        show(points_change_lines(moved))
    return 0


@gradebook.command("roster", short_help="Import the course's roster.")
def roster(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE.csv", help="The roster.  [default: course.yaml's]"),
    ] = None,
    author: Author = "",
    db: Db = "",
    course: CourseFolder = None,
) -> int:
    """Import a roster: an export of Canvas, Moodle or Gradescope. Nobody's work is touched."""
    from grader.gradebook.roster import read_roster

    with opened(db, course, create=True) as held:
        listed = held.course.students if held.course else ()
        students = read_roster(file) if file else listed
        if not students:
            raise LabFault("there is no roster", fix="name FILE.csv, or `roster:` in course.yaml")
        for line in held.book.enroll(students, _author(author)):
            say(line)
        count = "1 student is" if len(students) == 1 else f"{len(students)} students are"
        say(f"{count} enrolled in {held.book.name}")
    return 0


@gradebook.command("secret", short_help="Make the course's secret.")
def secret(course: CourseFolder = None) -> int:
    """Make the file of the course's secret, from which hidden inputs are drawn; only you may read
    it. One that is there is kept.
    """
    from grader.gradebook.course import make_secret, secret_file

    path = secret_file(course or Path())
    make_secret(path)
    say(f"wrote {path}; keep a copy where students cannot read it")
    return 0
