"""`grader serve` and `worker`, `submit` and `status`, and `grader portal`: a course on the web."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from grader.cli.interrupts import end_on_signals, end_with_input, interruptible
from grader.cli.terminal import (
    Argument,
    Backend,
    Group,
    Option,
    note_public_part,
    resolved,
    say,
    write,
)
from grader.faults import LabFault, MachineFault, install_command

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course as CourseFile
    from grader.gradebook.people import Person
    from grader.portal.site import SendLink, Site

portal = Group("Accounts, tokens and extensions of a course on the web.")

CourseFolder = Annotated[
    Path, Option("--course", metavar="DIR", help="The folder with course.yaml.")
]
Students = Annotated[
    list[str] | None,
    Option("--student", metavar="STUDENT", help="A student; repeatable.  [default: all]"),
]
Reason = Annotated[str, Option("--reason", metavar="TEXT", help="Why; for the audit.")]
On = Annotated[Backend, Option("--on", help="The backend.")]
DEMO = Path("build") / "portal"
LAST_SECONDS = 10
"""Seconds that a server waits at its end for what others still send: some never send it all."""


def serve(
    course: Annotated[
        Path | None, Option("--course", metavar="DIR", help="The folder with course.yaml.")
    ] = None,
    host: Annotated[str, Option("--host", metavar="ADDR", help="The address.")] = "127.0.0.1",
    port: Annotated[int, Option("--port", metavar="N", help="The port.")] = 8000,
    jobs: Annotated[
        int | None,
        Option("--jobs", metavar="N", help="Submissions graded at a time; 0 for separate workers."),
    ] = None,
    on: On = Backend.sim,
    demo: Annotated[bool, Option("--demo", help="Serve a demo course from build/portal.")] = False,
) -> int:
    """Serve a course: students submit and watch, staff see the class.

    The submissions are graded by this command too, or by `grader worker` with --jobs 0. Make the
    first account with `grader portal staff EMAIL --role instructor`.
    """
    require_web()
    import uvicorn

    from grader.cli.batch import apply_course
    from grader.gradebook.course import read_course
    from grader.portal.app import create_app
    from grader.portal.worker import worker_beside

    folder = _demo_folder() if demo else course
    if folder is None:
        raise LabFault("no course is named", fix="name its folder with --course, or use --demo")
    course_file = read_course(folder)
    url = course_file.portal.url or f"http://{host}:{port}"
    with opened(course_file) as book:
        book.enroll(course_file.students, "grader serve")
        apply_course(book, course_file)
        for email, students in book.people.shared_addresses().items():
            say(str(_shared(email, students)))
        site = site_for(course_file, book, url)
        app = create_app(site)
        if demo:
            _invite(site)
        _note_handouts(site, folder)
        say(f"serving {course_file.name} at {url}; end with Ctrl-C")
        count = os.cpu_count() or 1 if jobs is None else jobs
        with interruptible(), worker_beside(folder, count, on.value, say), _grades_sent(site):
            # The limits count by address: a proxy may say for whom it asks, nobody else.
            proxies = list(course_file.portal.proxies)
            uvicorn.run(
                app, host=host, port=port, log_level="warning", access_log=False,
                server_header=False, proxy_headers=bool(proxies), forwarded_allow_ips=proxies,
                timeout_graceful_shutdown=LAST_SECONDS,
            )  # fmt: skip
    return 0


def _demo_folder() -> Path:
    from grader.portal.demo import make_demo

    make_demo(DEMO)
    return DEMO


@contextmanager
def opened(course: CourseFile) -> Iterator[Gradebook]:
    """Open the gradebook of a course until the block ends."""
    from grader.gradebook.book import open_gradebook

    book = open_gradebook(course.gradebook)
    try:
        yield book
    finally:
        book.close()


def site_for(course: CourseFile, book: Gradebook, url: str = "") -> Site:
    """Return what the pages of a course need."""
    from grader.portal.site import Site, labs_of

    labs = labs_of(course)
    note_public_part(labs.values())
    site = Site(course, labs, book, url, _sender(course))
    if site.openid is not None:
        say(f"sign-in with {site.openid.name}: it leads back to {site.openid.answer_at(site.url)}")
    return site


def _sender(course: CourseFile) -> SendLink:
    """Return what sends links: the course's mail server, else this terminal."""
    from grader.portal.site import MailServer

    mail = course.portal.mail
    if mail is None:
        return lambda person, address: say(f"{person.email} signs in at {address}")
    password = ""
    if mail.password_file:
        path = course.folder / mail.password_file
        try:
            password = path.read_text("utf-8").strip()
        except OSError as error:
            what = f"cannot read the mail server's password: {error.strerror}"
            raise LabFault(what, where=str(path)) from None
    server = MailServer(mail.host, mail.sender, mail.port, mail.user, password, mail.encrypted)
    return lambda person, address: server.send_link(course.name, person, address)


