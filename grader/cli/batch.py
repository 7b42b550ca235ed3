"""`grader batch`: a class graded through its gradebook."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader.cli.batch_messages import (
    SHOWN,
    Watch,
    clustered,
    counts_otherwise,
    in_a_line,
    left_out,
    local,
    stopped_by_sigterm,
    table_of,
)
from grader.cli.options import Backend, Course, Json, Limit, On, resolved
from grader.cli.terminal import check_writable, finished, say, show, width, write_json
from grader.faults import LabFault, pluralize

if TYPE_CHECKING:
    from grader.batch.batch import Plan
    from grader.batch.runner import Runner
    from grader.batch.store import StoreResult
    from grader.batch.task import Answer, BatchOptions, Task
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course as CourseFile
    from grader.labs.model import Lab

LabName = Annotated[str, typer.Argument(metavar="LAB", help="The lab; see `grader labs list`.")]
Place = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="A folder or zip: a file or a folder a student, or as Gradescope, Canvas or Moodle"
        " gives it.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, max=1024, help="Submissions at a time.  [default: all cores]"),
]
Db = Annotated[
    str, typer.Option("--db", metavar="URL", help="The gradebook.  [default: DIR.grades.db]")
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="DIR", help="Write the class report into DIR.")
]
Regrade = Annotated[
    list[str] | None,
    typer.Option(
        "--regrade", metavar="STUDENT|all", help="Grade again beside the grades that stand."
    ),
]
Accept = Annotated[
    str, typer.Option("--accept", metavar="RUN", help="Let the grades of that regrade count.")
]
Unsafe = Annotated[
    bool,
    typer.Option("--unsafe-no-sandbox", help="Run what others wrote although nothing confines it."),
]
Cluster = Annotated[
    str, typer.Option("--cluster", metavar="ADDR", help="Grade on a Dask cluster: tcp://HOST:PORT.")
]
Slurm = Annotated[bool, typer.Option("--slurm", help="Grade on a cluster that Slurm starts.")]


def batch(
    lab: LabName, place: Place, on: On = Backend.auto, jobs: Jobs = None, db: Db = "",
    course: Course = None, limit: Limit = 20.0, json: Json = None, html: Html = None,
    regrade: Regrade = None, accept: Accept = "", cluster: Cluster = "", slurm: Slurm = False,
    unsafe: Unsafe = False,
) -> int:  # fmt: skip
    """Grade a whole class on all cases of LAB; what is graded stays graded.

    Every submission and every grade is kept in a gradebook. Stopped at any moment, the same
    command goes on where it was. A regrade changes nothing until --accept.
    """
    from grader.batch.task import BatchOptions
    from grader.labs.reading import lab_roots, load_lab
    from grader.sandbox.call import require_sandbox

    check_writable(json)
    if html:
        from grader.reports.page.write import make_folder

        make_folder(html)
    held = load_lab(lab, lab_roots(course if course and (course / "labs").is_dir() else None))
    school = _course(course, lab)
    if accept:
        with opened(db, place, school) as book:
            return _accept(book, accept)
    away = bool(cluster or slurm)
    if not away:  # a cluster's workers refuse, each for its machine
        require_sandbox(unsafe=unsafe)
    seed = school.seed(lab) if school else b""
    backend: Literal["sim", "gpu"] = "gpu" if on is Backend.gpu else "sim"
    backend = backend if away else resolved(on)
    terms = BatchOptions(backend, seed, limit=limit, confined=not unsafe)
    with opened(db, place, school) as book, stopped_by_sigterm():
        run = clustered(held, terms, jobs, cluster) if away else local(held, terms, jobs)
        try:
            session = Session(held, terms, book, school, place, run, quiet=json == "-")
            return session.regrade(regrade) if regrade else session.grade(json, html)
        finally:
            finished()
            run.close()


def _course(folder: Path | None, lab: str) -> CourseFile | None:
    """The course of that folder, when it has a course.yaml; the lab must then be one of its."""
    from grader.gradebook.course import COURSE_FILE, read_course

    if folder is None or not (folder / COURSE_FILE).is_file():
        return None
    course = read_course(folder)
    course.policy(lab)
    return course


@contextmanager
def opened(db: str, place: Path, course: CourseFile | None) -> Iterator[Gradebook]:
    """The gradebook that is meant: --db, else the course's, else one beside DIR."""
    from grader.gradebook.book import open_gradebook

    beside = place.absolute()
    book = open_gradebook(
        db or (course.gradebook if course else f"{beside.parent / beside.name}.grades.db")
    )
    try:
        yield book
    finally:
        book.close()


