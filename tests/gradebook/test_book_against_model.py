"""Any order of submit, claim, accept, fault, release and adopt, held against a model of a page."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from grader.gradebook.book import MAX_FAULTS, Claim, Gradebook, open_gradebook
from grader.gradebook.database import connect
from grader.gradebook.values import GradeJson
from tests.gradebook.made import NOON, Clock, a_grade

LAB = "tiled"
KEYS = st.sampled_from(["one", "two"])
PROPOSALS = st.sampled_from(["", "", "regrade"])
SCORES = st.sampled_from([0.0, 2.5, 10.0])
LEASE = 10.0

Opened = Generator[tuple[Gradebook, Clock], None, None]


@dataclass
class Lane:
    """What a model knows of one submission under one key and proposal."""

    running: str = ""
    until: datetime = NOON
    kept: float | None = None
    adopted: bool = False
    faults: int = 0


@dataclass
class Handed:
    """What a model knows of one submission."""

    student: str
    received: datetime
    lanes: dict[tuple[str, str], Lane] = field(default_factory=dict)
    score: float | None = None
    attempts: int = 0

    def lane(self, key: str, proposal: str) -> Lane:
        return self.lanes.setdefault((key, proposal), Lane())

    def done(self, key: str, proposal: str) -> bool:
        """Whether a grade is kept that makes another attempt needless."""
        mine = self.lane(key, proposal).kept is not None
        adopted = any(lane.adopted for (k, _), lane in self.lanes.items() if k == key)
        return mine or not proposal and adopted


class Model(RuleBasedStateMachine):
    """The gradebook beside its model; `book` is set by the test, one empty book for each run."""

    submissions = Bundle("submissions")
    claims = Bundle("claims")
    opened: Opened

    def __init__(self) -> None:
        super().__init__()
        self.book, self.clock = next(self.opened)
        self.handed: dict[int, Handed] = {}
        self.audited = 0

    @rule(
        target=submissions,
        student=st.sampled_from(["ada", "Ünal \U0001f980", "=cmd()"]),
        data=st.sampled_from([b"", b"\x00\xff", b"x" * 5000]),
        answers=st.sampled_from([None, b"", b"q1: 2\n"]),
        hours=st.integers(-3, 3),
    )
    def submit(self, student: str, data: bytes, answers: bytes | None, hours: int) -> int:
        received = NOON + timedelta(hours=hours)
        got = self.book.submit(LAB, student, "f.cu", data, received=received, answers=answers)
        assert (got.student, got.data, got.answers) == (student, data, answers)
        known = self.handed.setdefault(got.id, Handed(student, received))
        known.received = min(known.received, received)
        assert got.received == known.received
        return got.id

    @rule(target=claims, stored=submissions, key=KEYS, proposal=PROPOSALS)
    def claim(self, stored: int, key: str, proposal: str) -> object:
        known = self.handed[stored]
        lane = known.lane(key, proposal)
        free = not lane.running or lane.until <= self.clock.now
        got = self.book.claim(stored, key, "worker", LEASE, proposal=proposal)
        assert (got is not None) == (free and not known.done(key, proposal))
        if got is None:
            return multiple()
        known.attempts += 1
        assert got.number == known.attempts
        lane.running, lane.until = got.token, self.clock.now + timedelta(seconds=LEASE)
        return got

    @rule(seconds=st.sampled_from([1, 9, 10, 30]))
    def wait(self, seconds: int) -> None:
        self.clock.now += timedelta(seconds=seconds)

    def held(self, claim: Claim) -> Lane | None:
        """The lane, when the claim's token is its newest."""
        lane = self.handed[claim.submission].lane(claim.key, claim.proposal)
        return lane if lane.running == claim.token else None

    @rule(claim=claims)
    def renew(self, claim: Claim) -> None:
        lane = self.held(claim)
        assert self.book.renew(claim, LEASE) == (lane is not None)
        if lane:
            lane.until = self.clock.now + timedelta(seconds=LEASE)

    @rule(claim=claims)
    def release(self, claim: Claim) -> None:
        lane = self.held(claim)
        assert self.book.release(claim) == (lane is not None)
        if lane:
            lane.running = ""

    @rule(claim=claims, score=SCORES)
    def accept(self, claim: Claim, score: float) -> None:
        lane = self.held(claim)
        assert self.book.accept(claim, a_grade(score)) == (lane is not None)
        if lane:
            lane.running, lane.kept = "", score
            if not claim.proposal:
                lane.adopted = True
                self.handed[claim.submission].score = score

    @rule(claim=claims)
    def fault(self, claim: Claim) -> None:
        lane = self.held(claim)
        if lane:
            lane.running = ""
            lane.faults += 1
        known = self.handed[claim.submission].lane(claim.key, claim.proposal)
        assert self.book.fault(claim, "the GPU fell off the bus") == known.faults

    @rule()
    def forgive(self) -> None:
        faulty = [h for h in self.handed.values() if any(x.faults for x in h.lanes.values())]
        assert self.book.forgive(LAB, "me") == len(faulty)
        for known in faulty:
            for lane in known.lanes.values():
                lane.faults = 0

    def proposed(self) -> list[tuple[Handed, Lane]]:
        return [
            (known, lane)
            for known in self.handed.values()
            for (_, proposal), lane in known.lanes.items()
            if proposal and lane.kept is not None and not lane.adopted
        ]

    @rule()
    def adopt(self) -> None:
        waiting = self.proposed()
        before = {(c.old_score, c.new_score) for c in self.book.changes("regrade")}
        assert before == {(known.score, lane.kept) for known, lane in waiting}
        if len({id(known) for known, _ in waiting}) == len(waiting):
            assert self.book.adopt("regrade", "me") == len(waiting)
            for known, lane in waiting:
                known.score, lane.adopted = lane.kept, True

    @rule()
    def reject(self) -> None:
        waiting = self.proposed()
        assert self.book.reject("regrade", "me") == len(waiting)
        for _, lane in waiting:
            lane.kept = None

    @invariant()
    def wanted_as_modelled(self) -> None:
        for key, proposal in (("one", ""), ("two", ""), ("one", "regrade")):
            got = {stored.id for stored in self.book.wanted(LAB, key, proposal=proposal)}
            assert got == {
                number
                for number, known in self.handed.items()
                if not known.done(key, proposal) and known.lane(key, proposal).faults < MAX_FAULTS
            }

    @invariant()
    def entries_as_modelled(self) -> None:
        got = {entry.student: entry for entry in self.book.entries(LAB)}
        assert got.keys() == {known.student for known in self.handed.values()}
        for entry in got.values():
            mine = {n: k for n, k in self.handed.items() if k.student == entry.student}
            last = max(mine, key=lambda n: (mine[n].received, n))
            assert (entry.submission, entry.points) == (last, mine[last].score)
            assert entry.attempts == len(mine)

    @invariant()
    def the_audit_only_grows(self) -> None:
        now = len(self.book.audit())
        assert now >= self.audited
        self.audited = now


