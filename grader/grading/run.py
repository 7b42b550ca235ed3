"""Runs a program's launches on one of the two backends: the same call, the same Trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from grader.compile.launch_limits import launch_error
from grader.compile.program import Program
from grader.faults import MachineFault
from grader.gpu.devices import alike, lacking
from grader.gpu.launches import run_launches
from grader.gpu.nvcc import as_built
from grader.gpu.process import facts_of
from grader.gpu.timing import build_to_time, time_kernel
from grader.launch import Array, Finding, Launch, Trace
from grader.sandbox.call import Limits, SandboxFailure, run_sandboxed
from grader.sandbox.launches import pack_launches
from grader.simulator.exchange import (
    MAX_BYTES,
    MAX_STATIC,
    pack_program,
    static_bytes,
    too_large,
    unpack_traces,
)

__all__ = ["build_to_time", "built_for", "run_all", "simulator_memory", "time_kernel"]

SHADOW = 40
"""Bytes of simulator memory for each byte of an array, at most: shadow cells, copies, results."""


def built_for(on: Literal["sim", "gpu"], program: Program) -> Program:
    """The program as the backend `on` runs it: on a GPU the simulator has to watch what nvcc made.

    Raises StudentFault when nvcc refuses it, MachineFault when the machine lacks something.
    """
    if on == "sim":
        return program
    if (missing := lacking()) is not None:
        raise missing
    return as_built(program, facts_of(alike()[0]).architecture)


def run_all(
    program: Program,
    launches: Sequence[Launch],
    *,
    on: Literal["sim", "gpu"] = "sim",
    threads: int | None = None,
    limit: float = 20.0,
    steps: int = 0,
    schedules: int = 0,
    table: bool = False,
    sample: int = 0,
) -> tuple[Trace, ...]:
    """One trace a launch, in order; all launches of an attempt share one confined child.

    `limit` is in seconds of wall clock a launch. The rest is the simulator's: `threads` (None: all
    cores), `steps`, warp instructions a block (0: the default), `schedules`, how many other legal
    orders of blocks and warps it tries, `table`, which asks for every access, and `sample`, which
    runs only so many blocks of a launch too large to run whole, for the findings that a few blocks
    can show. A child that a launch kills is a finding of that attempt. Raises MachineFault and
    LabFault, on a GPU StudentFault too: nvcc compiles the program there.
    """
    if not launches:
        return ()
    if on == "gpu":
        return run_launches(program, launches, limit)
    rows, arrays = pack_launches([_bare(program, launch) for launch in launches])
    cores = threads or os.cpu_count() or 1
    request = {
        "program": pack_program(program),
        "launches": rows,
        "limit": limit,
        "steps": steps,
        "threads": cores,
        "schedules": schedules,
        "table": table,
        "sample": sample,
    }
    wall = (limit * 2 + 5) * len(launches) + 10
    limits = Limits(
        wall=wall, cpu=wall * cores, memory=simulator_memory(launches, program.ptx), output=1 << 30
    )
    try:
        reply = run_sandboxed("grader.simulator.simulate:run", request, arrays, limits=limits)
    except SandboxFailure as death:
        return tuple(_dead(death) for _ in launches)
    return unpack_traces(reply.value, reply.arrays)


def _bare(program: Program, launch: Launch) -> Launch:
    """A launch that will be refused takes no arrays along."""
    kernel = program.kernel(launch.kernel)
    if kernel is None or (launch_error(launch, kernel) or too_large(launch)) is None:
        return launch
    args = tuple(
        Array(a.name, a.shape, a.dtype) if isinstance(a, Array) else a for a in launch.args
    )
    return Launch(launch.kernel, launch.grid, launch.block, args, launch.shared, name=launch.name)


def simulator_memory(launches: Sequence[Launch], ptx: str = "") -> int:
    """Address space for the child, in bytes."""
    sizes = [sum(a.nbytes for a in launch.args if isinstance(a, Array)) for launch in launches]
    static = min(static_bytes(ptx), MAX_STATIC)
    most = min(max(sizes), MAX_BYTES) + static
    return (2 << 30) + SHADOW * most + 2 * min(sum(sizes), MAX_BYTES)


def _dead(death: SandboxFailure) -> Trace:
    """The trace of launches that took the simulator with them. More memory than was granted for
    all arrays and variables is asked for again in every attempt, so it is no machine's fault.
    """
    if death.reason == "timeout":
        found = Finding("timeout", "error", "the simulation was ended: its time was up")
        return Trace("sim", (found,), ended=False)
    if death.reason == "memory" and death.own:
        message = "the simulation was ended: the kernel takes more memory than can be simulated"
        hint = "use smaller local arrays, fewer allocations, or run it on a GPU"
        return Trace("sim", (Finding("launch-failure", "error", message, hint=hint),), ended=False)
    raise MachineFault(f"the simulator's process died: {death.reason}", fix=death.detail) from death
