"""The two backends' counters of one launch side by side."""

from __future__ import annotations

from collections.abc import Mapping

from grader.report.clean import clean, clip

COLUMN = 14


def profile_lines(measurements: Mapping[str, float], width: int = 80) -> list[str]:
    """A row a metric, from measurements "<metric> ncu" and "<metric> sim"; where the simulator
    differs from the hardware, by how much. What is 0 on both is left out; a name that is too long
    for its column has a line of its own, because its end tells loads from stores."""
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
