"""`grader batch`: grade the submissions of a class, and keep them in its gradebook."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from grader.cli.batch_messages import (
    SHOWN,
    ProgressDisplay,
    adjusted_points_note,
    class_results,
    cluster_runner,
    local_runner,
    one_line,
    show_notes,
    waiting_note,
)
from grader.cli.interrupts import interruptible, stop_requests
from grader.cli.terminal import (
    Argument,
    Backend,
    Course,
    Json,
    LabName,
    Limit,
    On,
    Option,
    check_writable,
    finished,
    note_public_part,
    resolved,
    say,
    show,
    width,
    write_json,
)
from grader.faults import LabFault, pluralize

if TYPE_CHECKING:
    from grader.batch.batch import Plan, Runner
    from grader.batch.store import StoreResult
    from grader.batch.task import Answer, BatchOptions, Task
    from grader.gradebook.book import Gradebook
    from grader.gradebook.course import Course as CourseFile
    from grader.labs.model import Lab

Place = Annotated[
    Path,
    Argument(
        metavar="DIR",
        help="The submissions: a folder or zip with one file or folder per student, or an export"
        " of Gradescope, Canvas or Moodle.",
    ),
]
Jobs = Annotated[
    int | None,
    Option("--jobs", min=1, max=1024, help="Submissions in parallel.  [default: cores + 1]"),
]
Db = Annotated[str, Option("--db", metavar="URL", help="The gradebook.  [default: DIR.grades.db]")]
Html = Annotated[
    Path | None, Option("--html", metavar="DIR", help="Write the class report into DIR.")
]
Regrade = Annotated[
    list[str] | None,
    Option("--regrade", metavar="STUDENT|all", help="Grade again, and propose the new grades."),
]
Accept = Annotated[str, Option("--accept", metavar="RUN", help="Adopt the grades of regrade RUN.")]
Unsafe = Annotated[
    bool,
    Option("--unsafe-no-sandbox", help="Run submissions without a sandbox."),
]
Cluster = Annotated[
    str, Option("--cluster", metavar="ADDR", help="Grade on a Dask cluster: tcp://HOST:PORT.")
]
Slurm = Annotated[bool, Option("--slurm", help="Grade on a cluster started by Slurm.")]


def batch(
    lab: LabName, place: Place, on: On = Backend.auto, jobs: Jobs = None, db: Db = "",
    course: Course = None, limit: Limit = 20.0, json: Json = None, html: Html = None,
    regrade: Regrade = None, accept: Accept = "", cluster: Cluster = "", slurm: Slurm = False,
    unsafe: Unsafe = False,
) -> int:  # fmt: skip
    """Grade the submissions of a whole class on all cases of LAB.

    Submissions and grades are stored in a gradebook, and each submission is graded once. After an
    interruption, run the same command again to continue. A regrade changes no grade until you
    accept it with --accept.
    """
    from grader.batch.task import BatchOptions
    from grader.labs.reading import lab_roots, load_lab
    from grader.sandbox.call import require_sandbox

    check_writable(json)
    if html:
        from grader.reports.page.write import make_folder

        make_folder(html)
    lab_model = load_lab(lab, lab_roots(course if course and (course / "labs").is_dir() else None))
    note_public_part([lab_model])
    course_file = _course(course, lab)
    if accept:
        with opened(db, place, course_file) as book:
            return _accept(book, accept)
    on_cluster = bool(cluster or slurm)
    if not on_cluster:  # each worker of a cluster checks its own machine
        require_sandbox(unsafe=unsafe)
    seed = course_file.seed(lab) if course_file else b""
    backend: Literal["sim", "gpu"] = "gpu" if on is Backend.gpu else "sim"
    backend = backend if on_cluster else resolved(on)
    terms = BatchOptions(backend, seed, limit=limit, confined=not unsafe)
    with opened(db, place, course_file) as book, interruptible() if on_cluster else nullcontext():
        run = (
            cluster_runner(lab_model, terms, jobs, cluster)
            if on_cluster
            else local_runner(lab_model, terms, jobs)
        )
        try:
            session = Session(lab_model, terms, book, course_file, place, run, quiet=json == "-")
            return session.regrade(regrade) if regrade else session.grade(json, html)
        finally:
            finished()
            run.close()


def _course(folder: Path | None, lab: str) -> CourseFile | None:
    """Read the course of a folder with a course.yaml. Raises LabFault when it lacks the lab."""
    from grader.gradebook.course import COURSE_FILE, read_course

    if folder is None or not (folder / COURSE_FILE).is_file():
        return None
    course = read_course(folder)
    course.policy(lab)
    return course


@contextmanager
def opened(db: str, place: Path, course: CourseFile | None) -> Iterator[Gradebook]:
    """Open the gradebook: that of --db, or of the course, or else one next to DIR."""
    from grader.gradebook.book import open_gradebook

    folder = place.absolute()
    book = open_gradebook(
        db or (course.gradebook if course else f"{folder.parent / folder.name}.grades.db")
    )
    try:
        if course is not None:
            apply_course(book, course)
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
        """Store the submissions of the folder, and report those that were left out."""
        from grader.batch.store import (
            missing_time_notes,
            not_enrolled,
            resubmission_notes,
            store_submissions,
        )
        from grader.submissions.gather import find_submissions

        gathered = find_submissions(self.place, self.lab.name)
        show_notes(gathered.notes)
        submissions = store_submissions(
            self.lab.name, gathered, self.book, self.course, self.lab.kernels
        )
        note = "not in the roster, graded anyway: fix the roster and run the command again"
        show_notes([f"{one}: {note}" for one in not_enrolled(submissions, self.course)])
        problems = ((one.student, one.problem) for one in submissions if one.problem)
        show_notes([f"{student}: {one_line(problem)}" for student, problem in problems])
        show_notes(missing_time_notes(submissions, self.lab.name, self.course))
        show_notes(resubmission_notes(submissions, self.lab.name, self.book))
        count = pluralize(len(submissions), "submission")
        say(f"{count} ({gathered.layout}) in the gradebook {self.book.name}")
        return submissions

    def grade(self, json: str | None, html: Path | None) -> int:
        """Grade the submissions without a grade, then show the table of all."""
        from grader.batch.batch import plan

        lab = self.lab.name
        submissions = self.store_submissions()
        grades = self.book.grades(lab)
        self._forget_failures([one.student for one in submissions if one.number not in grades])
        pending = {stored.id for stored in self.book.wanted(lab, self.key)}
        work = plan(submissions, grades, pending, self.key)
        try:
            failures = self._grade_tasks(work.tasks)
        except KeyboardInterrupt:
            kept = len(self.book.grades(lab).keys() & {one.number for one in submissions})
            graded = f"{kept} of {len(submissions)} submissions are graded"
            say(f"{graded}; run the same command again to continue")
            raise
        self._report_plan(work)
        return self._report(submissions, failures, json, html)

    def _grade_tasks(self, tasks: Sequence[Task], proposal: str = "") -> dict[int, Answer]:
        """Grade the tasks; return the failures, by the submission's number."""
        from grader.batch.batch import run_batch

        with ProgressDisplay(len(tasks)) as watch, stop_requests() as is_stopped:
            outcome = run_batch(
                self.lab.name, self.key, tasks, self.book, self.runner,
                proposal=proposal, on_step=watch.step, is_stopped=is_stopped,
            )  # fmt: skip
        return dict(outcome.failures)

    def _forget_failures(self, students: Sequence[str]) -> None:
        """Forget earlier system errors: the user has presumably fixed the machine."""
        count = self.book.forgive(self.lab.name, author(), students=students) if students else 0
        if count:
            say(f"{pluralize(count, 'submission')} with a system error: graded again")

    def _report_plan(self, work: Plan) -> None:
        before = f"{len(work.graded)} {'was' if len(work.graded) == 1 else 'were'} graded before"
        if not work.tasks:
            say(f"nothing to grade: {before}")
        elif work.graded:
            say(before)
        if work.outdated:
            say(
                f"{len(work.outdated)} of the grades were made with another lab text, seed or"
                " toolchain\n  run with --regrade all to see what would change"
            )

    def _report(
        self, submissions: Sequence[StoreResult], failures: dict[int, Answer], json: str | None,
        html: Path | None,
    ) -> int:  # fmt: skip
        table = class_results(submissions, self.book, self.lab.name, failures)
        if html:
            from grader.cli.batch_messages import write_report

            write_report(html, self.lab, table, self.book, self.course)
        if json:
            write_json(table.to_json(), json)
        if not self.quiet:
            show(table.text(width(), self.course))
        if otherwise := adjusted_points_note(table, self.book, self.lab.name, self.course):
            say(otherwise)
        if waiting := waiting_note(failures.values()):
            say(waiting)
        return table.exit_code

    def regrade(self, students: Sequence[str]) -> int:
        """Grade again as a proposal, and show what accepting it would change."""
        from grader.batch.batch import proposal_name
        from grader.cli.batch_messages import changes_text

        tasks = self._tasks_to_repeat(students)
        self._report_seed(tasks)
        self._forget_failures([task.student for task in tasks])
        lab = self.lab.name
        run = proposal_name(self.key, self.book.audit(lab))
        pending = {stored.id for stored in self.book.wanted(lab, self.key, proposal=run)}
        failures = self._grade_tasks([task for task in tasks if task.number in pending], run)
        show(changes_text(self.book.changes(run)))
        say(f"no grade has changed yet; run with --accept {run} to adopt these grades")
        return max((2 if answer.is_lab_fault else 3 for answer in failures.values()), default=0)

    def _tasks_to_repeat(self, students: Sequence[str]) -> list[Task]:
        from grader.batch.store import task_of
        from grader.faults import did_you_mean

        refused = {one.stored.id: one.refused for one in self.store_submissions() if one.stored}
        student_ids = None if "all" in students else [self._enrolled(word) for word in students]
        stored = self.book.submissions(self.lab.name, students=student_ids)
        submitters = {one.student for one in self.book.submissions(self.lab.name)}
        for name in student_ids or ():
            if name not in submitters:
                names = ", ".join(sorted(submitters)[:SHOWN])
                fix = did_you_mean(name, submitters) or f"use one of {names}"
                raise LabFault(f"there is no submission of `{name}`", fix=fix)
        return [task_of(one, refused.get(one.id)) for one in stored]

    def _enrolled(self, word: str) -> str:
        """Return the student's ID when the course knows the word, or else the word itself."""
        return self.course.student_id(word) if self.course else word

    def _report_seed(self, tasks: Sequence[Task]) -> None:
        """Report grades with other hidden inputs, because these may change a grade too."""
        from grader.grading.pipeline import seed_id

        grades = self.book.grades(self.lab.name)
        previous = [grades[task.number][1] for task in tasks if task.number in grades]
        same = (seed_id(self.terms.seed), seed_id(b""))  # without a run, no inputs were drawn
        count = sum(grade["provenance"]["seed"] not in same for grade in previous)
        if count:
            say(f"hidden inputs differ from those of {pluralize(count, 'grade')}: another secret")


def _accept(book: Gradebook, run: str) -> int:
    from grader.cli.batch_messages import changes_text

    changes = book.changes(run)
    if not changes:
        fix = "use the name that --regrade printed when it ended"
        raise LabFault(f"there is no pending regrade `{run}`", fix=fix)
    show(changes_text(changes))
    count = book.adopt(run, author())
    say(f"{pluralize(count, 'grade')} of {run} {'counts' if count == 1 else 'count'} now")
    return 0


def apply_course(book: Gradebook, course: CourseFile) -> None:
    """Record the extensions and groups of course.yaml, and report what has changed."""
    for line in book.apply(course, author()):
        say(line)


def author() -> str:
    """Return the login name of the user, for the audit log."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return f"user {os.getuid()}"
