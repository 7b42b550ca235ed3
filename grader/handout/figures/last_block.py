"""The last block of vector-add's 1000 elements: which of its 256 threads touch anything."""

from __future__ import annotations

from grader.explain.touches import touches
from grader.handout.canvas import BLUE, Figure, cells, sheet, titled
from grader.handout.kernels import numbers, ran, solution, whole
from grader.launch import Argument, Array, Launch

ALT = (
    "The 256 threads of block 3 as 8 warps of 32. Threads 0 to 231 work, on elements 768 to "
    "999; the last 24 threads, all of them in warp 7, touch nothing."
)
ELEMENTS, THREADS, WARP = 1000, 256, 32


def arguments(n: int) -> tuple[Argument, ...]:
    """Two vectors of n floats and one for their sum."""
    return (
        Array("a", (n,), "float32", numbers(n)),
        Array("b", (n,), "float32", numbers(n)),
        Array("c", (n,), "float32", None, True),
        whole("n", n),
    )


def written() -> dict[int, int]:
    """The element of c that each thread of the last block writes, by thread."""
    blocks = -(-ELEMENTS // THREADS)
    launch = Launch("vector_add", (blocks, 1, 1), (THREADS, 1, 1), arguments(ELEMENTS))
    seen = touches(ran(solution("vector-add"), launch))
    last = (blocks - 1, 0, 0)
    return {t.thread[0]: t.number for t in seen if t.variable == "c" and t.block == last}


def draw() -> Figure:
    """One cell a thread, a row a warp, with the element it works on in three of them."""
    figure, ((axes,),) = sheet(1, 1, 1.75)
    elements = written()
    idle = frozenset(divmod(t, WARP) for t in range(THREADS) if t not in elements)
    fills = {divmod(t, WARP): BLUE for t in elements}
    cells(axes, THREADS // WARP, WARP, fills, {}, hatched=idle)
    for warp in range(THREADS // WARP):
        axes.text(-0.3, warp + 0.5, f"warp {warp}", ha="right", va="center", fontsize=8)
        first = elements[warp * WARP]
        axes.text(WARP + 0.3, warp + 0.5, f"c[{first}] on", ha="left", va="center", fontsize=8)
    axes.set_xlim(-3.6, WARP + 4.6)
    titled(
        axes,
        f"block 3 of n = {ELEMENTS}: {len(elements)} threads have an element,"
        f" {len(idle)} (hatched) have none",
    )
    return figure
