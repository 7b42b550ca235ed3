"""What `grader batch` says: how far it is, what was left out, the table of the class."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grader.cli.terminal import doing
from grader.faults import MachineFault, install_command

if TYPE_CHECKING:
    from grader.batch.runner import Runner
    from grader.batch.task import BatchOptions
    from grader.labs.model import Lab
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

# Where `grader batch` grades: on this machine, or on a cluster.


def local(lab: Lab, terms: BatchOptions, jobs: int | None) -> Runner:
    """Threads of this process."""
    from functools import partial

    from grader.batch.runner import LocalRunner
    from grader.batch.task import grade_task, local_tools

    here = partial(grade_task, lab, terms=terms)
    return LocalRunner(here, jobs or os.cpu_count() or 1, local_tools(terms.on))


def clustered(lab: Lab, terms: BatchOptions, jobs: int | None, address: str) -> Runner:
    """The runner of --cluster, or of --slurm with --jobs workers."""
    try:
        from grader.batch.cluster import DaskRunner, connect, start_on_slurm
    except ModuleNotFoundError as missing:
        what = f"a cluster needs the Python package {missing.name}"
        raise MachineFault(what, fix=install_command("cluster")) from None
    client = connect(address) if address else start_on_slurm(jobs or 1)
    doing("waiting for the cluster's workers")
    return DaskRunner(client, lab, terms)


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """SIGTERM, which a scheduler or a shutdown sends, ends the command as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


SHOWN = 20
"""Lines of one kind that are told before the rest is only counted."""


def left_out(notes: Sequence[str]) -> None:
    """What was left out and why, a line each."""
    for note in notes[:SHOWN]:
        say(note)
    if len(notes) > SHOWN:
        say(f"... and {len(notes) - SHOWN} more")


def in_a_line(fault: Fault) -> str:
    """A fault with its mend as one line."""
    return " ".join(str(fault).split())


class Watch:
    """A bar with the time left on a terminal; a line a submission otherwise."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._bar = _bar() if sys.stderr.isatty() else None

    def __enter__(self) -> Watch:
        if self._bar is not None:
            self._bar.start()
            self._bar.add_task("", total=self._total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, step: Step) -> None:
        """One submission was dealt with."""
        from grader.reports.printable import printable

        said = printable(f"{step.task.student}: {_said(step)}")
        if self._bar is None:
            say(f"[{step.done:>{len(str(step.total))}}/{step.total}] {said}")
            return
        self._bar.update(self._bar.task_ids[0], completed=step.done, description=said[:40])
        if step.again or not step.answer.is_graded:
            self._bar.console.print(said, markup=False, highlight=False)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        Left(),
        TextColumn("{task.description}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _said(step: Step) -> str:
    from grader.grading.record import grade_from_json
    from grader.reports.classes import main_finding

    answer = step.answer
    if not answer.is_graded:
        again = ", it is tried again" if step.again else ""
        whose = "the lab is wrong" if answer.is_lab_fault else "the machine failed"
        return f"{whose}{again}: {answer.reason}"
    grade = grade_from_json(answer.grade)
    found = main_finding(grade)
    said = f"{grade.score.points:g} of {grade.score.judged_max:g}"
    refused = step.task.refused
    if refused is not None:
        return f"{said}, {refused.message}; {refused.hint}"
    return f"{said}, {found}" if found else said


@dataclass(frozen=True)
class Row:
    """One submission of the class with its grade, an incomplete one when the machine failed; or
    why there is none at all.
    """

    handed: StoreResult
    grade: Grade | None
    missing: str = ""
    exit_code: int = 3


@dataclass(frozen=True)
class Table:
    """The class as it stands after a run."""

    rows: tuple[Row, ...]

    @property
    def grades(self) -> list[Grade]:
        return [row.grade for row in self.rows if row.grade is not None]

    @property
    def exit_code(self) -> int:
        """The worst of all: 3 and 2 before 1, since those grades are still to be had."""
        codes = [row.grade.exit_code if row.grade else row.exit_code for row in self.rows]
        return max(codes, default=0)

    def to_json(self) -> dict[str, Any]:
        """The contract's object, and who has no grade."""
        missing = [
            {"student": row.handed.student, "why": row.missing}
            for row in self.rows
            if row.grade is None
        ]
        return {"grades": [grade.to_json() for grade in self.grades], "missing": missing}

    def text(self, width: int, course: Course | None) -> Text:
        """A line a submission, with the name that the roster has, then what is missing."""
        from grader.reports.classes import class_table
        from grader.reports.printable import printable

        names = {one.id: one.name for one in course.students} if course else {}
        named = [
            replace(grade, student=f"{grade.student} {names.get(grade.student, '')}".strip())
            for grade in self.grades
        ]
        text = class_table(named, width)
        for row in self.rows:
            if row.grade is None:
                text.append(
                    f"\nno grade: {printable(f'{row.handed.student}: {row.missing}')}", "bold"
                )
            elif row.handed.refused is not None:
                why = f"{row.handed.student}: {row.handed.refused.message}"
                text.append(f"\nno kernel: {printable(why)}", "bold")
        return text