def books(
    copy: Callable[[], AbstractContextManager[str]] | None, made: type[Gradebook] = Gradebook
) -> Opened:
    """Empty gradebooks without end: copies of one, for making the tables takes half a second."""
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.db"
        open_gradebook(str(first)).close()
        for number in itertools.count():
            file = str(Path(folder) / f"{number}.db")
            with copy() if copy else nullcontext(shutil.copyfile(first, file)) as url:
                clock = Clock()
                database = connect(url)
                yield made(database, clock), clock
                database.close()


def run(opened: Opened, runs: int, steps: int) -> None:
    machine = type("Run", (Model,), {"opened": opened})
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_sqlite_does_what_the_model_does() -> None:
    with closing(books(None)) as opened:
        run(opened, runs=20, steps=25)


def test_postgresql_does_what_the_model_does(
    postgresql_copy: Callable[[], AbstractContextManager[str]],
) -> None:
    with closing(books(postgresql_copy)) as opened:
        run(opened, runs=5, steps=25)


class Forgetful(Gradebook):
    """An incorrect variant: it believes every token."""

    def accept(self, claim: Claim, grade_json: GradeJson) -> bool:
        super().accept(claim, grade_json)
        return True


def accept_a_stale_token(made: type[Gradebook]) -> None:
    """Let a lease end, claim again, and accept the grade of the first claim."""
    with closing(books(None, made)) as opened:
        model = type("Run", (Model,), {"opened": opened})()
        number = model.submit("ada", b"", None, 0)
        first = model.claim(number, "one", "")
        model.clock.now += timedelta(seconds=3 * LEASE)
        model.claim(number, "one", "")
        model.accept(first, 10.0)


def test_a_gradebook_that_accepts_stale_tokens_fails_the_model() -> None:
    """Such a run is written down: to meet it by chance took half a minute of examples."""
    accept_a_stale_token(Gradebook)
    with pytest.raises(AssertionError):
        accept_a_stale_token(Forgetful)
