"""The resources check: registers, spills, shared and constant memory, occupancy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, prod
from typing import Literal

from grader import dataclass, replace
from grader.checks.findings import (
    WRONG_OUTPUT,
    LimitResult,
    evaluate_cases,
    kernel_line,
    limit_stored_bytes,
    spread_work,
)
from grader.checks.result import CaseRun, Dependency, Evidence, MeasuredOptions, Verdict, limited
from grader.checks.traffic import ATOMICS, CONSTANT_LOADS, LOAD_BYTES, WORKING_THREADS, moved_bytes
from grader.compile.entries import is_constant, local_memory_line
from grader.compile.program import Program
from grader.labs.expressions import evaluate_expression
from grader.launch import Finding, Resources, Trace

SharedMemory = Literal["none", "static", "dynamic", "any"]

SHARED_COUNTERS = (
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
)
STORED_BYTES = "ptx__requested_bytes_mem_global_op_st.sum"
FOREIGN_BYTES = "ptx__foreign_bytes_mem_shared_op_ld.sum"
DISTINCT_BYTES = "ptx__block_distinct_bytes_mem_global.sum"
DYNAMIC_BYTES = "ptx__bytes_mem_shared_dynamic.sum"
FOREIGN_DYNAMIC_BYTES = "ptx__foreign_bytes_mem_shared_dynamic_op_ld.sum"
EXCHANGES = "ptx__thread_inst_executed_op_exchange.sum"
WORD = 4
"""Bytes that a lane receives by one instruction that passes values within a warp."""

MIN_WORKING = 0.5
"""The part of the baseline's threads that must work in a case for its sharing to be evaluated."""

MIN_REPEATED = 0.25
"""The part of the baseline's accesses that must repeat one of the same block."""

MIN_SAVED = 0.6
"""The part of the repeated accesses that a kernel must save."""

DISTINCT_RATIO = 2.0
"""The bytes that a block's threads access over the distinct ones among them, at most."""

MIN_DYNAMIC = 0.25
"""The part of the bytes read from other threads that dynamic memory has to carry, if required."""

DEPENDS: Dependency | None = Dependency("output", "one")


