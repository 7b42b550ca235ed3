"""A leaderboard against an independent model: its order, and who sees what of it when.

The model keeps what happened to each student in plain values and says what each person must see. It
knows nothing of the gradebook's tables, of grades or of the portal's code.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import read_course
from grader.gradebook.ledger import Student
from grader.gradebook.people import Person
from grader.gradebook.policy import Release
from grader.portal.boards import board_of
from grader.portal.ranking import Standing, ranked
from grader.portal.requests import Visitor
from grader.portal.site import Site, labs_of
from tests.portal.made import COURSE, LAB, verified_grade, write_course

STUDENTS = {"ada": "A", "ben": "A", "cyd": "B", "dan": "B"}
NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
VIEWERS = (
    *(Person(f"student:{who}", who, "", "student", (of,), who) for who, of in STUDENTS.items()),
    Person("staff:1", "TA", "", "ta", ("A",)),
    Person("staff:2", "TA of all", "", "ta"),
    Person("staff:3", "Lead", "", "instructor"),
    Person("staff:4", "Observer", "", "observer"),
)


@dataclass
class One:
    """What the model knows of a student. `result`: what counts, (speedup, cost), if verified."""

    section: str
    enrolled: bool = True
    name: str = ""
    hidden: bool = False
    overridden: bool = False
    newest: int = 0
    result: tuple[float, int] | None = None
    joined: int = 0


@dataclass
class Model:
    """A lab of which the last submission counts."""

    held: bool = False
    group: tuple[str, ...] = ()
    students: dict[str, One] = field(default_factory=dict)

    def listed(self) -> list[str]:
        """The students whose names the ranked lines have, the best first."""
        first: dict[int, str] = {}
        for who in sorted(self.placed(), key=lambda who: self.students[who].joined):
            first.setdefault(self.students[who].newest, who)
        return [who for who in self.placed() if who in first.values()]

    def placed(self) -> list[str]:
        """The students with a rank, the best first."""
        there = [
            (who, one)
            for who, one in self.students.items()
            if one.enrolled and one.name and not one.hidden and not one.overridden and one.result
        ]
        timed = [pair for pair in there if pair[1].result and pair[1].result[0]]
        rest = [pair for pair in there if pair not in timed]
        timed.sort(key=lambda pair: (-pair[1].result[0], pair[1].result[1], pair[1].newest))  # type: ignore[index]
        rest.sort(key=lambda pair: (pair[1].result[1], pair[1].newest))  # type: ignore[index]
        return [who for who, _ in timed + rest]

    def seen_by(self, viewer: Person) -> list[tuple[str, str]]:
        """The ranked entries that a person sees: the pseudonym, and who it is where told."""
        if self.held and viewer.role == "student":
            return []
        return [(self.students[w].name, w * self.knows(viewer, w)) for w in self.listed()]

    def knows(self, viewer: Person, who: str) -> bool:
        if viewer.role == "student":
            return viewer.student == who
        if viewer.role == "ta":
            return not viewer.sections or self.students[who].section in viewer.sections
        return viewer.role == "instructor"

    def mates(self, who: str) -> tuple[str, ...]:
        """The students who submit together with one, and the one."""
        return self.group if who in self.group else (who,)

    def own(self, viewer: Person) -> list[str]:
        """The names of the ranked lines that are the viewer's."""
        seen, mine = dict(self.seen_by(viewer)), self.students.get(viewer.student)
        if mine is None or viewer.student not in self.placed():
            return []
        lines = [self.students[who] for who in self.listed()]
        return [one.name for one in lines if one.newest == mine.newest and one.name in seen]

    def unplaced(self, viewer: Person) -> set[str]:
        """The students without a rank whose entries the person sees."""
        if self.held and viewer.role == "student":
            return set()
        there = {w for w, one in self.students.items() if one.enrolled and one.name}
        return {w for w in there - set(self.placed()) if self.knows(viewer, w)}


