"""`grader portal lti`: the learning platforms that lead to a course, and the course's own keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from grader.cli.portal import CourseFolder, opened, require_web
from grader.cli.terminal import STDOUT, Argument, Group, Json, Option, say, write, write_json
from grader.faults import LabFault
from grader.reports.printable import printable

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course
    from grader.gradebook.lti import Registration

lti = Group("Learning platforms that lead to a course (LTI 1.3).")

Number = Annotated[int, Argument(metavar="NUMBER", help="The platform's number, from `list`.")]


@lti.command("list")
def list_platforms(course: CourseFolder = Path("."), json: Json = None) -> int:
    """List the platforms, and the addresses to enter there."""
    from grader.gradebook.course import read_course

    course_file = read_course(course)
    with opened(course_file) as book:
        found = [
            {
                **vars(one),
                "deployments": [each.deployment for each in book.lti.deployments(one.id)],
                "people": len(book.lti.people(one.id)),
            }
            for one in book.lti.registrations()
        ]
    if json != STDOUT:
        for one in found:
            _show(one)
        _show_addresses(course_file)
    if json:
        write_json({"platforms": found, "addresses": _addresses(course_file)}, json)
    return 0


def _show(one: dict[str, object]) -> None:
    state = "" if one["active"] else ", removed"
    placed = one["deployments"]
    assert isinstance(placed, list)
    write(printable(f"{one['id']}  {one['name']}: {one['issuer']}{state}") + "\n")
    line = f"   client {one['client_id']}, deployments {', '.join(placed) or 'none'}"
    write(printable(f"{line}, {one['people']} people connected") + "\n")


def _addresses(course: Course) -> dict[str, str]:
    url = _url(course)
    return {
        "login": f"{url}/lti/login",
        "redirect": f"{url}/lti/launch",
        "target": f"{url}/lti/launch",
        "keys": f"{url}/lti/keys",
    }


def _show_addresses(course: Course) -> None:
    words = {
        "login": "initiate login URL", "redirect": "redirect URI", "target": "target link URI",
        "keys": "public keyset URL",
    }  # fmt: skip
    for name, address in _addresses(course).items():
        say(f"{words[name]}: {address}")


def _url(course: Course) -> str:
    return (course.portal.url or "http://127.0.0.1:8000").rstrip("/")


@lti.command("add")
def add(
    issuer: Annotated[str, Option("--issuer", metavar="URL", help="The platform's issuer.")],
    client: Annotated[str, Option("--client-id", metavar="ID", help="This course's ID there.")],
    login: Annotated[str, Option("--auth-url", metavar="URL", help="Its authorization URL.")],
    token: Annotated[str, Option("--token-url", metavar="URL", help="Its access token URL.")],
    keys: Annotated[str, Option("--keyset-url", metavar="URL", help="Its public keyset URL.")],
    deployment: Annotated[
        list[str] | None, Option("--deployment", metavar="ID", help="A deployment; repeatable.")
    ] = None,
    name: Annotated[str, Option("--name", metavar="TEXT", help="What people call it.")] = "",
    audience: Annotated[
        str, Option("--audience", metavar="TEXT", help="Of token requests, if not its token URL.")
    ] = "",
    origin: Annotated[
        list[str] | None,
        Option("--origin", metavar="URL", help="Where else its pages are; repeatable."),
    ] = None,
    course: CourseFolder = Path("."),
) -> int:
    """Register a platform, or change one with that issuer and client ID."""
    require_web()
    from grader.cli.batch import author
    from grader.gradebook.course import read_course
    from grader.gradebook.lti import NewRegistration
    from grader.portal.lti.registrations import checked

    course_file = read_course(course)
    new = checked(
        NewRegistration(
            issuer, client, name or issuer, login, token, keys, audience, tuple(origin or ())
        )
    )
    with opened(course_file) as book:
        made = book.lti.register(new, author())
        for one in deployment or ():
            book.lti.deploy(made.id, one, author())
    say(f"{made.name} is platform {made.id} of {course_file.name}")
    if not deployment:
        say(f"add its deployment: grader portal lti deploy {made.id} ID")
    _show_addresses(course_file)
    return 0


def _platform(book: Gradebook, number: int) -> Registration:
    found = book.lti.registration(number)
    if found is None:
        raise LabFault(f"there is no platform {number}", fix="grader portal lti list")
    return found


@lti.command("remove")
def remove(number: Number, course: CourseFolder = Path(".")) -> int:
    """End a registration: nobody comes from that platform, and it gets no scores any more.

    What was recorded is kept; `add` with the same issuer and client ID takes it up again.
    """
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    with opened(read_course(course)) as book:
        one = _platform(book, number)
        book.lti.remove(number, author())
    say(f"{one.name} does not lead to the course any more")
    return 0


@lti.command("deploy")
def deploy(
    number: Number,
    deployment: Annotated[str, Argument(metavar="ID", help="The platform's deployment ID.")],
    gone: Annotated[bool, Option("--remove", help="End it.")] = False,
    course: CourseFolder = Path("."),
) -> int:
    """Add a deployment of a platform, or end one."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    with opened(read_course(course)) as book:
        one = _platform(book, number)
        if gone:
            known = {each.deployment: each.id for each in book.lti.deployments(number)}
            if deployment not in known:
                raise LabFault(f"there is no deployment `{deployment}`", fix="see `list`")
            book.lti.remove_deployment(known[deployment], author())
        else:
            book.lti.deploy(number, deployment, author())
    say(f"{one.name}: deployment {deployment} {'removed' if gone else 'added'}")
    return 0


