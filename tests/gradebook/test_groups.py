"""Groups, extensions, late days and the choice of a submission, held against a model of a page."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select
from sqlalchemy.dialects import sqlite

from grader.faults import LabFault
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import Course
from grader.gradebook.groups import counts_for
from grader.gradebook.ledger import Student
from grader.gradebook.policy import LabPolicy, Penalty, lateness
from grader.gradebook.tables import submission
from grader.gradebook.values import ExtensionRow
from tests.gradebook.made import NOON, Clock, a_grade

WHO = ("ada", "ben", "cyd")
TEAMS = st.sampled_from(["", "A", "A", "B"])
SCORES = {b"1": 4.0, b"2": 10.0, b"3": 7.0}
POLICIES = [
    LabPolicy(
        due=NOON, late=(Penalty(0.1, "day"),), cut_off=NOON + timedelta(days=4), counts=counts,
        attempts=attempts,
    )  # type: ignore[arg-type]
    for counts in ("last", "best", "chosen")
    for attempts in (None, 2)
]  # fmt: skip
LABS = itertools.count()


@dataclass
class Sent:
    """What the model knows of a submission: since when it counts, by student; None: as received."""

    number: int
    data: bytes
    received: datetime
    owners: dict[str, datetime | None]


@dataclass
class Model:
    """The rules of the handout, without a database."""

    policy: LabPolicy
    sent: list[Sent] = field(default_factory=list)
    staff: dict[str, str] = field(default_factory=dict)
    file: dict[str, str] = field(default_factory=dict)
    staff_due: dict[str, datetime] = field(default_factory=dict)
    file_due: dict[str, datetime] = field(default_factory=dict)
    chosen: dict[str, int] = field(default_factory=dict)

    def team(self, who: str) -> str:
        return self.staff.get(who, self.file.get(who, ""))

    def group(self, who: str) -> list[str]:
        """The student and the others of the group."""
        mine = self.team(who)
        return [who, *(one for one in WHO if one != who and mine and self.team(one) == mine)]

    def share(self, one: Sent, whom: list[str], since: datetime | None) -> None:
        for who in whom:
            if not any(who in other.owners and other.data == one.data for other in self.sent):
                one.owners[who] = since

    def mine(self, who: str) -> list[Sent]:
        return sorted(
            (one for one in self.sent if who in one.owners),
            key=lambda one: (one.owners[who] or one.received, one.number),
        )

    def counts(self, who: str) -> tuple[int | None, float | None]:
        """The submission that counts for a student and its points, as the handout says."""
        due = self.staff_due.get(who, self.file_due.get(who, NOON))
        moved = max(due, NOON) - NOON
        assert self.policy.cut_off is not None
        best: list[tuple[int, float]] = []
        mine = self.mine(who)
        for one in mine[: self.policy.attempts]:
            late = one.received - NOON - moved
            if one.received > self.policy.cut_off + moved:
                continue
            days = max(-(-late // timedelta(days=1)), 0)
            best.append((one.number, round(SCORES[one.data] * (1 - 0.1 * days), 2)))
        if not best:
            return (mine[-1].number, 0.0) if mine else (None, None)
        if self.policy.counts == "best":
            return max(best, key=lambda pair: pair[1])
        if self.policy.counts == "chosen":
            return next((pair for pair in best if pair[0] == self.chosen.get(who)), best[-1])
        return best[-1]


STEPS = st.one_of(
    st.tuples(
        st.just("submit"), st.sampled_from(WHO), st.sampled_from(sorted(SCORES)),
        st.integers(-2, 6),
    ),
    st.tuples(st.just("put"), st.sampled_from(WHO), st.none() | TEAMS, st.booleans()),
    st.tuples(st.just("file"), st.dictionaries(st.sampled_from(WHO), TEAMS)),
    st.tuples(
        st.just("extend"), st.sampled_from(WHO), st.none() | st.integers(-1, 4), st.booleans()
    ),
    st.tuples(st.just("choose"), st.sampled_from(WHO), st.integers(0, 5)),
)  # fmt: skip


class Run:
    """One lab of the book beside its model."""

    def __init__(self, book: Gradebook, clock: Clock, policy: LabPolicy) -> None:
        self.book, self.clock, self.model = book, clock, Model(policy)
        self.lab = f"lab-{next(LABS)}"
        self.course = Course(
            "c", "UTC", tuple(map(Student, WHO)), {self.lab: policy}, b"", Path()
        )  # fmt: skip

    def submit(self, who: str, data: bytes, day: int) -> None:
        received = NOON + timedelta(days=day)
        stored = self.book.submit(self.lab, who, "f.cu", data, received=received)
        same = [o for o in self.model.sent if o.data == data and who in o.owners]
        if same:
            one = min(same, key=lambda o: o.number)
            one.received = min(one.received, received)
        else:
            one = Sent(stored.id, data, received, {who: None})
            self.model.sent.append(one)
            self.model.share(one, self.model.group(who), None)
            claim = self.book.claim(stored.id, "key", "worker", 60)
            assert claim and self.book.accept(claim, a_grade(SCORES[data]))
        assert stored.id == one.number

    def put(self, who: str, team: str | None, earlier: bool) -> None:
        before = self.seen()
        self.book.groups.put(self.lab, who, team, "me", "x", earlier=earlier)
        if team is None:
            self.model.staff.pop(who, None)
        else:
            self.model.staff[who] = team
        group = self.model.group(who)
        if earlier:
            for one in sorted(self.model.sent, key=lambda one: (one.received, one.number)):
                if one.owners.keys() & set(group):
                    self.model.share(one, group, self.clock.now)
        else:
            assert self.seen() == before, "a change of a group takes and gives nothing"

    def file(self, teams: dict[str, str]) -> None:
        before = self.seen()
        self.model.file = {who: team for who, team in teams.items() if team}
        groups = {(self.lab, who): team for who, team in self.model.file.items()}
        self.course = replace(self.course, groups=groups)
        self.book.apply(self.course, "me")
        assert self.book.apply(self.course, "me") == ()
        assert self.seen() == before

    def extend(self, who: str, days: int | None, staff: bool) -> None:
        due = None if days is None else NOON + timedelta(days=days)
        known = self.model.staff_due if staff else self.model.file_due
        if staff and due is None and who not in known:
            with pytest.raises(LabFault, match="no extension"):
                self.book.extend(self.lab, who, None, "me", "x")
            return
        if due is None:
            known.pop(who, None)
        else:
            known[who] = due
        if staff:
            self.book.extend(self.lab, who, due, "me", "x")
            return
        rows = tuple(ExtensionRow(self.lab, s, d, "x") for s, d in known.items())
        self.course = replace(self.course, extensions=rows)
        self.book.apply(self.course, "me")

    def choose(self, who: str, index: int) -> None:
        mine = self.model.mine(who)
        if index < len(mine):
            self.book.teaching.choose(mine[index].number, "me", who)
            self.model.chosen[who] = mine[index].number

    def seen(self) -> dict[str, Any]:
        found = (self.book.entry(self.lab, who, course=self.course) for who in WHO)
        return {entry.student: (entry.submission, entry.points) for entry in found}

    def check(self) -> None:
        whole = self.book.entries(self.lab, course=self.course)
        assert [entry.student for entry in whole] == [*WHO]
        assert {e.student: (e.submission, e.points) for e in whole} == self.seen()
        for who in WHO:
            entry = self.book.entry(self.lab, who, course=self.course)
            assert (entry.submission, entry.points) == self.model.counts(who)
            mine = [one.number for one in self.model.mine(who)]
            assert [one.id for one in self.book.history(self.lab, who)] == mine
            assert entry.team == self.model.team(who)
            chosen = self.book.submissions(self.lab, students=[who])
            assert sorted(one.id for one in chosen) == sorted(mine)
        for one in self.model.sent:
            assert {*self.book.groups.owners(one.number)} == one.owners.keys()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gradebook, Clock]]:
    clock = Clock()
    path = tmp_path_factory.mktemp("groups") / "course.db"
    book = open_gradebook(str(path), clock=clock)
    book.enroll([Student(who) for who in WHO], "me")
    yield book, clock
    assert book.verify().problems == ()
    book.close()


TOGETHER = [("put", "ada", "A", False), ("put", "ben", "A", False)]
MET = {
    "one that staff share takes no attempt, and comes last": [
        ("submit", "ben", b"1", 0), ("submit", "ben", b"2", 1), ("submit", "ada", b"3", -2),
        ("put", "ada", "A", False), ("put", "ben", "A", True),
    ],
    "staff's extension counts before the file's, until it is removed": [
        ("extend", "ada", 1, False), ("extend", "ada", 3, True), ("submit", "ada", b"2", 3),
        *TOGETHER, ("extend", "ben", 2, False), ("submit", "ben", b"1", 4),
        ("extend", "ada", None, True),
    ],
    "the same bytes of another one of the group": [
        ("submit", "ada", b"1", 0), *TOGETHER, ("submit", "ben", b"1", 1),
        ("submit", "ada", b"1", 2), ("put", "ben", "", False), ("submit", "ben", b"3", 2),
    ],
    "one who leaves keeps what counted, and each chooses": [
        *TOGETHER, ("submit", "ada", b"2", 0), ("submit", "ben", b"1", 1), ("choose", "ada", 0),
        ("put", "ben", "", False), ("submit", "ada", b"3", 1), ("choose", "ben", 0),
    ],
    "what staff decide is given back to the file": [
        ("file", {"ada": "A", "ben": "A"}), ("submit", "ada", b"1", 0),
        ("put", "ben", "B", False), ("submit", "ada", b"2", 1), ("file", {"cyd": "B"}),
        ("submit", "cyd", b"3", 1), ("put", "ben", None, False), ("submit", "cyd", b"2", 2),
    ],
    "a resubmission gives nothing to the group": [
        ("submit", "ada", b"2", -1), ("submit", "ben", b"1", 0), *TOGETHER,
        ("submit", "ada", b"2", 0), ("submit", "cyd", b"3", 0), ("put", "cyd", "A", True),
    ],
    "an old file sent again after the cut-off changes nobody's grade": [
        ("submit", "ada", b"2", -1), ("submit", "ben", b"1", 0), *TOGETHER,
        ("put", "cyd", "A", False), ("submit", "ada", b"2", 6), ("submit", "cyd", b"2", 6),
    ],
}  # fmt: skip
"""Cases that chance meets too seldom."""


@pytest.mark.parametrize("name", MET)
def test_cases_where_rules_meet(made: tuple[Gradebook, Clock], name: str) -> None:
    for policy in POLICIES[1::2]:
        take(made, policy, MET[name])


def take(
    made: tuple[Gradebook, Clock], policy: LabPolicy, steps: list[tuple[Any, ...]]
) -> None:  # fmt: skip
    """Take the steps in a new lab, and compare after each one."""
    book, clock = made
    clock.now = NOON
    run = Run(book, clock, policy)
    for name, *values in steps:
        clock.now += timedelta(hours=1)
        getattr(run, name)(*values)
        assert run.seen() == {who: run.model.counts(who) for who in WHO}
    run.check()


@settings(
    max_examples=15,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(policy=st.sampled_from(POLICIES), steps=st.lists(STEPS, min_size=6, max_size=14))
def test_what_counts_is_as_the_rules_say(
    made: tuple[Gradebook, Clock], policy: LabPolicy, steps: list[tuple[Any, ...]]
) -> None:  # fmt: skip
    take(made, policy, steps)


@pytest.mark.parametrize("counts", ["last", "best"])
def test_an_old_file_sent_again_counts_for_nobody_else(
    made: tuple[Gradebook, Clock], counts: str
) -> None:
    run = Run(*made, next(p for p in POLICIES if p.counts == counts))
    run.submit("ada", b"2", -1)
    run.submit("ben", b"1", 0)
    for who in WHO:
        run.put(who, "A", False)
    before = run.seen()
    run.submit("ada", b"2", 6)
    assert run.seen() == before and before["cyd"] == (None, None)
    run.check()


def test_the_same_decision_twice_is_recorded_once(made: tuple[Gradebook, Clock]) -> None:
    book, clock = made
    run = Run(book, clock, POLICIES[0])
    put = partial(book.groups.put, run.lab, "ada")
    for team, reason, lines in (
        (None, "x", 0), ("A", "x", 1), (" A ", "x", 1), ("A", "y", 2), ("", "y", 3),
        ("", "y", 3), (None, "y", 4), (None, "z", 4),
    ):  # fmt: skip
        put(team, "me", reason)
        assert len(book.audit(run.lab)) == lines, (team, reason)
    assert book.groups.members(run.lab) == {}
    run.submit("ada", b"1", 0)
    book.groups.put(run.lab, "ben", "A", "me", "x")
    put("A", "me", "x")
    assert put("A", "me", "x", earlier=True) == 1, "the same decision, with what was sent before"
    assert put("A", "me", "x", earlier=True) == 0


def crowd(book: Gradebook, size: int) -> dict[str, int]:
    """Return the database's steps for each thing, in a lab with groups of two students each."""
    lab, step = f"lab-{next(LABS)}", [0]
    whole = [f"s{k:04}" for k in range(size)]
    book.enroll([*map(Student, (*WHO, *whole))], "me")
    rows = [ExtensionRow(lab, who, NOON, "x") for who in whole]
    teams = {(lab, who): f"T{k // 2}" for k, who in enumerate(whole)}
    teams |= {(f"{lab}-one", who): "T" for who in whole}
    course = Course("c", "UTC", (), {lab: POLICIES[0]}, b"", Path(), groups=teams)
    found = {}

    def count() -> None:
        step[0] += 1

    def watch(connection: Any, *_: object) -> None:
        connection.set_progress_handler(count, 20)

    def submit() -> None:
        found["number"] = book.submit(lab, "s0000", "f.cu", b"1", received=NOON).id

    def sent() -> None:
        for who in whole[2::2]:
            book.submit(lab, who, "f.cu", b"1", received=NOON)

    event.listen(book._database.engine, "checkout", watch)
    for name, act in {
        "extensions": lambda: book.extend_all(rows, "me"),
        "file": lambda: book.apply(course, "me"),
        "staff": lambda: [book.groups.put(lab, who, f"U{who}", "me", "x") for who in whole[-9:]],
        "submit": submit,
        "sent": sent,
        "mates": lambda: book.groups.mates(lab, "s0000"),
        "entry": lambda: book.entry(lab, "s0000", course=course),
        "owners": lambda: book.groups.owners_of({found["number"]}),
        "one": lambda: [
            book.submit(f"{lab}-one", "s0000", "f.cu", b, received=NOON) for b in SCORES
        ],
        "outsider": lambda: book.entry(f"{lab}-one", "ada"),
        "none": lambda: book.groups.owners_of(()),
    }.items():
        step[0] = 0
        act()
        found[name] = step[0]
    event.remove(book._database.engine, "checkout", watch)
    return found


