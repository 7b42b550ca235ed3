"""`grader labs`: what labs there are, and what their authors need."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grader.cli.gate import heard, placing, rows, unrepeated, verdict
from grader.cli.options import Backend, Course, Json, Limit, On, Threads, resolved
from grader.cli.terminal import (
    PLAIN_WIDTH,
    STDOUT,
    check_writable,
    doing,
    finished,
    say,
    show,
    write_file,
    write_json,
)
from grader.fault import LabFault, MachineFault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grader.calibrate import Calibration
    from grader.gate.line import Line
    from grader.lab import Lab

Names = Annotated[
    list[str] | None, typer.Argument(metavar="LAB", help="The labs; all when none is named.")
]
labs = typer.Typer(help="List labs, and what their authors need.", no_args_is_help=True)


@labs.command("list")
def list_(course: Course = None, json: Json = None) -> int:
    """Every lab with its points and cases."""
    from rich.text import Text

    from grader.labfile.spec import lab_roots, list_labs, load_lab

    check_writable(json)
    roots = lab_roots(course)
    names = list_labs(roots)
    if not names:
        raise _none(roots)
    held, worst = [], 0
    for name in names:
        try:
            held.append(load_lab(name, roots))
        except LabFault as fault:
            say(str(fault))
            worst = fault.exit_code
    if json is not None:
        write_json({"labs": [_lab_json(lab) for lab in held]}, json)
    if json != STDOUT:
        show(Text("\n".join(map(_row, held))))
    return worst


def _row(lab: Lab) -> str:
    cases = f"{_public(lab)} + {len(lab.cases) - _public(lab)} hidden cases"
    head = f"{lab.name:<21} {lab.max_score:>4g} points  {cases}"
    return "\n".join(
        [head, *wrap(lab.title, PLAIN_WIDTH, initial_indent="  ", subsequent_indent="  ")]
    )


def _lab_json(lab: Lab) -> dict[str, Any]:
    public = _public(lab)
    return {
        "name": lab.name,
        "title": lab.title,
        "max_score": lab.max_score,
        "kernels": [kernel.name for kernel in lab.kernels],
        "checks": [{"name": check.name, "points": check.points} for check in lab.checks],
        "cases": {"public": public, "hidden": len(lab.cases) - public},
        "questions": len(lab.quiz),
    }


def _public(lab: Lab) -> int:
    return sum(case.visibility == "public" for case in lab.cases)


def _none(roots: Sequence[Path]) -> LabFault:
    places = ", ".join(map(str, roots))
    return LabFault(f"there are no labs in {places}", mend="name a course: --course DIR")


@labs.command("check", short_help="Prove labs sound, mutants and all.")
def check(
    names: Names = None,
    on: On = Backend.auto,
    course: Course = None,
    threads: Threads = None,
    limit: Limit = 20.0,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Show every mutant, and what caught it.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Leave the mutants out.")] = False,
    json: Json = None,
) -> int:
    """Prove labs sound: the skeleton falls short, the solution passes, wrong twins are caught, and
    so is every mutant of the solution.

    The exit code is 2 when a lab does not hold.
    """
    from grader.cases import How
    from grader.cli.gate import gate_json
    from grader.gate.lab import check_lab, lab_folder
    from grader.labfile.spec import lab_roots, list_labs, load_lab

    check_writable(json)
    roots = lab_roots(course)
    how = How(resolved(on), threads=threads, limit=limit)
    told = heard(json)
    lines: list[Line] = []
    for lab in [load_lab(name, roots) for name in names or list_labs(roots)]:
        told(lab.name, good=True)
        for line in check_lab(lab_folder(lab), how, doing, mutants=not quick):
            finished()
            for row in rows(unrepeated(line, lines), mutants=mutants):
                told(row, good=line.holds)
            lines.append(line)
        finished()
    if not lines:
        raise _none(roots)
    sound = all(line.holds for line in lines)
    for row in placing(lines):
        told(row, good=True)
    told(verdict(lines), good=sound)
    if json is not None:
        write_json(gate_json(lines), json)
    return 0 if sound else LabFault.exit_code


@labs.command("calibrate", short_help="Thresholds of speed for this GPU.")
def calibrate(
    names: Names = None,
    course: Course = None,
    write: Annotated[bool, typer.Option("--write", help="Write labs/LAB/thresholds.yaml.")] = False,
) -> int:
    """Time each lab's own kernels on this GPU and propose thresholds of speed for it.

    The exit code is 2 when a lab's thresholds cannot be set.
    """
    from rich.text import Text

    from grader.calibrate import calibrate as calibrated
    from grader.calibrate import calibration_lines
    from grader.labfile.spec import lab_roots, list_labs, load_lab

    roots, worst = lab_roots(course), 0
    chosen = [load_lab(name, roots) for name in names or list_labs(roots)]
    _needs_gpu()
    for lab in chosen:
        made = calibrated(lab, doing)
        finished()
        if made is None:
            say(f"{lab.name} does not judge speed")
            continue
        show(Text("\n".join(calibration_lines(made))))
        worst = LabFault.exit_code if made.problems else worst
        if write and not made.problems:
            _write_thresholds(lab, made)
    return worst


def _needs_gpu() -> None:
    """Raises MachineFault: here `--on sim`, which is the usual advice, would be no help."""
    try:
        resolved(Backend.gpu)
    except MachineFault as fault:
        mend = "run this on the GPU machine that grades; `grader doctor` says what it lacks"
        raise MachineFault(fault.what, where=fault.where, mend=mend) from None


def _write_thresholds(lab: Lab, made: Calibration) -> None:
    """This device's thresholds into the lab's file, beside those of other devices."""
    from datetime import date

    from grader.calibrate import measured
    from grader.labfile.thresholds import FILE, read_thresholds, thresholds_text

    new = measured(made, date.today())
    kept = {**read_thresholds(lab.folder), made.device: new}
    write_file(lab.folder / FILE, thresholds_text(lab.name, kept).encode())


@labs.command("skeleton", short_help="Make the students' file from the solution.")
def skeleton(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="The lab; see `grader labs list`.")],
    course: Course = None,
    to_stdout: Annotated[bool, typer.Option("--stdout", help="Print it; write no file.")] = False,
) -> int:
    """Make labs/LAB/LAB.cu, what students start from, out of the solution."""
    from grader.gate.lab import lab_folder
    from grader.labfile.spec import lab_roots, load_lab
    from grader.skeleton import make_skeleton

    folder = lab_folder(load_lab(lab, lab_roots(course)))
    text = make_skeleton(_read(folder.solution), str(folder.solution))
    if to_stdout:
        typer.echo(text, nl=False)
    elif folder.skeleton.is_file() and _read(folder.skeleton) == text:
        say(f"{folder.skeleton} is up to date")
    else:
        write_file(folder.skeleton, text.encode())
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabFault(f"cannot read the file: {error}", where=str(path)) from None
