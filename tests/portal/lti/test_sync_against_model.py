"""Any sequence of changes, faults and restarts ends with the platform as the gradebook is."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from joserfc.jwk import RSAKey

from grader.gradebook.policy import Release
from tests.portal.lti.platform import FAULTS
from tests.portal.lti.synced import STUDENTS, Synced, synced
from tests.portal.made import LAB
from tests.portal.provider import signing_key

KINDS = ("token", "items", "make", "score", "results")
who, points = st.sampled_from(STUDENTS), st.sampled_from((0.0, 12.5, 40.0, 100.0))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("grade"), who, points),
        st.tuples(st.just("submit"), who),
        st.tuples(st.just("fail"), who),
        st.tuples(st.just("override"), who, st.none() | points),
        st.tuples(st.just("hold"), st.booleans()),
        st.tuples(
            st.just("spoil"), st.sampled_from(KINDS), st.sampled_from(FAULTS), st.integers(1, 3)
        ),
        st.tuples(st.just("restart")),
        st.tuples(st.just("send"), st.sampled_from((0.0, 1.0, 60.0, 7200.0))),
    ),
    min_size=3, max_size=16,
)  # fmt: skip


@pytest.fixture(scope="module")
def key() -> RSAKey:
    made = signing_key("course", use="sig", alg="RS256")
    made.ensure_kid()
    return made


class Model:
    """What was done to a course, and what each person may have been given."""

    def __init__(self, one: Synced) -> None:
        self.one, self.number = one, 0
        self.given: defaultdict[str, set[float]] = defaultdict(set)
        self.overridden: set[str] = set()
        self.waiting: dict[str, int] = {}
        self.left: dict[str, list[str]] = {kind: [] for kind in KINDS}
        one.at.fault = lambda kind: self.left[kind].pop() if self.left.get(kind) else ""

    def do(self, name: str, *words: Any) -> None:
        getattr(self, name)(*words)

    def submit(self, student: str) -> int:
        self.number += 1
        self.waiting[student] = self.one.submit(student, self.number)
        return self.waiting[student]

    def grade(self, student: str, earned: float) -> None:
        stored = self.submit(student)
        self.given[student].add(earned)
        self.one.grade(stored, earned)
        del self.waiting[student]

    def fail(self, student: str) -> None:
        self.one.fail(self.submit(student))

    def override(self, student: str, value: float | None) -> None:
        if value is None and student not in self.overridden:
            return
        self.one.book.override(LAB, student, value, "lead", "look again")
        self.overridden.add(student)
        if value is None:
            self.overridden.discard(student)
        else:
            self.given[student].add(value)

    def hold(self, held: bool) -> None:
        self.one.book.teaching.set_release(LAB, Release(held=held), "lead", "")

    def spoil(self, kind: str, fault: str, times: int) -> None:
        self.left[kind] += times * [fault]

    def restart(self) -> None:
        self.one.restarted()

    def send(self, minutes: float) -> None:
        self.one.clock.now += timedelta(minutes=minutes)
        self.one.sync.send()

    def end(self) -> None:
        """Grade what waits, and let the platform work."""
        for kind in KINDS:
            self.left[kind].clear()
        for student, stored in self.waiting.items():
            self.given[student].add(40.0)
            self.one.grade(stored, 40.0)
        self.one.settle()

    def expected(self) -> dict[str, tuple[float, float]]:
        entries = self.one.book.entries(LAB, course=self.one.course)
        held = self.one.book.teaching.release(LAB, Release()).holds(self.one.clock.now)
        return {
            f"sub-{entry.student}": (entry.points, entry.max_points or 100.0)
            for entry in entries
            if entry.points is not None and not held
        }


@given(steps=STEPS)
@settings(
    max_examples=12, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
def test_the_platform_ends_as_the_gradebook_is(
    steps: list[tuple[Any, ...]], key: RSAKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with tempfile.TemporaryDirectory() as folder, synced(Path(folder), key=key) as one:
        model = Model(one)
        for step in steps:
            model.do(*step)
        model.end()
        shown = one.at.shown() if one.at.items else {}
        assert shown == model.expected()
        assert len(one.at.items) <= 1
        assert not [text for text in one.at.wrong if "timestamp" in text]
        for _, message in one.at.history:
            given = message.get("scoreGiven")
            assert given is None or given in model.given[message["userId"].removeprefix("sub-")]
        assert one.book.verify().problems == ()
