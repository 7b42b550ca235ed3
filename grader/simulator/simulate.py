"""Simulate launches of a program: one Trace each.

Both PTX variants run. The debug one (`-G`) has every access with its line, the optimized one is
what the hardware would execute: findings come from both, counters and outputs from the optimized
one.
`run` is the entry point in the simulator's own process; `grader.sandbox.call` calls it by name.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.launch_limits import launch_bounds_error, launch_error
from grader.compile.program import Kernel, Program
from grader.launch import Array, Finding, Launch, Trace, theoretical_occupancy
from grader.sandbox.launches import Arrays, unpack_launches
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.counters import launch_counters, line_counters
from grader.simulator.decode.instructions import NotSimulated, refused_attribute
from grader.simulator.decode.module import decode
from grader.simulator.diagnose.confirmation import Confirmation, synchronizations
from grader.simulator.diagnose.findings import Explainer
from grader.simulator.diagnose.messages import not_simulated
from grader.simulator.exchange import pack_traces, too_large, too_much_static, unpack_program
from grader.simulator.ptx.model import Location, PtxError, TooLarge
from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.ptxas import contract, reduce_unused_atomics
from grader.simulator.schedules import order_findings, sample_trace, sampled_blocks
from grader.simulator.trace import access_table

TIMEOUT_SHARE = 4
"""After a timeout, later launches get this fraction of the steps: they seldom end either."""


@dataclass(frozen=True)
class Variant:
    """A decoded PTX variant of a kernel; `counts` tells whether it is the optimized one."""

    machine: Machine
    counts: bool


Variants = dict[str, tuple[Variant, ...] | Finding]
"""The variants of each kernel by symbol, or the finding that prevents its simulation."""


def simulate(
    program: Program,
    launches: Sequence[Launch],
    *,
    threads: int = 1,
    limit: float = 20.0,
    steps: int = 0,
    schedules: int = 0,
    table: bool = False,
    sample: int = 0,
) -> tuple[Trace, ...]:
    """Simulate launches of one program.

    Args:
        program: the compiled program.
        launches: the launches.
        threads: threads of the CPU.
        limit: seconds of processor time that a thread may spend on one launch.
        steps: warp instructions that one block may execute; 0 for the default.
        schedules: the number of other orders of blocks and warps to try.
        table: whether to record every access.
        sample: the number of blocks of each launch to run, for the findings that
            grader.simulator.schedules can make of them; 0 for all blocks.

    Returns the traces in the order of the launches. Raises MachineFault and LabFault.
    """
    variants_of: Variants = {}
    out = []
    allowed = steps or Limits.steps
    for launch in launches:
        started = time.perf_counter()
        limits = Limits(allowed, limit, max(1, threads), blocks=sampled_blocks(launch.grid, sample))
        trace = _simulate_launch(program, launch, variants_of, limits)
        trace = sample_trace(trace) if sample else trace
        if trace.ended and (schedules or table):
            trace = _with_extra_runs(program, launch, variants_of, trace, limits, schedules, table)
        if any(f.kind == "timeout" for f in trace.errors):
            allowed = max(allowed // TIMEOUT_SHARE, 1)
        out.append(replace(trace, seconds={"run": time.perf_counter() - started}))
    return tuple(out)


def _simulate_launch(
    program: Program, launch: Launch, variants_of: Variants, limits: Limits
) -> Trace:
    kernel = program.kernel(launch.kernel)
    if kernel is None:
        return _aborted(
            Finding(
                "launch-failure",
                "error",
                f"no kernel `{launch.kernel}` (cudaErrorInvalidDeviceFunction)",
            )
        )
    refused = launch_error(launch, kernel) or too_large(launch) or too_much_static(program.ptx)
    if refused is not None:
        return _aborted(program.at(refused, kernel.line))
    if kernel.symbol not in variants_of:
        variants_of[kernel.symbol] = _decode_variants(program, kernel)
    variants = variants_of[kernel.symbol]
    if isinstance(variants, Finding):
        return _aborted(variants)
    bounds = variants[-1].machine.loader.kernel.limits
    if (refusal := launch_bounds_error(launch, bounds)) is not None:
        return _aborted(program.at(refusal, kernel.line))
    if limits.blocks and any(v.machine.image.may_wait for v in variants):
        return Trace(
            "sim", toolchain=program.toolchain
        )  # it may wait for blocks that are not in the sample
    findings: tuple[Finding, ...] = ()
    debug = None
    for variant in variants:
        try:
            raw = variant.machine.run(launch, limits, variant.counts)
        except PtxError as error:
            return _aborted(_invalid_ptx(program, error))
        explainer = Explainer(
            variant.machine.image, launch, raw, program.source, program.file, kernel.parameters
        )
        counts = synchronizations(variant.machine.image, raw)
        debug = debug or counts
        doubts = Confirmation(variant.machine.image).doubts if variant.counts else None
        same = explainer.findings(doubts if counts == debug else None)
        findings = merge_findings(findings, same)
        if not raw.ended:
            return Trace(
                "sim", findings, ended=False, toolchain=program.toolchain, printed=raw.printed
            )
    return _trace(program, kernel, launch, variants[-1].machine, raw, findings, explainer.line_of)


def _with_extra_runs(
    program: Program,
    launch: Launch,
    variants_of: Variants,
    trace: Trace,
    limits: Limits,
    schedules: int,
    table: bool,
) -> Trace:
    """Add to a trace what further runs of the same launch show."""
    kernel = program.kernel(launch.kernel)
    variants = variants_of[kernel.symbol] if kernel else ()
    if kernel is None or isinstance(variants, Finding):
        return trace
    names = tuple(p.name for p in kernel.parameters)
    debug, optimized = variants[0].machine, variants[-1].machine
    findings = order_findings(optimized, launch, limits, schedules, names)
    placed = tuple(replace(f, file=program.file, line=kernel.line) for f in findings)
    rows = access_table(debug, launch, limits, program.source, kernel.parameters) if table else None
    return replace(trace, findings=(*trace.findings, *placed), accesses=rows)


def _decode_variants(program: Program, kernel: Kernel) -> tuple[Variant, ...] | Finding:
    variants = []
    for text, counts in ((program.debug_ptx, False), (program.ptx, True)):
        try:
            module = parse(text)
            if refused := refused_attribute(module.functions[kernel.symbol].limits):
                raise NotSimulated(refused)
            if counts:
                contract(module)
                reduce_unused_atomics(module)
            image = decode(module, kernel.symbol, core().known, definedness=not counts)
            variants.append(Variant(Machine(module, image), counts))
        except NotSimulated as error:
            location = next((a for a in error.args[1:] if isinstance(a, Location)), Location())
            return _not_simulated(program, str(error.args[0]), location.line or kernel.line)
        except PtxError as error:
            return _invalid_ptx(program, error)
    return tuple(variants)


def _not_simulated(program: Program, what: str, line: int) -> Finding:
    return program.at(not_simulated(what), line)


def _invalid_ptx(program: Program, error: PtxError) -> Finding:
    if isinstance(error, TooLarge):
        hint = "Put large arrays into global memory, or load parts of them into shared memory."
        return program.at(Finding("launch-failure", "error", str(error), hint=hint), error.line)
    return Finding(
        "launch-failure",
        "error",
        f"invalid PTX: {error}",
        program.file,
        error.line,
        text=program.text(error.line),
        hint="Correct the inline asm in this line: it is not valid PTX.",
    )


def _aborted(finding: Finding) -> Trace:
    return Trace("sim", (finding,), ended=False)


def merge_findings(debug: tuple[Finding, ...], other: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The debug variant's findings, and those that only the other variant has."""
    known = {(f.kind, f.severity, f.variable) for f in debug}
    return debug + tuple(f for f in other if (f.kind, f.severity, f.variable) not in known)


