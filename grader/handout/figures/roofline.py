"""The roofline of a real GPU with each lab's solution on it."""

from __future__ import annotations

from grader.handout.canvas import DARK_BLUE, INK, Figure, sheet, titled
from grader.handout.measured import Measured, measured

ALT = (
    "GFLOP/s over FLOP for each byte, both axes logarithmic. The roof rises with the memory's "
    "bandwidth up to the GPU's peak and is level from there on. Each lab's solution is a point "
    "below it, named by its marker in the list at the right."
)
LOWEST, HIGHEST = 2.0**-6, 2.0**11
MARKERS = "osv^D<>phd"


def draw() -> Figure | None:
    """None where nothing was measured."""
    held = measured()
    return drawn(held) if held else None


def drawn(held: Measured) -> Figure:
    """The roof, and a point a lab: FLOP over the bytes that must move at least."""
    figure, ((axes,),) = sheet(1, 1, 4.0)
    ridge = held.flop_rate / held.bandwidth
    x = (LOWEST, ridge, HIGHEST)
    roof = [min(held.flop_rate, held.bandwidth * intensity) / 1e9 for intensity in x]
    axes.loglog(x, roof, color=INK, linewidth=1.8)
    for marker, (name, work) in zip(MARKERS, held.labs.items(), strict=False):
        at = work.flop / work.bytes, work.flop / work.seconds / 1e9
        axes.plot(*at, marker, color=DARK_BLUE, fillstyle="none", ms=8, label=name)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8.5)
    axes.set_xlabel("FLOP for each byte that must move")
    axes.set_ylabel("GFLOP/s")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    titled(axes, f"{held.source}: level from {ridge:.0f} FLOP/B on")
    return figure
