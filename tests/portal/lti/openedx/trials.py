"""python -m tests.portal.lti.openedx.trials [FILE]: grades go to Open edX's own LTI code.

Its package is the extra `lti-platforms` (about 95 MB); `make test-lti` installs it. Each trial
prints a line; a line goes to FILE as well, with the versions and the date. The exit code is 1 when
one fails.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from html import unescape
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener, urlopen

from grader.cli import lti_sync
from grader.gradebook.lti import Link, NewRegistration
from grader.gradebook.policy import Release
from grader.portal.lti.client import PlatformFault
from grader.portal.lti.scores import Score, score_message
from grader.portal.lti.sync import Sync, sync_for
from grader.portal.site import labs_of
from tests.portal.made import LAB, Reply, Served, Visit, grade_json, served, source

HOST = Path(__file__).with_name("host.py")
STUDENTS = ("ada", "ben", "cyd")
AGS = "https://purl.imsglobal.org/spec/lti-ags/scope/"


@contextmanager
def open_edx(folder: Path, tool: str) -> Iterator[dict[str, Any]]:
    """Run the platform; yield what it tells an administrator who registers a tool."""
    errors = None if "-v" in sys.argv else subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, str(HOST), str(folder), tool], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=errors, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait()


class Trial:
    """A course that Open edX's course leads to; it is registered there and here."""

    def __init__(self, course: Served, told: dict[str, Any]) -> None:
        self.served, self.told, self.said = course, told, list[str]()
        self.book, self.course, self.folder = (
            course.book,
            course.site.course,
            course.site.course.folder,
        )
        new = NewRegistration(
            told["issuer"], told["client_id"], "Open edX", told["auth_url"], told["token_url"],
            told["jwks_url"],
        )  # fmt: skip
        self.registration = self.book.lti.register(new, "test").id
        self.book.lti.deploy(self.registration, told["deployment"], "test")

    def link(self, name: str) -> Link:
        """The link of one of the platform's blocks, once it was launched."""
        resource = self.told["links"][name]["resource"]
        return next(one for one in self.book.lti.links() if one.resource == resource)

    def launch(self, name: str, user: str, **more: str) -> tuple[Visit, Reply]:
        """Open a block of the platform as a user; follow it to the portal's answer."""
        one = self.told["links"][name]
        asked = {"user": user, "config": one["config"], "resource": one["resource"], "lab": LAB}
        base, visit = self.told["issuer"], Visit(self.served.port)
        begun = ask(f"{base}/host/launch?{urlencode({**asked, **more})}").headers["Location"]
        parts = urlsplit(begun)
        led = visit.get(f"{parts.path}?{parts.query}", Sec_Fetch_Dest="document")
        assert led.code == 303 and led.to.startswith(self.told["auth_url"]), led.text
        form = fields_of(ask(led.to).read().decode())
        return visit, send(visit, "/lti/launch", form)

    def sync(self) -> Sync:
        return sync_for(self.book, self.course, labs_of(self.course), self.said.append)

    def send(self) -> int:
        """Send what is due; it must all be accepted."""
        sync = self.sync()
        report = sync.send()
        left = [one for one in sync.scores.lines() if one.standing in ("waits", "failed")]
        assert not left, [(one.student, one.error) for one in left] + self.said
        return report.sent

    def state(self) -> Any:
        with urlopen(f"{self.told['issuer']}/host/state") as answer:
            return json.load(answer)

    def grade(self, who: str, points: float, number: int = 0) -> None:
        received = datetime.now(UTC)
        stored = self.book.submit(LAB, who, "a.cu", source(number), received=received)
        claim = self.book.claim(stored.id, "key", "test", 60)
        assert claim is not None and self.book.accept(claim, grade_json(LAB, points))

    def grades(self, name: str) -> Any:
        """The platform's own gradebook for a link."""
        return self.state()["grades"].get(self.told["links"][name]["resource"], {})


def ask(address: str) -> Any:
    """Open an address of the platform; a redirect is an answer."""

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *args: Any) -> None:
            return None

    try:
        return build_opener(Stay).open(address)
    except HTTPError as answer:
        assert answer.code in (302, 303), answer.read()
        return answer


def fields_of(page: str) -> dict[str, str]:
    """The fields of a page's form that have a value."""
    found = re.findall(r'<input[^>]*?name="([^"]+)"[^>]*?value="([^"]*)"', page)
    return {name: unescape(value) for name, value in found}


def send(visit: Visit, path: str, fields: Mapping[str, str]) -> Reply:
    kind = {"Content_Type": "application/x-www-form-urlencoded", "Sec_Fetch_Dest": "document"}
    return visit.ask("POST", path, urlencode(fields).encode(), **kind)


def students_launch(one: Trial) -> None:
    """A student opens a block of the platform and is in the lab, as the own person."""
    visit, reply = one.launch("first", "ada")
    assert (reply.code, reply.to) == (303, f"/labs/{LAB}"), reply.text
    assert "Ada Lovelace" in visit.get(reply.to).text
    assert [person.who for person in one.book.lti.people()] == ["student:ada"]
    link = one.link("first")
    assert link.lab == LAB and link.line_items and link.members_url and not link.line_item
    assert AGS + "score" in link.scopes and AGS + "lineitem" in link.scopes
    _, again = one.launch("first", "ada")
    assert again.to == f"/labs/{LAB}"
    _, other = one.launch("first", "zoe")
    assert other.code == 403 and "not-in-roster" in other.text, other.text


