"""`grader explain`: a student's own kernel in pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.check import LabName
from grader.cli.options import Course, Limit, Source, Threads
from grader.cli.terminal import check_writable, finished, progress, say, show, width, write_file
from grader.fault import Fault, LabFault

Html = Annotated[
    str | None,
    typer.Option("--html", metavar="F", help="Where the page goes.  [default: explain-FILE.html]"),
]
CaseName = Annotated[
    str, typer.Option("--case", metavar="CASE", help="Which public case.  [default: a small one]")
]


def explain(
    lab: LabName,
    file: Source,
    html: Html = None,
    case: CaseName = "",
    course: Course = None,
    threads: Threads = None,
    limit: Limit = 20.0,
) -> int:
    """Draw FILE.cu: which thread touches which element between barriers, and what lines cost."""
    from grader.cases import How
    from grader.explain.explain import explain as explained
    from grader.explain.page import explain_page
    from grader.labfile.spec import lab_roots, load_lab
    from grader.submission import read_submission

    place = html or f"explain-{file.stem}.html"
    check_writable(place)
    if lab.endswith(".cu"):
        raise LabFault("the lab comes first", where=lab, mend="grader explain LAB FILE.cu")
    held = load_lab(lab, lab_roots(course))
    try:
        how = How("sim", threads=threads, limit=limit)
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
        from grader.report.finding import findings_text

        show(findings_text(findings, width(), most=20))
    else:
        say(str(fault))
