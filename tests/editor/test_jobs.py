"""The newest job of each key is done; an older one is given up, and nothing of it stays."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.editor.jobs import NewestJobs
from grader.feedback.grade import grade
from grader.labs.reading import load_lab
from grader.sandbox.call import KeptChild, run_sandboxed
from grader.sandbox.process import Child, Interrupted, interruption
from grader.submissions.files import parse_submission
from tests.command import ROOT, descendants
from tests.patience import until

LAB = load_lab("vector-add")
SOLUTION = (ROOT / "solutions/vector-add/vector-add.cu").read_bytes()


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "sandbox"))
    yield
    interruption().clear()


def test_the_newest_of_each_key_is_taken_when_it_is_due() -> None:
    jobs = NewestJobs[str, int]()
    jobs.offer("a", 1)
    jobs.offer("b", 2, delay=0.01)
    jobs.offer("a", 3)
    jobs.offer("c", 4)
    jobs.withdraw("c")
    assert [jobs.take(), jobs.take()] == [("a", 3), ("b", 2)]
    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(jobs.take)
        jobs.offer("d", 5)
        assert taken.result() == ("d", 5)


@pytest.mark.parametrize("kept", [False, True])
def test_a_newer_job_ends_the_child_of_the_older_one(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = NewestJobs[str, int]()
    jobs.offer("a", 1)
    jobs.take()
    run_sandboxed("sandboxed_steps:echo", 0)
    standing = descendants()
    waits = []

    def offer_first(child: Child, seconds: float) -> str:
        waits.append(child)
        jobs.offer("other", 7)
        assert not is_interrupted()
        jobs.offer("a", 2)
        return whole(child, seconds)

    whole = Child.wait_for_reply
    monkeypatch.setattr(Child, "wait_for_reply", offer_first)
    with KeptChild() as child, pytest.raises(Interrupted):
        run_sandboxed("sandboxed_steps:sleep", 60, kept=child if kept else None)
    monkeypatch.undo()
    assert len(waits) == 1
    until(lambda: descendants() <= standing)
    assert sorted([jobs.take(), jobs.take()]) == [("a", 2), ("other", 7)]
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "sandbox"))
    assert run_sandboxed("sandboxed_steps:echo", 5).value == 5


def is_interrupted() -> bool:
    try:
        interruption().check()
    except Interrupted:
        return True
    return False


@pytest.mark.parametrize("number", range(1, 7))
def test_a_grade_that_is_interrupted_at_any_step_leaves_the_next_one_right(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted at its first, second, ... wait for a child; the next grade is whole."""
    grade(LAB, parse_submission(SOLUTION, "mine.cu"))  # templates and references run then
    standing = descendants()
    submission = parse_submission(SOLUTION + b"// %d\n" % number, "mine.cu")
    calls = iter(range(1, 1000))
    whole = Child.wait_for_reply

    def counted(child: Child, seconds: float) -> str:
        if next(calls) == number:
            interruption().request()
        return whole(child, seconds)

    monkeypatch.setattr(Child, "wait_for_reply", counted)
    try:
        made = grade(LAB, submission, fixes=True)
        assert number > 1  # a grade compiles
    except Interrupted:
        interruption().clear()
        made = grade(LAB, submission, fixes=True)
    assert made.score.points == made.score.judged_max > 0
    until(lambda: descendants() <= standing)
