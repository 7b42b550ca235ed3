"""The resources check: registers, spills, shared and constant memory, occupancy."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Literal

from pydantic import Field

from grader.checks.findings import kernel_line
from grader.checks.result import CaseRun, CheckOptions, Dependency, Evidence, Verdict
from grader.compile.entries import local_memory_line
from grader.compile.program import Program
from grader.launch import Finding, Resources, Trace

SharedMemory = Literal["none", "static", "dynamic", "any"]

SHARED_COUNTERS = (
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
)
CONSTANT_LOADS = "ptx__thread_loads_mem_const.sum"
DEPENDS: Dependency | None = Dependency("output", "one")


class Options(CheckOptions):
    """Options of the resources check.

    Attributes:
        shared: the shared memory that the kernel must access ("none": must not access any; "any":
            static or dynamic; absent: not evaluated).
        max_registers: registers per thread, at most.
        max_static_shared_bytes: bytes of static shared memory per block, at most.
        no_spills: whether the kernel must not use local memory.
        constant: whether the kernel must read a `__constant__` variable.
        min_occupancy: resident warps of a multiprocessor over its maximum, 0 to 1, at the block
            size of the largest case.
    """

    shared: SharedMemory | None = None
    max_registers: int | None = Field(None, gt=0)
    max_static_shared_bytes: int | None = Field(None, ge=0)
    no_spills: bool = False
    constant: bool = False
    min_occupancy: float | None = Field(None, gt=0, le=1)


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The kernel uses the resources that the lab asks for, and no more."""
    run = evidence.largest
    if run is None or run.prepared is None:
        return Verdict("blocked", "not evaluated: no case ran")
    resources = run.trace.resources
    line = kernel_line(run, evidence.program)
    local = _local_line(run, evidence.program)
    unknown = [name for name in _required_fields(options) if getattr(resources, name) is None]
    if (options.shared is not None or options.constant) and not run.trace.counters:
        unknown.append("accesses of shared and constant memory")
    if unknown:
        return Verdict("unjudged", f"no values of {', '.join(unknown)} on this backend")
    faults = [
        finding
        for finding in (
            _check_shared(options.shared, run),
            _check_registers(options.max_registers, resources),
            _check_static_bytes(options.max_static_shared_bytes, resources),
            _check_spills(options.no_spills, resources, local),
            _check_constant(options.constant, run.trace),
            _check_occupancy(options.min_occupancy, resources, run),
        )
        if finding is not None
    ]
    return Verdict(
        status="fail" if faults else "pass",
        summary=faults[0].message if faults else _summary(resources, run),
        share=0.0 if faults else 1.0,
        findings=tuple(
            evidence.program.at(f, local or line if f.kind == "spill" else line) for f in faults
        ),
        measurements=_measurements(resources, run),
        measured_on=run.case.name,
    )


def accesses_shared_memory(trace: Trace) -> bool:
    """Return whether any shared memory was read or written."""
    return any(trace.counters.get(name, 0) > 0 for name in SHARED_COUNTERS)


def shared_memory_kind(run: CaseRun) -> SharedMemory:
    """Return which shared memory the kernel accesses; "static" if it has any static array."""
    if run.prepared is None or not accesses_shared_memory(run.trace):
        return "none"
    return "static" if run.trace.resources.static_shared_bytes else "dynamic"


def _required_fields(options: Options) -> tuple[str, ...]:
    wanted = {
        "static_shared_bytes": options.shared in ("static", "dynamic")
        or options.max_static_shared_bytes is not None,
        "registers": options.max_registers is not None,
        "local_bytes": options.no_spills,
        "theoretical_occupancy": options.min_occupancy is not None,
    }
    return tuple(name for name, needed in wanted.items() if needed)


