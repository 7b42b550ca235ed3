"""Every submission is graded once, whatever the machine does meanwhile: a real gradebook and real
threads, and performers that fail as they are told.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from grader.batch import batch as batches
from grader.batch import batch as leasing
from grader.batch.batch import MAX_CONSECUTIVE_FAULTS, LocalRunner, Outcome, run_batch
from grader.batch.store import task_of
from grader.batch.task import Answer, Task
from grader.faults import MachineFault, StudentFault
from grader.gradebook.book import MAX_FAULTS, Gradebook, open_gradebook
from grader.grading.pipeline import grade_unreadable
from grader.labs.reading import load_lab
from grader.launch import Finding
from tests.batch.class_folders import kernel

LAB = "vector-add"
KEY = "key"
NOON = datetime(2027, 3, 28, 12, tzinfo=UTC)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Gradebook]:
    opened = open_gradebook(str(tmp_path / "class.db"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """A grade that can be had at once: of a file that is none."""
    finding = Finding("compile-error", "error", "a pipe", file="x.cu", line=0, hint="")
    fault = StudentFault("a pipe", findings=(finding,))
    return grade_unreadable(load_lab(LAB), "x.cu", fault).to_json()


def tasks(book: Gradebook, count: int) -> list[Task]:
    return [
        task_of(book.submit(LAB, f"s{n}", f"s{n}.cu", kernel(n), received=NOON))
        for n in range(count)
    ]


def run(
    book: Gradebook, given: list[Task], perform: Callable[[Task], Answer], jobs: int = 2
) -> Outcome:
    runner = LocalRunner(perform, jobs)
    try:
        return run_batch(LAB, KEY, given, book, runner)
    finally:
        runner.close()


def graded(book: Gradebook) -> Counter[str]:
    """How often each student got a grade, by the audit."""
    return Counter(event.student for event in book.audit(LAB) if event.action == "grade")


def test_every_submission_is_graded_once(book: Gradebook, made: dict[str, Any]) -> None:
    given = tasks(book, 20)
    assert run(book, given, lambda task: Answer(task.number, made)).graded == 20
    assert graded(book) == Counter({f"s{n}": 1 for n in range(20)})


def test_a_second_run_grades_nothing(book: Gradebook, made: dict[str, Any]) -> None:
    given = tasks(book, 3)
    run(book, given, lambda task: Answer(task.number, made))

    def never(task: Task) -> Answer:
        raise AssertionError("graded again")

    assert run(book, given, never) == Outcome(0)
    assert max(graded(book).values()) == 1


@pytest.mark.parametrize("incomplete", [False, True])
@pytest.mark.parametrize("faults", [1, MAX_FAULTS - 1, MAX_FAULTS, MAX_FAULTS + 2])
def test_a_system_error_is_tried_three_times(
    faults: int, incomplete: bool, book: Gradebook, made: dict[str, Any]
) -> None:
    tried: Counter[int] = Counter()

    def performs(task: Task) -> Answer:
        tried[task.number] += 1
        if task.student == "s1" and tried[task.number] <= faults:
            grade = {**made, "status": "incomplete", "checks": []} if incomplete else None
            return Answer(task.number, grade, "" if incomplete else "no memory")
        return Answer(task.number, made)

    given = tasks(book, 3)
    outcome = run(book, given, performs)
    lost = faults >= MAX_FAULTS
    assert tried[given[1].number] == min(faults + 1, MAX_FAULTS)
    assert outcome.graded == 3 - lost
    assert [number for number, _ in outcome.failures] == [given[1].number] * lost
    (entry,) = (e for e in book.entries(LAB) if e.student == "s1")
    assert entry.status == ("incomplete" if lost else "graded")
    assert (entry.points is None) == lost


def test_a_broken_machine_stops_the_batch_without_losing_grades(
    book: Gradebook, made: dict[str, Any]
) -> None:
    given = tasks(book, 3 * MAX_CONSECUTIVE_FAULTS)
    tried: Counter[int] = Counter()

    def broken(task: Task) -> Answer:
        tried[task.number] += 1
        return Answer(task.number, failure="the GPU fell off the bus")

    with pytest.raises(MachineFault, match="fell off the bus") as raised:
        run(book, given, broken)
    assert "grader doctor" in raised.value.fix
    assert sum(tried.values()) <= MAX_CONSECUTIVE_FAULTS + 2
    assert run(book, given, lambda task: Answer(task.number, made)).graded == len(given)


def test_a_mistake_of_the_lab_is_not_tried_again(book: Gradebook, made: dict[str, Any]) -> None:
    tried: Counter[str] = Counter()

    def performs(task: Task) -> Answer:
        tried[task.student] += 1
        if task.student == "s0":
            return Answer(task.number, failure="reference.py:3: no", is_lab_fault=True)
        return Answer(task.number, made)

    given = tasks(book, 3)
    outcome = run(book, given, performs)
    assert (outcome.graded, tried["s0"]) == (2, 1)
    assert [answer.is_lab_fault for _, answer in outcome.failures] == [True]
    assert {stored.student for stored in book.wanted(LAB, KEY)} == {"s0"}


def test_a_submission_claimed_elsewhere_is_waited_for(
    book: Gradebook, made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is graded by the other meanwhile, one's lease runs out."""
    monkeypatch.setattr(batches, "POLL_SECONDS", 0.05)
    given = tasks(book, 3)
    kept = book.claim(given[0].number, KEY, "elsewhere", 60)
    book.claim(given[1].number, KEY, "elsewhere", 0.5)
    assert kept is not None
    done: list[str] = []

    def performs(task: Task) -> Answer:
        done.append(task.student)
        if task.student == "s2":
            book.accept(kept, made)
        return Answer(task.number, made)

    assert run(book, given, performs).graded == 2
    assert done == ["s2", "s1"]
    assert graded(book) == Counter({"s0": 1, "s1": 1, "s2": 1})


