"""`grader run`: any kernel with any launch, no lab: what the simulator sees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.options import (
    Backend,
    Json,
    Limit,
    On,
    Profile,
    Sanitizer,
    Source,
    Threads,
    resolved,
)
from grader.cli.terminal import check_writable, finished, progress, say, show, width, write_json
from grader.faults import Fault, LabFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grader.grading.cases import RunOptions
    from grader.grading.single_launch import LaunchResult

LaunchFile = Annotated[
    Path, typer.Argument(metavar="LAUNCH.yaml", help="Grid, block and arguments.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Where saved arrays go.  [default: beside LAUNCH.yaml]"
    ),
]

Schedules = Annotated[
    int,
    typer.Option(
        "--schedules", metavar="N", min=0, max=1000, help="Try N other orders of blocks and warps."
    ),
]
Table = Annotated[
    Path | None,
    typer.Option("--trace", metavar="F.npz", help="Write every access of a small launch here."),
]


def run(
    file: Source,
    launch: LaunchFile,
    on: On = Backend.auto,
    json: Json = None,
    out: Out = None,
    threads: Threads = None,
    limit: Limit = 20.0,
    schedules: Schedules = 0,
    trace: Table = None,
    sanitizer: Sanitizer = False,
    profile: Profile = False,
) -> int:
    """Launch a kernel of FILE.cu as LAUNCH.yaml says, and report what it did wrong."""
    from grader.grading.cases import RunOptions
    from grader.reports.json import fault_json, run_json

    check_writable(json)
    try:
        how = RunOptions(resolved(on), threads=threads, limit=limit)
        if sanitizer or profile:
            from grader.grading.crosscheck import require_tools

            require_tools(sanitizer=sanitizer, profile=profile)
        ran = launched(file, launch, how, out, schedules, trace, with_simulator=on is Backend.auto)
        ran, seen = crossed(file, launch, how, ran, sanitizer=sanitizer, profile=profile)
    except Fault as fault:
        finished()
        if json:
            write_json(fault_json(fault, "gpu" if on is Backend.gpu else "sim"), json)
        _show_fault(fault, quiet=json == "-")
        return fault.exit_code
    finished()
    if json:
        names = {index: path.name for index, path in ran.saved.items()}
        more = {"profile": seen} if profile else {}
        write_json(run_json(ran.trace, names, ran.compile_seconds) | more, json)
    if json == "-":
        for path in ran.saved.values():
            say(f"wrote {path}")
    else:
        from grader.reports.text import run_report

        files = {index: str(path) for index, path in ran.saved.items()}
        show(run_report(ran.kernel, ran.trace, files, width()))
        if profile:
            _show_profile(seen)
    return int(ran.trace.verdict != "clean" or not ran.trace.ended)


def launched(
    file: Path,
    launch: Path,
    how: RunOptions,
    out: Path | None,
    schedules: int,
    table: Path | None,
    *,
    with_simulator: bool,
) -> LaunchResult:
    """The whole of it: read, compile, launch, save."""
    from grader.grading.single_launch import run_launch
    from grader.submissions.files import read_submission
    from grader.submissions.launchfile import read_launch

    if launch.suffix == ".cu" and file.suffix in (".yaml", ".yml"):
        fix = "grader run FILE.cu LAUNCH.yaml"
        raise LabFault("the .cu file comes first", where=str(file), fix=fix)
    if out is not None and not out.is_dir():
        raise LabFault("there is no such folder", where=str(out), fix="make it before --out")
    submission = read_submission(file)
    if table is not None and not table.parent.is_dir():
        raise LabFault("there is no such folder", where=str(table.parent), fix="make it first")
    asked = read_launch(launch)
    place = out or launch.parent
    ran = run_launch(
        submission,
        asked,
        how,
        place,
        progress,
        schedules=schedules,
        table=table,
        with_simulator=with_simulator,
    )
    if table is not None and ran.trace.accesses is not None:
        say(f"wrote {table}: {len(ran.trace.accesses):,} accesses")
    return ran


def crossed(
    file: Path, launch: Path, how: RunOptions, ran: LaunchResult, *, sanitizer: bool, profile: bool
) -> tuple[LaunchResult, Mapping[str, Mapping[str, float]]]:
    """What ran with compute-sanitizer's findings, and both backends' counters by metric."""
    if not (sanitizer or profile):
        return ran, {}
    from grader.grading.crosscheck import cross_check_launch
    from grader.submissions.files import read_submission
    from grader.submissions.launchfile import read_launch

    submission, asked = read_submission(file), read_launch(launch)
    return cross_check_launch(submission, asked, how, ran, sanitizer=sanitizer, profile=profile)


def _show_profile(seen: Mapping[str, Mapping[str, float]]) -> None:
    from rich.text import Text

    from grader.reports.text import profile_lines

    flat = {f"{m} {who}": value for m, pair in seen.items() for who, value in pair.items()}
    show(Text("\n".join(["", *profile_lines(flat, width())])))


def _show_fault(fault: Fault, quiet: bool) -> None:
    """What the compiler found goes where findings go; everything else is a message."""
    findings = getattr(fault, "findings", ())
    if not findings:
        say(str(fault))
    elif not quiet:
        from grader.reports.finding import findings_text

        show(findings_text(findings, width(), most=20))
