"""Figures of performance: GFLOP/s of the ladder, the roofline, occupancy."""

from __future__ import annotations

from typing import Any

from grader.authoring.handouts.canvas import DARK_BLUE, INK, RED, Axes, Figure, sheet, titled
from grader.authoring.handouts.runs import CUBLAS, Measured, measured
from grader.launch import theoretical_occupancy

# GFLOP/s of each rung of the ladder and of cuBLAS over the matrices' size, on a real GPU.

GFLOPS_ALT = (
    "GFLOP/s over the size n of an n x n x n product, one line for each rung of the ladder and one "
    "for cuBLAS. A list at the right names their markers, with the GFLOP/s of the largest n, the "
    "fastest first."
)
COLOURS = (RED, DARK_BLUE, "#007355", "#8A4B78")
MARKERS = "osv^DPX><"
"""Each line has a marker of its own; the colours come round again."""


def draw_gflops() -> Figure | None:
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


# The roofline of a real GPU with each lab's solution and the ladder's rungs on it.

ROOFLINE_ALT = (
    "GFLOP/s over FLOP for each byte, both axes logarithmic. The roof rises with the memory's "
    "bandwidth up to the GPU's peak and is level from there on. Each lab's solution is a point "
    "below it, named by its marker in the list at the right; dots above each other are the rungs "
    "of the ladder, the highest of them near the roof."
)
LEFT, RIGHT = 0.25, 4096.0
"""FLOP for each byte at the ends of the roof, unless a lab lies further out."""

ROOFLINE_MARKERS = "osv^D<>phd"


def draw_roofline() -> Figure | None:
    """None where nothing was measured."""
    held = measured()
    return roofline_drawn(held) if held else None


def roofline_drawn(held: Measured) -> Figure:
    """The roof, a point a lab over the bytes that must move at least, and a dot a rung."""
    figure, ((axes,),) = sheet(1, 1, 4.0)
    _roof(axes, held)
    for marker, (name, work) in zip(ROOFLINE_MARKERS, held.labs.items(), strict=False):
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


# Theoretical occupancy of an H100's multiprocessor over block size and shared bytes.

OCCUPANCY_CURVES_ALT = (
    "Two diagrams of theoretical occupancy for compute capability 9.0. Left, over threads a "
    "block from 32 to 1024: with 32 registers a thread it is 50 % at 32 threads, and 100 % at "
    "64, 128, 256, 512 and 1024 with dips between; with 64 registers at most 50 %; with 128 at "
    "most 25 %. Right, over shared kilobytes a block: stairs that fall, and the sooner the "
    "smaller the block."
)
HOPPER = (9, 0)
KIB = 1024


def over_threads(registers: int) -> list[tuple[int, float]]:
    """(threads a block, per cent), every whole number of warps."""
    return [(t, _per_cent(t, registers, 0)) for t in range(32, 1025, 32)]


def over_shared(threads: int) -> list[tuple[float, float]]:
    """(shared KiB a block, per cent), up to the most that a block can have, 227 KiB."""
    return [(k, _per_cent(threads, 32, k * KIB)) for k in range(228)]


def draw_occupancy_curves() -> Figure:
    """Block size at the left, shared memory at the right."""
    figure, (row,) = sheet(1, 2, 3.5, sharey=True)
    for registers, color, line in ((32, DARK_BLUE, "o-"), (64, RED, "s-"), (128, INK, "^-")):
        x, y = zip(*over_threads(registers), strict=True)
        row[0].plot(x, y, line, color=color, markersize=3, linewidth=0.8, label=f"{registers}")
    row[0].set_xlabel("threads a block")
    row[0].set_ylabel("occupancy, %")
    row[0].set_xticks([32, 256, 512, 768, 1024])
    for threads, color, style in ((1024, INK, "-"), (256, DARK_BLUE, "--"), (64, RED, ":")):
        x, y = zip(*over_shared(threads), strict=True)
        row[1].step(x, y, style, where="post", color=color, linewidth=1.4, label=f"{threads}")
    row[1].set_xlabel("shared KiB a block")
    _ruled(row)
    _named(row[0], "registers a thread")
    _named(row[1], "threads a block")
    titled(row[0], "no shared memory")
    titled(row[1], "32 registers a thread")
    return figure


def _ruled(row: list[Axes]) -> None:
    for axes in row:
        axes.set_ylim(0, 104)
        axes.grid(color="#DDDDDD", linewidth=0.6)


def _named(axes: Axes, title: str) -> None:
    """What the curves are, below the diagram, where they hide nothing."""
    axes.legend(
        title=title,
        ncols=3,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        frameon=False,
        fontsize=8,
        title_fontsize=8,
    )


def _per_cent(threads: int, registers: int, shared: int) -> float:
    occupancy = theoretical_occupancy(HOPPER, threads, registers, shared)
    assert occupancy is not None
    return 100 * occupancy
