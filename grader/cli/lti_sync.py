"""`grader portal lti sync`, `status` and `members`: grades that go to learning platforms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

from grader.cli.portal import CourseFolder, opened, require_web
from grader.cli.terminal import (
    STDOUT,
    Argument,
    Json,
    Option,
    check_writable,
    say,
    write,
    write_json,
)
from grader.faults import LabFault, MachineFault, pluralize
from grader.reports.printable import printable

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course
    from grader.gradebook.lti import Link
    from grader.gradebook.lti_scores import ScoreLine
    from grader.portal.lti.members import Compared
    from grader.portal.lti.standing import Standings

PROBLEMS = 3
"""The exit code when a platform does not take a score."""

OneLab = Annotated[
    str | None, Option("--lab", metavar="LAB", help="One lab.  [default: all]")
]  # fmt: skip


def sync(
    lab: OneLab = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would be sent.")] = False,
    again: Annotated[
        bool, Option("--again", help="Also what a platform has refused, without waiting.")
    ] = False,
    course: CourseFolder = Path("."),
) -> int:
    """Send grades to the learning platforms now, as the server does by itself.

    Each score is sent once, whoever else sends. The exit code is 3 when a platform refuses one.
    """
    require_web()
    from grader.gradebook.course import read_course
    from grader.portal.lti.sync import scores_of, sync_for, takes_scores
    from grader.portal.site import labs_of

    course_file = read_course(course)
    _require_lab(course_file, lab)
    labs = labs_of(course_file)
    with opened(course_file) as book:
        scores = scores_of(book, course_file, labs)
        if dry_run:
            due = [one for one in scores.lines(lab) if one.due and takes_scores(one.target)]
            for one in due:
                write(printable(_line(one)) + "\n")
            say(f"{pluralize(len(due), 'score')} would be sent")
            return 0
        if again:
            scores.again(lab)
        report = sync_for(book, course_file, labs, say).send(lab)
    say(f"{pluralize(report.sent, 'score')} sent, {report.failed} refused, {report.left} left")
    return PROBLEMS if report.failed else 0


def _require_lab(course: Course, lab: str | None) -> None:
    if lab is not None:
        course.policy(lab)


def _line(one: ScoreLine) -> str:
    points = one.wanted.points
    shown = "no score" if points is None else f"{points:g} of {one.wanted.most:g}"
    line = f"{one.target.lab}  link {one.target.link}  {one.student}  {shown}  {one.standing}"
    return f"{line}: {one.error}" if one.error else line


def status(lab: OneLab = None, course: CourseFolder = Path("."), json: Json = None) -> int:
    """Show how the grades stand at the learning platforms: sent, waiting, failed and why.

    The exit code is 3 when a platform refuses a score or a link has no line item.
    """
    require_web()
    from grader.gradebook.course import read_course
    from grader.gradebook.lti_items import LtiItems
    from grader.portal.lti.standing import standings
    from grader.portal.lti.sync import scores_of
    from grader.portal.site import labs_of

    check_writable(json)
    course_file = read_course(course)
    _require_lab(course_file, lab)
    with opened(course_file) as book:
        scores = scores_of(book, course_file, labs_of(course_file))
        lines, errors = scores.lines(lab), LtiItems(book.database).errors()
        found = standings(scores.targets(lab), lines, errors)
    if json:
        links = [
            {"link": one.target.link, "lab": one.target.lab, "problem": one.problem}
            for one in found.links
        ]
        write_json({"links": links, "scores": [*map(_score_json, lines)]}, json)
    if json != STDOUT:
        _show(found, ZoneInfo(course_file.timezone))
    return PROBLEMS if found.problems else 0


def _score_json(one: ScoreLine) -> dict[str, Any]:
    return {
        "lab": one.target.lab, "link": one.target.link, "student": one.student,
        "points": one.wanted.points, "most": one.wanted.most, "standing": one.standing,
        "error": one.error, "tries": one.tries, "accepted": one.at and one.at.isoformat(),
    }  # fmt: skip


def _show(found: Standings, zone: ZoneInfo) -> None:
    for problem in found.problems:
        write(printable(f"! {problem}") + "\n")
    for one in found.links:
        line = f"{one.target.lab}  link {one.target.link}: {one.sent} sent, {one.waits} wait"
        write(printable(f"{line}, {one.failed} failed") + "\n")
    for error in found.errors:
        again = error.next_try and f", again {error.next_try.astimezone(zone):%Y-%m-%d %H:%M}"
        write(printable(_line(error) + (again or "")) + "\n")


def members(
    lab: Annotated[
        str | None, Argument(metavar="[LAB]", help="The lab whose link is looked at.")
    ] = None,
    link: Annotated[
        int | None, Option("--link", metavar="N", help="The link, when the lab has several.")
    ] = None,
    connect: Annotated[
        bool, Option("--connect", help="Connect the accounts whose e-mail address matches.")
    ] = False,
    write_csv: Annotated[
        Path | None,
        Option("--write-csv", metavar="FILE", help="Write the members without a student."),
    ] = None,
    course: CourseFolder = Path("."),
    json: Json = None,
) -> int:
    """Compare the members of a platform's course with the roster.

    Nobody is added to the roster. --write-csv writes those whom it lacks as a roster file.
    """
    require_web()
    from grader.cli.batch import author
    from grader.gradebook.course import read_course
    from grader.portal.lti.members import roster_csv

    check_writable(json)
    course_file = read_course(course)
    with opened(course_file) as book:
        book.enroll(course_file.students, author())
        at = _link(book, lab, link)
        found = _compared(book, course_file, at, connect=connect)
    if write_csv is not None:
        _write_new(write_csv, roster_csv(found.missing_here))
    if json:
        write_json({"link": at.id, "lab": at.lab, **found.to_json()}, json)
    if json != STDOUT:
        _show_members(found)
    return 0


def _link(book: Gradebook, lab: str | None, number: int | None) -> Link:
    """Return the link that was named. Raises LabFault without exactly one that lists members."""
    found = [
        one for one in book.lti.links(lab)
        if one.lab and one.members_url and number in (None, one.id)
    ]  # fmt: skip
    if number is None:  # links of one place have the same members
        found = list({(one.deployment, one.context): one for one in found}.values())
    if len(found) == 1:
        return found[0]
    if not found:
        fix = "open the lab in the platform, with its service for members switched on"
        raise LabFault("no platform lists its members for this", fix=fix)
    numbers = ", ".join(f"--link {one.id}" for one in found)
    raise LabFault("several places of platforms lead here", fix=f"name one: {numbers}")


def _compared(book: Gradebook, course: Course, link: Link, *, connect: bool) -> Compared:
    """Read the members, keep who of the connected people they are, and compare them."""
    from grader.cli.batch import author
    from grader.portal.lti.client import PlatformFault
    from grader.portal.lti.members import compare, read_members
    from grader.portal.lti.sync import sync_for
    from grader.portal.site import labs_of

    sync = sync_for(book, course, labs_of(course), say)
    target = next((one for one in sync.scores.targets() if one.link == link.id), None)
    client = None if target is None else sync.client(target.registration)
    if target is None or client is None:
        raise LabFault(f"the platform of link {link.id} is not active", fix="register it again")
    try:
        listed = read_members(client, link.members_url)
    except PlatformFault as fault:
        raise MachineFault(f"the platform did not list its members: {fault.what}") from None

    def known() -> dict[str, str]:
        people = book.lti.people(target.registration)
        return {one.sub: one.who.removeprefix("student:") for one in people}

    found = compare(listed, course.students, known())
    if connect and found.matching:
        for member, who in found.matching:
            book.lti.know(target.registration, member.sub, f"student:{who}", author())
        found = compare(listed, course.students, known())
    near = [one for one in sync.scores.targets() if one.place == target.place]
    sync.scores.set_members(near, {member.sub for member in listed})
    return found


def _show_members(found: Compared) -> None:
    for member, who in found.connected:
        write(printable(f"connected      {who}  {member.sub}") + "\n")
    for member, who in found.matching:
        line = f"same address   {who}  {member.sub}  {member.email}: connect with --connect"
        write(printable(line) + "\n")
    for member in found.missing_here:
        line = f"not in roster  {member.sub}  {member.email}  {member.name}"
        write(printable(line.rstrip()) + "\n")
    for who in found.missing_there:
        write(printable(f"not there      {who}") + "\n")


def _write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet. Raises LabFault."""
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise LabFault(f"cannot write the file: {error.strerror}", where=str(path)) from None
