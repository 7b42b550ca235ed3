"""Grades and launches as text reports for 80 columns, with or without color.

`grade_report` is what `grader check` prints, `run_report` what `grader run` prints. `profile_lines`
compares the two backends' counters of one launch; `speed_lines` states a speed measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO

from rich.console import Console
from rich.text import Text

from grader.checks.result import Result
from grader.checks.speed import format_duration
from grader.faults import pluralize
from grader.grading.cost import TimeEstimate
from grader.grading.record import Grade
from grader.launch import Trace
from grader.reports.finding import causes_text, findings_text
from grader.reports.printable import clip, printable, wrap

COLUMN_CELLS = 14
"""Width of a column of counters."""

STATUS_WORDS = {
    "pass": ("pass", "green"),
    "fail": ("FAIL", "bold red"),
    "blocked": ("blocked", "yellow"),
    "unjudged": ("not evaluated", "dim"),
    "error": ("error", "bold magenta"),
}
"""The word for each status and its style."""

STATUS_CELLS = 13
MAX_CASES = 6
MAX_NAME_CELLS = 60
MAX_SUMMARY_CELLS = 200
"""Maximum length of a summary, in cells."""

MAX_PRINTED_LINES = 40
"""Lines of a kernel's printf output that a report shows."""

BACKENDS = {"sim": "simulated on the CPU", "gpu": "run on the GPU"}


def profile_lines(measurements: Mapping[str, float], width: int = 80) -> list[str]:
    """List one row per metric: hardware, simulator, and by how much the simulator differs.

    The measurements are named "<metric> ncu" and "<metric> sim". Metrics that are 0 on both are
    left out. A name too long for its column gets a line of its own, because its end distinguishes
    loads from stores.
    """
    metrics = dict.fromkeys(name.rpartition(" ")[0] for name in measurements)
    left = max(width - 3 * COLUMN_CELLS, 16)
    rows = [f"{'counter':<{left}}{'hardware':>{COLUMN_CELLS}}{'simulated':>{COLUMN_CELLS}}"]
    for metric in metrics:
        ncu, sim = measurements[f"{metric} ncu"], measurements[f"{metric} sim"]
        if not ncu and not sim:
            continue
        values = "".join(
            f"{v:>{COLUMN_CELLS}}" for v in (_number(ncu), _number(sim), _difference(ncu, sim))
        )
        name = clip(printable(metric), width)
        rows += [f"{name:<{left}}{values}"] if len(name) < left else [name, " " * left + values]
    return [row.rstrip() for row in rows]


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def _difference(ncu: float, sim: float) -> str:
    """Return "" when both agree to four digits, otherwise the simulator's relative difference."""
    if abs(ncu - sim) <= 1e-4 * max(abs(ncu), abs(sim)):
        return ""
    return f"{(sim - ncu) / ncu:+.1%}" if ncu else "not counted"


def speed_lines(measurements: Mapping[str, float]) -> list[str]:
    """State what a speed check measured: the ratio with its interval, times, rates and peaks.

    For example:

        1.523 times the baseline's speed (95 % interval 1.519 to 1.526, 400 pairs)
        1.234 ms per launch, baseline 1.879 ms
        1,740 GFLOP/s, 2.9 % of this GPU's measured FMA peak
    """
    ends = f"{measurements['speedup_low']:.3f} to {measurements['speedup_high']:.3f}"
    own, baseline = (
        format_duration(measurements[name]) for name in ("seconds", "baseline_seconds")
    )
    lines = [
        f"{measurements['speedup']:.3f} times the baseline's speed (95 % interval {ends}, "
        f"{measurements['pairs']:.0f} pairs)",
        f"{own} per launch, baseline {baseline}",
        _rate(measurements, "gflop_per_second", "GFLOP/s", "percent_of_fma_peak", "FMA peak"),
        _rate(
            measurements,
            "gbyte_per_second",
            "GB/s",
            "percent_of_copy_bandwidth",
            "copy bandwidth",
        ),
    ]
    if "percent_of_cublas" in measurements:
        lines.append(f"{measurements['percent_of_cublas']:.3g} % of cuBLAS' speed at this size")
    if "review" in measurements:
        lines.append("needs review: see the note above")
    return [line for line in lines if line]


def _rate(measurements: Mapping[str, float], name: str, unit: str, share: str, peak: str) -> str:
    if name not in measurements:
        return ""
    of = (
        f", {measurements[share]:.3g} % of this GPU's measured {peak}"
        if share in measurements
        else ""
    )
    return f"{_rounded(measurements[name])} {unit}{of}"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def render(text: Text, *, color: bool = False) -> str:
    """Return the report as a string, optionally with ANSI color; lines are not wrapped again."""
    out = StringIO()
    console = Console(
        file=out,
        color_system="standard" if color else None,
        force_terminal=color,
        soft_wrap=True,
        force_jupyter=False,  # in a notebook's kernel it would display the text, not return it
    )
    console.print(text, highlight=False, markup=False, emoji=False)
    return out.getvalue()


