"""What a GPU can do at best, measured with kernels of our own: the roofline of a report."""

from __future__ import annotations

from statistics import median
from typing import Any

from grader.gpu.session import allocated

COPIED = 256 << 20
"""Bytes that the copy kernel reads, and writes; several times any L2 cache."""

ROUNDS, CHAINS, TURNS = 1024, 8, 16
THREADS = 256
TIMES = 7


def peaks(cuda: Any, own: Any) -> dict[str, float]:
    """Bytes copied a second, read and written both counted, and float32 operations a second of
    fused multiply-adds, two each. `own` is the module of kernels.cu."""
    return {
        "copy_bytes_per_second": 2 * COPIED / _copying(cuda, own),
        "fma_flop_per_second": _multiplying(cuda, own),
    }


def _copying(cuda: Any, own: Any) -> float:
    to, source = allocated(cuda, COPIED), allocated(cuda, COPIED)
    cuda.memset_d32(source, 1, COPIED // 4)
    copy, count = own.get_function("copy").prepare("PPI"), COPIED // 16
    blocks = (count // THREADS, 1)
    return seconds(
        cuda, lambda: copy.prepared_async_call(blocks, (THREADS, 1, 1), None, int(to),
                                               int(source), count)
    )  # fmt: skip


def _multiplying(cuda: Any, own: Any) -> float:
    processors = cuda.Device(0).get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
    out, blocks = allocated(cuda, 4 * THREADS), (8 * processors, 1)
    chains = own.get_function("multiply_add").prepare("PffI")
    took = seconds(
        cuda, lambda: chains.prepared_async_call(blocks, (THREADS, 1, 1), None, int(out), 0.999,
                                                 0.001, ROUNDS)
    )  # fmt: skip
    return float(2 * blocks[0] * THREADS * ROUNDS * CHAINS * TURNS) / took


def seconds(cuda: Any, launch: Any) -> float:
    """The median time of a launch by CUDA's events, the first one not counted."""
    times = []
    for _ in range(TIMES + 1):
        start, stop = cuda.Event(), cuda.Event()
        start.record()
        launch()
        stop.record()
        stop.synchronize()
        times.append(float(start.time_till(stop)) * 1e-3)
    return median(times[1:])
