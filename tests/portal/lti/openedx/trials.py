"""python -m tests.portal.lti.openedx.trials [FILE]: grades go to Open edX's own LTI code.

Its package is the extra `lti-platforms` (about 95 MB); `make test-lti` installs it. Each trial
prints a line; a line goes to FILE as well, with the versions and the date. The exit code is 1 when
one fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from grader.cli import lti_sync
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import Course, read_course
from grader.gradebook.lti import NewRegistration
from grader.gradebook.policy import Release
from grader.portal.lti.client import PlatformFault
from grader.portal.lti.keys import Keys
from grader.portal.lti.scores import Score, score_message
from grader.portal.lti.sync import Sync, sync_for
from grader.portal.site import labs_of
from tests.portal.lti.openedx.host import COURSE as CONTEXT
from tests.portal.made import LAB, grade_json, source, write_course

HOST = Path(__file__).with_name("host.py")
STUDENTS = ("ada", "ben", "cyd")
AGS = "https://purl.imsglobal.org/spec/lti-ags/scope/"


@contextmanager
def key_server(folder: Path) -> Iterator[str]:
    """Publish the keys of a course as the portal does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = json.dumps(Keys(folder).published()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


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
    """A course that Open edX's course leads to."""

    def __init__(self, folder: Path, told: dict[str, Any]) -> None:
        self.folder, self.told = folder, told
        self.course: Course = read_course(folder)
        self.book: Gradebook = open_gradebook(self.course.gradebook)
        self.book.enroll(self.course.students, "test")
        lti, base = self.book.lti, told["issuer"]
        new = NewRegistration(
            base, told["client_id"], "Open edX", told["auth_url"], told["token_url"],
            told["jwks_url"],
        )  # fmt: skip
        self.registration = lti.register(new, "test").id
        deployed = lti.deploy(self.registration, told["deployment"], "test")
        self.links: dict[str, int] = {}
        for name, one in told["links"].items():
            link = lti.new_link(deployed.id, CONTEXT, one["resource"], f"Vector add {name}")
            services = f"{base}/api/lti_consumer/v1/lti/{one['id']}"
            scope = "lineitem" if name == "first" else "lineitem.readonly"
            lti.note_services(
                link.id, "", f"{services}/lti-ags", f"{services}/memberships",
                (AGS + scope, AGS + "score", AGS + "result.readonly"),
            )  # fmt: skip
            self.links[name] = link.id
        self.said: list[str] = []

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


def members_are_connected(one: Trial) -> None:
    """The membership service lists the course in pages; addresses find the students."""
    lti, link = one.book.lti, one.links["first"]
    lti.point(link, LAB, "test")
    address = next(found.members_url for found in lti.links() if found.id == link)
    lti.note_services(link, "", "", f"{address}?limit=2", ())
    out = one.folder / "members.json"
    lti_sync.members(course=one.folder, json=str(out), connect=True)
    found = json.loads(out.read_text())
    assert sorted(row["student"] for row in found["connected"]) == [*STUDENTS], found
    assert found["missing_there"] == [] and found["missing_here"] == []


def a_line_item_is_made_once(one: Trial) -> None:
    """Scores reach the platform's gradebook over one line item that the course has made."""
    for who, points in zip(STUDENTS, (70.0, 0.0, 12.5), strict=True):
        one.grade(who, points)
    assert one.send() == 3
    assert one.grades("first") == {"ada": 0.7, "ben": 0.0, "cyd": 0.125}
    state = one.state()
    assert [item["label"] for item in state["items"]] == ["Vector add first"]
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
    one.book.lti.point(one.links["second"], LAB, "test")
    before = len(one.state()["items"])
    assert one.send() == 3
    state = one.state()
    items = [item for item in state["items"] if item["config"] == 2]
    assert len(items) == 1 and len(state["items"]) == before + 1, state["items"]
    assert one.grades("second") == {"ada": 0.82, "ben": 0.0, "cyd": 0.125}


TRIALS: tuple[Callable[[Trial], None], ...] = (
    members_are_connected, a_line_item_is_made_once, corrections_are_newer,
    held_grades_are_removed, the_own_line_item_is_used,
)  # fmt: skip


def main() -> int:
    os.environ["no_proxy"] = "127.0.0.1"
    lines, failed = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_course(folder)
        with key_server(folder) as tool, open_edx(folder, tool) as told:
            one = Trial(folder, told)
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
            one.book.close()
    if len(sys.argv) > 1 and not failed:
        packages = ("lti-consumer-xblock", "django", "djangorestframework")
        head = ", ".join(f"{name} {version(name)}" for name in packages)
        text = "\n".join([f"{datetime.now(UTC):%Y-%m-%d}  {head}", *lines]) + "\n"
        Path(sys.argv[1]).write_text(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