def test_costs_grow_with_what_is_asked(made: tuple[Gradebook, Clock]) -> None:
    """Four times as many changes cost four times the steps, one change of a large lab no more."""
    small, large = crowd(made[0], 20), crowd(made[0], 80)
    for name in ("extensions", "file"):
        assert large[name] < 6 * small[name], (name, small, large)
    for name in ("staff", "owners", "none", "outsider"):
        assert large[name] < 1.5 * small[name] + 5, (name, small, large)
    assert large["mates"] < small["staff"], (small, large)


def test_the_model_knows_lateness_as_the_handout_does() -> None:
    """The model's days are those of the policy, for times that are whole days apart."""
    for days in range(5):
        at = NOON + timedelta(days=days)
        assert lateness(POLICIES[0], at).share_kept == pytest.approx(1 - 0.1 * days)


def test_what_counts_for_a_student_is_found_by_indexes(tmp_path: Path) -> None:
    """A condition that reads the whole lab, or the whole table, costs more with each submission."""
    book = open_gradebook(str(tmp_path / "grades.db"))
    query = select(submission.c.name).where(counts_for("lab", ["ada", "ben"]))
    text = query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    with book.database.reading() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}").all()
    book.close()
    read = [str(row[-1]) for row in rows if re.match(r"(SCAN|SEARCH) ", str(row[-1]))]
    keys = {one.partition("(")[2] for one in read}
    assert read and not [one for one in read if one.startswith("SCAN")], read
    assert keys == {"rowid=?)", "lab=? AND student=?)", "student=?)"}, read