def _invite(site: Site) -> None:
    """Print an address to sign in for each role of the demo."""
    people: list[Person] = list(site.people.staff())
    student = site.people.find("s01@example.org")
    people += [student] if student is not None else []
    for person in people:
        say(f"{person.name} ({person.role}): {site.url}/sign-in/{site.people.new_link(person.who)}")


def _note_handouts(site: Site, folder: Path) -> None:
    """Say which handouts no page shows, and how to build them. Starting does not wait for that."""
    from importlib.util import find_spec

    missing = site.handouts.unbuilt(site.labs.values())
    if not missing:
        return
    can_build = find_spec("pypandoc") is not None and find_spec("typst") is not None
    first = "" if can_build else f"  {install_command('handouts')}\n"
    build = f"  grader portal handouts --course {folder}"
    say(f"Students see no handout of {', '.join(missing)}. Build them with:\n{first}{build}")


@contextmanager
def _grades_sent(site: Site) -> Iterator[None]:
    """Send grades to learning platforms beside the server."""
    from grader.portal.lti.sync import sync_for

    sync = sync_for(site.book, site.course, site.labs, say)
    sync.start()
    try:
        yield
    finally:
        sync.end()


def worker(
    course: CourseFolder,
    jobs: Annotated[
        int | None, Option("--jobs", metavar="N", help="Submissions at a time.  [default: cores]")
    ] = None,
    on: On = Backend.sim,
    attached: Annotated[
        bool, Option("--attached", help="End with standard input, as `grader serve` needs it.")
    ] = False,
) -> int:
    """Grade what is submitted to a course, until ended.

    Any number of workers, on any machine that reaches the course's database, share the work. On
    SIGTERM or Ctrl-C a worker finishes what it is grading.
    """
    from grader.batch.task import BatchOptions, grade_task
    from grader.gradebook.course import read_course
    from grader.portal.marks import measure_marks
    from grader.portal.site import labs_of
    from grader.portal.worker import Worker, graded_labs
    from grader.sandbox.call import require_sandbox

    require_sandbox(unsafe=False)
    course_file = read_course(course)
    count = jobs if jobs is not None else os.cpu_count() or 1
    if count < 1:
        raise LabFault("--jobs must be at least 1", fix="leave it out for one job per core")
    with opened(course_file) as book:
        options = BatchOptions(resolved(on))
        labs = labs_of(course_file)
        note_public_part(labs.values())
        graded = graded_labs(course_file, labs, options)
        measuring = (book, course_file, graded, grade_task, say)
        threading.Thread(target=measure_marks, args=measuring, daemon=True).start()
        one = Worker(book, graded, say)
        end_on_signals(one.end)
        if attached:
            threading.Thread(target=end_with_input, args=(one.end,), daemon=True).start()
        say(f"grading for {course_file.name}, {count} at a time")
        one.run(count)
    return 0