class World:
    """The real thing beside the model; every action is done to both."""

    def __init__(self, site: Site, book: Gradebook, group: tuple[str, ...] = ()) -> None:
        self.site, self.book, self.lab = site, book, site.labs[LAB]
        site.sections_seconds = 0.0
        students = {who: One(of) for who, of in STUDENTS.items()}
        self.model = Model(group=group, students=students)
        self.clock = 0
        for who in group:
            book.groups.put(LAB, who, "team", "lead", "they work together")

    def submit(self, who: str, kind: str, speedup: float, cost: int) -> None:
        self.clock += 1
        at = NOON + timedelta(minutes=self.clock)
        data = f"// {self.clock}".encode()
        number, sent = self.book.submit(LAB, who, "a.cu", data, received=at).id, self.clock
        result = (speedup, cost) if kind == "right" else None
        for mate in self.model.mates(who):
            one = self.model.students[mate]
            one.newest, one.result = sent, result
        if kind != "waits":
            self.grade(number, kind, speedup, cost)

    def regrade(self, who: str, kind: str, speedup: float, cost: int) -> None:
        """Another grade of the submission that counts takes the place of its grade."""
        handed = self.book.history(LAB, who)
        if handed and handed[-1].grade is not None and kind != "waits":
            self.grade(handed[-1].id, kind, speedup, cost)
            for mate in self.model.mates(who):
                self.model.students[mate].result = (speedup, cost) if kind == "right" else None

    def grade(self, number: int, kind: str, speedup: float, cost: int) -> None:
        sectors = (cost, 0, 0)
        made = verified_grade(self.lab, sectors, speedup=speedup)
        if kind in ("hidden-short", "one-block", "output", "sync"):
            made = verified_grade(self.lab, sectors, speedup=speedup, failing=kind)
        if kind == "stale":
            made["provenance"]["lab_sha256"] = "0" * 64
        if kind == "public only":
            made["cases"] = [c for c in made["cases"] if c["visibility"] == "public"]
        if kind == "unmeasured":
            made = verified_grade(self.lab, None)
        self.clock += 1
        claim = self.book.claim(number, f"key {self.clock}", "worker", 60)
        assert claim is not None and self.book.accept(claim, made)

    def join(self, who: str, name: str) -> None:
        others = {w: one.name for w, one in self.model.students.items() if w != who}
        if name in others.values() or not self.model.students[who].enrolled:
            with pytest.raises(Exception, match=r"taken|no student"):
                self.book.board.join(LAB, who, name, "test")
            return
        assert self.book.board.join(LAB, who, f" {name} ", "test") == name
        one = self.model.students[who]
        self.clock += not one.name
        one.joined = one.joined if one.name else self.clock
        one.name = name

    def leave(self, who: str) -> None:
        self.book.board.leave(LAB, who, "test")
        self.model.students[who].name = ""

    def hide(self, who: str) -> None:
        one = self.model.students[who]
        if one.name and not one.hidden:
            self.book.board.hide(LAB, who, "ta", "rude")
            one.hidden = True
        elif one.hidden:
            self.book.board.show(LAB, who, "ta", "a mistake")
            one.hidden = False

    def override(self, who: str, points: float | None) -> None:
        one = self.model.students[who]
        if (points is None) == one.overridden:
            self.book.override(LAB, who, points, "lead", "why")
            one.overridden = points is not None

    def hold(self, held: bool) -> None:
        self.book.teaching.set_release(LAB, Release(held=held) if held else None, "lead", "x")
        self.model.held = held

    def roster(self, who: str, section: str) -> None:
        """Move a student to another section; "" takes the student off the roster."""
        one = self.model.students[who]
        one.enrolled, one.section = bool(section), section or one.section
        kept = [
            Student(w, w, f"{w}@example.org", section=o.section)
            for w, o in self.model.students.items()
            if o.enrolled
        ]
        self.book.enroll(kept, "test")
        self.site.course = replace(self.site.course, students=tuple(kept))

    def compare(self) -> None:
        for viewer in VIEWERS:
            if viewer.student and not self.model.students[viewer.student].enrolled:
                continue  # who has left cannot sign in
            seen = board_of(self.site, Visitor(viewer), self.lab)
            shown = [(p.name, p.student) for p in seen.places if p.rank]
            assert shown == self.model.seen_by(viewer), viewer
            assert [p.rank for p in seen.places if p.rank] == list(range(1, len(shown) + 1))
            assert [p.name for p in seen.places if p.rank and p.own] == self.model.own(viewer)
            mates = {who for p in seen.places for who in p.mates}
            assert all(self.model.knows(viewer, who) for who in mates)
            assert mates <= {*self.model.placed()} - {*self.model.listed()}
            rest = [p for p in seen.places if not p.rank and not p.is_mark]
            assert {p.student for p in rest} == self.model.unplaced(viewer)
            told = {p.why for p in seen.places if p.own and p.hidden}
            assert told <= {""}, "a student reads why staff have hidden an entry"
            assert all(p.own == (p.student == viewer.student != "") for p in rest)


