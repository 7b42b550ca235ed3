"""GFLOP/s of each rung of the ladder and of cuBLAS over the matrices' size, on a real GPU."""

from __future__ import annotations

from typing import Any

from grader.handout.canvas import DARK_BLUE, INK, RED, Figure, sheet, titled
from grader.handout.measured import CUBLAS, Measured, measured

ALT = (
    "GFLOP/s over the size n of an n x n x n product, one line for each rung of the ladder and one "
    "for cuBLAS. A list at the right names their markers, with the GFLOP/s of the largest n, the "
    "fastest first."
)
COLOURS = (RED, DARK_BLUE, "#007355", "#8A4B78")
MARKERS = "osv^DPX><"
"""Each line has a marker of its own; the colours come round again."""


def draw() -> Figure | None:
    """None where nothing was measured."""
    held = measured()
    return drawn(held) if held else None


def drawn(held: Measured) -> Figure:
    """One line a rung; the list has them in the order of the lines' right ends."""
    figure, ((axes,),) = sheet(1, 1, 4.4)
    for number, (name, rates) in enumerate(held.rungs.items()):
        style: Any = {"color": COLOURS[number % len(COLOURS)]}
        style["marker"] = MARKERS[number % len(MARKERS)]
        if name == CUBLAS:
            style = {"color": INK, "marker": "*", "linestyle": "--"}
        axes.plot(held.sizes, [r / 1e9 for r in rates], ms=4.5, lw=1.2, label=name, **style)
    axes.set_xscale("log", base=2)
    axes.set_xticks(held.sizes, [f"{n:,}" for n in held.sizes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("n")
    axes.set_ylabel("GFLOP/s")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    last = {line: held.rungs[str(line.get_label())][-1] for line in axes.get_lines()}
    best = sorted(last, key=lambda line: -last[line])
    axes.legend(
        best,
        [f"{line.get_label()}  {last[line] / 1e9:,.0f}" for line in best],
        title=f"GFLOP/s at n = {held.sizes[-1]:,}",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=8.5,
        title_fontsize=8.5,
        alignment="left",
    )
    titled(axes, f"{held.source}: float32, no tensor cores")
    return figure
