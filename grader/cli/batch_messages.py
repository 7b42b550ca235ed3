"""The output of `grader batch`: progress, notes, and the table of the class."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from grader import dataclass, replace
from grader.cli.terminal import doing
from grader.faults import MachineFault, install_command

if TYPE_CHECKING:
    from grader.batch.batch import Runner
    from grader.batch.task import BatchOptions
    from grader.labs.model import Lab
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from grader.cli.terminal import say
from grader.faults import Fault, pluralize

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.text import Text

    from grader.batch.batch import Step
    from grader.batch.store import StoreResult
    from grader.batch.task import Answer
    from grader.gradebook.book import Entry, Gradebook, ProposedChange
    from grader.gradebook.course import Course
    from grader.grading.record import Grade
    from grader.labs.model import Lab

SHOWN = 20
"""The number of lines of one kind that are shown; the rest is only counted."""


def local_runner(lab: Lab, terms: BatchOptions, jobs: int | None) -> Runner:
    """Return the runner that grades in threads of this process.

    A job waits where it hands over to a child and takes over again: one more than there are cores
    keeps these busy, and a class takes a tenth less time.
    """
    from functools import partial

    from grader.batch.batch import LocalRunner
    from grader.batch.task import grade_task, local_tools

    perform_here = partial(grade_task, lab, terms=terms)
    return LocalRunner(perform_here, jobs or (os.cpu_count() or 1) + 1, local_tools(terms.on))


def cluster_runner(lab: Lab, terms: BatchOptions, jobs: int | None, address: str) -> Runner:
    """Return the runner of --cluster, or of --slurm with --jobs workers."""
    try:
        from grader.batch.cluster import DaskRunner, connect, start_on_slurm
    except ModuleNotFoundError as missing:
        what = f"a cluster needs the Python package {missing.name}"
        raise MachineFault(what, fix=install_command("cluster")) from None
    client = connect(address) if address else start_on_slurm(jobs or 1)
    doing("waiting for the cluster's workers")
    return DaskRunner(client, lab, terms)


def show_notes(notes: Sequence[str]) -> None:
    """Show notes on stderr, one line each."""
    for note in notes[:SHOWN]:
        say(note)
    if len(notes) > SHOWN:
        say(f"... and {len(notes) - SHOWN} more")


def one_line(fault: Fault) -> str:
    """Return a fault with its fix as one line."""
    return " ".join(str(fault).split())


class ProgressDisplay:
    """The progress of a run: a bar on a terminal, otherwise one line per submission."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._bar = _bar() if sys.stderr.isatty() else None

    def __enter__(self) -> ProgressDisplay:
        if self._bar is not None:
            self._bar.start()
            self._bar.add_task("", total=self._total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, step: Step) -> None:
        """Show that one submission has been handled."""
        from grader.reports.printable import printable

        text = printable(f"{step.task.student}: {_step_text(step)}")
        if self._bar is None:
            say(f"[{step.done:>{len(str(step.total))}}/{step.total}] {text}")
            return
        self._bar.update(self._bar.task_ids[0], completed=step.done, description=text[:40])
        if step.again or not step.answer.is_graded:
            self._bar.console.print(text, markup=False, highlight=False)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _step_text(step: Step) -> str:
    from grader.grading.record import grade_from_json
    from grader.reports.classes import main_finding

    answer = step.answer
    if not answer.is_graded:
        again = ", grading is tried again" if step.again else ""
        kind = "error in the lab" if answer.is_lab_fault else "system error (not the submission)"
        return f"{kind}{again}: {answer.reason}"
    grade = grade_from_json(answer.grade)
    finding = main_finding(grade)
    text = f"{grade.score.points:g} of {grade.score.judged_max:g}"
    refused = step.task.refused
    if refused is not None:
        return f"{text}, {refused.message}; {refused.hint}"
    return f"{text}, {finding}" if finding else text


@dataclass(frozen=True)
class Row:
    """One submission of the class with its grade, or the reason why there is no grade.

    After a system error the grade is incomplete.
    """

    submission: StoreResult
    grade: Grade | None
    missing: str = ""
    exit_code: int = 3


@dataclass(frozen=True)
class Table:
    """The submissions of a class after a run."""

    rows: tuple[Row, ...]

    @property
    def grades(self) -> list[Grade]:
        """The grades, without the rows that have none."""
        return [row.grade for row in self.rows if row.grade is not None]

    @property
    def exit_code(self) -> int:
        """The highest exit code: 3 and 2 come before 1, because those grades are missing."""
        codes = [row.grade.exit_code if row.grade else row.exit_code for row in self.rows]
        return max(codes, default=0)

    def to_json(self) -> dict[str, Any]:
        """Return the grades, and the students without a grade."""
        missing = [
            {"student": row.submission.student, "why": row.missing}
            for row in self.rows
            if row.grade is None
        ]
        return {"grades": [grade.to_json() for grade in self.grades], "missing": missing}

    def missing(self, course: Course | None) -> tuple[str, ...]:
        """Return the students without a grade: why, or that they submitted nothing."""
        ungraded = [f"{r.submission.student}: {r.missing}" for r in self.rows if r.grade is None]
        return (*ungraded, *(f"{name}: no submission" for name in self.absent(course)))

    def absent(self, course: Course | None) -> tuple[str, ...]:
        """Return the enrolled students of whom there is no submission."""
        submitted = {row.submission.student for row in self.rows}
        students = course.students if course else ()
        return tuple(f"{s.id} {s.name}".strip() for s in students if s.id not in submitted)

    def text(self, width: int, course: Course | None) -> Text:
        """Format one line per submission, with the name from the roster, then missing grades."""
        from grader.reports.classes import class_table
        from grader.reports.printable import printable

        names = {student.id: student.name for student in course.students} if course else {}
        named = [
            replace(grade, student=f"{grade.student} {names.get(grade.student, '')}".strip())
            for grade in self.grades
        ]
        text = class_table(named, width)
        for row in self.rows:
            if row.grade is None:
                text.append(
                    f"\nno grade: {printable(f'{row.submission.student}: {row.missing}')}", "bold"
                )
            elif row.submission.refused is not None:
                why = f"{row.submission.student}: {row.submission.refused.message}"
                text.append(f"\nno kernel: {printable(why)}", "bold")
        absent = self.absent(course)
        if absent:
            shown = ", ".join(absent[:SHOWN]) + (" ..." if absent[SHOWN:] else "")
            text.append(f"\nno submission of {len(absent)}: {printable(shown)}")
        return text


