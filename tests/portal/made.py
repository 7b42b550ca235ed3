"""A course on a real server, and visitors who sign in and send forms as a browser does."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn

from grader.batch.task import Answer, BatchOptions, Task
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import make_secret, read_course
from grader.gradebook.people import Person, Role
from grader.grading.cost import Cost
from grader.grading.pipeline import Progress
from grader.grading.record import CaseResult
from grader.labs.model import Lab
from grader.labs.reading import lab_digest
from grader.launch import Finding
from grader.portal.app import create_app
from grader.portal.site import Site, labs_of
from grader.portal.worker import GradedLab, Worker
from tests.made import a_grade, a_result
from tests.patience import PATIENCE, until

LAB = "vector-add"
COURSE = f"""\
name: CUDA
timezone: Europe/Berlin
roster: roster.csv
counts: last
leaderboard: true
labs:
  {LAB}:
    due: 2027-03-28 23:59
    late:
      - penalty: 10%
        per: day
"""
ROSTER = """\
id,name,email,section
ada,Ada Lovelace,ada@example.org,A
ben,Ben,ben@example.org,A
cyd,Cyd,cyd@example.org,B
"""
STAFF: Mapping[str, tuple[Role, tuple[str, ...]]] = {
    "ta@example.org": ("ta", ("A",)),
    "lead@example.org": ("instructor", ()),
    "watch@example.org": ("observer", ()),
}
SECONDS = float(PATIENCE)
SOURCE = (Path(__file__).parents[2] / "labs" / LAB / f"{LAB}.cu").read_bytes()


def source(number: int = 0) -> bytes:
    """A submission; each number gives another text."""
    return SOURCE + f"// {number}\n".encode()


def write_course(folder: Path, text: str = COURSE) -> None:
    (folder / "course.yaml").write_text(text)
    (folder / "roster.csv").write_text(ROSTER)
    make_secret(folder / "course.secret")


class Reply:
    """An answer of the server."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.code, self.headers = answer.status, answer.headers
        self.body = answer.read()

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def to(self) -> str:
        """Where it leads."""
        return self.headers.get("Location", "")


