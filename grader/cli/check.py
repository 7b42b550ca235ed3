"""`grader explain`: a student's own kernel in pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.options import (
    Backend,
    Course,
    Json,
    Limit,
    On,
    Profile,
    Sanitizer,
    Source,
    Threads,
    resolved,
)
from grader.cli.terminal import (
    check_writable,
    finished,
    progress,
    show,
    width,
    write_file,
    write_json,
)
from grader.faults import LabFault, StudentFault

if TYPE_CHECKING:
    from grader.grading.cases import RunOptions
    from grader.grading.pipeline import Progress
    from grader.grading.record import Grade
    from grader.labs.model import Lab
from grader.cli.terminal import say
from grader.faults import Fault

# `grader check`: one submission of one lab, graded on the public cases.

Html = Annotated[
    str | None, typer.Option("--html", metavar="F", help="Write the report as an HTML page to F.")
]
LabName = Annotated[str, typer.Argument(metavar="LAB", help="The lab; see `grader labs list`.")]


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
) -> int:
    """Grade FILE.cu on the public cases of LAB, and say what to mend."""
    from grader.grading.cases import RunOptions
    from grader.labs.reading import lab_roots, load_lab

    how = RunOptions(resolved(on), threads=threads, limit=limit)
    check_writable(json)
    check_writable(html, "--html")
    if lab.endswith(".cu"):
        raise LabFault("the lab comes first", where=lab, fix="grader check LAB FILE.cu")
    held = load_lab(lab, lab_roots(course))
    if sanitizer or profile:
        from grader.grading.crosscheck import require_tools

        require_tools(sanitizer=sanitizer, profile=profile)
    grade = graded(held, file, how)
    if sanitizer or profile:
        grade = crossed(held, file, how, grade, sanitizer=sanitizer, profile=profile)
    finished()
    if json:
        write_json(grade.to_json(), json)
    if html:
        write_page(grade, file, html)
    if json != "-":
        from grader.reports.text import grade_report

        show(grade_report(grade, width()))
    return grade.exit_code


def write_page(grade: Grade, file: Path, html: str) -> None:
    """The student's page of one grade, with the source of the file where that is text."""
    from grader.reports.page.row import ReportRow
    from grader.reports.page.write import student_page
    from grader.submissions.files import read_submission

    try:
        source = read_submission(file).text
    except StudentFault:  # the grade says so
        source = ""
    write_file(Path(html), student_page(ReportRow("", grade, source)))


def graded(lab: Lab, file: Path, how: RunOptions, *, quiet: bool = False) -> Grade:
    """The file's grade, with the answers to the quiz that lie beside it; one that holds no source
    text at all has a grade too.
    """
    from grader.feedback.grade import grade
    from grader.grading.pipeline import grade_unreadable
    from grader.labs.quiz import read_answer_sheet
    from grader.submissions.files import read_submission

    answers = read_answer_sheet(file.parent) if lab.quiz else None
    try:
        submission = read_submission(file)
    except StudentFault as fault:
        return grade_unreadable(lab, file.name, fault, on=how.on, answers=answers)
    told: Progress = (lambda step, number, steps: None) if quiet else progress
    return grade(
        lab, submission, on=how.on, threads=how.threads, limit=how.limit, answers=answers,
        progress=told,
    )  # fmt: skip


def crossed(
    lab: Lab, file: Path, how: RunOptions, grade: Grade, *, sanitizer: bool, profile: bool
) -> Grade:
    """The grade with what the toolkit's tools say of the same file, which is worth no points."""
    from dataclasses import replace

    from grader.grading.crosscheck import cross_checks
    from grader.submissions.files import read_submission

    try:
        submission = read_submission(file)
    except StudentFault:  # the grade says so
        return grade
    more = cross_checks(lab, submission, how, sanitizer=sanitizer, profile=profile)
    return replace(grade, checks=(*grade.checks, *more))


PageOption = Annotated[
    str | None,
    typer.Option("--html", metavar="F", help="Where the page goes.  [default: explain-FILE.html]"),
]
CaseName = Annotated[
    str, typer.Option("--case", metavar="CASE", help="Which public case.  [default: a small one]")
]


def explain(
    lab: LabName,
    file: Source,
    html: PageOption = None,
    case: CaseName = "",
    course: Course = None,
    threads: Threads = None,
    limit: Limit = 20.0,
) -> int:
    """Draw FILE.cu: which thread touches which element between barriers, and what lines cost."""
    from grader.grading.cases import RunOptions
    from grader.labs.reading import lab_roots, load_lab
    from grader.reports.explain.explanation import explain_submission as explained
    from grader.reports.explain.page import explain_page
    from grader.submissions.files import read_submission

    place = html or f"explain-{file.stem}.html"
    check_writable(place)
    if lab.endswith(".cu"):
        raise LabFault("the lab comes first", where=lab, fix="grader explain LAB FILE.cu")
    held = load_lab(lab, lab_roots(course))
    try:
        how = RunOptions("sim", threads=threads, limit=limit)
        story = explained(held, read_submission(file), how, case, progress)
    except Fault as fault:
        finished()
        _show_fault(fault)
        return fault.exit_code
    finished()
    write_file(Path(place), explain_page(story))
    return 0


def _show_fault(fault: Fault) -> None:
    """What the compiler found goes where findings go; everything else is a message."""
    findings = getattr(fault, "findings", ())
    if findings:
        from grader.reports.finding import findings_text

        show(findings_text(findings, width(), most=20))
    else:
        say(str(fault))
