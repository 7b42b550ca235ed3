"""GFLOP/s of each rung of the ladder and of cuBLAS over the matrices' size, on a real GPU."""

from __future__ import annotations

from grader.handout.canvas import DARK_BLUE, INK, RED, Figure, sheet, titled
from grader.handout.measured import Measured, measured

ALT = (
    "GFLOP/s over the size n of an n x n x n product, both axes logarithmic, one line for each "
    "rung of the ladder and one for cuBLAS, named by their markers in the list at the right."
)
COLOURS = (RED, DARK_BLUE, "#007355", "#8A4B78")
MARKERS = "osv^DPXph"
"""Each line has a marker of its own; the colours come round again."""


def draw() -> Figure | None:
    """None where nothing was measured."""
    held = measured()
    return drawn(held) if held else None


def drawn(held: Measured) -> Figure:
    """One line a rung."""
    figure, ((axes,),) = sheet(1, 1, 4.2)
    for number, (name, rates) in enumerate(held.rungs.items()):
        style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        if name == "cuBLAS":
            style = {"color": INK, "marker": "*", "linestyle": "--"}
        axes.loglog(held.sizes, [r / 1e9 for r in rates], ms=4.5, lw=1.2, label=name, **style)
    axes.set_xticks(held.sizes, [f"{n:,}" for n in held.sizes])
    axes.minorticks_off()
    axes.set_xlabel("n")
    axes.set_ylabel("GFLOP/s")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8.5)
    titled(axes, held.source)
    return figure