def test_a_worker_that_lost_its_claim_changes_nothing(
    book: Gradebook, made: dict[str, Any]
) -> None:
    """The claim ran out while the grader was held up, and another's grade stands."""
    (task,) = tasks(book, 1)

    def overtaken(task: Task) -> Answer:
        late = Gradebook(book._database, clock=lambda: datetime(2099, 1, 1, tzinfo=UTC))
        claim = late.claim(task.number, KEY, "elsewhere", 60)
        assert claim is not None
        late.accept(claim, {**made, "score": 1.0})
        return Answer(task.number, made)

    assert run(book, [task], overtaken).graded == 0
    assert graded(book) == Counter({"s0": 1})
    (entry,) = book.entries(LAB)
    assert entry.points == 1.0


@pytest.mark.parametrize("renewed", [True, False])
def test_a_claim_is_renewed_while_grading(
    renewed: bool, book: Gradebook, made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wrong twin: without renewal another would get it."""
    lease = 0.6
    monkeypatch.setattr(leasing.Leases.__init__, "__defaults__", (lease,))
    if not renewed:
        monkeypatch.setattr(leasing.Leases, "_renew", lambda self: None)
    others: list[bool] = []

    def slow(task: Task) -> Answer:
        time.sleep(3 * lease)
        others.append(book.claim(task.number, KEY, "elsewhere", 60) is not None)
        return Answer(task.number, made)

    outcome = run(book, tasks(book, 1), slow)
    assert others == [not renewed]
    assert outcome.graded == renewed


def test_a_stopped_batch_releases_its_claims(book: Gradebook, made: dict[str, Any]) -> None:
    """Ctrl-C while two are being graded: nobody waits for their leases."""
    started = threading.Barrier(3)
    stop = threading.Event()

    def hangs(task: Task) -> Answer:
        started.wait()
        stop.wait()
        return Answer(task.number, made)

    class Interrupted(LocalRunner):
        def next(self, seconds: float) -> Answer | None:
            started.wait()
            raise KeyboardInterrupt

    given = tasks(book, 4)
    with pytest.raises(KeyboardInterrupt):
        run_batch(LAB, KEY, given, book, Interrupted(hangs, 2))
    assert all(book.claim(task.number, KEY, "elsewhere", 60) for task in given)
    stop.set()