def instructors_add_links(one: Trial) -> None:
    """An instructor chooses a lab by deep linking, and the platform stores the link."""
    visit, page = one.launch("first", "lead", deep="1")
    assert page.code == 200 and f'value="{LAB}"' in page.text, page.text
    form = {"key": fields_of(page.text)["key"], "lab": LAB}
    back = send(visit, "/lti/choose", form)
    assert back.code == 200, back.text
    to = re.findall(r'<form method="post" action="([^"]+)"', back.text)[-1]
    with urlopen(unescape(to), urlencode({"JWT": fields_of(back.text)["JWT"]}).encode()) as answer:
        assert answer.status == 200
    content = one.state()["content"]
    assert [item["custom"] for item in content] == [{"lab": LAB}], content


def members_are_connected(one: Trial) -> None:
    """The membership service lists the course in pages; addresses find the students."""
    link = one.link("first")
    one.book.lti.note_services(link.id, "", "", f"{link.members_url}?limit=2", ())
    out = one.folder / "members.json"
    lti_sync.members(course=one.folder, json=str(out), connect=True)
    found = json.loads(out.read_text())
    assert sorted(row["student"] for row in found["connected"]) == [*STUDENTS], found
    assert found["missing_there"] == []
    assert [row["email"] for row in found["missing_here"]] == ["zoe@example.org"]


def a_line_item_is_made_once(one: Trial) -> None:
    """Scores reach the platform's gradebook over one line item that the course has made."""
    for who, points in zip(STUDENTS, (70.0, 0.0, 12.5), strict=True):
        one.grade(who, points)
    assert one.send() == 3
    assert one.grades("first") == {"ada": 0.7, "ben": 0.0, "cyd": 0.125}
    state = one.state()
    assert [item["label"] for item in state["items"]] == ["Vector addition"]
    assert [score["most"] for score in state["scores"]] == [100.0] * 3
    one.sync().scores.again()
    assert one.send() == 0 and len(one.state()["items"]) == 1


def corrections_are_newer(one: Trial) -> None:
    """The platform takes each correction, and refuses a message with an old time."""
    for points in (80.0, 81.0, 82.0):
        one.book.override(LAB, "ada", points, "lead", "look again")
        assert one.send() == 1
    assert one.grades("first")["ada"] == 0.82
    sync = one.sync()
    line = next(line for line in sync.scores.lines() if line.student == "ada")
    client = sync.client(one.registration)
    assert client is not None
    old = score_message(line.sub, Score(1.0, 100.0), datetime(2020, 1, 1, tzinfo=UTC))
    item = f"{one.told['issuer']}/api/lti_consumer/v1/lti/1/lti-ags/1"
    try:
        client.post(f"{item}/scores", AGS + "score", "application/vnd.ims.lis.v1.score+json", old)
    except PlatformFault as fault:
        assert (fault.status, fault.temporary) == (400, False)
        assert "later point in time" in fault.what, fault.what
    else:
        raise AssertionError("an old score was taken")
    assert one.grades("first")["ada"] == 0.82


def held_grades_are_removed(one: Trial) -> None:
    """Grades that are held again are no results of the line item any more."""
    one.book.teaching.set_release(LAB, Release(held=True), "lead", "")
    assert one.send() == 3
    assert {score["given"] for score in one.state()["scores"]} == {None}
    one.book.teaching.set_release(LAB, None, "lead", "")
    assert one.send() == 3
    assert one.grades("first") == {"ada": 0.82, "ben": 0.0, "cyd": 0.125}


def the_own_line_item_is_used(one: Trial) -> None:
    """Where the platform makes the line item, the course uses it and makes none."""
    before = len(one.state()["items"])
    one.launch("second", "ben")
    link = one.link("second")
    assert link.line_item and AGS + "lineitem" not in link.scopes
    assert one.send() == 3
    state = one.state()
    items = [item for item in state["items"] if item["config"] == 2]
    assert len(items) == 1 and len(state["items"]) == before + 1, state["items"]
    assert one.send() == 0
    assert one.grades("second") == {"ada": 0.82, "ben": 0.0, "cyd": 0.125}


TRIALS: tuple[Callable[[Trial], None], ...] = (
    students_launch, instructors_add_links, members_are_connected, a_line_item_is_made_once,
    corrections_are_newer, held_grades_are_removed, the_own_line_item_is_used,
)  # fmt: skip


def main() -> int:
    os.environ["no_proxy"] = "127.0.0.1"
    lines, failed = [], 0
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as course:
        course.site.url = f"http://127.0.0.1:{course.port}"
        with open_edx(Path(name), course.site.url) as told:
            one = Trial(course, told)
            for trial in TRIALS:
                what = (trial.__doc__ or "").strip()
                try:
                    trial(one)
                    line = f"good   {what}"
                except Exception:
                    traceback.print_exc()
                    line, failed = f"FAILED {what}", failed + 1
                print(line, flush=True)
                lines.append(line)
    if len(sys.argv) > 1 and not failed:
        packages = ("lti-consumer-xblock", "django", "djangorestframework")
        head = ", ".join(f"{name} {version(name)}" for name in packages)
        text = "\n".join([f"{datetime.now(UTC):%Y-%m-%d}  {head}", *lines]) + "\n"
        Path(sys.argv[1]).write_text(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
