"""`grader labs`: list labs, and check, calibrate and prepare them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from grader import replace
from grader.cli.terminal import (
    PLAIN_WIDTH,
    STDOUT,
    Argument,
    Backend,
    Course,
    Group,
    Json,
    LabName,
    Limit,
    On,
    Option,
    Threads,
    check_writable,
    doing,
    finished,
    resolved,
    say,
    show,
    show_line,
    step_display,
    write,
    write_file,
    write_json,
)
from grader.faults import LabFault, MachineFault

if TYPE_CHECKING:
    from grader.authoring.calibrate import Calibration
    from grader.authoring.machine import Measured
    from grader.authoring.requirements import RequirementResult
    from grader.labs.model import Lab

REPEATED = "for the reason shown above"
MARGIN = " " * 5
"""The indentation of rows below a requirement."""

Names = Annotated[list[str] | None, Argument(metavar="LAB", help="The labs.  [default: all labs]")]


class ShowRow(Protocol):
    """A function that shows one row; `good` is whether the requirement holds."""

    def __call__(self, line: str, *, good: bool) -> None:
        """Show one row."""


def row_printer(json: str | None) -> ShowRow:
    """Return the function that shows rows; it shows nothing when stdout is for the JSON."""
    return _show_nothing if json == STDOUT else show_line


def _show_nothing(line: str, *, good: bool) -> None:
    return None


def rows(result: RequirementResult, *, mutants: bool = False) -> list[str]:
    """Format a result as rows of 80 columns, with its mutants below when asked for."""
    from grader.authoring.mutation.report import mutant_table
    from grader.reports.printable import printable, wrap

    head = f"{'ok' if result.holds else 'FAIL':<4} {printable(result.what)}"
    observed = printable(result.observed)
    room = PLAIN_WIDTH - len(head)
    if len(observed) < room:
        shown = [f"{head}{observed:>{room}}".rstrip()]
    else:
        shown = [head, *wrap(MARGIN + observed, PLAIN_WIDTH, MARGIN)]
    return shown + (_indented(mutant_table(result.results)) if mutants else [])


def without_repetition(
    result: RequirementResult, earlier: Sequence[RequirementResult]
) -> RequirementResult:
    """Shorten a failure that an earlier result of the same lab has already shown.

    One fault of lab.yaml or reference.py fails every requirement that needs the file.
    """
    above = {one.observed for one in earlier if one.lab == result.lab and not one.holds}
    is_repeated = result.observed in above and len(result.observed) > len(REPEATED)
    return replace(result, observed=REPEATED) if is_repeated and not result.holds else result


def _indented(texts: Sequence[str]) -> list[str]:
    from grader.reports.printable import printable, wrap

    return [
        MARGIN + row for text in texts for row in wrap(printable(text), PLAIN_WIDTH - len(MARGIN))
    ]


def summary_row(results: Sequence[RequirementResult]) -> str:
    """Return the last row: how many labs and how many requirements pass."""
    failed = [result for result in results if not result.holds]
    count = len({result.lab for result in results})
    bad = len({result.lab for result in failed})
    passed = "1 lab passes" if count == 1 else f"{count} labs pass"
    text = f"{bad} of {count} labs do not pass" if bad else passed
    return f"{text}: {len(results) - len(failed)} of {len(results)} requirements"


def localization_counts(results: Sequence[RequirementResult]) -> tuple[int, int]:
    """Return how many reports name the faulty line or the one next to it, and how many there are.

    The reports are those of incorrect variants and mutants that have an error.
    """
    reports = _reports(results)
    return sum(named for _, named, _ in reports), len(reports)


def localization_rows(results: Sequence[RequirementResult]) -> list[str]:
    """Return the rate of reports that name the faulty line, by the number of lines they name.

    The reports that do not name it are listed below.
    """
    reports = _reports(results)
    if not reports:
        return ["no incorrect variant or mutant has an error"]
    named, count = localization_counts(results)
    rate = f"{named / count:.1%}, {named} of {count}"
    shown = [f"reports name the faulty line or the one next to it in {rate}"]
    for lines in sorted({lines for _, _, lines in reports}):
        hits = [hit for _, hit, number in reports if number == lines]
        shown.append(f"{MARGIN}with {lines} lines reported: {sum(hits)} of {len(hits)}")
    return shown + [f"{MARGIN}not named: {what}" for what, hit, _ in reports if not hit]


def _reports(results: Sequence[RequirementResult]) -> list[tuple[str, bool, int]]:
    """List the variants and mutants that have an error.

    A row is the name, whether the faulty line is named, and the number of reported lines.
    """
    variants = [
        (f"{result.lab} {result.what}", lines.named, len(lines.lines))
        for result in results
        if (lines := result.reported_lines) and lines.located
    ]
    mutants = [
        (f"{result.lab} {one.mutant.name}", one.verdict.named, len(one.verdict.lines))
        for result in results
        for one in result.results
        if one.is_caught and one.verdict.located
    ]
    return variants + mutants


def gate_json(results: Sequence[RequirementResult]) -> dict[str, Any]:
    """Return every lab with its requirements and mutants, as plain values."""
    names = dict.fromkeys(result.lab for result in results)
    labs = [_gate_lab_json([x for x in results if x.lab == name]) for name in names]
    return {"schema": 1, "labs": labs}


def _gate_lab_json(results: Sequence[RequirementResult]) -> dict[str, Any]:
    from grader.authoring.mutation.report import mutant_json

    return {
        "lab": results[0].lab,
        "holds": all(result.holds for result in results),
        "placed": dict(zip(("named", "located"), localization_counts(results), strict=True)),
        "lines": [{"what": x.what, "holds": x.holds, "seen": x.observed} for x in results],
        "mutants": [mutant_json(one) for result in results for one in result.results],
    }


labs = Group("List labs; check, calibrate and prepare them as an author.")


@labs.command("list")
def list_(course: Course = None, json: Json = None) -> int:
    """List every lab with its points and cases."""
    from rich.text import Text

    from grader.labs.reading import lab_roots, list_labs, load_lab

    check_writable(json)
    roots = lab_roots(course)
    names = list_labs(roots)
    if not names:
        raise _no_labs(roots)
    loaded, exit_code = [], 0
    for name in names:
        try:
            loaded.append(load_lab(name, roots))
        except LabFault as fault:
            say(str(fault))
            exit_code = fault.exit_code
    if json is not None:
        write_json({"labs": [_lab_json(lab) for lab in loaded]}, json)
    if json != STDOUT:
        show(Text("\n".join(map(_row, loaded))))
    return exit_code


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


def _no_labs(roots: Sequence[Path]) -> LabFault:
    places = ", ".join(map(str, roots))
    fix = "use --course DIR with a folder that contains labs/"
    return LabFault(f"there are no labs in {places}", fix=fix)


@labs.command("check", short_help="Check that labs meet all requirements.")
def check(
    names: Names = None,
    on: On = Backend.auto,
    course: Course = None,
    threads: Threads = None,
    limit: Limit = 20.0,
    mutants: Annotated[
        bool, Option("--mutants", help="Show every mutant and what caught it.")
    ] = False,
    quick: Annotated[bool, Option("--quick", help="Skip the mutants and the cheats.")] = False,
    json: Json = None,
) -> int:
    """Check that labs meet all requirements.

    The skeleton must be incomplete, the solution must pass, and the cases must catch every
    incorrect variant in solutions/LAB/wrong/ and every mutant of the solution. A mutant is the
    solution with one small edit. No cheat may earn more than the baseline does: a cheat is made
    from the baseline or the solution, for example with a tile that nothing depends on.

    The exit code is 2 when a lab does not pass.
    """
    from grader.authoring.gate import check_labs
    from grader.authoring.requirements import lab_folder
    from grader.grading.cases import RunOptions
    from grader.labs.reading import lab_roots, list_labs, load_lab

    check_writable(json)
    roots = lab_roots(course)
    options = RunOptions(resolved(on), threads=threads, limit=limit)
    show_row = row_printer(json)
    results: list[RequirementResult] = []
    watch = step_display()
    folders = [lab_folder(load_lab(name, roots)) for name in names or list_labs(roots)]
    for result in check_labs(folders, options, watch, generated=not quick):
        finished()
        if not results or results[-1].lab != result.lab:
            show_row(result.lab, good=True)
        for row in rows(without_repetition(result, results), mutants=mutants):
            show_row(row, good=result.holds)
        results.append(result)
    finished()
    if not results:
        raise _no_labs(roots)
    passed = all(result.holds for result in results)
    for row in localization_rows(results):
        show_row(row, good=True)
    show_row(summary_row(results), good=passed)
    if json is not None:
        write_json(gate_json(results), json)
    return 0 if passed else LabFault.exit_code


@labs.command("calibrate", short_help="Measure thresholds of speed for this GPU.")
def calibrate(
    names: Names = None,
    course: Course = None,
    write: Annotated[bool, Option("--write", help="Write labs/LAB/thresholds.yaml.")] = False,
    machine: Annotated[
        bool, Option("--machine", help="Measure the GPU for estimates: machines/NAME.yaml.")
    ] = False,
    refit: Annotated[
        Path | None, Option("--refit", metavar="F", help="Fit the model again to machine file F.")
    ] = None,
) -> int:
    """Time each lab's own kernels on this GPU, and propose thresholds of speed for it.

    With --machine, microbenchmarks and these kernels are measured, so that `grader check` can
    estimate times on this GPU where it is not there. --refit needs no GPU.

    The exit code is 2 when the thresholds of a lab cannot be set.
    """
    if refit is not None:
        from grader.authoring.machine import refit_file

        return _show_machine(refit_file(refit), refit)
    from rich.text import Text

    from grader.authoring.calibrate import calibrate as calibrate_lab
    from grader.authoring.calibrate import calibration_lines
    from grader.labs.reading import lab_roots, list_labs, load_lab

    roots, exit_code = lab_roots(course), 0
    chosen = [load_lab(name, roots) for name in names or list_labs(roots)]
    _require_gpu()
    if machine:
        from grader.authoring.machine import write_machine

        return _show_machine(*write_machine(chosen, roots[0].parent, doing))
    for lab in chosen:
        calibration = calibrate_lab(lab, doing)
        finished()
        if calibration is None:
            say(f"{lab.name} has no speed check")
            continue
        show(Text("\n".join(calibration_lines(calibration))))
        exit_code = LabFault.exit_code if calibration.problems else exit_code
        if write and not calibration.problems:
            _write_thresholds(lab, calibration)
    return exit_code


def _show_machine(measured: Measured, path: Path) -> int:
    """Show a measured GPU, whose file is written, and how far the model is off."""
    from rich.text import Text

    from grader.authoring.machine import machine_lines

    finished()
    show(Text("\n".join(machine_lines(measured))))
    say(f"wrote {path}")
    return 0 if measured.rows else LabFault.exit_code


def _require_gpu() -> None:
    """Raise MachineFault without a GPU; the usual fix `--on sim` does not help here."""
    try:
        resolved(Backend.gpu)
    except MachineFault as fault:
        fix = "run this on the GPU machine that grades; `grader doctor` shows what is missing"
        raise MachineFault(fault.what, where=fault.where, fix=fix) from None


def _write_thresholds(lab: Lab, calibration: Calibration) -> None:
    """Write the thresholds of this device to the lab's file; those of other devices stay."""
    from datetime import date

    from grader.authoring.calibrate import measured
    from grader.labs.thresholds import THRESHOLDS_FILE, read_thresholds, thresholds_text

    new = measured(calibration, date.today())
    kept = {**read_thresholds(lab.folder), calibration.device: new}
    write_file(lab.folder / THRESHOLDS_FILE, thresholds_text(lab.name, kept).encode())


@labs.command("skeleton", short_help="Make the students' file from the solution.")
def skeleton(
    lab: LabName,
    course: Course = None,
    to_stdout: Annotated[
        bool, Option("--stdout", help="Print it to stdout and write no file.")
    ] = False,
) -> int:
    """Make labs/LAB/LAB.cu, the file that students start from, from the solution."""
    from grader.authoring.new_lab import make_skeleton
    from grader.authoring.requirements import lab_folder
    from grader.labs.reading import lab_roots, load_lab

    folder = lab_folder(load_lab(lab, lab_roots(course)))
    text = make_skeleton(_read(folder.solution), str(folder.solution))
    if to_stdout:
        write(text)
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
