"""`grader portal requests`, `comment`, `release` and more: what staff do on the portal's pages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

from grader.cli.portal import CourseFolder, Reason, Students, moment_of, opened
from grader.cli.terminal import Argument, Json, LabName, Option, check_writable, say, write
from grader.faults import LabFault, pluralize
from grader.reports.printable import printable

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.values import Request

Number = Annotated[int, Argument(metavar="NUMBER", help="The request.")]
Submission = Annotated[int, Argument(metavar="SUBMISSION", help="The number of the submission.")]
Body = Annotated[str, Argument(metavar="TEXT", help="The text.")]


def graded_again(count: int) -> str:
    """Say how many submissions are graded again."""
    return f"{pluralize(count, 'submission')} {'is' if count == 1 else 'are'} graded again"


def requests(
    number: Annotated[
        int | None, Argument(metavar="[NUMBER]", help="A request; all when left out.")
    ] = None,
    course: CourseFolder = Path("."),
) -> int:
    """List the requests to look at a grade again, or show one with its messages."""
    from grader.gradebook.course import read_course

    course_file = read_course(course)
    with opened(course_file) as book:
        found = book.teaching.requests()
        if number is not None:
            one = next((one for one in found if one.id == number), None)
            if one is None:
                raise LabFault(f"there is no request {number}", fix="leave the number out")
            _show(book, one, ZoneInfo(course_file.timezone))
            return 0
    for one in found:
        write(
            printable(
                f"{one.id}  {one.status:<8}  {one.lab}  {one.student}  submission {one.submission}"
            )
            + "\n"
        )
    return 0


def _show(book: Gradebook, one: Request, zone: ZoneInfo) -> None:
    made = book.grade(one.submission)
    now = "" if made is None else f", now {made['score']:g} of {made['judged_max']:g}"
    write(
        printable(f"{one.lab} {one.student}: {one.score:g} of {one.most:g} points then{now}") + "\n"
    )
    for said in one.messages:
        who = f"{said.author} (staff)" if said.staff else said.author
        write(printable(f"{said.at.astimezone(zone):%Y-%m-%d %H:%M}  {who}") + "\n")
        for line in said.body.splitlines():
            write(printable(f"  {line}") + "\n")


def answer(number: Number, text: Body, course: CourseFolder = Path(".")) -> int:
    """Answer a request."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    with opened(read_course(course)) as book:
        book.teaching.reply(number, text, author(), staff=True)
    say(f"request {number} is answered")
    return 0


def close(number: Number, course: CourseFolder = Path(".")) -> int:
    """Close a request."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    with opened(read_course(course)) as book:
        book.teaching.close(number, author())
    say(f"request {number} is closed")
    return 0


def comment(
    submission: Submission,
    text: Annotated[
        str, Argument(metavar="[TEXT]", help="The text; all comments are listed without it.")
    ] = "",
    line: Annotated[
        int, Option("--line", metavar="N", help="The line; 0 for the whole submission.")
    ] = 0,
    remove: Annotated[
        int | None, Option("--remove", metavar="COMMENT", help="Remove the comment instead.")
    ] = None,
    course: CourseFolder = Path("."),
) -> int:
    """Write a comment on a submission, list its comments, or remove one."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    with opened(read_course(course)) as book:
        if remove is not None:
            book.teaching.remove_comment(submission, remove, author())
            say(f"comment {remove} is removed")
        elif text:
            say(f"comment {book.teaching.comment(submission, line, text, author())} is written")
        else:
            for one in book.teaching.comments(submission):
                write(printable(f"{one.id}  line {one.line}  {one.author}: {one.body}") + "\n")
    return 0


def release(
    lab: LabName,
    when: Annotated[
        str,
        Argument(
            metavar="[WHEN]",
            help="now, hold, a time such as 2027-04-01 12:00, or course: as course.yaml says.",
        ),
    ] = "",
    reason: Reason = "",
    course: CourseFolder = Path("."),
) -> int:
    """Decide when students see the grades of a lab, or show it."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course
    from grader.gradebook.policy import Release

    course_file = read_course(course)
    written = course_file.policy(lab).release
    with opened(course_file) as book:
        if when == "course":
            book.teaching.set_release(lab, None, author(), reason)
        elif when:
            rule = {"now": Release(datetime.now(UTC)), "hold": Release(held=True)}.get(when)
            made = rule or Release(moment_of(course_file, when))
            book.teaching.set_release(lab, made, author(), reason)
        found = book.teaching.release(lab, written)
    at = found.moment
    if found.held:
        say(f"{lab}: students see no grades until they are released")
    elif at is None:
        say(f"{lab}: students see their grades")
    else:
        local = at.astimezone(ZoneInfo(course_file.timezone))
        say(f"{lab}: students see their grades from {local:%Y-%m-%d %H:%M} on")
    return 0


def choose(
    submission: Submission,
    student: Annotated[
        str, Option("--student", metavar="STUDENT", help="One of a group.  [default: its sender]")
    ] = "",
    course: CourseFolder = Path("."),
) -> int:
    """Choose the submission that counts for its student, where course.yaml has `counts: chosen`."""
    from grader.cli.batch import author
    from grader.cli.portal import site_for
    from grader.gradebook.course import read_course
    from grader.portal.work import choose as chosen

    course_file = read_course(course)
    with opened(course_file) as book:
        stored = book.submission(submission)
        if stored is None:
            raise LabFault(f"there is no submission {submission}", fix="check its number")
        who = course_file.student_id(student) if student else stored.student
        chosen(site_for(course_file, book), stored, author(), who)
    say(f"{stored.lab}: submission {submission} counts for {who}")
    return 0


def regrade(
    lab: LabName,
    reason: Reason,
    student: Students = None,
    course: CourseFolder = Path("."),
) -> int:
    """Have the workers grade a lab again; the old grades count until you adopt the new ones."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    course_file = read_course(course)
    course_file.policy(lab)
    with opened(course_file) as book:
        named = [course_file.student_id(word) for word in student or ()]
        made = book.teaching.start_regrade(lab, named, author(), reason)
    say(f"regrade {made.id} of {lab} is started: see `grader portal regrades {made.id}`")
    return 0


