"""The resources check: registers, spills and shared memory, as compiled and as used."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Literal

from pydantic import Field

from grader.checks.findings import kernel_line
from grader.checks.result import CaseRun, CheckOptions, Dependency, Evidence, Verdict
from grader.compile.entries import local_line
from grader.compile.program import Program
from grader.launch import Finding, Resources, Trace

Shared = Literal["none", "static", "dynamic", "any"]

SHARED = (
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
)
CONSTANT_LOADS = "ptx__thread_loads_mem_const.sum"
DEPENDS: Dependency | None = Dependency("output", "one")


class Options(CheckOptions):
    """`shared` is the shared memory that the kernel must really access ("none": must not, "any":
    either sort; absent: not judged). `constant`: a `__constant__` variable must really be read.
    The limits are registers a thread and bytes a block; `min_occupancy` is the resident warps of
    a multiprocessor over its most, 0 to 1, at the block size of the largest case.
    """

    shared: Shared | None = None
    max_registers: int | None = Field(None, gt=0)
    max_static_shared_bytes: int | None = Field(None, ge=0)
    no_spills: bool = False
    constant: bool = False
    min_occupancy: float | None = Field(None, gt=0, le=1)


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The kernel uses the resources that the lab asks for, and no more."""
    run = evidence.largest
    if run is None or run.prepared is None:
        return Verdict("blocked", "no case could be run")
    taken = run.trace.resources
    line = kernel_line(run, evidence.program)
    used = _local_line(run, evidence.program)
    unknown = [name for name in _needed(options) if getattr(taken, name) is None]
    if (options.shared is not None or options.constant) and not run.trace.counters:
        unknown.append("accesses of shared and constant memory")
    if unknown:
        return Verdict("unjudged", f"not known here: {', '.join(unknown)}")
    faults = [
        finding
        for finding in (
            _shared(options.shared, run),
            _registers(options.max_registers, taken),
            _static_bytes(options.max_static_shared_bytes, taken),
            _spills(options.no_spills, taken, used),
            _constant(options.constant, run.trace),
            _occupancy(options.min_occupancy, taken, run),
        )
        if finding is not None
    ]
    return Verdict(
        status="fail" if faults else "pass",
        summary=faults[0].message if faults else _taken(taken, run),
        share=0.0 if faults else 1.0,
        findings=tuple(
            evidence.program.at(f, used or line if f.kind == "spill" else line) for f in faults
        ),
        measurements=_measured(taken, run),
        measured_on=run.case.name,
    )


def accessed(trace: Trace) -> bool:
    """Whether any shared memory was read or written."""
    return any(trace.counters.get(name, 0) > 0 for name in SHARED)


def sort_of_shared(run: CaseRun) -> Shared:
    """Which shared memory the kernel accesses: a static array counts before a dynamic one."""
    if run.prepared is None or not accessed(run.trace):
        return "none"
    return "static" if run.trace.resources.static_shared_bytes else "dynamic"


def _needed(options: Options) -> tuple[str, ...]:
    wanted = {
        "static_shared_bytes": options.shared in ("static", "dynamic")
        or options.max_static_shared_bytes is not None,
        "registers": options.max_registers is not None,
        "local_bytes": options.no_spills,
        "theoretical_occupancy": options.min_occupancy is not None,
    }
    return tuple(name for name, needed in wanted.items() if needed)


def _shared(wanted: Shared | None, run: CaseRun) -> Finding | None:
    used = sort_of_shared(run)
    if wanted is None or used == wanted or (wanted == "any" and used != "none"):
        return None
    if wanted == "none":
        return _missing(
            f"it uses {used} shared memory; this lab wants none", "drop the __shared__ array"
        )
    word = "shared memory" if wanted == "any" else f"{wanted} shared memory"
    cure = {
        "dynamic": "declare `extern __shared__ float tiles[];` and use it",
        "static": "declare an array such as `__shared__ float tile[16][16];` and use it",
    }.get(wanted, "stage what the block's threads share in a __shared__ array")
    if used == "none":
        declared = run.trace.resources.static_shared_bytes
        if declared:
            what = f"the kernel declares {declared} bytes of shared memory but never accesses them"
            return _missing(what, cure)
        return _missing(f"the kernel does not use {word}", cure)
    return _missing(f"the kernel uses {used} shared memory; this lab wants {wanted}", cure)


