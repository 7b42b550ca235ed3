"""python -m bench.portal [--url URL]: the deadline minute of a course of 1,000 students.

A server of its own (`grader serve --jobs 0`) takes 300 submissions in 60 s while 200 watchers read
events; then the class page is opened. Before that, an idle server with a worker takes single
submissions of tiled-matmul: the time from the upload to the first live event and to the result,
beside `grader check` of such files in turns. Prints the times, what was stored, and the server's
memory. The exit code is 1 when a goal is missed. `--url` names an empty PostgreSQL database in
place of SQLite. `--seconds 10` is a shorter minute: all submissions in 10 s. `--only idle` or
`--only minute` runs one part; `--times 3` times fewer single submissions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import make_secret, read_course

LAB = "vector-add"
STUDENTS, SUBMISSIONS, WATCHERS = 1000, 300, 200
GOAL_ANSWER, GOAL_CLASS, GOAL_EVENT, GOAL_MEMORY = 0.3, 0.3, 0.1, 250
GOAL_MORE, SINGLE = 0.2, 7
"""Seconds that the portal may take more than `grader check`, and how often both are timed."""

ROOT = Path(__file__).parents[1]
SOURCE = (ROOT / "labs" / LAB / f"{LAB}.cu").read_bytes()
GRADED = "tiled-matmul"
SOLUTION = (ROOT / "solutions" / GRADED / f"{GRADED}.cu").read_bytes()

Row = tuple[str, float, float, str]
"""A line of the table: what, its value, the goal, the unit."""


def write_course(folder: Path, url: str) -> None:
    """Write a course of 1,000 students."""
    database = f"database: {url}\n" if url else ""
    (folder / "course.yaml").write_text(
        f"name: Bench\ntimezone: UTC\nroster: roster.csv\n{database}"
        f'labs:\n  {LAB}: {{due: "2027-03-28 23:59"}}\n  {GRADED}: {{}}\n'
    )
    lines = [f"s{k},Student {k},s{k}@example.org" for k in range(STUDENTS)]
    (folder / "roster.csv").write_text("\n".join(["id,name,email", *lines]) + "\n")
    make_secret(folder / "course.secret")


async def ask(port: int, head: str, body: bytes = b"") -> tuple[int, bytes, float]:
    """Send a request; return the status, the body and the seconds until the answer was read."""
    begun = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{head}\r\nHost: x\r\nConnection: close\r\n".encode() + body)
    text = await reader.read()
    writer.close()
    status = int(text.split(b" ", 2)[1])
    return status, text.partition(b"\r\n\r\n")[2], time.perf_counter() - begun


async def submit(
    port: int, cookie: str, form: str, number: int, lab: str = LAB, source: bytes = SOURCE
) -> tuple[int, float, str]:
    """Submit as a browser does; return the status, the seconds and the page that it leads to."""
    begun = time.perf_counter()
    parts = (
        f'--x\r\nContent-Disposition: form-data; name="form"\r\n\r\n{form}\r\n'
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a.cu"\r\n\r\n'
    ).encode()
    body = parts + source + f"// {number}\n\r\n--x--\r\n".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST /labs/{lab}/submissions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: {cookie}"
        f"\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(body)}\r\n\r\n"
        .encode() + body
    )  # fmt: skip
    text = (await reader.read()).decode()
    writer.close()
    took = time.perf_counter() - begun
    place = next((line[10:] for line in text.split("\r\n") if line.startswith("location: ")), "")
    return int(text.split(" ", 2)[1]), took, place


async def minute(
    port: int, people: list[tuple[str, str]], seconds: float
) -> dict[str, list[float]]:
    """Send the submissions at even distances; 200 of the students watch theirs."""
    found: dict[str, list[float]] = {"answer": [], "event": []}
    watchers: list[asyncio.Task[float]] = []

    async def one(k: int) -> None:
        cookie, form = people[k]
        status, took, place = await submit(port, cookie, form, k)
        if status != 303:
            raise SystemExit(f"bench.portal: a submission was answered with {status}")
        found["answer"].append(took)
        if len(watchers) < WATCHERS:
            watchers.append(asyncio.create_task(first_event(k, place)))

    async def first_event(k: int, place: str) -> float:
        found["event"].append(0.0)
        at = len(found["event"]) - 1
        cookie = people[k][0]
        begun = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET {place}/events HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n\r\n"
        writer.write(head.encode())
        text = b""
        while b"event: " not in text:
            text += await reader.read(4096)
        found["event"][at] = time.perf_counter() - begun
        while await reader.read(4096):
            pass
        return 0.0

    tasks = []
    begun = time.perf_counter()
    for k in range(SUBMISSIONS):
        await asyncio.sleep(max(0.0, begun + k * seconds / SUBMISSIONS - time.perf_counter()))
        tasks.append(asyncio.create_task(one(k)))
    await asyncio.gather(*tasks)
    for task in watchers:
        task.cancel()
    return found


def sign_in(book: Gradebook, site_forms: object, who: str) -> tuple[str, str]:
    """Return the cookie of a new session and its forms' token."""
    secret = book.people.new_session(f"student:{who}")
    return f"warpgrade={secret}", site_forms.form_token(secret)  # type: ignore[attr-defined]