@dataclass(frozen=True)
class Options(MeasuredOptions):
    """Options of the resources check.

    Attributes:
        shared: the shared memory that the kernel must use ("none": must not access any; "any":
            static or dynamic; absent: not evaluated). Data that several threads of a block need
            have to reach them through it: see `_check_sharing`.
        min_shared_ratio: bytes that threads read of what other threads wrote to shared memory, over
            the bytes that they load from global memory, at least.
        count_exchanges: whether values that threads receive from other lanes by shuffles, votes and
            matches count as loaded.
        max_stored_bytes_ratio: bytes that threads write to global memory over those that the
            baseline's write, at most. Writes to the place that the thread wrote last count once:
            an accumulator may be in global memory, an array of the thread may not.
        max_registers: registers per thread, at most.
        max_static_shared_bytes: bytes of static shared memory per block, at most.
        no_spills: whether the kernel, and what it calls, must not use local memory.
        constant: whether the kernel must read the lab's globals, or else any variable, as
            `__constant__`.
        min_occupancy: resident warps of a multiprocessor over its maximum, 0 to 1, at the block
            size of the largest case.
    """

    shared: SharedMemory | None = None
    min_shared_ratio: float = limited(0.5, ge=0)
    count_exchanges: bool = True
    max_stored_bytes_ratio: float | None = limited(None, gt=0)
    max_registers: int | None = limited(None, gt=0)
    max_static_shared_bytes: int | None = limited(None, ge=0)
    no_spills: bool = False
    constant: bool = False
    min_occupancy: float | None = limited(None, gt=0, le=1)

    @property
    def measures_sharing(self) -> bool:
        """Whether the check needs to know how data went through shared memory."""
        return self.shared not in (None, "none")


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The kernel uses the resources that the lab asks for, and no more.

    Registers, spills and occupancy are those of the compiled kernel. The memory that the kernel
    uses is evaluated on every case with right output, and the work has to be spread over the
    threads.
    """
    run = evidence.largest
    if run is None or run.prepared is None:
        return Verdict("blocked", "not evaluated: no case ran")
    if not evidence.is_sound(run):
        return Verdict("blocked", WRONG_OUTPUT)
    resources = run.trace.resources
    unknown = [name for name in _required_fields(options) if getattr(resources, name) is None]
    if (options.shared is not None or options.constant) and not run.trace.counters:
        unknown.append("accesses of shared and constant memory")
    if unknown:
        return Verdict("unjudged", f"no values of {', '.join(unknown)} on this backend")

    def limits(each: CaseRun) -> tuple[LimitResult, ...]:
        line = kernel_line(each, evidence.program)
        results = [
            *(compiled_limits(options, each, evidence.program) if each is run else ()),
            _shared_result(_check_shared(options.shared, each), line),
            _check_sharing(options, each, evidence),
            limit_stored_bytes(options.max_stored_bytes_ratio, each, evidence),
            _shared_result(_check_constant(options.constant, each.trace, evidence), line),
            spread_work(options.max_thread_work, each, evidence),
        ]
        return tuple(result for result in results if result)

    verdict = evaluate_cases(evidence, limits)
    faults = [finding for finding in verdict.findings if run.case.name in finding.cases]
    summary = faults[0].message if faults else _summary(resources, run)
    if verdict.status == "fail" and not faults:  # in other cases
        summary += f"; {verdict.summary.rpartition('; ')[2]}"
    measurements = {**_measurements(resources, run), **verdict.measurements}
    return replace(verdict, summary=summary, measurements=measurements)


def compiled_limits(options: Options, run: CaseRun, program: Program) -> Iterator[LimitResult]:
    """Check the limits on the compiled kernel, whose resources are the same in every case."""
    resources, line = run.trace.resources, kernel_line(run, program)
    local = _local_line(run, program)
    for fault in (
        _check_registers(options.max_registers, resources),
        _check_static_bytes(options.max_static_shared_bytes, resources),
        _check_spills(options.no_spills, resources, local),
        _check_occupancy(options.min_occupancy, resources, run),
    ):
        if fault is not None:
            place = local or line if fault.kind == "spill" else line
            yield LimitResult(fault.message, {}, fault, place)


def _shared_result(fault: Finding | None, line: int) -> LimitResult | None:
    return LimitResult(fault.message, {}, fault, line) if fault else None


def accesses_shared_memory(trace: Trace) -> bool:
    """Return whether any shared memory was read or written."""
    return any(trace.counters.get(name, 0) > 0 for name in SHARED_COUNTERS)


def shared_memory_kind(run: CaseRun) -> SharedMemory:
    """Return which shared memory the kernel accesses; "dynamic" if it accesses both."""
    if run.prepared is None or not accesses_shared_memory(run.trace):
        return "none"
    if run.trace.counters.get(DYNAMIC_BYTES, 0) > 0:
        return "dynamic"
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


def _check_sharing(options: Options, run: CaseRun, evidence: Evidence) -> LimitResult | None:
    """Require that data which several threads of a block need reach them through shared memory.

    The output is right, so every thread got what its elements depend on: from global memory, or
    from another thread. Three conditions leave shared memory as the only way for most of it.
    Values that pass through shared memory and change no output save none of the loads.

    - Threads access few bytes that their block accessed before (`DISTINCT_RATIO`).
    - They save most of the accesses that the baseline repeats within a block (`MIN_SAVED`). Values
      that they receive from other lanes of their warp by instructions count as loaded.
    - They read from shared memory what other threads wrote, at least `min_shared_ratio` of the
      bytes that they load. Where that memory has to be dynamic, a part of it is (`MIN_DYNAMIC`).
      Where exchanges do not count, that is of all cases: a warp may add up equal elements itself.

    A launch with few working threads, or whose threads have nothing to share, shows none of this;
    nor does one in which the lab's own limits allow what the baseline does. Where its limit on
    atomics takes less from the baseline than `MIN_SAVED` would, that is enough.
    """
    counters, base = run.trace.counters, evidence.baseline.get(run.case.name)
    block = run.prepared.launch.block if run.prepared else ()
    if not options.measures_sharing or FOREIGN_BYTES not in counters or prod(block) == 1:
        return None
    if base is not None and base.counters.get(WORKING_THREADS, 0) < MIN_WORKING * (
        evidence.baseline_threads(run)
    ):
        return None
    spared = _spared_bytes(run, base, evidence)
    if spared <= 0:
        return None
    received = WORD * counters.get(EXCHANGES, 0) if options.count_exchanges else 0.0
    loaded, foreign = moved_bytes(run.trace) + received, counters[FOREIGN_BYTES]
    measured = {"bytes_from_other_threads": foreign, "global_load_bytes": loaded}
    problem = _sharing_problem(run.trace, base, received, spared)
    traces = [run.trace] if options.count_exchanges else evidence.sound_traces
    shared = sum(trace.counters.get(FOREIGN_BYTES, 0.0) for trace in traces)
    if shared < options.min_shared_ratio * (received + sum(map(moved_bytes, traces))):
        problem = (
            f"threads read {foreign:,.0f} bytes from shared memory that other threads wrote, and "
            f"load {loaded:,.0f} bytes from global memory"
        )
    dynamic = counters.get(FOREIGN_DYNAMIC_BYTES, foreign)
    if not problem and options.shared == "dynamic" and dynamic < MIN_DYNAMIC * foreign:
        problem = (
            f"threads read {foreign:,.0f} bytes that other threads wrote, and only {dynamic:,.0f} "
            "of them from dynamic shared memory"
        )
    if not problem:
        return LimitResult("", measured)
    fix = "load each element once per block into a __shared__ array, and let all threads of the "
    fix += "block read it there"
    fault = _missing_feature(f"the data do not go through shared memory: {problem}", fix)
    return LimitResult(fault.message, measured, fault, kernel_line(run, evidence.program))


def _spared_bytes(run: CaseRun, base: Trace | None, evidence: Evidence) -> float:
    """Return the bytes that the lab's own limits take from the baseline's accesses in this case.

    `inf` without such a limit. One on atomics leaves room to load each element once more.
    """
    options = next((c.options for c in evidence.lab.checks if c.name == "traffic"), {})
    ratio, atomics = (options.get(f"max_global_{what}") for what in ("bytes_ratio", "atomics"))
    if ratio is not None and float(evaluate_expression(ratio, run.case.dims)) >= 1:
        return 0.0  # the tiles are mostly padding in this case
    made = base.counters.get(ATOMICS, 0.0) if base else 0.0
    if base is None or atomics is None or not made:
        return inf
    loads, most = base.counters.get(LOAD_BYTES, 0.0), evaluate_expression(atomics, run.case.dims)
    return (1 - float(most) / made) * (moved_bytes(base) - loads) - loads


def _sharing_problem(own: Trace, base: Trace | None, received: float, spared: float) -> str:
    """Return why too much is loaded for the data to be shared; empty when it is not.

    Where the baseline repeats few of its accesses within a block, there is nothing to save.
    """
    naive = accessed_bytes(base) if base else 0.0
    repeated = naive - base.counters.get(DISTINCT_BYTES, naive) if base else 0.0
    if repeated < MIN_REPEATED * naive or not naive:
        return ""
    accessed, distinct = accessed_bytes(own) + received, own.counters.get(DISTINCT_BYTES, 0)
    if naive - accessed < min(MIN_SAVED * repeated, spared):
        return (
            f"threads access {accessed:,.0f} bytes of global memory, the baseline {naive:,.0f}, of "
            f"which {repeated:,.0f} repeat an access of the same block"
        )
    if accessed > DISTINCT_RATIO * distinct:
        return (
            f"threads access {accessed:,.0f} bytes of global memory, and their blocks need only "
            f"{distinct:,.0f}"
        )
    return ""


def accessed_bytes(trace: Trace) -> float:
    """Return the bytes of global memory that a launch's threads load, store and update."""
    return moved_bytes(trace) + trace.counters.get(STORED_BYTES, 0.0)