def _trace(
    program: Program,
    kernel: Kernel,
    launch: Launch,
    machine: Machine,
    raw: Raw,
    findings: tuple[Finding, ...],
    lines: list[int],
) -> Trace:
    outputs: dict[int, NDArray[Any]] = {}
    unwritten: dict[int, NDArray[np.bool_]] = {}
    for b in raw.buffers:
        if b.argument is None:
            continue
        array = launch.args[b.argument]
        if not isinstance(array, Array) or not array.read_back:
            continue
        outputs[b.argument] = b.data.view(array.dtype).reshape(array.shape)
        if not b.initialized:
            item = np.dtype(array.dtype).itemsize
            holes = (
                b.unwritten(raw.global_shift).reshape(-1, item).any(axis=1)
                if b.data.nbytes
                else np.zeros(0, bool)
            )
            unwritten[b.argument] = np.asarray(holes).reshape(array.shape)
    capability = tuple(int(x) for x in (program.architecture[3:-1], program.architecture[-1]))
    resources = replace(
        kernel.resources,
        theoretical_occupancy=theoretical_occupancy(
            (capability[0], capability[1]),
            prod(launch.block),
            kernel.resources.registers or 0,
            (kernel.resources.static_shared_bytes or 0) + launch.shared,
        ),
    )
    return Trace(
        "sim",
        findings,
        outputs,
        unwritten,
        launch_counters(machine.image, raw),
        line_counters(machine.image, raw, lines),
        resources,
        toolchain=program.toolchain,
        printed=raw.printed,
    )


def run(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[list[Any], Arrays]:
    """Simulate the launches of a request; return their traces as JSON and arrays."""
    traces = simulate(
        unpack_program(request["program"]),
        unpack_launches(request["launches"], arrays),
        threads=request["threads"],
        limit=request["limit"],
        steps=request["steps"],
        schedules=request["schedules"],
        table=request["table"],
        sample=request["sample"],
    )
    return pack_traces(traces)
