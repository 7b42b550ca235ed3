"""Run a program's launches on one of the two backends, which return the same Traces.

What only a GPU needs is imported where it is used: most runs need the simulator alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Literal

from grader import replace
from grader.checks.speed import Options
from grader.checks.suite import plan
from grader.compile.launch_limits import launch_error
from grader.compile.program import Program
from grader.faults import MachineFault
from grader.gpu.devices import missing_requirement, same_model_devices
from grader.gpu.speedup import Timing
from grader.labs.model import Lab
from grader.launch import Array, Finding, Launch, Trace, WorkMeasure, pack_launches
from grader.sandbox.call import KeptChild, Limits, SandboxFailure, run_sandboxed
from grader.simulator.exchange import (
    MAX_BYTES,
    MAX_STATIC,
    pack_program,
    static_bytes,
    too_large,
    too_much_static,
    unpack_traces,
)

WALL_PER_BUSY_SECOND = 3
"""Wall time that the simulator may take for each second of one core that its launches may use: a
machine with too few cores, or a process that is stopped for a while, ends no launch."""

if TYPE_CHECKING:
    from grader.gpu.process import ReadyChildren

SIMULATE = "grader.simulator.simulate:run"

BYTES_PER_ARRAY_BYTE = 40
"""Simulator memory per byte of an array, at most: shadow cells, copies, results."""

MEMORY_STEP = 256 << 20


def build_for(on: Literal["sim", "gpu"], program: Program) -> Program:
    """Return the program as the backend `on` runs it.

    For a GPU it has nvcc's PTX, so that the simulator runs the code that the GPU runs.

    Raises:
        StudentFault: nvcc does not compile the source.
        MachineFault: the GPU or a tool is missing.
    """
    if on == "sim":
        return program
    if (missing := missing_requirement()) is not None:
        raise missing
    from grader.gpu.nvcc import with_nvcc_ptx
    from grader.gpu.process import device_info

    return with_nvcc_ptx(program, device_info(same_model_devices()[0]).architecture)


@contextmanager
def ready_for(
    on: Literal["sim", "gpu"], lab: Lab, recorded: Sequence[Timing] | None
) -> Iterator[ReadyChildren | None]:
    """Lend the children that a submission needs on a GPU, which start now.

    Without a GPU, what runs on it reports that. With `recorded` timings nothing does.
    """
    ready = None
    if on == "gpu" and recorded is None:
        from grader.gpu.process import ready_children

        ready = ready_children(timed=any(isinstance(c.options, Options) for c in plan(lab)))
    with ready or nullcontext() as children:
        yield children


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
    measure: WorkMeasure = "nothing",
    kept: KeptChild | None = None,
    ready: ReadyChildren | None = None,
) -> tuple[Trace, ...]:
    """Run launches and return one trace for each, in order. They share one sandboxed child.

    A launch that kills the child gives every launch of the call a finding.

    Args:
        program: the compiled program.
        launches: the launches.
        on: the backend. The arguments from `threads` to `kept` apply to the simulator only.
        limit: seconds per launch; on the simulator, processor time of each thread.
        threads: the simulator's threads; None for all cores.
        steps: warp instructions per block; 0 for the default.
        schedules: how many other legal orders of blocks and warps to try.
        table: whether to record every access.
        sample: run only this many blocks of a launch that is too large to run whole; 0 for all.
        measure: what the simulator measures of the threads' work (grader.launch.WorkMeasure).
        kept: holds the simulator's child, which decodes a program once for several calls.
        ready: holds a child on a GPU that was started before.

    Raises:
        MachineFault: a backend fails.
        LabFault: a launch does not fit its kernel.
        StudentFault: nvcc does not compile the source (on a GPU).
    """
    if not launches:
        return ()
    if on == "gpu":
        from grader.gpu.launches import run_launches

        return run_launches(program, launches, limit, ready)
    too_much_static(program.ptx)  # raises what is no fault of the submission; see the child
    rows, arrays = pack_launches([_without_data(program, launch) for launch in launches])
    cores = threads or os.cpu_count() or 1
    options = {"schedules": schedules, "table": table, "sample": sample, "measure": measure}
    limits = {"limit": limit, "steps": steps, "threads": cores}
    request = {"program": pack_program(program), "launches": rows, **limits, **options}
    try:
        bounds = simulator_limits(program, launches, limit, cores)
        reply = run_sandboxed(SIMULATE, request, arrays, limits=bounds, kept=kept)
    except SandboxFailure as death:
        return tuple(_trace_of_death(death) for _ in launches)
    return unpack_traces(reply.value, reply.arrays)


def simulator_limits(
    program: Program, launches: Sequence[Launch], limit: float, cores: int
) -> Limits:
    """Return the limits of the simulator's child, from the seconds that each launch may take."""
    busy = (limit * 2 + 5) * len(launches) + 10
    return Limits(
        wall=busy * WALL_PER_BUSY_SECOND,
        cpu=busy * cores,
        memory=simulator_memory(launches, program.ptx),
        output=1 << 30,
    )


def _without_data(program: Program, launch: Launch) -> Launch:
    """Drop the array data of a launch that will be rejected."""
    kernel = program.kernel(launch.kernel)
    if kernel is None or (launch_error(launch, kernel) or too_large(launch)) is None:
        return launch
    args = tuple(
        Array(a.name, a.shape, a.dtype) if isinstance(a, Array) else a for a in launch.args
    )
    return replace(launch, args=args, globals={})


def simulator_memory(launches: Sequence[Launch], ptx: str = "") -> int:
    """Return the address space of the simulator's child process, in bytes.

    It is rounded up, so that launches of about the same size can share a child.
    """
    sizes = [sum(a.nbytes for a in launch.args if isinstance(a, Array)) for launch in launches]
    static = min(static_bytes(ptx), MAX_STATIC)
    most = min(max(sizes), MAX_BYTES) + static
    needed = (2 << 30) + BYTES_PER_ARRAY_BYTE * most + 2 * min(sum(sizes), MAX_BYTES)
    return -(-needed // MEMORY_STEP) * MEMORY_STEP


def _trace_of_death(death: SandboxFailure) -> Trace:
    """Return the trace of launches that killed the simulator.

    A child that is known to have reached its limit of processor time or memory does so in every
    attempt, so that is an error of the submission. Other deaths are system errors: MachineFault.
    """
    if death.reason == "timeout" and death.caused_by_child:
        finding = Finding(
            "timeout", "error", "the simulation was stopped: it exceeded the time limit"
        )
        return Trace("sim", (finding,), ended=False)
    if death.reason == "memory" and death.caused_by_child:
        message = "the simulation was stopped: the kernel uses more memory than the simulator has"
        hint = "use smaller local arrays, fewer allocations, or run it on a GPU"
        return Trace("sim", (Finding("launch-failure", "error", message, hint=hint),), ended=False)
    raise MachineFault(f"the simulator's process died: {death.reason}", fix=death.detail) from death