@portal.command("staff")
def staff(
    email: Annotated[
        str | None, Argument(metavar="[EMAIL]", help="The person's e-mail address.")
    ] = None,
    course: CourseFolder = Path("."),
    role: Annotated[str, Option("--role", metavar="ROLE", help="instructor, ta or observer.")] = "",
    name: Annotated[str, Option("--name", metavar="TEXT", help="The name to show.")] = "",
    section: Annotated[
        list[str] | None, Option("--section", metavar="TEXT", help="A TA's section; repeatable.")
    ] = None,
    remove: Annotated[bool, Option("--remove", help="End the account.")] = False,
) -> int:
    """List the accounts of the staff, or make, change or end one."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    with opened(read_course(course)) as book:
        people = book.people
        if email is None:
            for one in people.staff():
                taught = f", {', '.join(one.sections)}" if one.sections else ""
                write(f"{one.email}  {one.role}{taught}  {one.name}\n")
            return 0
        if remove:
            people.remove_staff(email, author())
            say(f"{email} may not sign in any more")
            return 0
        if not role:
            raise LabFault("no role is given", fix="add --role instructor, ta or observer")
        one = people.add_staff(email, role, author(), name=name, sections=section or ())  # type: ignore[arg-type]
        say(f"{one.email} is {one.role} now and signs in with this address")
    return 0


@portal.command("backup")
def backup(
    file: Annotated[Path, Argument(metavar="FILE", help="The file to write; it must not exist.")],
    course: CourseFolder = Path("."),
) -> int:
    """Copy a course's gradebook into a file, while the server and workers run.

    For a gradebook on PostgreSQL use pg_dump. Keep the folder of course.yaml too: hidden inputs are
    drawn from its secret.
    """
    from grader.gradebook.course import read_course
    from grader.gradebook.database import connect

    database = connect(read_course(course).gradebook, create=False)
    try:
        database.backup(file)
    finally:
        database.close()
    say(f"wrote {file}; `grader gradebook audit --verify --db {file}` checks it")
    return 0


def _person(book: Gradebook, email: str) -> Person:
    """Return the person of the course with that address. Raises LabFault."""
    person = book.people.find(email)
    if person is None:
        from grader.gradebook.people import comparable_address

        shared = book.people.shared_addresses().get(comparable_address(email))
        if shared:
            raise _shared(email, shared)
        raise LabFault(f"there is no person with the address `{email}` in the course")
    return person


def _shared(email: str, students: Sequence[str]) -> LabFault:
    """Return what is wrong with an address that several students have."""
    what = f"{', '.join(students)} have the same address `{email}`: none of them can sign in"
    return LabFault(what, fix="give each student an address of their own in the roster")


@portal.command("link")
def link(
    email: Annotated[str, Argument(metavar="EMAIL", help="The person's e-mail address.")],
    course: CourseFolder = Path("."),
) -> int:
    """Print a link with which a person signs in once, within 15 minutes."""
    from grader.gradebook.course import read_course

    course_file = read_course(course)
    with opened(course_file) as book:
        person = _person(book, email)
        url = (course_file.portal.url or "http://127.0.0.1:8000").rstrip("/")
        write(f"{url}/sign-in/{book.people.new_link(person.who)}\n")
    return 0


@portal.command("token")
def token(
    email: Annotated[str, Argument(metavar="EMAIL", help="The person's e-mail address.")],
    course: CourseFolder = Path("."),
    name: Annotated[str, Option("--name", metavar="TEXT", help="What it is for.")] = "",
    scope: Annotated[
        list[str] | None,
        Option(
            "--scope", metavar="SCOPE",
            help="read, submit or teach; repeatable.  [default: read, for a student also submit]",
        ),
    ] = None,
) -> int:  # fmt: skip
    """Print a new token with which a person's programs use the portal, shown this once.

    With `read` a program sees what the person sees. With `submit` it submits and asks for a
    student, with `teach` it changes deadlines, groups and more for those whom one of the staff
    teaches.
    """
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    with opened(read_course(course)) as book:
        person = _person(book, email)
        scopes = scope or [one for one in person.scopes if one != "teach"]
        write(f"{book.people.new_token(person.who, name, scopes, author())}\n")
    return 0


@portal.command("extend")
def extend(
    lab: Annotated[str, Argument(metavar="LAB", help="The lab.")],
    student: Annotated[str, Argument(metavar="STUDENT", help="The student.")],
    due: Annotated[
        str, Argument(metavar="TIME", help="The new deadline, 2027-03-28 23:59, or `none`.")
    ],
    reason: Reason,
    course: CourseFolder = Path("."),
) -> int:
    """Give a student another deadline in a lab; `none` removes it."""
    from grader.cli.batch import apply_course, author
    from grader.gradebook.course import read_course

    course_file = read_course(course)
    course_file.policy(lab)
    moment = None if due == "none" else moment_of(course_file, due)
    with opened(course_file) as book:
        book.enroll(course_file.students, author())
        apply_course(book, course_file)
        who = course_file.student_id(student)
        book.extend(lab, who, moment, author(), reason)
    say(f"{who}: {lab} {'as for everybody' if moment is None else f'due {moment:%Y-%m-%d %H:%M}'}")
    return 0


def moment_of(course: CourseFile, text: str) -> datetime:
    """Return a time that was written in the course's time zone. Raises LabFault."""
    from grader.gradebook.course import read_moment

    try:
        written = read_moment(text)
    except ValueError as error:
        raise LabFault(f"`{text}` is not a date and time: {error}") from None
    return course.moment(written)


def require_web() -> None:
    """Raise MachineFault unless the packages of the portal are installed."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as missing:
        what = f"the portal needs the Python package {missing.name}"
        raise MachineFault(what, fix=install_command("web")) from None