class Visit:
    """A browser, or a program with a token."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port, self.cookies = port, dict[str, str]()
        self.own = {"Authorization": f"Bearer {token}"} if token else {}

    @property
    def cookie(self) -> str:
        """The cookies as a browser sends them."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    @cookie.setter
    def cookie(self, text: str) -> None:
        self.cookies = dict(one.split("=", 1) for one in text.split("; ")) if text else {}

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {**self.own, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if self.cookie:
            sent["Cookie"] = self.cookie
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            for cookie in answer.headers.get_all("Set-Cookie", ()):
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value
                if value in ("", '""'):
                    del self.cookies[name]
            return Reply(answer)
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, **headers)

    def form_token(self) -> str:
        found = re.search(r'name="form" value="(\w+)"', self.get("/account").text)
        return found[1] if found else ""

    def post(self, path: str, **fields: str) -> Reply:
        """Send a form."""
        fields.setdefault("form", self.form_token())
        kind = {"Content_Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, urlencode(fields).encode(), **kind)

    def upload(self, path: str, name: str, data: bytes, **fields: str) -> Reply:
        """Send a form with a file, as browsers do."""
        parts = [
            f'--xyz\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
            for field, value in fields.items()
        ]
        head = f'--xyz\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = b"".join([*parts, head.encode(), data, b"\r\n--xyz--\r\n"])
        return self.ask("POST", path, body, Content_Type="multipart/form-data; boundary=xyz")

    def submit(self, data: bytes, name: str = "a.cu") -> Reply:
        form = self.form_token()
        return self.upload(f"/labs/{LAB}/submissions", name, data, form=form)


class Served:
    """A course on a server; `links` has the last link that was sent to each address."""

    def __init__(self, site: Site, book: Gradebook, links: dict[str, str], port: int) -> None:
        self.site, self.book, self.links, self.port = site, book, links, port

    def link(self, email: str) -> str:
        """The last link that was sent to an address, once it is sent: no answer waits for that."""
        until(lambda: email in self.links)
        return self.links[email]

    def signed_in(self, email: str) -> Visit:
        person = self.site.people.find(email)
        assert person is not None
        visit = Visit(self.port)
        assert visit.ask("POST", f"/sign-in/{self.site.people.new_link(person.who)}").code == 303
        return visit

    def program(self, email: str, *scopes: str) -> Visit:
        person = self.site.people.find(email)
        assert person is not None
        token = self.site.people.new_token(person.who, "test", scopes or person.scopes, "t")
        return Visit(self.port, token)


@contextmanager
def served(folder: Path, url: str = "", text: str = COURSE) -> Iterator[Served]:
    """Serve the course of a folder on a free port until the block ends."""
    write_course(folder, text)
    course = read_course(folder)
    book = open_gradebook(url or course.gradebook)
    book.enroll(course.students, "test")
    for email, (role, sections) in STAFF.items():
        book.people.add_staff(email, role, "test", sections=sections)
    links: dict[str, str] = {}

    def send(person: Person, address: str) -> None:
        links[person.email] = address.partition("://")[2].partition("/")[2]

    site = Site(course, labs_of(course), book, "http://127.0.0.1", send)
    server = uvicorn.Server(
        uvicorn.Config(create_app(site), port=0, log_level="critical", access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Served(site, book, links, port)
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(PATIENCE)
        book.close()


def grade_json(lab: str, points: float = 70.0, most: float = 100.0) -> Any:
    """A grade with one check and a hidden case, whose name must not reach a student."""
    status = "pass" if points == most else "fail"
    hidden = Finding("wrong-output", "error", "in SECRET-CASE", cases=("SECRET-CASE",))
    check = a_result("output", status, points, most, findings=(hidden,) if points < most else ())
    cases = (CaseResult("SECRET-CASE", "999 x 999", "hidden", "fail"),)
    return a_grade(check, cases=cases, lab=lab, file="a.cu").to_json()


def verified_grade(
    lab: Lab, cost: tuple[int, int, int] | None = (10, 0, 320), *, speedup: float = 0.0,
    points: float = 80.0, failing: str = "", **more: Any,
) -> Any:  # fmt: skip
    """A grade of every case of a lab; `failing` names a case or a check that fails."""
    names = {case.name: case for case in lab.cases}
    cases = tuple(
        CaseResult(one.name, one.size, one.visibility, "fail" if one.name == failing else "pass")
        for one in names.values()
    )
    checks = [
        a_result(name, "fail" if name == failing else "pass", points / 4, 20.0)
        for name in ("compile", "output", "sync", "memory")
    ]
    if speedup:
        measured = {"speedup": speedup, "minimum": 1.2, "full": 1.4}
        checks.append(a_result("speed", "pass", 20.0, 20.0, measurements=measured))
    public = (case for case in lab.cases if case.visibility == "public")
    largest = max(public, key=lambda case: prod(case.dims.values()))
    counted = None if cost is None else Cost(largest.name, *cost, Cost(largest.name, 90, 0, 960))
    backend = "gpu" if speedup else "sim"
    given = {"lab": lab.name, "file": "a.cu", "backend": backend, "cost": counted}
    given["lines_on"] = largest.name
    made = a_grade(*checks, cases=cases, **{**given, **more}).to_json()
    made["provenance"] |= {"lab_sha256": lab_digest(lab), "device": "GPU X" if speedup else None}
    return made


def graded(lab: Lab, task: Task, options: BatchOptions, progress: Progress) -> Answer:
    """Grade at once: 70 points."""
    for number, step in enumerate(("compile", "run", "check"), start=1):
        progress(step, number, 3)
    return Answer(task.number, grade_json(lab.name, 70.0))


@contextmanager
def working(book: Gradebook, site: Site, perform: Any = graded, jobs: int = 1) -> Iterator[Worker]:
    """Run a worker beside the server until the block ends."""
    labs = {name: GradedLab(lab, BatchOptions(), "key") for name, lab in site.labs.items()}
    worker = Worker(book, labs, lambda text: None, perform=perform)
    thread = threading.Thread(target=worker.run, args=(jobs,))
    thread.start()
    try:
        yield worker
    finally:
        worker.end()
        thread.join(PATIENCE)
        assert not thread.is_alive()
