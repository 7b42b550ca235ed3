"""The sectors that one request of a warp moves: coalesced, misaligned, strided."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from grader.explain.touches import touches
from grader.handout.canvas import DARK_BLUE, INK, PALE, Axes, Figure, lined, sheet, titled
from grader.handout.kernels import numbers, own, ran, whole
from grader.launch import Array, Launch

ALT = (
    "Four requests of a warp of 32 threads, each shown as the 32-byte sectors that it moves, 8 "
    "floats a sector, with the floats that are used marked. x[tid]: 4 sectors, all used. x[tid "
    "+ 1]: 5 sectors, the first and the last used in part. x[2 * tid]: 8 sectors, every other "
    "float used. x[8 * tid]: 32 sectors, one float of each used."
)
FLOATS = 8
REQUESTS = ((1, 0, "x[tid]"), (1, 1, "x[tid + 1]"), (2, 0, "x[2 * tid]"), (8, 0, "x[8 * tid]"))
COUNTER = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def request(stride: int, first: int) -> tuple[frozenset[int], int]:
    """The numbers of the floats that a warp reads, and the sectors that the counter tells."""
    x = numbers(32 * stride + first)
    args = (
        Array("x", x.shape, "float32", x),
        Array("y", (32,), "float32", None, True),
        whole("stride", stride),
        whole("first", first),
    )
    trace = ran(own("strides"), Launch("read", (1, 1, 1), (32, 1, 1), args))
    read = frozenset(t.number for t in touches(trace) if t.variable == "x")
    return read, int(trace.counters[COUNTER])


def draw() -> Figure:
    """One panel a request; a column is a sector, a cell a float."""
    figure, axes = sheet(len(REQUESTS), 1, 5.0)
    for (panel,), (stride, first, text) in zip(axes, REQUESTS, strict=True):
        read, sectors = request(stride, first)
        _panel(panel, read)
        used = len(read) / (sectors * FLOATS)
        titled(panel, f"{text}: {sectors} sectors, {100 * used:g} % of the bytes moved are used")
    return figure


def _panel(axes: Axes, read: frozenset[int]) -> None:
    for sector in range(32):
        moved = any(n // FLOATS == sector for n in read)
        if moved:
            axes.add_patch(Rectangle((sector, 0), 1, FLOATS, facecolor=PALE))
            axes.add_patch(
                Rectangle((sector, 0), 1, FLOATS, fill=False, edgecolor=INK, linewidth=1.1)
            )
    for number in read:
        axes.add_patch(Rectangle(divmod(number, FLOATS), 1, 1, facecolor=DARK_BLUE))
    lined(axes, FLOATS, 32)
    axes.set_xlim(-0.1, 32.1)
    axes.set_ylim(FLOATS + 0.1, -0.1)
    axes.set_xticks([n + 0.5 for n in range(0, 32, 4)], [str(32 * n) for n in range(0, 32, 4)])
    axes.set_yticks([0.5, FLOATS - 0.5], ["0", "7"])
    axes.tick_params(length=0, labelsize=7.5)
    axes.set_xlabel("sector, by its first byte in x", fontsize=8)
    axes.set_ylabel("float in it", fontsize=8)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
