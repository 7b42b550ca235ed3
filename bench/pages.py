"""python -m bench.pages [--folder DIR]: the pages of a course of 1,000 students and 10 labs.

Fills a gradebook (SQLite) with 50,000 graded submissions, 5 of each student in each lab, a third of
them of groups of two, and leaderboards that everybody has joined. A server of its own then answers
each page 20 times; before every other one a submission is stored and graded, so that what is kept
is out of date. Prints the median and the 95th percentile of each page, in seconds that pass and in
processor time of the server, which other programs do not change, and the first answer. The exit
code is 1 when a 95th percentile of processor time is over 0.3 s. `--folder` keeps the course and
uses it again; `--students 100` is a smaller one.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import Connection, Table, insert, select

from bench.portal import ask, children, percentile, serving
from grader.gradebook import chain
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import make_secret, read_course
from grader.gradebook.tables import (
    attempt,
    audit,
    board_entry,
    coauthor,
    grade,
    membership,
    progress,
    submission,
)
from grader.gradebook.values import bytes_digest, grade_digest
from grader.labs.reading import lab_digest, load_lab

ROOT = Path(__file__).parents[1]
LABS = tuple(sorted(one.parent.name for one in ROOT.glob("labs/*/lab.yaml")))
EACH, ROUNDS, GOAL = 5, 20, 0.3
BEGIN = datetime(2027, 3, 1, 12, tzinfo=UTC)
Values = dict[str, Any]


def main() -> int:
    """Print the table; 1 where a page is too slow."""
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--students", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or Path(place)
        if not (folder / "course.db").exists():
            folder.mkdir(parents=True, exist_ok=True)
            fill(folder, options.students)
        slow = measured(folder)
    return int(slow)


def fill(folder: Path, students: int) -> None:
    """Write the course and its gradebook, with an intact audit."""
    labs = "".join(f'  {name}: {{due: "2027-03-28 23:59", counts: best}}\n' for name in LABS)
    (folder / "course.yaml").write_text(
        f"name: Bench\ntimezone: UTC\nroster: roster.csv\nleaderboard: true\nlabs:\n{labs}"
    )
    lines = [f"s{k},Student {k},s{k}@example.org,{'ABCD'[k % 4]}" for k in range(students)]
    (folder / "roster.csv").write_text("\n".join(["id,name,email,section", *lines]) + "\n")
    make_secret(folder / "course.secret")
    course = read_course(folder)
    book = open_gradebook(course.gradebook)
    book.enroll(course.students, "bench")
    book.people.add_staff("lead@example.org", "instructor", "bench")
    book.people.add_staff("ta@example.org", "ta", "bench", sections=("A",))
    with book._database.writing() as connection:
        _fill(connection, students)
    book.close()


def _fill(connection: Connection, students: int) -> None:
    """Insert the rows in bulk, then the lines of the audit that the grader would have written."""
    grades = {name: _grade(name) for name in LABS}
    rows = [(lab, who, k) for k in range(EACH) for lab in LABS for who in range(students)]
    sent = [_submission(number, *row) for number, row in enumerate(rows, start=1)]
    _insert(connection, submission, sent)
    _insert(connection, attempt, [_attempt(one, grades[one["lab"]]) for one in sent])
    graded = [{"submission": x["id"], "attempt": x["id"], "since": x["stored"]} for x in sent]
    _insert(connection, grade, graded)
    events = [
        {"submission": one["id"], "kind": kind, "body": "{}", "at": one["stored"]}
        for one in sent
        for kind in ("queued", "started", *("step",) * 6, "graded")
    ]
    _insert(connection, progress, events)
    teams = [
        {"lab": lab, "student": f"s{who}", "team": f"g{who // 2}", "staff": True,
         "author": "bench", "reason": "", "at": BEGIN}
        for lab in LABS for who in range(students // 3)
    ]  # fmt: skip
    _insert(connection, membership, teams)
    shared = [
        {"submission": one["id"], "student": f"s{int(one['student'][1:]) ^ 1}", "since": None}
        for one in sent
        if int(one["student"][1:]) < students // 3
    ]
    _insert(connection, coauthor, shared)
    joined = [
        {"lab": lab, "student": f"s{who}", "pseudonym": f"Fox {who}", "folded": f"fox{who}",
         "at": BEGIN}
        for lab in LABS for who in range(students)
    ]  # fmt: skip
    _insert(connection, board_entry, joined)
    _record(connection, sent)


def _insert(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    for begin in range(0, len(rows), 5000):
        connection.execute(insert(table), rows[begin : begin + 5000])


def _submission(number: int, lab: str, who: int, k: int) -> Values:
    text = (
        (ROOT / "solutions" / lab / f"{lab}.cu").read_bytes() if k == 0 else b"// a kernel\n" * 90
    )
    data = text + f"// {lab} {who} {k}\n".encode()
    at = BEGIN + timedelta(days=k, seconds=number % 80_000)
    return {
        "id": number, "lab": lab, "student": f"s{who}", "name": f"{lab}.cu", "data": data,
        "sha256": bytes_digest(data), "answers_sha256": bytes_digest(None), "received": at,
        "told": True, "late": False, "stored": at, "source": "portal",
    }  # fmt: skip


def _grade(name: str) -> Values:
    """Return a grade of the size that a real one has, which a board ranks."""
    from tests.portal.made import verified_grade

    lab = load_lab(name, [ROOT / "labs"])
    made: Values = verified_grade(lab)
    made["lines"] = [{"line": k, "counters": {"sectors": 32 * k, "ops": k}} for k in range(120)]
    made["provenance"]["lab_sha256"] = lab_digest(lab)
    return made


def _attempt(one: Values, made: Values) -> Values:
    draw = random.Random(one["id"])
    body = json.dumps({**made, "score": draw.randint(20, 80)}, sort_keys=True)
    return {
        "id": one["id"], "submission": one["id"], "key": "key", "number": 1,
        "token": hashlib.md5(str(one["id"]).encode()).hexdigest(), "worker": "bench",
        "state": "accepted", "started": one["stored"], "lease_until": one["stored"],
        "ended": one["stored"], "grade_json": body, "grade_sha256": grade_digest(one["id"], body),
    }  # fmt: skip


def _record(connection: Connection, sent: Sequence[Values]) -> None:
    """Add two lines for each submission, and one for all other rows."""
    found: dict[str, dict[Any, str]] = {}
    for kind in ("submission", "grade", "membership", "coauthor", "board_entry"):
        size = len(chain._KEYS[kind])
        found[kind] = {
            tuple(row[:size]): chain._digest(kind, *row[size:])
            for row in connection.execute(chain._rows(kind))
        }
    last = connection.execute(select(audit.c.id, audit.c.digest).order_by(audit.c.id.desc()))
    number, previous = last.first() or (0, "")
    others = [
        [kind, *key, digest]
        for kind in ("membership", "coauthor", "board_entry")
        for key, digest in found[kind].items()
    ]
    lines = list(_lines(sent, found)) + [_line("chain", None, others)]
    rows = []
    for line in lines:
        number += 1
        values = {**line, "id": number}
        previous = chain._digest(previous, *(values[name] for name in chain._LINE))
        rows.append({**values, "digest": previous})
    _insert(connection, audit, rows)


def _lines(sent: Sequence[Values], found: Mapping[str, Mapping[Any, str]]) -> Iterator[Values]:
    for one in sent:
        for action, kind in (("submit", "submission"), ("grade", "grade")):
            yield _line(action, one, [[kind, one["id"], found[kind][(one["id"],)]]])


def _line(action: str, one: Values | None, records: list[list[Any]]) -> Values:
    of = {"lab": "", "student": "", "submission": None, "attempt": None}
    if one is not None:
        of = {"lab": one["lab"], "student": one["student"], "submission": one["id"]}
        of["attempt"] = one["id"] if action == "grade" else None
    return {
        **of, "at": BEGIN, "actor": "bench", "action": action, "before": None, "after": None,
        "reason": "", "records": json.dumps(records),
    }  # fmt: skip


def measured(folder: Path) -> bool:
    """Ask for every page and print its times; return whether one is too slow."""
    course = read_course(folder)
    book = open_gradebook(course.gradebook, check=False)
    lab = LABS[0]
    number = book.history(lab, "s7")[0].id
    pages = {
        "lead@example.org": (
            f"/class/{lab}", f"/class/{lab}/groups", "/students/s7", "/queue", "/health",
            f"/labs/{lab}/board", f"/class/{lab}/similar", "/audit", "/requests",
            f"/submissions/{number}",
        ),
        "ta@example.org": (f"/class/{lab}", "/queue"),
        "s7@example.org": ("/", f"/labs/{lab}", f"/labs/{lab}/board", f"/submissions/{number}"),
    }  # fmt: skip
    slow = False
    with serving(folder, jobs=0) as (pid, port):
        for email, paths in pages.items():
            person = book.people.find(email)
            assert person is not None
            cookie = f"warpgrade={book.people.new_session(person.who)}"
            for path in paths:
                head = f"GET {path} HTTP/1.1\r\nCookie: {cookie}"
                times, used = zip(*_times(book, port, pid, head, lab), strict=True)
                worst = percentile(used[1:])
                slow |= worst > GOAL
                said = f"{person.role:<10} {path:<28} median {median(times[1:]):6.3f}"
                said += f"  95 % {percentile(times[1:]):6.3f}  first {times[0]:6.3f} s;"
                said += f" processor {median(used[1:]):5.3f}  95 % {worst:5.3f} s"
                print(f"{said}  {'MISSED' if worst > GOAL else 'met'}", flush=True)
    book.close()
    return slow


def _times(
    book: Gradebook, port: int, pid: int, head: str, lab: str
) -> list[tuple[float, float]]:  # fmt: skip
    """Return for each answer the seconds that passed and those of the server's processor."""
    found = []
    for k in range(ROUNDS + 1):
        if k % 2:
            _grade_one(book, lab)
        begun = processor_seconds(pid)
        status, body, took = asyncio.run(ask(port, head, b"\r\n"))
        if status != 200:
            raise SystemExit(f"bench.pages: {head.split()[1]} was answered with {status}: {body!r}")
        found.append((took, processor_seconds(pid) - begun))
    return found


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and its children so far, in ticks of 10 ms."""
    ticks = 0
    for one in children(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _grade_one(book: Gradebook, lab: str) -> None:
    """Store a new submission and grade it."""
    now = datetime.now(UTC)
    data = f"// new {now.isoformat()}".encode()
    stored = book.submit(lab, "s9", "a.cu", data, received=BEGIN, source="portal")
    claim = book.claim(stored.id, "key", "bench", 60)
    assert claim is not None and book.accept(claim, _grade(lab))


if __name__ == "__main__":
    raise SystemExit(main())
