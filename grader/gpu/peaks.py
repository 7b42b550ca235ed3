"""Measure what a GPU can reach: copy bandwidth, FMA rate and cuBLAS, for a report's roofline.

The copy and FMA kernels are ours (kernels.cu). cuBLAS is the CUDA toolkit's, called through ctypes
in a child process, in float32 with pedantic math, which uses no tensor cores.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from numpy.typing import NDArray

from grader.gpu.devices import Toolkit
from grader.gpu.session import allocate, context
from grader.launch import Arrays

COPY_BYTES = 256 << 20
"""Bytes that the copy kernel reads, and writes; several times any L2 cache."""

ROUNDS, CHAINS, UNROLL = 1024, 8, 16
THREADS = 256
REPEATS = 7


def measure_peaks(cuda: Any, own: Any) -> dict[str, float]:
    """Measure copied bytes per second and floating-point operations per second.

    Read and written bytes both count; a fused multiply-add counts as two operations. `own` is the
    module of kernels.cu.
    """
    return {
        "copy_bytes_per_second": 2 * COPY_BYTES / _copy_seconds(cuda, own),
        "fma_flop_per_second": _fma_rate(cuda, own),
    }


def _copy_seconds(cuda: Any, own: Any) -> float:
    to, source = allocate(cuda, COPY_BYTES), allocate(cuda, COPY_BYTES)
    cuda.memset_d32(source, 1, COPY_BYTES // 4)
    copy, count = own.get_function("copy").prepare("PPI"), COPY_BYTES // 16
    blocks = (count // THREADS, 1)
    return median_seconds(
        cuda, lambda: copy.prepared_async_call(blocks, (THREADS, 1, 1), None, int(to),
                                               int(source), count)
    )  # fmt: skip


def _fma_rate(cuda: Any, own: Any) -> float:
    processors = cuda.Device(0).get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
    out, blocks = allocate(cuda, 4 * THREADS), (8 * processors, 1)
    chains = own.get_function("multiply_add").prepare("PffI")
    took = median_seconds(
        cuda, lambda: chains.prepared_async_call(blocks, (THREADS, 1, 1), None, int(out), 0.999,
                                                 0.001, ROUNDS)
    )  # fmt: skip
    return float(2 * blocks[0] * THREADS * ROUNDS * CHAINS * UNROLL) / took


def median_seconds(cuda: Any, launch: Any, before: Callable[[], None] | None = None) -> float:
    """Return the median time of a launch in seconds by CUDA's events, without the first.

    `before` enqueues what comes before each launch and is not timed.
    """
    times = []
    for _ in range(REPEATS + 1):
        start, stop = cuda.Event(), cuda.Event()
        if before is not None:
            before()
        start.record()
        launch()
        stop.record()
        stop.synchronize()
        times.append(float(start.time_till(stop)) * 1e-3)
    return median(times[1:])


PEDANTIC_MATH = 2
NO_TRANSPOSE = 0
LIBRARIES = ("libcublasLt.so", "libcublas.so")  # the second needs the first


def cublas_libraries(tools: Toolkit) -> tuple[Path, ...]:
    """Find the toolkit's files of LIBRARIES, in that order; empty when one is missing."""
    folders = (tools.root / "lib64", *sorted(tools.root.glob("targets/*/lib")))
    for folder in folders:
        found = [sorted(folder.glob(f"{name}*"), key=lambda p: len(p.name)) for name in LIBRARIES]
        if all(found):
            return tuple(names[0].resolve() for names in found)
    return ()


def cublas_rate(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[float, Arrays]:
    """Measure cuBLAS' operations per second, 2 m n k over the time; 0 when it does not work.

    Runs in a child. The request's "sizes" are m, n and k.
    """
    import pycuda.driver as cuda

    m, n, k = request["sizes"]
    with context(cuda):
        if (opened := load_cublas(request["libraries"])) is None:
            return 0.0, {}
        held = tuple(allocate(cuda, 4 * count) for count in (m * k, k * n, m * n))
        for memory, count in zip(held, (m * k, k * n), strict=False):
            cuda.memset_d32(memory, 0x3F000001, count)  # floats a little above one half
        multiply = make_product(*opened, (m, n, k), held)
        if multiply():
            return 0.0, {}
        return 2.0 * m * n * k / median_seconds(cuda, multiply), {}


def load_cublas(paths: Sequence[str]) -> tuple[Any, Any] | None:
    """Load cuBLAS from the files of LIBRARIES and create a handle in the current context.

    None when cuBLAS does not work here.
    """
    try:
        loaded = [ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in paths]
    except OSError:
        return None
    handle = ctypes.c_void_p()
    if loaded[-1].cublasCreate_v2(ctypes.byref(handle)):
        return None
    loaded[-1].cublasSetMathMode(handle, PEDANTIC_MATH)
    return loaded[-1], handle


def make_product(
    library: Any, handle: Any, sizes: tuple[int, int, int], held: Sequence[Any]
) -> Callable[[], int]:
    """Return a function that enqueues C = A B and returns cuBLAS' status, 0 for success.

    `sizes` are m, n and k; `held` is A (m x k), B (k x n) and C (m x n) on the device, column by
    column. The product of row-major A and B is that of B and A, with n, m and k.
    """
    m, n, k = sizes
    a, b, c = (ctypes.c_void_p(int(memory)) for memory in held)
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def multiply() -> int:
        status: int = library.cublasSgemm_v2(
            handle, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, ctypes.byref(one),
            a, m, b, k, ctypes.byref(zero), c, m,
        )  # fmt: skip
        return status

    return multiply
