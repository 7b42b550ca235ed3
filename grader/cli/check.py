"""`grader check` and `grader explain`: one submission, graded on the public cases or drawn."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

from grader.cli.output import Output, ReportFormat, source_of
from grader.cli.terminal import (
    All,
    Argument,
    Backend,
    Course,
    Json,
    LabName,
    Limit,
    On,
    Option,
    Profile,
    Sanitizer,
    Source,
    Threads,
    check_writable,
    finished,
    progress,
    resolved,
    show_fault,
    width,
    write,
    write_file,
)
from grader.faults import RESOURCE_ERRORS, Fault, LabFault, StudentFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.grading.cases import RunOptions
    from grader.grading.cost import TimeEstimate
    from grader.grading.record import Grade
    from grader.labs.model import Lab
    from grader.submissions.files import Submission

AHEAD_SECONDS = 1.0
"""The processor time for work that a wrong submission turns out not to need."""

Html = Annotated[
    str | None,
    Option("--html", metavar="F", help="Write the report as an HTML page to file F."),
]
PageOption = Annotated[
    str | None,
    Option("--html", metavar="F", help="The file to write.  [default: explain-FILE.html]"),
]


Form = Annotated[
    ReportFormat,
    Option("--format", help="The report, or its findings for editors and CI, one a line."),
]
Watch = Annotated[
    bool, Option("--watch", help="Check again whenever the file is saved, until Ctrl-C.")
]
CaseName = Annotated[
    str, Option("--case", metavar="CASE", help="The public case.  [default: a small one]")
]


def check(
    lab: LabName,
    file: Source,
    on: On = Backend.auto,
    json: Json = None,
    html: Html = None,
    course: Course = None,
    threads: Threads = None,
    limit: Limit = 20.0,
    sanitizer: Sanitizer = False,
    profile: Profile = False,
    every: All = False,
    format: Form = ReportFormat.text,
    watch: Watch = False,
) -> int:
    """Grade one submission and explain how to fix it.

    FILE.cu is graded on the public cases of LAB. Answers to the quiz are read from answers.yaml in
    the same folder.
    """
    from grader.checks.suite import checked_lab
    from grader.grading.cases import RunOptions
    from grader.labs.reading import lab_roots

    options = RunOptions(resolved(on), threads=threads, limit=limit)
    output = Output(file, json, html, format, every)
    output.check(watch=watch)
    if lab.endswith(".cu"):
        fix = "write: grader check LAB FILE.cu"
        raise LabFault("the lab must come before the file", where=lab, fix=fix)
    first = FirstCompilation(file)
    loaded_lab = checked_lab(lab, lab_roots(course), first.begin)
    if sanitizer or profile:
        from grader.grading.crosscheck import require_tools

        require_tools(sanitizer=sanitizer, profile=profile)

    def graded() -> Grade:
        from grader.reports.redact import redact

        ahead = Ahead(loaded_lab, options)
        grade = grade_file(loaded_lab, file, options, while_running=ahead.begin, first=first)
        grade = ahead.with_estimates(grade)
        if sanitizer or profile:
            grade = add_cross_checks(
                loaded_lab, file, options, grade, sanitizer=sanitizer, profile=profile
            )
        return redact(grade)

    if watch:
        from grader.cli.watch import watch_file

        return watch_file(loaded_lab, output, graded)
    grade = graded()
    finished()
    output.write(loaded_lab, grade)
    return grade.exit_code


def grade_file(
    lab: Lab,
    file: Path,
    options: RunOptions,
    *,
    quiet: bool = False,
    while_running: Callable[[Submission], None] = lambda submission: None,
    first: FirstCompilation | None = None,
) -> Grade:
    """Grade a file on the public cases, with the answers to the quiz in the same folder.

    A file that is not source text gets a grade too. Raises Fault when the lab or the machine fails.

    Args:
        lab: The lab.
        file: The student's file.
        options: How to run it.
        quiet: Whether no progress is shown.
        while_running: Called once, when the file is compiled and runs in a child.
        first: What was begun where the lab was not known.
    """
    from grader.feedback.grade import grade
    from grader.grading.pipeline import grade_unreadable
    from grader.grading.quiz import known_answer_sheet
    from grader.sandbox.call import while_waiting

    folder = file if file.is_dir() else file.parent
    answers = known_answer_sheet(folder) if lab.quiz else None
    try:
        submission = source_of(lab, file)
    except StudentFault as fault:
        return grade_unreadable(lab, file.name, fault, on=options.on, answers=answers)

    compiled: list[Submission] = []

    def report_progress(step: str, number: int, steps: int) -> None:
        if number == 1 and first is not None:
            first.join()
        if number == 2:
            compiled.append(submission)
        if not quiet:
            progress(step, number, steps)

    def begin() -> None:
        while compiled:
            while_running(compiled.pop())

    with while_waiting(begin):
        return grade(
            lab, submission, on=options.on, threads=options.threads, limit=options.limit,
            answers=answers, fixes=True, progress=report_progress,
            is_first=first is not None and first.has_begun,
        )  # fmt: skip


class FirstCompilation:
    """The compilation of a file beside the reading of a lab that no cache knows.

    Reading takes one core 0.1 s, and compiling as long. The result goes to the user's cache, where
    the grade finds it. What fails here is done again, and reported, there.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Start the processes that the first check of a lab needs, and compile the file."""
        from grader.labs.reference import prepare_processes
        from grader.sandbox.call import prepare_template
        from grader.sandbox.template import COMPILER_MODULES

        prepare_processes(2)  # one for the baseline's cases; forked while there is one thread
        prepare_template(COMPILER_MODULES[0])
        # The thread would import these in turns with what reads the lab.
        import grader.compile.source
        import grader.submissions.sources  # noqa: F401

        thread = Thread(target=self._compile, daemon=True)
        with suppress(RuntimeError):  # no thread can be started
            thread.start()
            self._thread = thread

    @property
    def has_begun(self) -> bool:
        """Whether the lab was not known, and nothing of it has been graded since."""
        return self._thread is not None

    def join(self) -> None:
        """Wait until the file is compiled."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _compile(self) -> None:
        if self._file.suffix != ".cu":  # of several sources, the lab's kernels choose one
            return
        with suppress(Fault, *RESOURCE_ERRORS):
            from grader import replace
            from grader.compile.source import LIMITS, compile_source
            from grader.submissions.sources import read_submitted

            source = read_submitted(self._file)
            compile_source(source.data, source.name, limits=replace(LIMITS, cpu=AHEAD_SECONDS))


