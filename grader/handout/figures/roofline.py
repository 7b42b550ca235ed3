"""The roofline of a real GPU with each lab's solution and the ladder's rungs on it."""

from __future__ import annotations

from typing import Any

from grader.handout.canvas import DARK_BLUE, INK, RED, Axes, Figure, sheet, titled
from grader.handout.measured import CUBLAS, Measured, measured

ALT = (
    "GFLOP/s over FLOP for each byte, both axes logarithmic. The roof rises with the memory's "
    "bandwidth up to the GPU's peak and is level from there on. Each lab's solution is a point "
    "below it, named by its marker in the list at the right; dots above each other are the rungs "
    "of the ladder, the highest of them near the roof."
)
LEFT, RIGHT = 0.25, 4096.0
"""FLOP for each byte at the ends of the roof, unless a lab lies further out."""

MARKERS = "osv^D<>phd"


def draw() -> Figure | None:
    """None where nothing was measured."""
    held = measured()
    return drawn(held) if held else None


def drawn(held: Measured) -> Figure:
    """The roof, a point a lab over the bytes that must move at least, and a dot a rung."""
    figure, ((axes,),) = sheet(1, 1, 4.0)
    _roof(axes, held)
    for marker, (name, work) in zip(MARKERS, held.labs.items(), strict=False):
        at = work.flop / work.bytes, work.flop / work.seconds / 1e9
        axes.plot(*at, marker, color=DARK_BLUE, fillstyle="none", ms=8, label=name)
    n = held.sizes[-1]
    rates = [rates[-1] / 1e9 for name, rates in held.rungs.items() if name != CUBLAS]
    rungs = f"the ladder's rungs,\nn = {n:,}"
    axes.plot([intensity(n)] * len(rates), rates, ".", color=RED, ms=5, label=rungs)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8.5)
    axes.set_ylim(top=2 * held.flop_rate / 1e9)
    axes.set_xlabel("FLOP for each byte that must move")
    axes.set_ylabel("GFLOP/s")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.10g}")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    ridge = held.flop_rate / held.bandwidth
    titled(axes, f"{held.source}: level from {ridge:.0f} FLOP/B on")
    return figure


def intensity(n: int) -> float:
    """FLOP for each byte of an n x n x n product of floats, each matrix moved once."""
    return 2 * n**3 / (3 * 4 * n**2)


def _roof(axes: Axes, held: Measured) -> None:
    """The line, with the rate of the memory along its slope and the GPU's above its level."""
    left = min(LEFT, *(work.flop / work.bytes / 2 for work in held.labs.values()))
    ridge = held.flop_rate / held.bandwidth
    x = (left, ridge, RIGHT)
    roof = [min(held.flop_rate, held.bandwidth * at) / 1e9 for at in x]
    axes.loglog(x, roof, color=INK, linewidth=1.8)
    told: Any = {"fontsize": 8.5, "color": INK, "va": "bottom"}
    peak = f"{held.flop_rate / 1e12:.1f} TFLOP/s"
    axes.text(RIGHT, roof[2] * 1.08, peak, ha="right", **told)
    middle = (left * ridge) ** 0.5
    copies = f"{held.bandwidth / 1e9:,.0f} GB/s"
    axes.text(middle, middle * held.bandwidth / 1e9 * 1.1, copies, ha="right", **told)