def _missing_feature(message: str, fix: str, space: str = "shared") -> Finding:
    return Finding("missing-feature", "error", message, space=space, hint=fix)


def _check_registers(most: int | None, resources: Resources) -> Finding | None:
    if most is None or resources.registers is None or resources.registers <= most:
        return None
    what = f"{resources.registers} registers per thread; this lab allows {most}"
    return _missing_feature(what, "keep fewer values alive at once, or set __launch_bounds__", "")


def _check_static_bytes(most: int | None, resources: Resources) -> Finding | None:
    used = resources.static_shared_bytes
    if most is None or used is None or used <= most:
        return None
    return _missing_feature(
        f"{used} bytes of static shared memory; this lab allows {most}",
        "make the __shared__ arrays smaller, or size them at launch (extern __shared__)",
    )


def _local_line(run: CaseRun, program: Program) -> int:
    """Return the line of the launched kernel that uses local memory most, 0 without one."""
    kernel = program.kernel(run.prepared.launch.kernel) if run.prepared else None
    return local_memory_line(program.ptx, kernel.symbol, program.file) if kernel else 0


def _check_spills(unwanted: bool, resources: Resources, line: int) -> Finding | None:
    """Report local memory. Without a `line` that accesses it, ptxas spilled registers there."""
    if not unwanted or not resources.local_bytes:
        return None
    what = "registers are spilled there"
    fix = "keep fewer values alive at once, or allow more registers with __launch_bounds__"
    if line:
        what = "an array indexed at run time is stored there"
        fix = "index small arrays with constants only: unroll every loop over them"
    message = f"{resources.local_bytes} bytes of local memory per thread: {what}"
    return Finding("spill", "error", message, space="local", hint=fix)


