"""`grader submit` and `grader status`: a course on the web, from the command line.

The address and the token are in WARPGRADE_URL and WARPGRADE_TOKEN.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from json import dumps, load
from pathlib import Path
from typing import Annotated, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from grader.cli.terminal import Argument, Json, LabName, Option, say, write, write_json
from grader.faults import LabFault, MachineFault, StudentFault

ADDRESS, TOKEN = "WARPGRADE_URL", "WARPGRADE_TOKEN"
SECONDS = 30.0
WAIT_SECONDS = 1.0

Url = Annotated[
    str, Option("--url", metavar="URL", help="The course's address.  [default: $WARPGRADE_URL]")
]
Watch = Annotated[bool, Option("--watch", help="Wait for the grade.")]


def submit(
    lab: LabName,
    file: Annotated[Path, Argument(metavar="FILE", help="The file with the kernel.")],
    url: Url = "",
    watch: Watch = False,
    json: Json = None,
) -> int:
    """Submit a file to a course on the web.

    The token that you made on your account page there is read from $WARPGRADE_TOKEN.
    """
    from grader.labs.quiz import ANSWERS_FILE
    from grader.submissions.containers import MAX_CONTAINER
    from grader.submissions.files import read_regular_file

    course = RemoteCourse(url)
    files = {"file": (file.name, read_regular_file(file, MAX_CONTAINER + 1))}
    sheet = file.parent / ANSWERS_FILE
    if sheet.is_file() and not sheet.is_symlink():
        files["answers"] = (ANSWERS_FILE, sheet.read_bytes())
    state = course.send(f"/labs/{quote(lab, safe='')}/submissions", files)
    say(f"stored as submission {state['id']}: {course.url}/submissions/{state['id']}")
    return _report(course, course.wait(state) if watch else state, json)


def submit_source(lab: str, source: str) -> str:
    """Submit a source to the course of $WARPGRADE_URL; return a line about it. Raises Fault.

    Args:
        lab: The lab's name.
        source: The source, such as a cell of a notebook.
    """
    course = RemoteCourse("")
    files = {"file": (f"{lab}.cu", source.encode("utf-8", "replace"))}
    state = course.send(f"/labs/{quote(lab, safe='')}/submissions", files)
    return f"Stored as submission {state['id']}: {course.url}/submissions/{state['id']}"


def status(
    number: Annotated[
        int | None, Argument(metavar="[NUMBER]", help="A submission; all labs when left out.")
    ] = None,
    url: Url = "",
    watch: Watch = False,
    json: Json = None,
) -> int:
    """Show what a course has graded: all labs, or one submission."""
    course = RemoteCourse(url)
    if number is not None:
        state = course.get(f"/submissions/{number}")
        return _report(course, course.wait(state) if watch else state, json)
    labs = course.get("/labs")
    if json:
        write_json({"labs": labs}, json)
    for lab in labs:
        points = "-" if lab["points"] is None else f"{lab['points']:g}"
        most = "" if lab["max_points"] is None else f" of {lab['max_points']:g}"
        write(f"{lab['name']:<24} {points + most:<12} {lab['status']}\n")
    return 0


def ask(
    number: Annotated[int, Argument(metavar="SUBMISSION", help="The number of the submission.")],
    text: Annotated[str, Argument(metavar="TEXT", help="What you think is wrong.")],
    url: Url = "",
) -> int:
    """Ask for another look at the grade of a submission of yours."""
    course = RemoteCourse(url)
    made = course.send_json(f"/submissions/{number}/requests", {"text": text})
    say(f"request {made['id']}: {course.url}/requests/{made['id']}")
    return 0


def _report(course: RemoteCourse, state: Mapping[str, Any], json: str | None) -> int:
    if json:
        write_json(state, json)
    grade = state["grade"]
    if grade is None:
        if state.get("held"):
            say(f"submission {state['id']}: graded; the grades of this lab are not released yet")
            return 0
        ahead = state["ahead"]
        place = "" if ahead is None else f", {ahead} before it"
        say(f"submission {state['id']}: {state['status']}{place}")
        return 3 if state["status"] == "system-error" else 0
    from grader.cli.terminal import show, width
    from grader.grading.record import grade_from_json
    from grader.reports.text import grade_report

    made = grade_from_json(grade)
    if json != "-":
        show(grade_report(made, width()))
    return made.exit_code


class RemoteCourse:
    """The API of a course."""

    def __init__(self, url: str) -> None:
        self.url = (url or os.environ.get(ADDRESS, "")).rstrip("/")
        self._token = os.environ.get(TOKEN, "")
        if not self.url.startswith(("http://", "https://")):
            fix = f"set {ADDRESS}, or use --url https://..."
            raise LabFault("the address of the course is not known", fix=fix)
        if not self._token:
            fix = f"make one on {self.url}/account and put it into {TOKEN}"
            raise LabFault("there is no token", fix=fix)

    def get(self, path: str) -> Any:
        """Return the answer to a GET."""
        return self._sent(Request(f"{self.url}/api/v1{path}"))

    def send(self, path: str, files: Mapping[str, tuple[str, bytes]]) -> Any:
        """Return the answer to a POST of files."""
        boundary = secrets.token_hex(16)
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}";'
            f' filename="{_quoted(name)}"\r\nContent-Type: application/octet-stream\r\n\r\n'.encode(
                errors="replace"
            )
            + data
            + b"\r\n"
            for field, (name, data) in files.items()
        ]
        body = b"".join([*parts, f"--{boundary}--\r\n".encode()])
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self._sent(Request(f"{self.url}/api/v1{path}", body, kind))

    def send_json(self, path: str, values: Mapping[str, Any]) -> Any:
        """Return the answer to a POST of values."""
        kind = {"Content-Type": "application/json"}
        return self._sent(Request(f"{self.url}/api/v1{path}", dumps(values).encode(), kind))

    def delete(self, path: str) -> Any:
        """Return the answer to a DELETE."""
        return self._sent(Request(f"{self.url}/api/v1{path}", method="DELETE"))

    def wait(self, state: Any) -> Any:
        """Return the state of a submission once it is graded, or failed for good."""
        told = ""
        while state["grade"] is None and state["status"] not in ("system-error", "graded"):
            ahead = f", {state['ahead']} before it" if state["ahead"] else ""
            if (line := f"{state['status']}{ahead}") != told:
                say(told := line)
            time.sleep(WAIT_SECONDS)
            state = self.get(f"/submissions/{state['id']}")
        return state

    def _sent(self, request: Request) -> Any:
        request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with urlopen(request, timeout=SECONDS) as answer:
                return load(answer)
        except HTTPError as error:
            raise _refused(error) from None
        except (URLError, OSError, ValueError) as error:
            what = f"cannot reach the course: {getattr(error, 'reason', error)}"
            raise MachineFault(what, where=self.url, fix="check the address; try again") from None


def _quoted(name: str) -> str:
    """Return a file's name as browsers write it in a form."""
    marks = {'"': "%22", "\r": "%0D", "\n": "%0A"}
    return "".join(marks.get(mark, mark) for mark in name)


def _refused(error: HTTPError) -> Exception:
    """Return the fault for an answer that is a refusal."""
    try:
        what = str(load(error)["detail"])
    except (ValueError, KeyError, TypeError, OSError):
        what = f"the course answered {error.code}"
    if error.code == 422:
        return StudentFault(what)
    if error.code in (401, 403, 404):
        return LabFault(what)
    return MachineFault(what, fix="try again later")
