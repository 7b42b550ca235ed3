"""A warp reads a column of a 32 x 32 tile, and of one padded to 33 floats a row."""

from __future__ import annotations

from collections import Counter

from matplotlib.patches import Rectangle

from grader.explain.touches import touches
from grader.handout.canvas import DARK_BLUE, RED, Axes, Figure, lined, sheet, titled
from grader.handout.kernels import KERNELS, numbers, own, ran, with_constants
from grader.launch import Array, Launch

ALT = (
    "The 32 banks of shared memory as columns and the 32 rows of a tile as rows. Without "
    "padding the 32 elements of the tile's first column all lie in bank 0 and take 32 passes. "
    "With 33 floats a row element r lies in bank r, and one pass does."
)
BANKS = 32
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"


def column(wide: int) -> tuple[dict[int, int], int]:
    """The bank that each thread reads from, by thread, and the passes that the counter tells."""
    x = numbers(32, 32)
    args = (Array("x", x.shape, "float32", x), Array("y", (32,), "float32", None, True))
    source = with_constants(own("banks"), KERNELS / "banks.cu", {"WIDE": wide})
    trace = ran(source, Launch("column", (1, 1, 1), (32, 1, 1), args))
    reads = [t for t in touches(trace) if t.space == "shared" and t.access == "read"]
    return {t.thread[0]: t.number % BANKS for t in reads}, int(trace.counters[WAVEFRONTS])


def draw() -> Figure:
    """Two panels: the bank of each thread's element."""
    figure, (row,) = sheet(1, 2, 3.7)
    for panel, wide in zip(row, (32, 33), strict=True):
        banks, passes = column(wide)
        _panel(panel, banks)
        titled(panel, f"tile[32][{wide}], first column: {passes} pass{'es' * (passes > 1)}")
    return figure


def _panel(axes: Axes, banks: dict[int, int]) -> None:
    crowded = {bank for bank, held in Counter(banks.values()).items() if held > 1}
    for thread, bank in banks.items():
        color = RED if bank in crowded else DARK_BLUE
        axes.add_patch(Rectangle((bank, thread), 1, 1, facecolor=color))
    lined(axes, 32, BANKS)
    axes.set_xlim(-0.1, BANKS + 0.1)
    axes.set_ylim(32.1, -0.1)
    axes.set_aspect("equal")
    ticks = range(0, 32, 8)
    axes.set_xticks([n + 0.5 for n in ticks], [str(n) for n in ticks])
    axes.set_yticks([n + 0.5 for n in ticks], [str(n) for n in ticks])
    axes.tick_params(length=0, labelsize=8)
    axes.set_xlabel("bank", fontsize=8.5)
    axes.set_ylabel("thread: row of the tile", fontsize=8.5)
