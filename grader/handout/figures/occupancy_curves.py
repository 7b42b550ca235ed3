"""Theoretical occupancy of an H100's multiprocessor over block size and shared bytes."""

from __future__ import annotations

from grader.handout.canvas import DARK_BLUE, INK, RED, Axes, Figure, sheet, titled
from grader.occupancy import theoretical_occupancy

ALT = (
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


def draw() -> Figure:
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