def regrades(
    number: Annotated[
        int | None, Argument(metavar="[NUMBER]", help="A regrade; all when left out.")
    ] = None,
    adopt: Annotated[bool, Option("--adopt", help="Let its grades count.")] = False,
    reject: Annotated[bool, Option("--reject", help="Reject its grades.")] = False,
    retry: Annotated[
        bool, Option("--retry", help="Grade again what ended with system errors.")
    ] = False,
    course: CourseFolder = Path("."),
) -> int:
    """List the regrades, show what one would change, or decide it."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    wanted = adopt + reject + retry
    if wanted and (number is None or wanted > 1):
        what = "name one regrade, and --adopt, --reject or --retry"
        raise LabFault(what, fix="list them without options")
    with opened(read_course(course)) as book:
        if number is None:
            for one in book.teaching.regrades():
                whom = ", ".join(one.students) or "all"
                write(
                    printable(f"{one.id}  {one.state:<8}  {one.lab}  {whom}: {one.reason}") + "\n"
                )
            return 0
        if adopt or reject:
            count = book.teaching.end_regrade(number, author(), adopt=adopt)
            say(f"regrade {number} is {'adopted' if adopt else 'rejected'}: {count} grades")
            return 0
        if retry:
            say(graded_again(book.retry_regrade(number, author())))
            return 0
        found = book.teaching.regrade(number)
        if found is None:
            raise LabFault(f"there is no regrade {number}", fix="leave the number out")
        changes = book.changes(found.proposal) if found.state == "open" else ()
        for one_change in changes:
            if one_change.differs:
                old = "-" if one_change.old_score is None else f"{one_change.old_score:g}"
                line = f"{one_change.submission}  {one_change.student}  {old} -> "
                write(printable(f"{line}{one_change.new_score:g}  {one_change.new_verdict}") + "\n")
        pending = book.teaching.pending(found) if found.state == "open" else ()
        stopped = sum(waits.stopped for waits in pending)
        failed = f", {stopped} could not be graded: --retry tries again" if stopped else ""
        waits = len(pending) - stopped
        say(f"{found.state}: {len(changes)} graded again, {waits} wait{failed}")
    return 0


def similar(
    lab: LabName,
    html: Annotated[
        Path | None,
        Option("--html", metavar="DIR", help="Write pages with the pairs side by side to DIR."),
    ] = None,
    json: Json = None,
    course: CourseFolder = Path("."),
) -> int:
    """Find pairs of unusually similar submissions among those that count.

    `grader similar` does the same for files. A pair needs review by a person; it is not a verdict.
    """
    from grader.cli.course import MAX_CHARACTERS, create_folder, report_similar
    from grader.gradebook.course import read_course
    from grader.labs.reading import lab_roots, load_lab

    check_writable(json)
    course_file = read_course(course)
    course_file.policy(lab)
    own = course_file.folder if (course_file.folder / "labs").is_dir() else None
    model = load_lab(lab, lab_roots(own))
    if html is not None:
        create_folder(html)
    texts, numbers, left_out = {}, {}, []
    with opened(course_file) as book:
        sent = {one.id: one for one in book.submissions(lab)}
        for entry in book.entries(lab, course=course_file):
            stored = sent.get(entry.submission or 0)
            if stored is None:
                continue
            if len(stored.data) > MAX_CHARACTERS:
                left_out.append(entry.student)
                say(
                    f"left out: {entry.student}: the file is larger than {MAX_CHARACTERS >> 10} KiB"
                )
                continue
            texts[entry.student] = stored.data.decode("utf-8", "replace")
            numbers[entry.student] = stored.id
        together = book.groups.together(lab)
    report_similar(model, texts, (), html, json, together, numbers=numbers, left_out=left_out)
    return 0
