"""A grade as a text report that reads well in 80 columns, with or without colour."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO

from rich.console import Console
from rich.text import Text

from grader.checks.result import Result
from grader.checks.speed import duration
from grader.faults import pluralize
from grader.grading.record import Grade
from grader.launch import Trace
from grader.reports.clean import clean, clip, wrap
from grader.reports.finding import findings_text

# The two backends' counters of one launch side by side.

COLUMN = 14


def profile_lines(measurements: Mapping[str, float], width: int = 80) -> list[str]:
    """A row a metric, from measurements "<metric> ncu" and "<metric> sim"; where the simulator
    differs from the hardware, by how much. What is 0 on both is left out; a name that is too long
    for its column has a line of its own, because its end tells loads from stores.
    """
    metrics = dict.fromkeys(name.rpartition(" ")[0] for name in measurements)
    left = max(width - 3 * COLUMN, 16)
    rows = [f"{'counter':<{left}}{'hardware':>{COLUMN}}{'simulated':>{COLUMN}}"]
    for metric in metrics:
        ncu, sim = measurements[f"{metric} ncu"], measurements[f"{metric} sim"]
        if not ncu and not sim:
            continue
        values = "".join(f"{v:>{COLUMN}}" for v in (_number(ncu), _number(sim), _apart(ncu, sim)))
        name = clip(clean(metric), width)
        rows += [f"{name:<{left}}{values}"] if len(name) < left else [name, " " * left + values]
    return [row.rstrip() for row in rows]


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def _apart(ncu: float, sim: float) -> str:
    """Nothing when they agree to four digits, else the simulator's part above the hardware's."""
    if abs(ncu - sim) <= 1e-4 * max(abs(ncu), abs(sim)):
        return ""
    return f"{(sim - ncu) / ncu:+.1%}" if ncu else "not counted"


# How fast a kernel was, as a paragraph: the ratio with its interval, times, rates, the peaks.


def speed_lines(measured: Mapping[str, float]) -> list[str]:
    """What a speed check measured, for example

    1.523 times the baseline's speed (95 % interval 1.519 to 1.526, 400 pairs)
    1.234 ms a launch, the baseline 1.879 ms
    1,740 GFLOP/s, 2.9 % of this GPU's measured FMA peak
    """
    ends = f"{measured['speedup_low']:.3f} to {measured['speedup_high']:.3f}"
    own, baseline = (duration(measured[name]) for name in ("seconds", "baseline_seconds"))
    lines = [
        f"{measured['speedup']:.3f} times the baseline's speed (95 % interval {ends}, "
        f"{measured['pairs']:.0f} pairs)",
        f"{own} a launch, the baseline {baseline}",
        _rate(measured, "gflop_per_second", "GFLOP/s", "percent_of_fma_peak", "FMA peak"),
        _rate(measured, "gbyte_per_second", "GB/s", "percent_of_copy_bandwidth", "copy bandwidth"),
    ]
    if "percent_of_cublas" in measured:
        lines.append(f"{measured['percent_of_cublas']:.3g} % of cuBLAS' speed at this size")
    if "review" in measured:
        lines.append("for a person to look at: see the note above")
    return [line for line in lines if line]


def _rate(measured: Mapping[str, float], name: str, unit: str, share: str, peak: str) -> str:
    if name not in measured:
        return ""
    of = f", {measured[share]:.3g} % of this GPU's measured {peak}" if share in measured else ""
    return f"{_rounded(measured[name])} {unit}{of}"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


WORDS = {
    "pass": ("pass", "green"),
    "fail": ("FAIL", "bold red"),
    "blocked": ("blocked", "yellow"),
    "unjudged": ("not judged", "dim"),
    "error": ("error", "bold magenta"),
}
"""How a status is said, and its style."""

CASES = 6
NAME = 60
SUMMARY = 200
"""No file name or summary is shown at greater length, in cells."""

PRINTED_LINES = 40
"""Lines of a kernel's printf that are shown."""

BACKENDS = {"sim": "simulated on the CPU", "gpu": "run on the GPU"}


def plain(text: Text, *, color: bool = False) -> str:
    """The report as a string, with ANSI colour when asked for; lines stay as they were cut."""
    out = StringIO()
    console = Console(
        file=out,
        color_system="standard" if color else None,
        force_terminal=color,
        soft_wrap=True,
    )
    console.print(text, highlight=False, markup=False, emoji=False)
    return out.getvalue()


def grade_report(grade: Grade, width: int = 80) -> Text:
    """One grade: what was graded, the checks, what was found, the score. Lines are at most
    `width` cells wide (40 or more).
    """
    findings = [finding for check in grade.checks for finding in check.findings]
    sections = [
        _header(grade, width),
        check_table(grade.checks, width),
        *([_cases(grade, width)] if grade.cases else []),
        *([findings_text(findings, width)] if findings else []),
        *measured(grade.checks, width),
        *(
            [Text(_printed(grade.printed[1], f" in case {clean(grade.printed[0])}", width))]
            if grade.printed[1]
            else []
        ),
        score_line(grade, width),
    ]
    return Text("\n\n").join(sections)


def check_table(checks: tuple[Result, ...], width: int = 80) -> Text:
    """One row a check: its verdict, its points, what was seen."""
    names = [clip(clean(check.name), 16) for check in checks]
    left = max(len(name) for name in (*names, "check"))
    text = Text(f"{'check'.ljust(left)}  {'verdict':<10}  {'points':>12}  what was seen", "bold")
    rows = [_row(c, n, left, width) for c, n in zip(checks, names, strict=True)]
    return Text("\n").join([text, *rows])


