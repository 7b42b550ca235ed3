"""Figures of performance.

- `gflops`: GFLOP/s of each rung of the ladder and of cuBLAS over the matrix size, on a GPU.
- `roofline`: the roofline of a GPU, with each lab's solution and the ladder's rungs.
- `occupancy_curves`: theoretical occupancy of an H100 over block size and shared memory.

The first two need `handouts/data/ladder.json`; their functions return None without it.
"""

from __future__ import annotations

from typing import Any

from grader.authoring.handouts.figures import DARK_BLUE, INK, RED, Axes, Figure, sheet, titled
from grader.authoring.handouts.runs import CUBLAS, Measured, read_measured
from grader.compile.launch_limits import theoretical_occupancy

GFLOPS_ALT = (
    "GFLOP/s over the size n of an n x n x n product, one line for each rung of the ladder and one "
    "for cuBLAS. A list at the right names their markers, with the GFLOP/s of the largest n, the "
    "fastest first."
)
RUNG_COLORS = (RED, DARK_BLUE, "#007355", "#8A4B78")
RUNG_MARKERS = "osv^DPX><"
"""Each line has its own marker; the colors repeat."""


def draw_gflops() -> Figure | None:
    """Draw the GFLOP/s of the ladder; None without measurements."""
    data = read_measured()
    return plot_gflops(data) if data else None


def plot_gflops(data: Measured) -> Figure:
    """Plot one line for each rung; the legend lists the fastest first."""
    figure, ((axes,),) = sheet(1, 1, 4.4)
    for number, (name, rates) in enumerate(data.rungs.items()):
        style: Any = {"color": RUNG_COLORS[number % len(RUNG_COLORS)]}
        style["marker"] = RUNG_MARKERS[number % len(RUNG_MARKERS)]
        if name == CUBLAS:
            style = {"color": INK, "marker": "*", "linestyle": "--"}
        axes.plot(data.sizes, [r / 1e9 for r in rates], ms=4.5, lw=1.2, label=name, **style)
    axes.set_xscale("log", base=2)
    axes.set_xticks(data.sizes, [f"{n:,}" for n in data.sizes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("n")
    axes.set_ylabel("GFLOP/s")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    last = {line: data.rungs[str(line.get_label())][-1] for line in axes.get_lines()}
    best = sorted(last, key=lambda line: -last[line])
    axes.legend(
        best,
        [f"{line.get_label()}  {last[line] / 1e9:,.0f}" for line in best],
        title=f"GFLOP/s at n = {data.sizes[-1]:,}",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=8.5,
        title_fontsize=8.5,
        alignment="left",
    )
    titled(axes, f"{data.source}: float32, no tensor cores")
    return figure


ROOFLINE_ALT = (
    "GFLOP/s over FLOP for each byte, both axes logarithmic. The roof rises with the memory's "
    "bandwidth up to the GPU's peak and is level from there on. Each lab's solution is a point "
    "below it, named by its marker in the list at the right; dots above each other are the rungs "
    "of the ladder, the highest of them near the roof."
)
ROOF_LEFT, ROOF_RIGHT = 0.25, 4096.0
"""FLOP per byte at the ends of the roof; a lab with a lower intensity moves the left end."""

LAB_MARKERS = "osv^D<>phd"


def draw_roofline() -> Figure | None:
    """Draw the roofline; None without measurements."""
    data = read_measured()
    return plot_roofline(data) if data else None


def plot_roofline(data: Measured) -> Figure:
    """Plot the roof, one point for each lab, and one dot for each rung.

    The intensity of a lab counts only the bytes that must move at least once.
    """
    figure, ((axes,),) = sheet(1, 1, 4.0)
    _plot_roof(axes, data)
    for marker, (name, work) in zip(LAB_MARKERS, data.labs.items(), strict=False):
        at = work.flop / work.bytes, work.flop / work.seconds / 1e9
        axes.plot(*at, marker, color=DARK_BLUE, fillstyle="none", ms=8, label=name)
    n = data.sizes[-1]
    rates = [rates[-1] / 1e9 for name, rates in data.rungs.items() if name != CUBLAS]
    rungs = f"the ladder's rungs,\nn = {n:,}"
    axes.plot([arithmetic_intensity(n)] * len(rates), rates, ".", color=RED, ms=5, label=rungs)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8.5)
    axes.set_ylim(top=2 * data.flop_rate / 1e9)
    axes.set_xlabel("FLOP for each byte that must move")
    axes.set_ylabel("GFLOP/s")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.10g}")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    ridge = data.flop_rate / data.bandwidth
    titled(axes, f"{data.source}: level from {ridge:.0f} FLOP/B on")
    return figure