@lti.command("invite")
def invite(course: CourseFolder = Path(".")) -> int:
    """Print an address with which one platform registers itself, within a day."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    course_file = read_course(course)
    with opened(course_file) as book:
        write(f"{_url(course_file)}/lti/register/{book.lti.invite(author())}\n")
    return 0


@lti.command("people")
def people(
    gone: Annotated[
        int | None, Option("--remove", metavar="N", help="Disconnect this account.")
    ] = None,
    course: CourseFolder = Path("."),
) -> int:
    """List the platforms' accounts that are connected with people of the course."""
    from grader.cli.batch import author
    from grader.gradebook.course import read_course

    with opened(read_course(course)) as book:
        if gone is not None:
            book.lti.forget(gone, author())
            say(f"account {gone} is connected with nobody any more")
            return 0
        for one in book.lti.people():
            write(printable(f"{one.id}  platform {one.registration}  {one.sub}  {one.who}") + "\n")
    return 0


@lti.command("keys")
def list_keys(course: CourseFolder = Path(".")) -> int:
    """List the course's own keys that platforms see, and which one signs."""
    require_web()
    from grader.gradebook.course import read_course
    from grader.portal.lti.keys import KEPT, Keys

    keys = Keys(read_course(course).folder)
    signing = keys.signing().id
    for one in keys.all():
        state = f"signs from {one.signs:%Y-%m-%d %H:%M} UTC"
        if one.id == signing:
            state = "signs now"
        elif one.retired is not None:
            state = f"published until {one.retired + KEPT:%Y-%m-%d %H:%M} UTC"
        write(f"{one.id}  made {one.made:%Y-%m-%d %H:%M} UTC, {state}\n")
    return 0


@lti.command("rotate")
def rotate(
    revoke: Annotated[
        bool,
        Option("--revoke", help="Sign with it at once, and withdraw the old keys: they are known."),
    ] = False,
    course: CourseFolder = Path("."),
) -> int:
    """Make a new key, which signs a day after platforms see it; they see the old one longer."""
    require_web()
    from grader.cli.batch import author
    from grader.gradebook.course import read_course
    from grader.portal.lti.keys import Keys

    course_file = read_course(course)
    with opened(course_file) as book:
        made = Keys(course_file.folder).rotate(revoke=revoke)
        book.lti.note_key(made.id, author())
    when = "now" if revoke else f"from {made.signs:%Y-%m-%d %H:%M} UTC"
    say(f"{course_file.name} signs with {made.id} {when}")
    return 0