def memory(pid: int) -> float:
    """Return the MiB that a process holds alone or shared, at most so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> int:
    """Print the table; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.portal", description=__doc__)
    parser.add_argument("--url", default="")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--times", type=int, default=SINGLE)
    parser.add_argument("--only", choices=("idle", "minute"))
    options = parser.parse_args()
    rows: list[Row] = []
    if options.only != "minute":
        with tempfile.TemporaryDirectory() as place:
            rows += idle(Path(place), options.times)
    if options.only != "idle":
        with tempfile.TemporaryDirectory() as place:
            rows += run(Path(place), options.url, options.seconds)
    for name, value, goal, unit in rows:
        said = "MISSED" if value > goal else "met"
        print(f"{name:<52} {value:8.3f} {unit:<4} goal {goal:g}  {said}")
    return int(any(value > goal for _, value, goal, _ in rows))


def idle(folder: Path, times: int) -> list[Row]:
    """Time single submissions on an idle server with a worker, in turns with `grader check`."""
    from grader.portal.site import Site

    write_course(folder, "")
    course = read_course(folder)
    book = open_gradebook(course.gradebook)
    book.enroll(course.students, "bench")
    forms = Site(course, {}, book, "http://x", lambda person, address: None)
    cookie, form = sign_in(book, forms, "s0")
    event, result, alone = [], [], []
    with serving(folder, jobs=1) as (_, port):
        for k in range(times + 1):
            first, last = asyncio.run(watched(port, cookie, form, k))
            checked = check(folder, 1000 + k)
            if k:  # the first one fills the caches of files and templates
                event.append(first)
                result.append(last)
                alone.append(checked)
    book.close()
    print(
        f"idle: {GRADED} on the portal {median(result):.3f} s, grader check {median(alone):.3f} s,"
        f" ratio {median(result) / median(alone):.2f} (medians of {times})"
    )
    more = median(result) - median(alone)
    return [
        ("upload to the first live event, worst", max(event), GOAL_EVENT, "s"),
        (f"upload to {GRADED}'s result, more than grader check", more, GOAL_MORE, "s"),
    ]


async def watched(port: int, cookie: str, form: str, number: int) -> tuple[float, float]:
    """Submit and watch; return the seconds from the upload to the first event and to the grade."""
    begun = time.perf_counter()
    status, _, place = await submit(port, cookie, form, number, GRADED, SOLUTION)
    if status != 303:
        raise SystemExit(f"bench.portal: a submission was answered with {status}")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {place}/events HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n\r\n".encode())
    text, first = b"", 0.0
    while b"event: graded" not in text:
        more = await reader.read(4096)
        if not more:
            raise SystemExit("bench.portal: the events ended without a grade")
        text += more
        if b'"again": false' in text:
            raise SystemExit(
                "bench.portal: not graded: see `grader portal health`, `grader doctor`"
            )
        if not first and b"event: " in text:
            first = time.perf_counter() - begun
    writer.close()
    return first, time.perf_counter() - begun


def check(folder: Path, number: int) -> float:
    """Return the seconds of `grader check` on a file of its own."""
    file = folder / f"check-{number}.cu"
    file.write_bytes(SOLUTION + f"// {number}\n".encode())
    words = [sys.executable, "-m", "grader", "check", GRADED, str(file), "--json", "-"]
    begun = time.perf_counter()
    done = subprocess.run(words, cwd=ROOT, capture_output=True)
    took = time.perf_counter() - begun
    if done.returncode or json.loads(done.stdout)["status"] != "graded":
        raise SystemExit(f"bench.portal: grader check ended with {done.returncode}")
    return took


@contextmanager
def serving(folder: Path, jobs: int) -> Iterator[tuple[int, int]]:
    """Run `grader serve` until the block ends; yield its process and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    words = ["serve", "--course", str(folder), "--port", str(port), "--jobs", str(jobs)]
    server = subprocess.Popen(
        [sys.executable, "-m", "grader", *words], stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(port)
        yield server.pid, port
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def run(folder: Path, url: str, seconds: float) -> list[Row]:
    """Serve, load, and report."""
    from grader.portal.site import Site

    write_course(folder, url)
    course = read_course(folder)
    book = open_gradebook(course.gradebook)
    book.enroll(course.students, "bench")
    book.people.add_staff("lead@example.org", "instructor", "bench")
    forms = Site(course, {}, book, "http://x", lambda person, address: None)
    people = [sign_in(book, forms, f"s{k}") for k in range(SUBMISSIONS)]
    lead = book.people.find("lead@example.org")
    assert lead is not None
    cookie = f"warpgrade={book.people.new_session(lead.who)}"
    with serving(folder, jobs=0) as (pid, port):
        found = asyncio.run(minute(port, people, seconds))
        page = f"GET /class/{LAB} HTTP/1.1\r\nAccept-Encoding: gzip\r\nCookie: {cookie}"
        times = [asyncio.run(ask(port, page, b"\r\n"))[2] for _ in range(5)]
        used = max(map(memory, children(pid)))
    stored = sum(len(book.history(LAB, f"s{k}")) for k in range(SUBMISSIONS))
    book.close()
    print(f"{stored} of {SUBMISSIONS} submissions stored, {len(found['event'])} watchers")
    return [
        ("submissions that are not stored", float(SUBMISSIONS - stored), 0.0, ""),
        ("answer to a submission, 95th percentile", percentile(found["answer"]), GOAL_ANSWER, "s"),
        ("first event of a watcher, 95th percentile", percentile(found["event"]), GOAL_EVENT, "s"),
        (f"class page of {STUDENTS}, median", sorted(times)[2], GOAL_CLASS, "s"),
        ("memory of the server", used, GOAL_MEMORY, "MiB"),
    ]


def percentile(values: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(values, n=20)[-1]


def children(pid: int) -> list[int]:
    """Return a process and its descendants."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in found for one in children(int(child)))]


def wait_for(port: int) -> None:
    """Wait until the server listens."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("bench.portal: the server does not start")


if __name__ == "__main__":
    raise SystemExit(main())