WHO = st.sampled_from(sorted(STUDENTS))
KINDS = st.sampled_from(
    ["right", "right", "right", "waits", "hidden-short", "one-block", "output", "sync", "stale",
     "public only", "unmeasured"]
)  # fmt: skip
SPEEDUPS, COSTS = st.sampled_from([0.0, 0.0, 1.5, 2.0]), st.sampled_from([5, 7, 900])
GROUPS = st.sampled_from([(), ("ada", "cyd"), ("ada", "ben", "dan")])
ACTIONS = st.one_of(
    st.tuples(st.just("submit"), WHO, KINDS, SPEEDUPS, COSTS),
    st.tuples(st.just("regrade"), WHO, KINDS, SPEEDUPS, COSTS),
    st.tuples(st.just("join"), WHO, st.sampled_from(["Fox", "Owl", "x1"])),
    st.tuples(st.just("leave"), WHO),
    st.tuples(st.just("hide"), WHO),
    st.tuples(st.just("override"), WHO, st.sampled_from([None, 3.0])),
    st.tuples(st.just("hold"), st.booleans()),
    st.tuples(st.just("roster"), WHO, st.sampled_from(["A", "B", ""])),
)
BEGIN = [("join", who, f"First {who}") for who in STUDENTS]
FIRST = {"ada": (1.5, 5), "ben": (2.0, 900), "cyd": (0.0, 7), "dan": (0.0, 5)}
BEGIN += [("submit", who, "right", *result) for who, result in FIRST.items()]  # type: ignore[misc]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("course")
    write_course(place, COURSE)
    (place / "roster.csv").write_text(
        "id,name,email,section\n"
        + "".join(f"{w},{w},{w}@example.org,{of}\n" for w, of in STUDENTS.items())
    )
    return place


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(ACTIONS, max_size=14), group=GROUPS)
@example(steps=[], group=("ada", "cyd"))
@example(steps=[("leave", "ada"), ("join", "ada", "A1")], group=("ada", "cyd"))
@example(steps=[("join", "ada", "x1")], group=("ada", "cyd"))
@example(steps=[("hide", "ada"), ("override", "ben", 3.0)], group=("ada", "ben", "dan"))
def test_who_sees_what_of_a_board(folder: Path, steps: list[Any], group: tuple[str, ...]) -> None:
    (folder / "course.db").unlink(missing_ok=True)
    course = read_course(folder)
    ticks = count()
    later = NOON + timedelta(days=1)
    book = open_gradebook(
        course.gradebook, clock=lambda: later + timedelta(milliseconds=next(ticks))
    )
    try:
        book.enroll(course.students, "test")
        site = Site(course, labs_of(course), book, "http://127.0.0.1", lambda *_: None)
        world = World(site, book, group)
        for name, *values in [*BEGIN, *steps]:
            getattr(world, name)(*values)
        world.compare()
        assert book.verify().problems == ()
    finally:
        book.close()


STANDINGS = st.builds(
    Standing,
    cost=st.none(),
    speedup=st.sampled_from([None, 1.0, 1.5]),
    received=st.sampled_from([None, NOON, NOON + timedelta(seconds=1)]),
    submission=st.integers(1, 3),
)


@given(st.lists(STANDINGS, max_size=8), st.randoms())
def test_the_order_is_total_and_does_not_depend_on_the_input(
    standings: list[Standing], draw: Any
) -> None:
    from grader.gradebook.board import Member

    members = [
        (Member(str(k), f"p{k}"), replace(one, submission=10 * k + one.submission))
        for k, one in enumerate(standings)
    ]
    mixed = list(members)
    draw.shuffle(mixed)
    marks = {"baseline": Standing(None), "solution": Standing(None, 1.5)}
    first = ranked(members, marks)
    assert first == ranked(mixed, dict(reversed(marks.items())))
    keys = [one.standing.order for one in first if one.standing]
    assert keys == sorted(keys)
