"""The grade of a notebook's cell, as a value that a notebook shows and test cells ask.

`require` and `points` are for test cells of otter and nbgrader. A system error never looks like a
wrong answer: both raise NotGraded then.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

from grader import dataclass
from grader.checks.result import Result
from grader.faults import Fault, StudentFault
from grader.feedback.grade import grade
from grader.grading.cases import Backend, RunOptions
from grader.grading.pipeline import grade_unreadable
from grader.grading.quiz import known_answer_sheet
from grader.grading.record import Grade
from grader.labs.model import Lab
from grader.notebook.page import PHASES, cell_page
from grader.reports.explain.explanation import Explanation, explain_submission
from grader.reports.finding import findings_text
from grader.reports.redact import redact
from grader.reports.text import grade_report, render, score_line
from grader.sandbox.process import interruption
from grader.submissions.files import Submission
from grader.submissions.sources import Wanted, header_beside, open_submission

PICTURE_SECONDS = 5.0
"""Processor time after which the kernel of a picture is stopped."""


class _MessageError(Exception):
    """An error that a notebook shows as its message: the traceback is that of the grader."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows in place of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class CheckFailed(_MessageError, AssertionError):
    """A check of the cell's kernel failed; a test cell fails with this message."""


class NotGraded(_MessageError, RuntimeError):
    """The cell has no grade, because this machine failed: no fault of the student."""


@dataclass(frozen=True)
class CellResult:
    """The grade of a cell; the last expression of a cell shows it.

    Attributes:
        grade: The grade.
        source: The source, with blank lines where the cell has the line of the magic.
        explanation: What the pictures are made of; None without pictures.
        notes: What the student has to know besides, such as why a GPU is not used.
        every: Whether every finding is shown, not one block for each cause.
    """

    grade: Grade
    source: str
    explanation: Explanation | None = None
    notes: tuple[str, ...] = ()
    every: bool = False

    @property
    def score(self) -> float:
        """The points of all checks that were evaluated."""
        return self.grade.score.points

    @property
    def max_score(self) -> float:
        """The points that these checks are worth."""
        return self.grade.score.judged_max

    @property
    def passed(self) -> bool:
        """Whether every check that was evaluated passes. Raises NotGraded."""
        self._require_grade()
        return self.grade.exit_code == 0

    def check(self, name: str) -> Result:
        """Return the result of a check, such as "sync". Raises KeyError for an unknown name."""
        found = {check.name: check for check in self.grade.checks}
        if name not in found:
            raise KeyError(f"there is no check `{name}`; checks: {', '.join(found)}")
        return found[name]

    def require(self, *names: str) -> None:
        """Return if these checks pass; without names, all that were evaluated.

        Raises:
            CheckFailed: One of them does not pass. The message has its findings.
            NotGraded: A system error prevented the grade.
            KeyError: There is no such check.
        """
        wanted = [self.check(name) for name in names] if names else list(self.grade.checks)
        self._require_grade()
        wrong = [
            check for check in wanted
            if check.status in ("fail", "blocked") or (names and check.status != "pass")
        ]  # fmt: skip
        if not wrong:
            return
        findings = [finding for check in wrong for finding in check.findings]
        heads = [f"{check.name}: {check.summary}" for check in wrong]
        text = "\n\n".join(filter(None, ("\n".join(heads), findings_text(findings).plain)))
        raise CheckFailed(text)

    def points(self, most: float | None = None) -> float:
        """Return the points, scaled so that `most` is the best; None for the lab's own points.

        Raises:
            NotGraded: A system error prevented the grade.
        """
        self._require_grade()
        if most is None:
            return self.score
        return round(most * self.score / self.max_score, 2) if self.max_score else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the grade as `grader check --json` writes it."""
        return self.grade.to_json()

    def _require_grade(self) -> None:
        if self.grade.score.status == "incomplete":
            failed = [c.summary for c in self.grade.checks if c.status == "error"]
            raise NotGraded("; ".join((score_line(self.grade, 1000).plain, *failed[:1])))

    @cached_property
    def _text(self) -> str:
        report = render(grade_report(self.grade, every=self.every))
        return "\n".join((*self.notes, report)) if self.notes else report

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return cell_page(self.grade, self.source, self.explanation, self.notes)


def grade_cell(
    lab: Lab,
    source: str,
    *,
    name: str = "cell",
    on: Backend = "sim",
    pictures: bool = True,
    notes: tuple[str, ...] = (),
    every: bool = False,
    folder: Path | None = None,
) -> CellResult:
    """Grade the source of a cell on the public cases.

    Args:
        lab: The lab.
        source: The source, whose lines are those of the cell.
        name: The cell's name in messages.
        on: The backend.
        pictures: Whether to draw what the threads access.
        notes: What the result says besides.
        every: Whether the text shows every finding.
        folder: Where the cell's own headers and answers.yaml are; None for the current folder.

    Raises:
        Fault: The lab or the machine fails.
    """
    place = folder or Path()
    answers = known_answer_sheet(place) if lab.quiz else None
    data = source.encode("utf-8", "replace")
    try:
        submission = open_submission(
            data, name, Wanted.by(lab), lambda header, own: header_beside(place, header, own)
        )
    except StudentFault as fault:
        made = grade_unreadable(lab, name, fault, on=on, answers=answers)
        return CellResult(redact(made), source, None, notes, every)
    drawn: list[Future[Explanation | None]] = []
    with ThreadPoolExecutor(1) as beside:

        def draw(step: str, number: int, steps: int) -> None:
            if pictures and number == 2:  # it compiles; the grade mostly waits from here on
                drawn.append(beside.submit(_explanation, lab, submission))

        try:
            made = grade(lab, submission, on=on, answers=answers, fixes=True, progress=draw)
        except BaseException:  # such as Ctrl-C: the pictures are not wanted either
            interruption().request()
            raise
        finally:
            beside.shutdown()
            interruption().clear()
    explanation = drawn[0].result() if drawn else None
    return CellResult(redact(made), submission.text, explanation, notes, every)


def _explanation(lab: Lab, submission: Submission) -> Explanation | None:
    """Return what pictures are made of; None where the kernel does not end, or is too large."""
    options = RunOptions("sim", limit=PICTURE_SECONDS)
    try:
        found = explain_submission(lab, submission, options, phases=PHASES)
    except Fault:  # the grade stands without pictures, and has what is wrong with the kernel
        return None
    return None if found.no_panels_reason else found