def _missing(message: str, cure: str) -> Finding:
    return Finding("missing-feature", "error", message, space="shared", hint=cure)


def _registers(most: int | None, taken: Resources) -> Finding | None:
    if most is None or taken.registers is None or taken.registers <= most:
        return None
    return Finding(
        "missing-feature",
        "error",
        f"{taken.registers} registers a thread; at most {most} are allowed",
        hint="keep fewer values alive at once, or set __launch_bounds__",
    )


def _static_bytes(most: int | None, taken: Resources) -> Finding | None:
    if most is None or taken.static_shared_bytes is None or taken.static_shared_bytes <= most:
        return None
    return Finding(
        "missing-feature",
        "error",
        f"{taken.static_shared_bytes} bytes of static shared memory; at most {most} are allowed",
        space="shared",
        hint="make the __shared__ arrays smaller, or size them at launch (extern __shared__)",
    )


def _local_line(run: CaseRun, program: Program) -> int:
    """The line of the launched kernel that uses local memory most, 0 without one."""
    kernel = program.kernel(run.prepared.launch.kernel) if run.prepared else None
    return local_line(program.ptx, kernel.symbol, program.file) if kernel else 0


def _spills(unwanted: bool, taken: Resources, used: int) -> Finding | None:
    """`used` is the line of an access to local memory. Without one only the assembler put
    anything there: registers that it had no room for.
    """
    if not unwanted or not taken.local_bytes:
        return None
    what, cure = (
        (
            "an array that is indexed at run time lies there",
            "index small arrays with constants only: unroll every loop over them",
        )
        if used
        else (
            "registers that did not fit are kept there",
            "keep fewer values alive at once, or allow more registers with __launch_bounds__",
        )
    )
    message = f"{taken.local_bytes} bytes of local memory a thread: {what}"
    return Finding("spill", "error", message, space="local", hint=cure)


def _constant(wanted: bool, trace: Trace) -> Finding | None:
    if not wanted or trace.counters.get(CONSTANT_LOADS, 0) > 0:
        return None
    return Finding(
        "missing-feature",
        "error",
        "the kernel reads nothing from constant memory",
        space="const",
        hint="declare what all threads read alike as a __constant__ array and read it there",
    )


def _occupancy(least: float | None, taken: Resources, run: CaseRun) -> Finding | None:
    reached = taken.theoretical_occupancy
    if least is None or reached is None or reached >= least or run.prepared is None:
        return None
    threads = prod(run.prepared.launch.block)
    return Finding(
        "missing-feature",
        "error",
        f"theoretical occupancy {reached:.1%} with blocks of {threads} threads and "
        f"{taken.registers} registers a thread; at least {least:.1%} is asked for",
        hint="choose a block whose warps fill a multiprocessor without a remainder, and keep "
        "registers and shared memory below a thread's share",
    )


def _measured(taken: Resources, run: CaseRun) -> Mapping[str, float]:
    known = {
        "registers": taken.registers,
        "static_shared_bytes": taken.static_shared_bytes,
        "dynamic_shared_bytes": run.prepared.launch.shared if run.prepared else None,
        "local_bytes": taken.local_bytes,
        "theoretical_occupancy": taken.theoretical_occupancy,
    }
    return {name: float(value) for name, value in known.items() if value is not None}


def _taken(taken: Resources, run: CaseRun) -> str:
    parts = [
        f"{taken.registers} registers" if taken.registers is not None else "",
        f"{sort_of_shared(run)} shared memory" if accessed(run.trace) else "no shared memory",
        f"{taken.local_bytes} bytes spilled" if taken.local_bytes else "",
    ]
    return ", ".join(part for part in parts if part)
