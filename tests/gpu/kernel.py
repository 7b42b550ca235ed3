"""Kernels of tests/ launched the plain way, for tools that watch a process: ncu, compute-sanitizer.

    python -m tests.gpu.kernel debug|ptx FILE.cu...

The PTX that runs is the very PTX that the simulator runs. Buffers have exactly their own size.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.source import compile_source
from grader.faults import Fault
from grader.gpu.session import kernel_arguments
from grader.launch import Array, Launch
from tests.fuzz.corpus import read

SECONDS = 10.0
HUNG = 9
DIED = 8
ANNOUNCED = "@@ "


def launched(cuda: Any, ptx: str, symbol: str, launch: Launch) -> dict[int, NDArray[Any]]:
    """Every array argument after the launch, in the current context. Ends the process when the
    kernel does not end.
    """
    function = cuda.module_from_buffer(ptx.encode() + b"\0").get_function(symbol)
    memory = {
        k: allocated(cuda, array) for k, array in enumerate(launch.args) if isinstance(array, Array)
    }
    arguments = kernel_arguments(launch, {k: int(held) for k, held in memory.items()})
    function(*arguments, block=launch.block, grid=launch.grid, shared=launch.shared)
    wait(cuda)
    return {k: fetched(cuda, memory[k], launch.args[k]) for k in memory}


def allocated(cuda: Any, array: Array) -> Any:
    count = int(np.prod(array.shape)) * np.dtype(array.dtype).itemsize
    memory = cuda.mem_alloc(max(count, 1))
    if array.data is not None:
        held = np.ascontiguousarray(array.data, array.dtype)
        given = held.size if array.initialized is None else int(array.initialized.sum())
        cuda.memcpy_htod(memory, held.reshape(-1)[:given])
    return memory


def fetched(cuda: Any, memory: Any, array: Any) -> NDArray[Any]:
    held = np.empty(array.shape, array.dtype)
    cuda.memcpy_dtoh(held, memory)
    return held


def wait(cuda: Any) -> None:
    event, deadline = cuda.Event(), time.monotonic() + SECONDS
    event.record()
    while not event.query():
        if time.monotonic() > deadline:
            print("the kernel does not end", flush=True)
            os._exit(HUNG)
        time.sleep(1e-3)
    cuda.Context.synchronize()


def compiled(path: Path, variant: str) -> Mapping[str, str]:
    """The PTX of a kernel's file, and its symbol there."""
    source = path.read_text()
    program = compile_source(source.encode(), f"{path.parent.name}--{path.name}")
    kernel = program.kernel(read(source).kernel)
    assert kernel is not None
    return {
        "ptx": program.debug_ptx if variant == "debug" else program.ptx,
        "symbol": kernel.symbol,
    }


def name_of(path: Path) -> str:
    """A kernel's name below tests/watch: "race/global_raw"."""
    return f"{path.parent.name}/{path.stem}"


def main(variant: str, *files: str) -> None:
    """Launch each file's kernel once, its name announced; one that does not compile is left out.

    The file's folder is part of the name that its PTX carries, for a tool's reports.
    """
    made = []
    for path in map(Path, files):
        try:
            made.append((path, compiled(path, variant)))
        except Fault as fault:
            print(f"{path} does not compile: {fault.what}")
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).make_context()
    try:
        for path, program in made:
            print(f"{ANNOUNCED}{name_of(path)}", flush=True)
            started(cuda, program, read(path.read_text()).launch())
    finally:
        context.pop()


def started(cuda: Any, program: Mapping[str, str], launch: Launch) -> None:
    """Launch; a launch that CUDA refuses is no end, a context that died is."""
    try:
        launched(cuda, program["ptx"], program["symbol"], launch)
    except cuda.Error as error:
        print(f"CUDA says: {error}", flush=True)
        try:
            cuda.Context.synchronize()
        except cuda.Error:
            os._exit(DIED)


if __name__ == "__main__":
    main(*sys.argv[1:])