def arithmetic_intensity(n: int) -> float:
    """Return the FLOP per byte of an n x n x n product of floats, each matrix moved once."""
    return 2 * n**3 / (3 * 4 * n**2)


def _plot_roof(axes: Axes, data: Measured) -> None:
    """Plot the roof, with the memory bandwidth along its slope and the peak above its level."""
    left = min(ROOF_LEFT, *(work.flop / work.bytes / 2 for work in data.labs.values()))
    ridge = data.flop_rate / data.bandwidth
    x = (left, ridge, ROOF_RIGHT)
    roof = [min(data.flop_rate, data.bandwidth * at) / 1e9 for at in x]
    axes.loglog(x, roof, color=INK, linewidth=1.8)
    style: Any = {"fontsize": 8.5, "color": INK, "va": "bottom"}
    peak = f"{data.flop_rate / 1e12:.1f} TFLOP/s"
    axes.text(ROOF_RIGHT, roof[2] * 1.08, peak, ha="right", **style)
    middle = (left * ridge) ** 0.5
    bandwidth = f"{data.bandwidth / 1e9:,.0f} GB/s"
    axes.text(middle, middle * data.bandwidth / 1e9 * 1.1, bandwidth, ha="right", **style)


OCCUPANCY_CURVES_ALT = (
    "Two diagrams of theoretical occupancy for compute capability 9.0. Left, over threads a "
    "block from 32 to 1024: with 32 registers a thread it is 50 % at 32 threads, and 100 % at "
    "64, 128, 256, 512 and 1024 with dips between; with 64 registers at most 50 %; with 128 at "
    "most 25 %. Right, over shared kilobytes a block: stairs that fall, and the sooner the "
    "smaller the block."
)
COMPUTE_CAPABILITY = (9, 0)
KIB = 1024


def occupancy_by_threads(registers: int) -> list[tuple[int, float]]:
    """Return (threads per block, occupancy in percent) for every whole number of warps."""
    return [(t, _occupancy_percent(t, registers, 0)) for t in range(32, 1025, 32)]


def occupancy_by_shared(threads: int) -> list[tuple[float, float]]:
    """Return (shared KiB per block, occupancy in percent), up to the limit of 227 KiB per block."""
    return [(k, _occupancy_percent(threads, 32, k * KIB)) for k in range(228)]


def draw_occupancy_curves() -> Figure:
    """Draw the occupancy over the block size at the left, over shared memory at the right."""
    figure, (row,) = sheet(1, 2, 3.5, sharey=True)
    for registers, color, line in ((32, DARK_BLUE, "o-"), (64, RED, "s-"), (128, INK, "^-")):
        x, y = zip(*occupancy_by_threads(registers), strict=True)
        row[0].plot(x, y, line, color=color, markersize=3, linewidth=0.8, label=f"{registers}")
    row[0].set_xlabel("threads a block")
    row[0].set_ylabel("occupancy, %")
    row[0].set_xticks([32, 256, 512, 768, 1024])
    for threads, color, style in ((1024, INK, "-"), (256, DARK_BLUE, "--"), (64, RED, ":")):
        x, y = zip(*occupancy_by_shared(threads), strict=True)
        row[1].step(x, y, style, where="post", color=color, linewidth=1.4, label=f"{threads}")
    row[1].set_xlabel("shared KiB a block")
    _style_axes(row)
    _add_legend(row[0], "registers a thread")
    _add_legend(row[1], "threads a block")
    titled(row[0], "no shared memory")
    titled(row[1], "32 registers a thread")
    return figure


def _style_axes(row: list[Axes]) -> None:
    for axes in row:
        axes.set_ylim(0, 104)
        axes.grid(color="#DDDDDD", linewidth=0.6)


def _add_legend(axes: Axes, title: str) -> None:
    """Put the legend below the diagram, where it hides no curve."""
    axes.legend(
        title=title,
        ncols=3,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        frameon=False,
        fontsize=8,
        title_fontsize=8,
    )


def _occupancy_percent(threads: int, registers: int, shared: int) -> float:
    occupancy = theoretical_occupancy(COMPUTE_CAPABILITY, threads, registers, shared)
    assert occupancy is not None
    return 100 * occupancy