def _check_constant(wanted: bool, trace: Trace, evidence: Evidence) -> Finding | None:
    """Report the lab's variables outside constant memory, or that nothing is read from it."""
    if not wanted:
        return None
    names = [v.name for v in evidence.lab.globals]
    elsewhere = [name for name in names if not is_constant(evidence.program.ptx, name)]
    if not elsewhere and trace.counters.get(CONSTANT_LOADS, 0) > 0:
        return None
    what = (
        f"`{elsewhere[0]}` is not in constant memory"
        if elsewhere
        else ("the kernel reads nothing from constant memory")
    )
    fix = "declare the values that all threads read as a __constant__ array"
    return _missing_feature(what, fix, "const")


def _check_occupancy(least: float | None, resources: Resources, run: CaseRun) -> Finding | None:
    reached = resources.theoretical_occupancy
    if least is None or reached is None or reached >= least or run.prepared is None:
        return None
    threads = prod(run.prepared.launch.block)
    return _missing_feature(
        f"theoretical occupancy {reached:.1%} with blocks of {threads} threads and "
        f"{resources.registers} registers per thread; this lab requires {least:.1%}",
        "choose a block size whose warps fill a multiprocessor without a remainder, and use fewer "
        "registers or less shared memory",
        "",
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
    shared = f"{shared_memory_kind(run)} shared memory"
    parts = [
        f"{resources.registers} registers" if resources.registers is not None else "",
        shared if accesses_shared_memory(run.trace) else "no shared memory",
        f"{resources.local_bytes} bytes of local memory" if resources.local_bytes else "",
    ]
    return ", ".join(part for part in parts if part)
