"""What staff read about the workers, the queue, the machine's errors and the disk."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from grader import __version__
from grader.batch.task import Answer
from grader.gradebook.attempts import this_worker
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.progress import ProgressLog
from grader.gradebook.workers import KEPT, SILENT, Health, WorkerEntry
from tests.command import grader
from tests.patience import PATIENCE
from tests.portal.made import LAB, Served, grade_json, source, until, working

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
ENTRY = WorkerEntry(this_worker("worker"), "gpu", "NVIDIA H200", 2, "1.0")
GONE = "elsewhere/boot/4/77/5/worker"
"""A worker of another machine: only its beats tell whether it lives."""


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Gradebook]:
    one = open_gradebook(str(tmp_path / "grades.db"), clock=Clock())
    yield one
    one.close()


def health(book: Gradebook, after: timedelta = timedelta()) -> Health:
    book._clock.now = NOW + after  # type: ignore[attr-defined]
    return book.workers.health([LAB], Path("/"))


def submitted(book: Gradebook, who: str = "ada", data: bytes = b"x") -> int:
    return book.submit(LAB, who, "a.cu", data, received=NOW).id


def test_a_worker_lives_while_it_beats(book: Gradebook) -> None:
    book.workers.beat(replace(ENTRY, name=GONE))
    assert [one.status for one in health(book).workers] == ["idle"]
    (one,) = health(book, SILENT).workers
    assert (one.host, one.pid, one.is_alive, one.entry.device) == (
        "elsewhere", "77", True, "NVIDIA H200",
    )  # fmt: skip
    (one,) = health(book, SILENT + timedelta(seconds=1)).workers
    assert one.status == "silent" and not one.is_alive
    book.workers.beat(replace(ENTRY, name=GONE, note="it rests"))
    (one,) = health(book, SILENT + timedelta(seconds=2)).workers
    assert one.status == "resting" and one.started == NOW, "the same row"
    book.workers.end(GONE)
    assert [one.status for one in health(book, 2 * SILENT).workers] == ["ended"]
    assert health(book, KEPT + 2 * SILENT).workers == ()
    book.workers.beat(ENTRY)
    assert [one.status for one in health(book, KEPT + 2 * SILENT).workers] == ["idle"]
    book.workers.end(ENTRY.name)
    book.workers.beat(ENTRY)
    assert [one.status for one in health(book, KEPT + 2 * SILENT).workers] == ["idle"], "again"


def test_a_killed_worker_of_this_machine_is_known_at_once(book: Gradebook) -> None:
    say = "from grader.gradebook.attempts import this_worker; print(this_worker('worker'))"
    ended = subprocess.run([sys.executable, "-c", say], capture_output=True, text=True, check=True)
    book.workers.beat(replace(ENTRY, name=ended.stdout.strip()))
    book.workers.beat(ENTRY)
    assert [one.status for one in health(book).workers] == ["idle", "silent"]


def test_what_a_worker_grades_is_known_by_its_process(book: Gradebook) -> None:
    book.workers.beat(ENTRY)
    book.workers.beat(replace(ENTRY, name=GONE))
    first, second = submitted(book), submitted(book, "ben")
    assert book.claim(first, "key", this_worker("worker-3"), 60)
    gone, own = health(book, timedelta(seconds=7)).workers
    assert gone.works == () and own.status == "grading"
    assert [(work.submission, work.student, work.since) for work in own.works] == [
        (first, "ada", NOW)
    ]
    one = health(book, timedelta(seconds=7))
    assert one.running == 1 and [waits.id for waits in one.waiting] == [second]
    assert one.head_seconds == 7 and one.alive == 2


def test_the_head_is_the_next_one_that_is_graded(book: Gradebook) -> None:
    assert health(book).head_seconds is None
    stopped = submitted(book)
    for _ in range(3):
        claim = book.claim(stopped, "key", "w", 60)
        assert claim is not None and book.fault(claim, "the disk is full")
    assert health(book, timedelta(hours=2)).head_seconds is None, "nobody grades what has stopped"
    submitted(book, "ben")
    one = health(book, timedelta(hours=3))
    assert one.head_seconds == 3600 and [waits.id for waits in one.stopped] == [stopped]


def test_errors_of_machines_keep_their_reasons_for_a_day(book: Gradebook) -> None:
    number = submitted(book)
    incomplete: Any = grade_json(LAB) | {"status": "incomplete"}
    incomplete["checks"][0] |= {"status": "error", "summary": "the GPU\nwas lost"}
    for why in ("the disk is full", incomplete):
        claim = book.claim(number, "key", "host-a/x", 60)
        assert claim is not None and book.fault(claim, why)
    seen = health(book, timedelta(hours=1)).errors
    assert [(one.reason, one.host, one.is_regrade) for one in seen] == [
        ("the GPU was lost", "host-a", False), ("the disk is full", "host-a", False),
    ]  # fmt: skip
    book.forgive(LAB, "lead")
    assert health(book, timedelta(hours=1)).errors == seen, "they happened"
    assert health(book, KEPT + timedelta(seconds=1)).errors == ()


def test_the_disk_and_the_database_are_measured(book: Gradebook, tmp_path: Path) -> None:
    before = health(book).size
    submitted(book, data=b"x" * 1_000_000)
    assert health(book).size > before + 900_000
    assert health(book).free > 0


@contextmanager
def held_worker(course: Served) -> Iterator[tuple[threading.Event, threading.Event]]:
    """A worker that stays in its first submission until the second event is set."""
    begun, go = threading.Event(), threading.Event()

    def perform(lab: Any, task: Any, options: Any, progress: Any) -> Answer:
        begun.set()
        go.wait(PATIENCE)
        return Answer(task.number, grade_json(lab.name))

    with working(course.book, course.site, perform):
        try:
            yield begun, go
        finally:
            go.set()


def test_a_real_worker_is_shown_while_it_grades_and_after(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    number = int(ada.submit(source(1)).to.rpartition("/")[2])

    def state() -> Any:
        (one,) = course.book.workers.health([LAB], Path("/")).workers
        return one

    with held_worker(course) as (begun, go):
        assert begun.wait(PATIENCE)
        assert [work.submission for work in state().works] == [number]
        assert state().status == "grading" and state().entry.version == __version__
        go.set()
        until(lambda: state().status == "idle")
    assert state().status == "ended"


def failing(lab: Any, task: Any, options: Any, progress: Any) -> Answer:
    return Answer(task.number, failure="the disk <b>is</b> full")


def stopped_submission(course: Served, who: str) -> int:
    """A submission whose grading failed three times."""
    visit = course.signed_in(f"{who}@example.org")
    number = int(visit.submit(source(1)).to.rpartition("/")[2])
    with working(course.book, course.site, failing):
        until(lambda: any(one.id == number and one.stopped for one in queue(course)))
    return number


def queue(course: Served) -> Any:
    return course.site.progress.waiting([LAB])


def test_staff_see_what_fails_and_have_it_graded_again(course: Served) -> None:
    ada, cyd = (stopped_submission(course, who) for who in ("ada", "cyd"))
    ta, lead, watch = (course.signed_in(f"{who}@example.org") for who in ("ta", "lead", "watch"))
    page = lead.get("/health").text
    assert "2 submissions stopped" in page and "the disk &lt;b&gt;is&lt;/b&gt;" in page
    assert page.count("Grade again</button>") == 2
    assert "Grade again</button>" not in watch.get("/health").text
    page = ta.get("/health").text
    assert f"/submissions/{ada}" in page and f"/submissions/{cyd}" not in page
    folder = ("--course", str(course.site.course.folder))
    said = grader("portal", "health", *folder)
    assert said.code == 3 and "! 2 submissions stopped" in said.out
    assert f"stopped: {LAB} cyd, submission {cyd}" in said.out and "is</b> full" in said.out
    whole = course.program("lead@example.org").get("/api/v1/health").json
    assert {one["student"] for one in whole["stopped"]} == {"ada", "cyd"}
    printed = json.loads(grader("portal", "health", "--json", "-", *folder).out)
    for name in ("errors", "workers", "stopped"):
        for one in (*whole[name], *printed[name]):
            for moment in {"at", "started", "seen"} & one.keys():
                one[moment] = datetime.fromisoformat(one[moment])
        assert whole[name] == printed[name]
    assert whole.keys() == printed.keys() and whole["problems"] == printed["problems"]
    part = course.program("ta@example.org").get("/api/v1/health").json
    assert {one["student"] for one in part["stopped"] + part["errors"]} == {"ada"}
    again = ("POST", f"/api/v1/labs/{LAB}/retry")
    kind = {"Content_Type": "application/json"}
    program = course.program("ta@example.org")
    assert program.ask(*again, b'{"student": "cyd"}', **kind).code == 404
    assert program.ask(*again, b'{"student": "ada"}', **kind).json == {"submissions": 1}
    assert grader("portal", "retry", LAB, "--student", "cyd", *folder).code == 0
    with working(course.book, course.site):
        until(lambda: course.book.grade(ada) and course.book.grade(cyd))
    said = grader("portal", "health", *folder)
    assert said.code == 0 and "! " not in said.out and "is</b> full" in said.out, "it happened"
    assert "0 submissions are" in grader("portal", "retry", LAB, *folder).err


def test_staff_of_a_mate_see_a_groups_submission_and_have_it_graded_again(course: Served) -> None:
    """Ada of section A and Cyd of section B are one group; Cyd sends, the TA teaches A."""
    for who in ("ada", "cyd"):
        course.book.groups.put(LAB, who, "both", "lead", "a group")
    ta = course.signed_in("ta@example.org")
    number = stopped_submission(course, "cyd")
    for path in ("/queue", "/health"):
        page = ta.get(path).text
        assert f"/submissions/{number}" in page and page.count("Grade again</button>") == 1, path
    seen = course.program("ta@example.org").get("/api/v1/health").json
    assert [one["submission"] for one in seen["stopped"]] == [number]
    assert {one["submission"] for one in seen["errors"]} == {number}
    with held_worker(course) as (begun, _):
        assert 'value="ada"' in ta.get("/queue").text, "the one whom the TA teaches"
        assert ta.post(f"/queue/{LAB}/retry", student="cyd").code == 404
        assert ta.post(f"/queue/{LAB}/retry", student="ada").code == 303
        assert begun.wait(PATIENCE)
        assert f"/submissions/{number}" in ta.get("/health").text, "a worker grades it"
    course.book.people.add_staff("tb@example.org", "ta", "test", sections=("C",))
    assert f"/submissions/{number}" not in course.signed_in("tb@example.org").get("/health").text


def test_waiting_without_a_worker_needs_attention(course: Served) -> None:
    lead = course.signed_in("lead@example.org")
    assert "<p>Nothing needs attention.</p>" in lead.get("/health").text, "no notice"
    course.signed_in("ada@example.org").submit(source(1))
    assert "no worker lives for 1 submission" in lead.get("/health").text
    course.book.workers.beat(replace(ENTRY, version=__version__))
    assert "Nothing needs attention" in lead.get("/health").text
    course.book.workers.beat(replace(ENTRY, name=GONE))
    page = lead.get("/health").text
    assert "a worker has another version: 1.0" in page and "elsewhere, process 77" in page


def test_a_regrade_that_failed_is_tried_again_and_counts_when_adopted(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    number = int(ada.submit(source(1)).to.rpartition("/")[2])
    with working(course.book, course.site):
        until(lambda: course.book.grade(number))
    lead, ta = (course.signed_in(f"{who}@example.org") for who in ("lead", "ta"))
    where = lead.post(f"/class/{LAB}/regrades", reason="a new compiler").to
    (one,) = course.book.teaching.regrades()
    told = course.site.progress.newest()

    def stop() -> None:
        with working(course.book, course.site, failing):
            until(lambda: course.book.teaching.pending(one)[0].stopped)

    stop()
    assert "Grade it again" in lead.get(where).text
    assert "(regrade)" in lead.get("/health").text and queue(course) == ()
    assert course.book.forgive(LAB, "lead", proposal="") == 0, "the queue has nothing to retry"
    assert ta.post(where + "/retry").code == 403
    assert lead.post(where + "/retry").to == where
    assert "1 wait" in lead.get(where).text and "Grade it again" not in lead.get(where).text
    assert lead.post(where + "/decision", decision="adopt").code == 422, "it waits again"
    stop()
    folder = ("--course", str(course.site.course.folder))
    assert "--retry tries again" in grader("portal", "regrades", str(one.id), *folder).err
    assert "1 submission is" in grader("portal", "regrades", str(one.id), "--retry", *folder).err

    def better(lab: Any, task: Any, options: Any, progress: Any) -> Answer:
        return Answer(task.number, grade_json(lab.name, 85.0))

    with working(course.book, course.site, better):
        until(lambda: not course.book.teaching.pending(one))
    assert course.site.progress.newest() == told, "nobody who watches hears of it"
    assert "70 of 100" in ada.get(f"/submissions/{number}").text
    assert lead.post(where + "/decision", decision="adopt").code == 303
    assert "85 of 100" in ada.get(f"/submissions/{number}").text
    assert lead.post(where + "/retry").code == 422, "it is decided"
    assert grader("portal", "regrades", str(one.id), "--retry", *folder).code == 2
    assert grader("portal", "regrades", "--retry", *folder).code == 2
    assert lead.post("/regrades/99/retry").code == 404
    assert course.book.verify().problems == ()


def test_errors_of_the_queue_and_of_a_regrade_are_reset_apart(book: Gradebook) -> None:
    number = submitted(book)
    for proposal in ("", "regrade-1"):
        claim = book.claim(number, "key", "w", 60, proposal=proposal)
        assert claim is not None and book.fault(claim, "x") == 1
    assert book.forgive(LAB, "lead", proposal="regrade-1") == 1
    assert [one.faults for one in book.progress.waiting([LAB])] == [1]
    assert book.forgive(LAB, "lead", proposal="") == 1
    assert [one.faults for one in book.progress.waiting([LAB])] == [0]
    kinds = [one.kind for one in book.progress.after(0, number)]
    assert kinds == ["queued", "started", "fault", "queued"], "of the queue alone"


def test_an_idle_worker_reads_the_queue_only_after_an_event(
    course: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread of four asks for the newest event; no look at the clock replaces an event here."""
    monkeypatch.setattr("grader.portal.worker.LOOK_SECONDS", math.inf)
    asked: Counter[str] = Counter()
    asking: set[str] = set()
    at_once: list[int] = []

    def counted(name: str) -> Any:
        real = getattr(ProgressLog, name)

        def one(self: ProgressLog, *more: Any) -> Any:
            if threading.current_thread().name.startswith("grade-"):
                asked[name] += 1
                asking.add(threading.current_thread().name)
                at_once.append(len(asking))
                found = real(self, *more)
                asking.discard(threading.current_thread().name)
                return found
            return real(self, *more)

        return one

    for name in ("newest", "waiting"):
        monkeypatch.setattr(ProgressLog, name, counted(name))
    with working(course.book, course.site, jobs=4):
        until(lambda: asked["newest"] >= 9)
        assert asked["waiting"] == 1, "when it starts"
        assert max(at_once) == 1, "of those that wait, one asks"
        number = int(course.signed_in("ada@example.org").submit(source(1)).to.rpartition("/")[2])
        until(lambda: course.book.grade(number))