def table_of(
    handed: Sequence[StoreResult], book: Gradebook, lab: str, failures: Mapping[int, Answer]
) -> Table:
    """The grades that the gradebook holds of what was handed in, and the failures."""
    from grader.grading.record import grade_from_json

    grades = book.grades(lab)
    rows = []
    for one in handed:
        failure = failures.get(one.number)
        if one.number in grades:
            rows.append(Row(one, grade_from_json(grades[one.number][1])))
        elif failure is not None and failure.grade is not None:
            rows.append(Row(one, grade_from_json(failure.grade)))
        else:
            rows.append(_ungraded(one, failure))
    return Table(tuple(rows))


def _ungraded(one: StoreResult, failure: Answer | None) -> Row:
    if failure is not None:
        return Row(one, None, failure.reason, 2 if failure.is_lab_fault else 3)
    if one.problem is not None:
        return Row(one, None, in_a_line(one.problem), one.problem.exit_code)
    return Row(one, None, "the machine failed too often")


def changes_text(changes: Sequence[ProposedChange]) -> Text:
    """Who would get another score or verdict, old and new."""
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
    """The class report: what counts for each student, with lateness and overrides."""
    from grader.reports.page.row import ReportRow
    from grader.reports.page.write import write_class_report

    entries = {entry.submission: entry for entry in book.entries(lab.name, course=course)}
    rows = []
    for row in table.rows:
        if row.grade is None or row.handed.stored is None:
            continue
        stored = row.handed.stored
        entry = entries.get(stored.id)
        rows.append(
            ReportRow(
                _name(row, entry), row.grade, stored.data.decode("utf-8", "replace"),
                entry.note if entry else "", _override(entry),
                entry.points if entry else None, _received(stored.received, course),
                entry.max_points if entry else None,
            )
        )  # fmt: skip
    say(f"wrote {write_class_report(folder, lab, rows)}")


def _received(moment: datetime | None, course: Course | None) -> str:
    """The time on the course's own clocks."""
    if moment is None:
        return "not told"
    zone = course.timezone if course else "UTC"
    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"


def counts_otherwise(table: Table, book: Gradebook, lab: str, course: Course | None) -> str:
    """A line where what counts in the course is not what the table shows; else nothing."""
    entries = {entry.student: entry.points for entry in book.entries(lab, course=course)}
    given = {grade.student: grade.score.points for grade in table.grades}
    others = sum(entries.get(who) not in (None, points) for who, points in given.items())
    if not others:
        return ""
    return (
        f"of {pluralize(others, 'student')} other points count, after lateness, overrides and the"
        f" course's points: grader gradebook show {lab}"
    )


def _name(row: Row, entry: Entry | None) -> str:
    name = (entry.name if entry else "") or row.handed.found.full_name
    return f"{name} ({row.handed.student})" if name else row.handed.student


def _override(entry: Entry | None) -> str:
    if entry is None or entry.override is None or entry.override.points is None:
        return ""
    given = entry.override
    return f"{given.points:g} by {given.author}: {given.reason}"
