"""Atomics on global memory of the two histograms, as the number of elements grows."""

from __future__ import annotations

import numpy as np

from grader.handout.canvas import DARK_BLUE, RED, Figure, sheet, titled
from grader.handout.kernels import baseline, ran, solution, whole
from grader.launch import Array, Launch

ALT = (
    "Atomic operations on global memory over the number of elements, both axes logarithmic, for "
    "4 blocks of 256 threads. Without private bins there is one for each element. With private "
    "bins there are at most 4 x 256 = 1,024, however many elements there are."
)
BLOCKS, THREADS, BINS = 4, 256, 256
SIZES = (256, 1024, 4096, 16384, 65536)
COUNTER = "ptx__thread_atomics_mem_global.sum"


def atomics(source: str, n: int) -> float:
    """Atomics on global memory that one launch makes on n bytes drawn from all 256 values."""
    data = np.random.default_rng(1).integers(0, BINS, n, np.uint8)
    args = (
        Array("data", data.shape, "uint8", data),
        Array("bins", (BINS,), "uint32", np.zeros(BINS, np.uint32), True),
        whole("n", n),
    )
    launch = Launch("histogram", (BLOCKS, 1, 1), (THREADS, 1, 1), args)
    return ran(source, launch, table=False).counters[COUNTER]


def draw() -> Figure:
    """Two lines, named where they end."""
    figure, ((axes,),) = sheet(1, 1, 3.0)
    rows = (
        ("every element to the global bins", baseline("histogram"), RED, "o-"),
        ("private bins in shared memory", solution("histogram"), DARK_BLUE, "s--"),
    )
    for name, source, color, line in rows:
        axes.loglog(SIZES, [atomics(source, n) for n in SIZES], line, color=color, label=name)
    axes.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
    axes.minorticks_off()
    axes.set_xlabel("elements")
    axes.set_ylabel("atomics on global memory")
    axes.legend(frameon=False)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    titled(axes, f"{BLOCKS} blocks of {THREADS} threads, {BINS} bins")
    return figure
