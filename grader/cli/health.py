"""`grader portal health` and `retry`: how a course's server is, and what its machines failed at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from grader.cli.portal import CourseFolder, Students, opened
from grader.cli.teach import graded_again
from grader.cli.terminal import (
    STDOUT,
    Json,
    LabName,
    check_writable,
    say,
    write,
    write_json,
)
from grader.reports.printable import printable

if TYPE_CHECKING:
    from grader.gradebook.workers import Health, WorkerState

PROBLEMS = 3
"""The exit code when something of the server needs attention."""


def health(course: CourseFolder = Path("."), json: Json = None) -> int:
    """Show the workers, the queue, the machines' errors of the last day, and the disk.

    The exit code is 3 when something needs attention: a monitor can run this.
    """
    from grader.gradebook.course import read_course

    check_writable(json)
    course_file = read_course(course)
    with opened(course_file) as book:
        found = book.workers.health(course_file.labs, course_file.folder)
    if json:
        write_json(found.to_json(), json)
    if json != STDOUT:
        _show(found, ZoneInfo(course_file.timezone))
    return PROBLEMS if found.problems else 0


def _show(found: Health, zone: ZoneInfo) -> None:
    from grader.portal.site import format_bytes, format_duration

    for problem in found.problems:
        write(printable(f"! {problem}") + "\n")
    head = found.head_seconds
    age = "" if head is None else f", the next one for {format_duration(head)}"
    write(f"queue: {len(found.waiting)} wait{age}; {found.running} are graded\n")
    write(f"database: {format_bytes(found.size)}; {format_bytes(found.free)} are free\n")
    for one in found.workers:
        write(printable(_worker_line(one, format_duration((found.at - one.seen).total_seconds()))))
        write("\n")
    for stopped in found.stopped:
        line = f"stopped: {stopped.lab} {stopped.student}, submission {stopped.id}"
        write(printable(f"{line}: `grader portal retry {stopped.lab}`") + "\n")
    for error in found.errors:
        at = f"{error.at.astimezone(zone):%Y-%m-%d %H:%M}"
        line = f"{at}  {error.host}  {error.lab} {error.student}: {error.reason}"
        write(printable(line) + "\n")


def _worker_line(one: WorkerState, age: str) -> str:
    entry = one.entry
    works = ", ".join(f"{work.lab} of {work.student}" for work in one.works)
    said = "".join(f"; {text}" for text in (works, entry.note) if text)
    on = entry.device or entry.backend
    return f"worker: {one.host} {one.pid}  {one.status}  {on}  {age} ago  {entry.version}{said}"


def retry(
    lab: LabName,
    student: Students = None,
    course: CourseFolder = Path("."),
) -> int:
    """Have those submissions of a lab graded again that ended with system errors."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    course_file = read_course(course)
    course_file.policy(lab)
    named = [course_file.student_id(word) for word in student] if student else None
    with opened(course_file) as book:
        count = book.forgive(lab, author(), students=named, proposal="")
    say(f"{lab}: {graded_again(count)}")
    return 0
