"""`grader run`: launch any kernel, without a lab, and report its errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from grader.cli.terminal import (
    Argument,
    Backend,
    Json,
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
    say,
    show,
    show_fault,
    width,
    write_json,
)
from grader.faults import Fault, LabFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grader.grading.cases import RunOptions
    from grader.grading.single_launch import LaunchResult

LaunchFile = Annotated[
    Path, Argument(metavar="LAUNCH.yaml", help="The launch: grid, block and arguments.")
]
Out = Annotated[
    Path | None,
    Option("--out", metavar="DIR", help="Folder of saved arrays.  [default: that of LAUNCH.yaml]"),
]

Schedules = Annotated[
    int,
    Option(
        "--schedules",
        metavar="N",
        min=0,
        max=1000,
        help="Repeat with N other orders of blocks and warps.",
    ),
]
Table = Annotated[
    Path | None,
    Option("--trace", metavar="F.npz", help="Write every access of a small launch to F.npz."),
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
    """Run any kernel and report its errors.

    Reports races, accesses out of bounds, reads of uninitialized memory and barriers that threads
    do not reach. No lab is needed: LAUNCH.yaml describes the launch: its grid, and its arguments,
    which are arrays, numbers, structures, textures and surfaces.
    """
    from grader.grading.cases import RunOptions
    from grader.grading.single_launch import fault_json, run_json

    check_writable(json)
    try:
        options = RunOptions(resolved(on), threads=threads, limit=limit)
        if sanitizer or profile:
            from grader.grading.crosscheck import require_tools

            require_tools(sanitizer=sanitizer, profile=profile)
        outcome = launch_once(
            file, launch, options, out, schedules, trace, with_simulator=on is Backend.auto
        )
        outcome, counters = add_cross_checks(
            file, launch, options, outcome, sanitizer=sanitizer, profile=profile
        )
    except Fault as fault:
        finished()
        if json:
            write_json(fault_json(fault, "gpu" if on is Backend.gpu else "sim"), json)
        show_fault(fault, quiet=json == "-")
        return fault.exit_code
    finished()
    if json:
        names = {index: path.name for index, path in outcome.saved.items()}
        more = {"profile": counters} if profile else {}
        write_json(run_json(outcome.trace, names, outcome.compile_seconds) | more, json)
    if json == "-":
        for path in outcome.saved.values():
            say(f"wrote {path}")
    else:
        from grader.reports.text import run_report

        files = {index: str(path) for index, path in outcome.saved.items()}
        show(run_report(outcome.kernel, outcome.trace, files, width()))
        if profile:
            _show_profile(counters)
    return int(bool(outcome.trace.errors) or not outcome.trace.ended)


def launch_once(
    file: Path,
    launch: Path,
    options: RunOptions,
    out: Path | None,
    schedules: int,
    trace_file: Path | None,
    *,
    with_simulator: bool,
) -> LaunchResult:
    """Read the files, compile, launch, and save the arrays; raises Fault."""
    from grader.grading.single_launch import run_launch
    from grader.submissions.launchfile import read_launch
    from grader.submissions.sources import Wanted, read_submitted

    if launch.suffix == ".cu" and file.suffix in (".yaml", ".yml"):
        fix = "write: grader run FILE.cu LAUNCH.yaml"
        raise LabFault("the .cu file must come first", where=str(file), fix=fix)
    if out is not None and not out.is_dir():
        raise LabFault("the folder does not exist", where=str(out), fix="create it first")
    launch_spec = read_launch(launch)
    submission = read_submitted(file, Wanted.of_kernel(launch_spec.kernel))
    if trace_file is not None and not trace_file.parent.is_dir():
        where = str(trace_file.parent)
        raise LabFault("the folder does not exist", where=where, fix="create it first")
    place = out or launch.parent
    outcome = run_launch(
        submission,
        launch_spec,
        options,
        place,
        progress,
        schedules=schedules,
        table=trace_file,
        with_simulator=with_simulator,
    )
    if trace_file is not None and outcome.trace.accesses is not None:
        say(f"wrote {trace_file}: {len(outcome.trace.accesses):,} accesses")
    return outcome


def add_cross_checks(
    file: Path,
    launch: Path,
    options: RunOptions,
    outcome: LaunchResult,
    *,
    sanitizer: bool,
    profile: bool,
) -> tuple[LaunchResult, Mapping[str, Mapping[str, float]]]:
    """Add the findings of compute-sanitizer, and return the counters of both tools by metric."""
    if not (sanitizer or profile):
        return outcome, {}
    from grader.grading.crosscheck import cross_check_launch
    from grader.submissions.launchfile import read_launch
    from grader.submissions.sources import Wanted, read_submitted

    launch_spec = read_launch(launch)
    submission = read_submitted(file, Wanted.of_kernel(launch_spec.kernel))
    return cross_check_launch(
        submission, launch_spec, options, outcome, sanitizer=sanitizer, profile=profile
    )


def _show_profile(counters: Mapping[str, Mapping[str, float]]) -> None:
    from rich.text import Text

    from grader.reports.text import profile_lines

    flat = {f"{m} {who}": value for m, pair in counters.items() for who, value in pair.items()}
    show(Text("\n".join(["", *profile_lines(flat, width())])))