def _check_shared(wanted: SharedMemory | None, run: CaseRun) -> Finding | None:
    used = shared_memory_kind(run)
    if wanted is None or used == wanted or (wanted == "any" and used != "none"):
        return None
    if wanted == "none":
        return _missing_feature(
            f"the kernel uses {used} shared memory; this lab allows none",
            "remove the __shared__ array",
        )
    word = "shared memory" if wanted == "any" else f"{wanted} shared memory"
    fix = {
        "dynamic": "declare `extern __shared__ float tiles[];` and use it",
        "static": "declare an array such as `__shared__ float tile[16][16];` and use it",
    }.get(wanted, "load what the block's threads share into a __shared__ array")
    if used == "none":
        declared = run.trace.resources.static_shared_bytes
        if declared:
            what = f"the kernel declares {declared} bytes of shared memory but never accesses them"
            return _missing_feature(what, fix)
        return _missing_feature(f"the kernel does not use {word}", fix)
    return _missing_feature(
        f"the kernel uses {used} shared memory; this lab requires {wanted}", fix
    )


def _missing_feature(message: str, fix: str) -> Finding:
    return Finding("missing-feature", "error", message, space="shared", hint=fix)


def _check_registers(most: int | None, resources: Resources) -> Finding | None:
    if most is None or resources.registers is None or resources.registers <= most:
        return None
    return Finding(
        "missing-feature",
        "error",
        f"{resources.registers} registers per thread; this lab allows {most}",
        hint="keep fewer values alive at once, or set __launch_bounds__",
    )


def _check_static_bytes(most: int | None, resources: Resources) -> Finding | None:
    if (
        most is None
        or resources.static_shared_bytes is None
        or resources.static_shared_bytes <= most
    ):
        return None
    return Finding(
        "missing-feature",
        "error",
        f"{resources.static_shared_bytes} bytes of static shared memory; this lab allows {most}",
        space="shared",
        hint="make the __shared__ arrays smaller, or size them at launch (extern __shared__)",
    )


def _local_line(run: CaseRun, program: Program) -> int:
    """Return the line of the launched kernel that uses local memory most, 0 without one."""
    kernel = program.kernel(run.prepared.launch.kernel) if run.prepared else None
    return local_memory_line(program.ptx, kernel.symbol, program.file) if kernel else 0


def _check_spills(unwanted: bool, resources: Resources, line: int) -> Finding | None:
    """Report local memory. Without a `line` that accesses it, ptxas spilled registers there."""
    if not unwanted or not resources.local_bytes:
        return None
    what, fix = (
        (
            "an array indexed at run time is stored there",
            "index small arrays with constants only: unroll every loop over them",
        )
        if line
        else (
            "registers are spilled there",
            "keep fewer values alive at once, or allow more registers with __launch_bounds__",
        )
    )
    message = f"{resources.local_bytes} bytes of local memory per thread: {what}"
    return Finding("spill", "error", message, space="local", hint=fix)


def _check_constant(wanted: bool, trace: Trace) -> Finding | None:
    if not wanted or trace.counters.get(CONSTANT_LOADS, 0) > 0:
        return None
    return Finding(
        "missing-feature",
        "error",
        "the kernel reads nothing from constant memory",
        space="const",
        hint="declare the values that all threads read as a __constant__ array",
    )


def _check_occupancy(least: float | None, resources: Resources, run: CaseRun) -> Finding | None:
    reached = resources.theoretical_occupancy
    if least is None or reached is None or reached >= least or run.prepared is None:
        return None
    threads = prod(run.prepared.launch.block)
    return Finding(
        "missing-feature",
        "error",
        f"theoretical occupancy {reached:.1%} with blocks of {threads} threads and "
        f"{resources.registers} registers per thread; this lab requires {least:.1%}",
        hint="choose a block size whose warps fill a multiprocessor without a remainder, and use "
        "fewer registers or less shared memory",
    )


def _measurements(resources: Resources, run: CaseRun) -> Mapping[str, float]:
    known = {
        "registers": resources.registers,
        "static_shared_bytes": resources.static_shared_bytes,
        "dynamic_shared_bytes": run.prepared.launch.shared if run.prepared else None,
        "local_bytes": resources.local_bytes,
        "theoretical_occupancy": resources.theoretical_occupancy,
    }
    return {name: float(value) for name, value in known.items() if value is not None}


def _summary(resources: Resources, run: CaseRun) -> str:
    parts = [
        f"{resources.registers} registers" if resources.registers is not None else "",
        f"{shared_memory_kind(run)} shared memory"
        if accesses_shared_memory(run.trace)
        else "no shared memory",
        f"{resources.local_bytes} bytes of local memory" if resources.local_bytes else "",
    ]
    return ", ".join(part for part in parts if part)
