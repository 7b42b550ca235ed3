"""Where and how `grader check` writes a grade: a report, problems for editors, JSON, a page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader import dataclass
from grader.cli.terminal import check_writable, say, show, width, write, write_file, write_json
from grader.faults import LabFault, StudentFault

if TYPE_CHECKING:
    from grader.grading.record import Grade
    from grader.labs.model import Lab
    from grader.submissions.files import Submission


class ReportFormat(StrEnum):
    """How `grader check` writes what it found to stdout."""

    text = "text"
    gcc = "gcc"
    sarif = "sarif"
    github = "github"


@dataclass(frozen=True)
class Output:
    """Where and how a grade is written.

    Attributes:
        file: What is graded.
        json: The file for the JSON, "-" for stdout, or None.
        html: The file for the page, or None.
        format: What goes to stdout.
        every: Whether every finding is shown, not one block for each cause.
    """

    file: Path
    json: str | None = None
    html: str | None = None
    format: ReportFormat = ReportFormat.text
    every: bool = False

    def check(self, *, watch: bool) -> None:
        """Raise LabFault for outputs that cannot be written, or not together."""
        check_writable(self.json)
        check_writable(self.html, "--html")
        if self.json == "-" and self.format is not ReportFormat.text:
            what = f"--json - and --format {self.format} both write to standard output"
            raise LabFault(what, fix="name a file for --json")
        if watch and (self.json == "-" or self.format is ReportFormat.sarif):
            what = "--watch writes more than one result, and standard output has room for one"
            raise LabFault(what, fix="use --format gcc, or name a file for --json")

    def write(self, lab: Lab, grade: Grade) -> None:
        """Write a grade that the student may see."""
        self.write_files(lab, grade)
        if self.json == "-":
            return
        if self.format is ReportFormat.text:
            from grader.reports.text import grade_report

            show(grade_report(grade, width(), every=self.every))
        else:
            self.write_problems(lab, grade)

    def write_files(self, lab: Lab, grade: Grade) -> None:
        """Write the JSON and the page, where they are asked for."""
        if self.json:
            write_json(grade.to_json(), self.json)
        if self.html:
            write_page(lab, grade, self.file, self.html)

    def write_problems(self, lab: Lab, grade: Grade) -> None:
        """Write the problems in the format for editors or CI; the score goes to stderr."""
        from grader.reports.problems import gcc_lines, github_lines, problems

        source = _text_of(lab, self.file)
        found = problems(grade, self.file, source, every=self.every)
        if self.format is ReportFormat.sarif:
            from grader.reports.sarif import sarif_log

            log: dict[str, Any] = sarif_log(grade, found, Path())
            write_json(log, "-")
        elif self.format is ReportFormat.github:
            write("".join(f"{line}\n" for line in github_lines(found, grade)))
        else:
            write("".join(f"{line}\n" for line in gcc_lines(found)))
        if self.format is not ReportFormat.github:
            from grader.reports.text import score_line

            say(score_line(grade).plain)


def write_page(lab: Lab, grade: Grade, file: Path, html: str) -> None:
    """Write the student's page of one grade, with the source when the file is text."""
    from grader.reports.classes import ReportRow
    from grader.reports.page.write import student_page

    write_file(Path(html), student_page(ReportRow("", grade, _text_of(lab, file))))


def _text_of(lab: Lab, file: Path) -> str:
    """Return the text that was graded; "" where there is none, which the grade says."""
    try:
        return source_of(lab, file).text
    except StudentFault:
        return ""


def source_of(lab: Lab, file: Path) -> Submission:
    """Read the source in a student's file: text, a notebook, an archive or a folder.

    Raises:
        LabFault: There is no such file, or it cannot be read.
        StudentFault: There is no source in it, or more than one.
    """
    from grader.submissions.sources import Wanted, read_submitted

    return read_submitted(file, Wanted.by(lab))