def grade_report(grade: Grade, width: int = 80, *, every: bool = False) -> Text:
    """Report one grade: the submission, the checks, the causes and the score.

    Lines are at most `width` cells wide (40 or more). With `every`, the report has every finding in
    place of one block for each cause.
    """
    findings = [finding for check in grade.checks for finding in check.findings]
    if every:
        found = findings_text(findings, width, most=len(findings))
    else:
        found = causes_text(grade.causes, width)
    sections = [
        _header(grade, width),
        check_table(grade.checks, width),
        *([_cases(grade, width)] if grade.cases else []),
        *([found] if findings else []),
        *([Text("\n".join(wrap(note, width, "  ")))] if (note := unsearched_text(grade)) else []),
        *measurement_text(grade.checks, width),
        *estimate_text(grade.estimates, width),
        *(
            [Text(_printed(grade.printed[1], f" in case {printable(grade.printed[0])}", width))]
            if grade.printed[1]
            else []
        ),
        score_line(grade, width),
    ]
    return Text("\n\n").join(sections)


def unsearched_text(grade: Grade) -> str:
    """Say that causes or fixes may be missing after a fault of this machine; "" if none is."""
    if not grade.explanation.failure:
        return ""
    return (
        "The search for causes and fixes was cut short by a fault of this machine "
        f"({printable(grade.explanation.failure)}). The points do not depend on it."
    )


def check_table(checks: tuple[Result, ...], width: int = 80) -> Text:
    """Show one row per check: verdict, points and result."""
    names = [clip(printable(check.name), 16) for check in checks]
    left = max(len(name) for name in (*names, "check"))
    text = Text(
        f"{'check'.ljust(left)}  {'verdict':<{STATUS_CELLS}}  {'points':>12}  result", "bold"
    )
    rows = [_row(c, n, left, width) for c, n in zip(checks, names, strict=True)]
    return Text("\n").join([text, *rows])


def status_word(check: Result) -> tuple[str, str]:
    """Return the word for a check's status and its style.

    A quiz that counts for nothing does not fail a submission: its mistakes are for practice.
    """
    if check.status == "fail" and check.name == "quiz" and not check.max_points:
        return "practice", "yellow"
    return STATUS_WORDS[check.status]


def _row(check: Result, name: str, left: int, width: int) -> Text:
    word, style = status_word(check)
    row = Text(f"{name.ljust(left)}  ")
    row.append(f"{word:<{STATUS_CELLS}}", style)
    row.append(f"  {points_text(check):>12}  ")
    edge = len(row)
    summary = wrap(clip(printable(check.summary), MAX_SUMMARY_CELLS), max(width - edge, 16))
    row.append(("\n" + " " * edge).join(summary))
    return row


def points_text(check: Result) -> str:
    """Return `8 of 40`; "" when the check is worth no points, `-` when it was not evaluated."""
    if not check.max_points:
        return ""
    if check.status in ("unjudged", "error"):
        return f"- of {check.max_points:g}"
    return f"{check.points:g} of {check.max_points:g}"


def score_line(grade: Grade, width: int = 80) -> Text:
    """Show the score and which checks were not evaluated."""
    score = grade.score
    if score.status == "incomplete":
        what = "incomplete: system error (not your submission); no points are lost. Grade it again."
        return Text("\n".join(wrap(what, width)), "bold magenta")
    line = f"score {score.points:g} of {score.judged_max:g}"
    left = [c for c in grade.checks if c.status == "unjudged" and c.max_points]
    if left:
        names = " and ".join(f"{printable(c.name)} ({c.max_points:g} points)" for c in left)
        line += f"; not evaluated here: {names}"
    style = "bold green" if score.points == score.judged_max else "bold"
    return Text("\n".join(wrap(line, width)), style)


def measurement_text(checks: tuple[Result, ...], width: int = 80) -> list[Text]:
    """List each check's measurements in one paragraph."""
    lines = []
    for check in (c for c in checks if c.measurements):
        if check.name == "profile":
            lines += profile_lines(check.measurements, width)
            continue
        case = f" on {printable(check.measured_on)}" if check.measured_on else ""
        if "speedup" in check.measurements:
            values = "; ".join(speed_lines(check.measurements))
        else:
            values = ", ".join(
                f"{printable(n)} {format_number(v)}" for n, v in check.measurements.items()
            )
        lines += wrap(f"{printable(check.name)}{case}: {values}", width, "  ")
    return [Text("\n".join(lines), "dim")] if lines else []


def estimate_text(estimates: Sequence[TimeEstimate], width: int = 80) -> list[Text]:
    """State the estimated times, one paragraph for each GPU; nothing without any."""
    return [Text("\n".join(wrap(estimate_line(one), width, "  ")), "dim") for one in estimates]