class Ahead:
    """What a report needs and no check waits for, done while the submission runs.

    Args:
        lab: The lab.
        options: How to run the simulator.
    """

    def __init__(self, lab: Lab, options: RunOptions) -> None:
        self._lab, self._options = lab, options
        self._submission: Submission | None = None
        self._thread: Thread | None = None
        self._estimates: tuple[TimeEstimate, ...] = ()

    def begin(self, submission: Submission) -> None:
        """Import what the report needs, and count the work for the estimated times.

        What fails here is done again, and reported, where it is needed.
        """
        self._submission = submission
        with suppress(RuntimeError):  # no thread can be started
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()

    def with_estimates(self, grade: Grade) -> Grade:
        """Add the estimated times on measured GPUs, where the simulator graded right output.

        Raises:
            Fault: A machine file is broken, or the simulator fails.
        """
        passed = any(check.name == "output" and check.status == "pass" for check in grade.checks)
        if not passed or not self._is_estimated or self._submission is None:
            return grade
        from grader import replace
        from grader.grading.estimate.kernel import estimate_submission

        if self._thread is not None:
            self._thread.join()
        # what took too long has none, and may take longer now
        known = self._estimates
        known = known or estimate_submission(self._lab, self._submission, self._options)
        return replace(grade, estimates=known)

    @property
    def _is_estimated(self) -> bool:
        return self._options.on == "sim" and bool(self._lab.machine_files)

    def _work(self) -> None:
        with suppress(*RESOURCE_ERRORS):
            import grader.feedback.explanation
            import grader.reports.text  # noqa: F401
        if not self._is_estimated or self._submission is None:
            return
        with suppress(Fault, *RESOURCE_ERRORS):
            from grader import replace
            from grader.grading.estimate.kernel import estimate_submission

            limit = min(self._options.limit, AHEAD_SECONDS)
            options = replace(self._options, limit=limit, threads=1)
            self._estimates = estimate_submission(self._lab, self._submission, options)


def add_cross_checks(
    lab: Lab, file: Path, options: RunOptions, grade: Grade, *, sanitizer: bool, profile: bool
) -> Grade:
    """Add the results of compute-sanitizer and Nsight Compute to a grade, without points."""
    from grader import replace
    from grader.grading.crosscheck import cross_checks

    try:
        submission = source_of(lab, file)
    except StudentFault:  # the grade says so
        return grade
    more = cross_checks(lab, submission, options, sanitizer=sanitizer, profile=profile)
    return replace(grade, checks=(*grade.checks, *more))


def explain_term(
    word: Annotated[
        str, Argument(metavar="[TERM]", help="A word of a report.  [default: list all]")
    ] = "",
) -> int:
    """Explain a term of the reports, such as race or occupancy."""
    from textwrap import fill

    from grader.faults import did_you_mean
    from grader.reports.finding import find_term, glossary

    if not word:
        write("".join(f"{term.name}\n" for term in glossary()))
        return 0
    term = find_term(word)
    if term is None:
        words = [one for entry in glossary() for one in (entry.name, *entry.also)]
        fix = did_you_mean(word, words, 0.6) or "run `grader explain-term` for the list"
        raise LabFault(f"there is no term `{word}` in the glossary", fix=fix)
    also = f" (also: {', '.join(term.also)})" if term.also else ""
    see = f"\nSee also: {', '.join(term.see)}\n" if term.see else ""
    lines = fill(term.text, width(), break_long_words=False, break_on_hyphens=False)
    write(f"{term.name}{also}\n\n{lines}\n{see}")
    return 0


def explain(
    lab: LabName,
    file: Source,
    html: PageOption = None,
    case: CaseName = "",
    course: Course = None,
    threads: Threads = None,
    limit: Limit = 20.0,
) -> int:
    """Show which thread accesses which element between barriers, and the cost of each line.

    The result is one HTML page that works without a network.
    """
    from grader.checks.suite import checked_lab
    from grader.grading.cases import RunOptions
    from grader.labs.reading import lab_roots
    from grader.reports.explain.explanation import explain_submission as explain_story
    from grader.reports.explain.page import explain_page

    place = html or f"explain-{file.stem}.html"
    check_writable(place)
    if lab.endswith(".cu"):
        fix = "write: grader explain LAB FILE.cu"
        raise LabFault("the lab must come before the file", where=lab, fix=fix)
    loaded_lab = checked_lab(lab, lab_roots(course))
    try:
        options = RunOptions("sim", threads=threads, limit=limit)
        story = explain_story(loaded_lab, source_of(loaded_lab, file), options, case, progress)
    except Fault as fault:
        finished()
        show_fault(fault)
        return fault.exit_code
    finished()
    write_file(Path(place), explain_page(story))
    return 0