def class_results(
    submissions: Sequence[StoreResult], book: Gradebook, lab: str, failures: Mapping[int, Answer]
) -> Table:
    """Collect the grades of the submissions from the gradebook, and the failures."""
    from grader.grading.record import grade_from_json

    grades = book.grades(lab)
    rows = []
    for submission in submissions:
        failure = failures.get(submission.number)
        if submission.number in grades:
            rows.append(Row(submission, grade_from_json(grades[submission.number][1])))
        elif failure is not None and failure.grade is not None:
            rows.append(Row(submission, grade_from_json(failure.grade)))
        else:
            rows.append(_ungraded(submission, failure))
    return Table(tuple(rows))


def _ungraded(submission: StoreResult, failure: Answer | None) -> Row:
    if failure is not None:
        return Row(submission, None, failure.reason, 2 if failure.is_lab_fault else 3)
    if submission.problem is not None:
        return Row(submission, None, one_line(submission.problem), submission.problem.exit_code)
    return Row(submission, None, "too many system errors")


def changes_text(changes: Sequence[ProposedChange]) -> Text:
    """Format the scores and verdicts that would change, old and new."""
    from rich.text import Text

    from grader.reports.printable import printable

    moved = [change for change in changes if change.differs]
    text = Text()
    for change in moved:
        old = "none" if change.old_score is None else f"{change.old_score:g}"
        line = f"{change.student}: {old} -> {change.new_score:g}"
        if change.old_verdict != change.new_verdict:
            line += f"  ({change.old_verdict or 'no grade'} -> {change.new_verdict})"
        text.append(printable(line) + "\n")
    same = len(changes) - len(moved)
    verb, kept = "changes" if len(moved) == 1 else "change", "stays as it is"
    kept = kept if same == 1 else "stay as they are"
    return text.append(f"{pluralize(len(moved), 'grade')} {verb}, {same} {kept}", "bold")


def write_report(
    folder: Path, lab: Lab, table: Table, book: Gradebook, course: Course | None
) -> None:
    """Write the class report: the points of each student, with lateness and overrides."""
    from grader.reports.classes import ReportRow
    from grader.reports.page.write import write_class_report

    entries = {(e.submission, e.student): e for e in book.entries(lab.name, course=course)}
    rows = []
    for row in table.rows:
        if row.grade is None or row.submission.stored is None:
            continue
        stored = row.submission.stored
        entry = entries.get((stored.id, row.submission.student))
        rows.append(
            ReportRow(
                _name(row, entry), row.grade, stored.data.decode("utf-8", "replace"),
                entry.note if entry else "", _override(entry),
                entry.points if entry else None, _received(stored.received, course),
                entry.max_points if entry else None,
            )
        )  # fmt: skip
    missing = table.missing(course)
    say(f"wrote {write_class_report(folder, lab, rows, missing=missing)}")


def _received(moment: datetime | None, course: Course | None) -> str:
    """Format a time in the time zone of the course."""
    if moment is None:
        return "unknown"
    zone = course.timezone if course else "UTC"
    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"


def adjusted_points_note(table: Table, book: Gradebook, lab: str, course: Course | None) -> str:
    """Return a note when points of the course differ from the table; empty when they do not."""
    entries = {entry.student: entry.points for entry in book.entries(lab, course=course)}
    given = {grade.student: grade.score.points for grade in table.grades}
    others = sum(entries.get(student) not in (None, points) for student, points in given.items())
    if not others:
        return ""
    return (
        f"the points of {pluralize(others, 'student')} differ after lateness, overrides and the"
        f" course's points; run: grader gradebook show {lab}"
    )


def _name(row: Row, entry: Entry | None) -> str:
    name = (entry.name if entry else "") or row.submission.found.full_name
    return f"{name} ({row.submission.student})" if name else row.submission.student


def _override(entry: Entry | None) -> str:
    if entry is None or entry.override is None or entry.override.points is None:
        return ""
    override = entry.override
    return f"{override.points:g} by {override.author}: {override.reason}"


def waiting_note(failures: Iterable[Answer]) -> str:
    """Return how many submissions wait for this machine, with each reason; empty for none.

    No points are stored for these, so that the same command grades them.
    """
    reasons = Counter(answer.reason for answer in failures if not answer.is_lab_fault)
    if not reasons:
        return ""
    count = pluralize(reasons.total(), "submission")
    rows = [f"  {number} x {reason}" for reason, number in reasons.most_common(SHOWN)]
    head = f"{count} not graded because of a system error: run the same command again"
    return "\n".join([head, *rows])