def _row(check: Result, name: str, left: int, width: int) -> Text:
    word, style = WORDS[check.status]
    row = Text(f"{name.ljust(left)}  ")
    row.append(f"{word:<10}", style)
    row.append(f"  {points(check):>12}  ")
    edge = len(row)
    summary = wrap(clip(clean(check.summary), SUMMARY), max(width - edge, 16))
    row.append(("\n" + " " * edge).join(summary))
    return row


def points(check: Result) -> str:
    """`8 of 40`; a check that was not judged or is worth nothing has no points to show."""
    if not check.max_points:
        return ""
    if check.status in ("unjudged", "error"):
        return f"- of {check.max_points:g}"
    return f"{check.points:g} of {check.max_points:g}"


def score_line(grade: Grade, width: int = 80) -> Text:
    """The last line: the score so far, and what was not judged."""
    score = grade.score
    if score.status == "incomplete":
        what = "incomplete: this machine failed, which costs no points; grade it again"
        return Text("\n".join(wrap(what, width)), "bold magenta")
    said = f"score {score.points:g} of {score.judged_max:g}"
    left = [c for c in grade.checks if c.status == "unjudged" and c.max_points]
    if left:
        names = " and ".join(f"{clean(c.name)} ({c.max_points:g} points)" for c in left)
        said += f" judged so far; {names} not judged here"
    style = "bold green" if score.points == score.judged_max else "bold"
    return Text("\n".join(wrap(said, width)), style)


def measured(checks: tuple[Result, ...], width: int = 80) -> list[Text]:
    """One paragraph: each check's measurements."""
    lines = []
    for check in (c for c in checks if c.measurements):
        if check.name == "profile":
            lines += profile_lines(check.measurements, width)
            continue
        case = f" on {clean(check.measured_on)}" if check.measured_on else ""
        if "speedup" in check.measurements:
            values = "; ".join(speed_lines(check.measurements))
        else:
            values = ", ".join(f"{clean(n)} {number(v)}" for n, v in check.measurements.items())
        lines += wrap(f"{clean(check.name)}{case}: {values}", width, "  ")
    return [Text("\n".join(lines), "dim")] if lines else []


def number(value: float) -> str:
    """A count with separators, or four digits of a ratio."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def run_report(kernel: str, trace: Trace, outputs: Mapping[int, str], width: int = 80) -> Text:
    """What one launch of any kernel did: findings, counters, resources, files written, verdict.
    `outputs` maps an argument's index to the file that holds it.
    """
    errors = len(trace.errors)
    warnings = sum(f.severity == "warning" for f in trace.findings)
    rows = [f"{clean(name):<{width - 16}} {number(v):>14}" for name, v in trace.counters.items()]
    taken = {
        "registers a thread": trace.resources.registers,
        "static shared bytes a block": trace.resources.static_shared_bytes,
        "local bytes a thread": trace.resources.local_bytes,
        "theoretical occupancy": trace.resources.theoretical_occupancy,
    }
    rows += [f"{n:<{width - 16}} {number(v):>14}" for n, v in taken.items() if v is not None]
    files = [clip(f"argument {index} saved to {clean(f)}", width) for index, f in outputs.items()]
    clean_run = trace.verdict == "clean"
    said = (
        "clean: nothing found"
        if clean_run
        else f"{pluralize(errors, 'error')}, {pluralize(warnings, 'warning')}"
    )
    head = Text(clip(f"{clean(kernel)}, {BACKENDS[trace.backend]}", width), "bold")
    sections = [
        head,
        *([findings_text(trace.findings, width, most=20)] if trace.findings else []),
        *([Text(_printed(trace.printed, "", width))] if trace.printed else []),
        *([Text("\n".join(clip(row, width) for row in rows))] if rows else []),
        *([Text("\n".join(files))] if files else []),
        Text("clean: nothing found", "bold green") if clean_run else Text(said, "bold red"),
    ]
    return Text("\n\n").join(sections)


def _printed(text: str, where: str, width: int) -> str:
    """What the kernel printed, its first lines: blocks and threads run in the simulator's order."""
    lines = text.splitlines()
    more = len(lines) - PRINTED_LINES
    rows = [
        clip(f"printed by the kernel{where}:", width),
        *(clip(f"    {clean(line)}", width) for line in lines[:PRINTED_LINES]),
        *([f"    and {more:,} lines more"] if more > 0 else []),
    ]
    return "\n".join(rows)


def _header(grade: Grade, width: int) -> Text:
    title = f"{clean(grade.lab)}: {clean(grade.title)}"
    tools = ", ".join(f"{clean(k)} {clean(v)}" for k, v in grade.provenance.toolchain.items())
    who = f" by {clip(clean(grade.student), NAME)}" if grade.student else ""
    digest = f" (sha256 {grade.submission_sha256[:12]})" if grade.submission_sha256 else ""
    where = BACKENDS.get(grade.backend, grade.backend)
    what = f"{clip(clean(grade.file), NAME)}{who}{digest}, {where}"
    text = Text("\n".join(wrap(title, width, "  ")), "bold")
    text.append("\n" + "\n".join(wrap(what, width, "  ")), "not bold")
    if tools:
        text.append("\n" + "\n".join(wrap(tools, width, "  ")), "not bold dim")
    return text


def _cases(grade: Grade, width: int) -> Text:
    """How many cases are sound, and which are not."""
    bad = [case for case in grade.cases if case.status == "fail"]
    good = sum(case.status == "pass" for case in grade.cases)
    said = f"cases: {good} of {len(grade.cases)} without a fault"
    if bad:
        names = [clean(c.name) + (f" ({clean(c.size)})" if c.size else "") for c in bad[:CASES]]
        names = [clip(name, NAME) for name in names]
        names += [f"{len(bad) - CASES} more"] if len(bad) > CASES else []
        said += f"; at fault: {', '.join(names)}"
    return Text("\n".join(wrap(said, width, "  ")))
