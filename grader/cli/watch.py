"""`grader check --watch`: check again whenever the file is saved, and show what changed."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from grader.cli.output import Output, ReportFormat
from grader.cli.terminal import finished, say, show, show_fault, width, write
from grader.editor.changes import ABSENT, WatchedFile, contents
from grader.editor.jobs import NewestJobs
from grader.faults import Fault
from grader.grading.record import Grade
from grader.labs.model import Lab
from grader.reports.problems import Place, shown_file
from grader.sandbox.process import Interrupted


def watch_file(lab: Lab, output: Output, graded: Callable[[], Grade]) -> int:
    """Check a file whenever its content changes, until Ctrl-C; raises KeyboardInterrupt then.

    What a check needs is kept from one to the next: the process that forks the sandboxed children,
    the reference's process, and what is imported. A file that is saved again while it is checked is
    checked anew at once.

    Args:
        lab: The lab.
        output: The file, and how its grades are written.
        graded: Grades the file.

    Returns:
        The exit code of the last check, when standard output is not read any more.

    Raises:
        Fault: The first check cannot be made.
    """
    from grader.authoring.content import WATCH_BEGINS, WATCH_ENDS  # editors look for these

    name = shown_file(Place(Path(output.file)))
    file = WatchedFile(output.file, lab)
    first = file.content()
    jobs = NewestJobs[str, str]()
    jobs.offer("", first if output.file.exists() else " ")  # so that a missing file is reported
    Thread(target=_offer, args=(file, first, jobs), daemon=True, name="watch").start()
    before: Grade | None = None
    code = 0
    while True:
        _, content = jobs.take()
        if not _is_read():
            return code
        if content == ABSENT:
            say(f"{name} is missing or empty; waiting until it is back")
            continue
        begun = time.monotonic()
        write(f"{WATCH_BEGINS} {name}\n")
        try:
            grade = graded()
        except Interrupted:  # by a newer content
            finished()
            continue
        except Fault as fault:
            finished()
            if before is None:
                raise
            show_fault(fault)  # such as a file that was removed meanwhile
        else:
            finished()
            _show(lab, output, before, grade)
            before, code = grade, grade.exit_code
        write(f"{WATCH_ENDS} {name} ({time.monotonic() - begun:.2f} s)\n")


def _offer(file: WatchedFile, first: str, jobs: NewestJobs[str, str]) -> None:
    for content in contents(file, first):
        jobs.offer("", content)


def _show(lab: Lab, output: Output, before: Grade | None, grade: Grade) -> None:
    """Write the first grade as `grader check` does, each later one with what changed."""
    if before is None or output.format is not ReportFormat.text:
        output.write(lab, grade)
        return
    from grader.reports.comparison import comparison_text
    from grader.reports.finding import causes_text, findings_text

    output.write_files(lab, grade)
    show(comparison_text(before, grade, width()))
    findings = [finding for check in grade.checks for finding in check.findings]
    if findings:
        whole = findings_text(findings, width(), most=len(findings)) if output.every else None
        write("\n")
        show(whole or causes_text(grade.causes, width()))


def _is_read() -> bool:
    """Return whether standard output still has a reader."""
    poll = select.poll()
    poll.register(1, 0)
    return not any(flags & select.POLLERR for _, flags in poll.poll(0))