class Session:
    """One run of the command on one class."""

    def __init__(
        self, lab: Lab, terms: BatchOptions, book: Gradebook, course: CourseFile | None,
        place: Path, runner: Runner, *, quiet: bool,
    ) -> None:  # fmt: skip
        from grader.batch.task import batch_key

        self.lab, self.terms, self.book, self.course = lab, terms, book, course
        self.place, self.runner, self.quiet = place, runner, quiet
        self.key = batch_key(lab, terms.on, terms.seed, runner.tools)

    def store_submissions(self) -> tuple[StoreResult, ...]:
        """Store what is in the folder, and say what was left out."""
        from grader.batch.store import (
            missing_time_notes,
            not_enrolled,
            resubmission_notes,
            store_submissions,
        )
        from grader.submissions.gather import find_submissions

        gathered = find_submissions(self.place, self.lab.name)
        left_out(gathered.notes)
        handed = store_submissions(self.lab.name, gathered, self.book, self.course)
        stranger = "not in the roster; graded all the same: mend the roster and run this again"
        left_out([f"{one}: {stranger}" for one in not_enrolled(handed, self.course)])
        left_out([f"{one.student}: {in_a_line(one.problem)}" for one in handed if one.problem])
        left_out(missing_time_notes(handed, self.lab.name, self.course))
        left_out(resubmission_notes(handed, self.lab.name, self.book))
        told = pluralize(len(handed), "submission")
        say(f"{told} ({gathered.layout}) in the gradebook {self.book.name}")
        return handed

    def grade(self, json: str | None, html: Path | None) -> int:
        """Grade what has no grade yet; then the table of all."""
        from grader.batch.batch import plan

        lab = self.lab.name
        handed = self.store_submissions()
        grades = self.book.grades(lab)
        self._try_again([one.student for one in handed if one.number not in grades])
        wanted = {stored.id for stored in self.book.wanted(lab, self.key)}
        due = plan(handed, grades, wanted, self.key)
        try:
            failures = self._performed(due.tasks)
        except KeyboardInterrupt:
            kept = len(self.book.grades(lab).keys() & {one.number for one in handed})
            say(f"{kept} of {len(handed)} submissions are graded; the same command goes on")
            raise
        self._say(due)
        return self._report(handed, failures, json, html)

    def _performed(self, tasks: Sequence[Task], proposal: str = "") -> dict[int, Answer]:
        """Grade them; the failures, by the submission's number."""
        from grader.batch.batch import run_batch

        with Watch(len(tasks)) as watch:
            outcome = run_batch(
                self.lab.name, self.key, tasks, self.book, self.runner,
                proposal=proposal, on_step=watch.step,
            )  # fmt: skip
        return dict(outcome.failures)

    def _try_again(self, students: Sequence[str]) -> None:
        """Whoever starts the command anew has mended the machine: its faults are forgotten."""
        count = self.book.forgive(self.lab.name, author(), students=students) if students else 0
        if count:
            say(f"{count} at which the machine failed before are tried again")

    def _say(self, due: Plan) -> None:
        before = f"{len(due.graded)} {'was' if len(due.graded) == 1 else 'were'} graded before"
        if not due.tasks:
            say(f"nothing to grade: {before}")
        elif due.graded:
            say(before)
        if due.outdated:
            say(
                f"{len(due.outdated)} of the grades were made with another lab text, seed or"
                " toolchain\n  see what would change: --regrade all"
            )

    def _report(
        self, handed: Sequence[StoreResult], failures: dict[int, Answer], json: str | None,
        html: Path | None,
    ) -> int:  # fmt: skip
        table = table_of(handed, self.book, self.lab.name, failures)
        if html:
            from grader.cli.batch_messages import write_report

            write_report(html, self.lab, table, self.book, self.course)
        if json:
            write_json(table.to_json(), json)
        if not self.quiet:
            show(table.text(width(), self.course))
        if otherwise := counts_otherwise(table, self.book, self.lab.name, self.course):
            say(otherwise)
        return table.exit_code

    def regrade(self, students: Sequence[str]) -> int:
        """Grade again as a proposal, and show what adopting it would change."""
        from grader.batch.batch import proposal_name
        from grader.cli.batch_messages import changes_text

        tasks = self._again(students)
        self._say_seed(tasks)
        self._try_again([task.student for task in tasks])
        lab = self.lab.name
        run = proposal_name(self.key, self.book.audit(lab))
        open_ = {stored.id for stored in self.book.wanted(lab, self.key, proposal=run)}
        failures = self._performed([task for task in tasks if task.number in open_], run)
        show(changes_text(self.book.changes(run)))
        say(f"nothing has changed yet; to let these grades count: --accept {run}")
        return max((2 if answer.is_lab_fault else 3 for answer in failures.values()), default=0)

    def _again(self, students: Sequence[str]) -> list[Task]:
        from grader.batch.store import task_of
        from grader.faults import did_you_mean

        refused = {one.stored.id: one.refused for one in self.store_submissions() if one.stored}
        who = None if "all" in students else [self._enrolled(word) for word in students]
        stored = self.book.submissions(self.lab.name, students=who)
        known = {one.student for one in self.book.submissions(self.lab.name)}
        for name in who or ():
            if name not in known:
                fix = did_you_mean(name, known) or f"there are {', '.join(sorted(known)[:SHOWN])}"
                raise LabFault(f"there is no submission of `{name}`", fix=fix)
        return [task_of(one, refused.get(one.id)) for one in stored]

    def _enrolled(self, word: str) -> str:
        """The student's ID where the course knows them by that word; else the word itself."""
        student = self.course.student(word) if self.course else None
        return student.id if student else word

    def _say_seed(self, tasks: Sequence[Task]) -> None:
        """Other hidden inputs are a reason of its own why a grade may change."""
        from grader.grading.pipeline import seed_id

        grades = self.book.grades(self.lab.name)
        held = [grades[task.number][1] for task in tasks if task.number in grades]
        same = (seed_id(self.terms.seed), seed_id(b""))  # what was never run drew no inputs
        count = sum(grade["provenance"]["seed"] not in same for grade in held)
        if count:
            say(f"hidden inputs differ from those of {pluralize(count, 'grade')}: another secret")


def _accept(book: Gradebook, run: str) -> int:
    from grader.cli.batch_messages import changes_text

    changes = book.changes(run)
    if not changes:
        fix = "--regrade says the name of the regrade when it has ended"
        raise LabFault(f"no regrade `{run}` waits to be accepted", fix=fix)
    show(changes_text(changes))
    count = book.adopt(run, author())
    say(f"{pluralize(count, 'grade')} of {run} {'counts' if count == 1 else 'count'} now")
    return 0


def author() -> str:
    """Who is at the keyboard, for the audit."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return f"user {os.getuid()}"