def estimate_line(one: TimeEstimate) -> str:
    """State one estimated time, such as `estimate for NVIDIA H100: 0.24 to 0.31 ms, ...`."""
    scale, unit = (1e6, "us") if one.high < 1e-3 else (1e3, "ms")
    low, high = (two_digits(scale * seconds) for seconds in (one.low, one.high))
    time = f"{low} to {high} {unit}" if low != high else f"about {low} {unit}"
    speedup = ""
    if one.speedup_low is not None and one.speedup_high is not None:
        ends = f"{two_digits(one.speedup_low)} to {two_digits(one.speedup_high)}"
        speedup = f", {ends} times the baseline's speed"
    return (
        f"estimate for {printable(one.device)}: {time}{speedup}; limited by {one.limit}. Not "
        f"measured, no points: the model's median error on other kernels is {100 * one.error:.0f} %"
    )


def two_digits(value: float) -> str:
    """Return a number with two significant digits, without an exponent up to a million."""
    return f"{float(f'{value:.2g}'):g}"


def format_number(value: float) -> str:
    """Return a count with separators, or a ratio with four digits."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def run_report(kernel: str, trace: Trace, outputs: Mapping[int, str], width: int = 80) -> Text:
    """Report one launch: findings, printf output, counters, resources, files, verdict.

    Args:
        kernel: The kernel's name.
        trace: The launch.
        outputs: The file that each saved argument was written to, by the argument's index.
        width: The maximum width of a line in cells.
    """
    errors = len(trace.errors)
    warnings = sum(f.severity == "warning" for f in trace.findings)
    rows = [
        f"{printable(name):<{width - 16}} {format_number(v):>14}"
        for name, v in trace.counters.items()
    ]
    resources = {
        "registers per thread": trace.resources.registers,
        "static shared bytes per block": trace.resources.static_shared_bytes,
        "local bytes per thread": trace.resources.local_bytes,
        "theoretical occupancy": trace.resources.theoretical_occupancy,
    }
    rows += [
        f"{n:<{width - 16}} {format_number(v):>14}" for n, v in resources.items() if v is not None
    ]
    files = [
        clip(f"argument {index} saved to {printable(f)}", width) for index, f in outputs.items()
    ]
    verdict = (
        Text("clean: no findings", "bold green")
        if trace.verdict == "clean"
        else Text(
            f"{pluralize(errors, 'error')}, {pluralize(warnings, 'warning')}",
            "bold red" if errors else "bold yellow",
        )
    )
    head = Text(clip(f"{printable(kernel)}, {BACKENDS[trace.backend]}", width), "bold")
    sections = [
        head,
        *([findings_text(trace.findings, width, most=20)] if trace.findings else []),
        *([Text(_printed(trace.printed, "", width))] if trace.printed else []),
        *([Text("\n".join(clip(row, width) for row in rows))] if rows else []),
        *([Text("\n".join(files))] if files else []),
        verdict,
    ]
    return Text("\n\n").join(sections)


def _printed(text: str, where: str, width: int) -> str:
    """Show the first lines that the kernel printed, in the simulator's order of threads."""
    lines = text.splitlines()
    more = len(lines) - MAX_PRINTED_LINES
    rows = [
        clip(f"printed by the kernel{where}:", width),
        *(clip(f"    {printable(line)}", width) for line in lines[:MAX_PRINTED_LINES]),
        *([f"    and {more:,} more lines"] if more > 0 else []),
    ]
    return "\n".join(rows)


def _header(grade: Grade, width: int) -> Text:
    title = f"{printable(grade.lab)}: {printable(grade.title)}"
    tools = ", ".join(
        f"{printable(k)} {printable(v)}" for k, v in grade.provenance.toolchain.items()
    )
    who = f" by {clip(printable(grade.student), MAX_NAME_CELLS)}" if grade.student else ""
    digest = f" (sha256 {grade.submission_sha256[:12]})" if grade.submission_sha256 else ""
    where = BACKENDS.get(grade.backend, grade.backend)
    what = f"{clip(printable(grade.file), MAX_NAME_CELLS)}{who}{digest}, {where}"
    text = Text("\n".join(wrap(title, width, "  ")), "bold")
    text.append("\n" + "\n".join(wrap(what, width, "  ")), "not bold")
    if tools:
        text.append("\n" + "\n".join(wrap(tools, width, "  ")), "not bold dim")
    return text


def _cases(grade: Grade, width: int) -> Text:
    """Say how many cases pass and which fail."""
    bad = [case for case in grade.cases if case.status == "fail"]
    good = sum(case.status == "pass" for case in grade.cases)
    line = f"cases: {good} of {len(grade.cases)} pass"
    if bad:
        names = [
            printable(c.name) + (f" ({printable(c.size)})" if c.size else "")
            for c in bad[:MAX_CASES]
        ]
        names = [clip(name, MAX_NAME_CELLS) for name in names]
        names += [f"{len(bad) - MAX_CASES} more"] if len(bad) > MAX_CASES else []
        line += f"; failing: {', '.join(names)}"
    return Text("\n".join(wrap(line, width, "  ")))
