"""`grader labs`: what labs there are, and what their authors need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from grader.cli.terminal import PLAIN_WIDTH, STDOUT, show_line

if TYPE_CHECKING:
    from grader.authoring.gate_lines import Line
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.options import Backend, Course, Json, Limit, On, Threads, resolved
from grader.cli.terminal import check_writable, doing, finished, say, show, write_file, write_json
from grader.faults import LabFault, MachineFault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grader.authoring.calibrate import Calibration
    from grader.authoring.gate_lines import Line
    from grader.labs.model import Lab

# How `grader labs check` shows what labs have to hold: rows of text, and JSON.

AGAIN = "for the reason told above"
MARGIN = " " * 5
"""Before what was seen, where it takes rows of its own."""


class Told(Protocol):
    """Shows one row; `good` is whether what it says holds."""

    def __call__(self, line: str, *, good: bool) -> None: ...


def heard(json: str | None) -> Told:
    """What shows rows: nothing does when stdout is the JSON's."""
    return _unheard if json == STDOUT else show_line


def _unheard(line: str, *, good: bool) -> None:
    return None


def rows(line: Line, *, mutants: bool = False) -> list[str]:
    """A line of the gate in rows of 80 columns, below its lab's name; with its mutants below it
    when they are asked for.
    """
    from grader.authoring.mutation.demands import table
    from grader.reports.printable import printable, wrap

    head = f"{'ok' if line.holds else 'FAIL':<4} {printable(line.what)}"
    seen = printable(line.seen)
    room = PLAIN_WIDTH - len(head)
    if len(seen) < room:
        shown = [f"{head}{seen:>{room}}".rstrip()]
    else:
        shown = [head, *wrap(MARGIN + seen, PLAIN_WIDTH, MARGIN)]
    return shown + (_below(table(line.tried)) if mutants else [])


def unrepeated(line: Line, earlier: Sequence[Line]) -> Line:
    """The line as it is shown below earlier ones of its lab: one fault of lab.yaml or reference.py
    fails every line that needs it, and is told once.
    """
    above = {one.seen for one in earlier if one.lab == line.lab and not one.holds}
    told = line.seen in above and len(line.seen) > len(AGAIN)
    return replace(line, seen=AGAIN) if told and not line.holds else line


def _below(told: Sequence[str]) -> list[str]:
    from grader.reports.printable import printable, wrap

    return [
        MARGIN + row for text in told for row in wrap(printable(text), PLAIN_WIDTH - len(MARGIN))
    ]


def verdict(lines: Sequence[Line]) -> str:
    """The last row: how many labs hold, and how many lines of them."""
    broken = [line for line in lines if not line.holds]
    count = len({line.lab for line in lines})
    bad = len({line.lab for line in broken})
    held = "1 lab holds" if count == 1 else f"{count} labs hold"
    said = f"{bad} of {count} labs do not hold" if bad else held
    return f"{said}: {len(lines) - len(broken)} of {len(lines)} lines"


def placed(lines: Sequence[Line]) -> tuple[int, int]:
    """Of the wrong twins and mutants that draw an error: how many are told the wrong line or the
    one next to it, and how many there are.
    """
    every = _told(lines)
    return sum(named for _, named, _ in every), len(every)


def placing(lines: Sequence[Line]) -> list[str]:
    """How often a report names the wrong line or its neighbour, by how many lines it names, and
    which reports do not.
    """
    every = _told(lines)
    if not every:
        return ["no wrong twin or mutant draws an error"]
    named, count = placed(lines)
    said = [
        f"reports name the wrong line or its neighbour in {named / count:.1%}, {named} of {count}"
    ]
    for most in sorted({told for _, _, told in every}):
        hits = [hit for _, hit, told in every if told == most]
        said.append(f"{MARGIN}with {most} lines told: {sum(hits)} of {len(hits)}")
    return said + [f"{MARGIN}not named: {what}" for what, hit, _ in every if not hit]


def _told(lines: Sequence[Line]) -> list[tuple[str, bool, int]]:
    """Each wrong twin and mutant that draws an error: its name, whether the line is named, and how
    many lines are told.
    """
    twins = [
        (f"{line.lab} {line.what}", line.told.named, len(line.told.lines))
        for line in lines
        if line.told and line.told.located
    ]
    caught = [
        (f"{line.lab} {one.mutant.name}", one.verdict.named, len(one.verdict.lines))
        for line in lines
        for one in line.tried
        if one.is_caught and one.verdict.located
    ]
    return twins + caught


def gate_json(lines: Sequence[Line]) -> dict[str, Any]:
    """Every lab with its lines and mutants, as plain values."""
    names = dict.fromkeys(line.lab for line in lines)
    return {"schema": 1, "labs": [_lab([x for x in lines if x.lab == name]) for name in names]}


def _lab(lines: Sequence[Line]) -> dict[str, Any]:
    from grader.authoring.mutation.demands import mutant_json

    return {
        "lab": lines[0].lab,
        "holds": all(line.holds for line in lines),
        "placed": dict(zip(("named", "located"), placed(lines), strict=True)),
        "lines": [{"what": x.what, "holds": x.holds, "seen": x.seen} for x in lines],
        "mutants": [mutant_json(one) for line in lines for one in line.tried],
    }


Names = Annotated[
    list[str] | None, typer.Argument(metavar="LAB", help="The labs; all when none is named.")
]
labs = typer.Typer(help="List labs, and what their authors need.", no_args_is_help=True)


@labs.command("list")
def list_(course: Course = None, json: Json = None) -> int:
    """Every lab with its points and cases."""
    from rich.text import Text

    from grader.labs.reading import lab_roots, list_labs, load_lab

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
    return LabFault(f"there are no labs in {places}", fix="name a course: --course DIR")


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
    from grader.authoring.gate import check_lab, lab_folder
    from grader.grading.cases import RunOptions
    from grader.labs.reading import lab_roots, list_labs, load_lab

    check_writable(json)
    roots = lab_roots(course)
    how = RunOptions(resolved(on), threads=threads, limit=limit)
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

    from grader.authoring.calibrate import calibrate as calibrated
    from grader.authoring.calibrate import calibration_lines
    from grader.labs.reading import lab_roots, list_labs, load_lab

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
        fix = "run this on the GPU machine that grades; `grader doctor` says what it lacks"
        raise MachineFault(fault.what, where=fault.where, fix=fix) from None


def _write_thresholds(lab: Lab, made: Calibration) -> None:
    """This device's thresholds into the lab's file, beside those of other devices."""
    from datetime import date

    from grader.authoring.calibrate import measured
    from grader.labs.thresholds import THRESHOLDS_FILE, read_thresholds, thresholds_text

    new = measured(made, date.today())
    kept = {**read_thresholds(lab.folder), made.device: new}
    write_file(lab.folder / THRESHOLDS_FILE, thresholds_text(lab.name, kept).encode())


@labs.command("skeleton", short_help="Make the students' file from the solution.")
def skeleton(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="The lab; see `grader labs list`.")],
    course: Course = None,
    to_stdout: Annotated[bool, typer.Option("--stdout", help="Print it; write no file.")] = False,
) -> int:
    """Make labs/LAB/LAB.cu, what students start from, out of the solution."""
    from grader.authoring.gate import lab_folder
    from grader.authoring.new_lab import make_skeleton
    from grader.labs.reading import lab_roots, load_lab

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
