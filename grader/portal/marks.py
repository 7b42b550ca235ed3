"""Measure what a lab's solution reaches, for its leaderboard.

A worker does this when it starts, beside its work: it has the compiler, and no page waits. The
solution is graded like a submission, whose grade has the baseline's cost too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.batch.task import Task
from grader.faults import Fault
from grader.gradebook.board import Marks
from grader.gradebook.book import Gradebook
from grader.gradebook.course import Course
from grader.labs.reading import lab_digest
from grader.portal.worker import GradedLab, Perform


def measure_marks(
    book: Gradebook, course: Course, labs: Mapping[str, GradedLab], perform: Perform,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Grade the solution of each lab that has a leaderboard, unless it is measured already.

    A worker with a GPU measures again what one without has measured. A lab without a solution has
    no mark of it, and neither has one whose solution is not graded; the reason is said.
    """
    try:
        for one in labs.values():
            _measure(book, course, one, perform, say)
    except (Fault, OSError) as fault:  # of the gradebook or a lab's files: the next worker tries
        say(f"the solutions are not measured for the leaderboards: {fault}")


def _measure(
    book: Gradebook, course: Course, graded: GradedLab, perform: Perform, say: Callable[[str], None]
) -> None:
    name = graded.lab.name
    if not course.policy(name).leaderboard or not graded.lab.solution.is_file():
        return
    known, digest = book.board.marks(name), lab_digest(graded.lab)
    enough = ("gpu", graded.options.on)
    if known and known.lab_sha256 == digest and known.values.get("backend") in enough:
        return
    task = Task(0, "", graded.lab.solution.name, graded.lab.solution.read_bytes())
    answer = perform(graded.lab, task, graded.options, lambda step, number, steps: None)
    if answer.grade is None or answer.grade["status"] != "graded":
        say(f"{name}: the solution is not measured for the leaderboard: {answer.reason}")
        return
    kept = {key: answer.grade.get(key) for key in ("backend", "cost")}
    speed = next((c for c in answer.grade["checks"] if c["name"] == "speed"), None)
    measured = speed["measurements"] if speed else {}
    kept |= {key: measured.get(key) for key in ("speedup", "minimum", "full")}
    kept["device"] = answer.grade["provenance"].get("device")
    book.board.set_marks(name, Marks(digest, kept))
    say(f"{name}: the solution is measured for the leaderboard")
