"""What runs in the simulator's own process: grader.sandbox.call calls `run` by name."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.launch_limits import bounds_error, launch_error
from grader.compile.program import Kernel, Program
from grader.launch import Array, Finding, Launch, Trace, theoretical_occupancy
from grader.sandbox.launches import Arrays, unpack_launches
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.counters import launch_counters, line_counters
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import decode
from grader.simulator.diagnose.findings import Explainer
from grader.simulator.exchange import pack_traces, too_large, too_much_static, unpack_program
from grader.simulator.ptx.model import Location, PtxError, TooLarge
from grader.simulator.ptx.names import refused_attribute
from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.ptxas import contract, reduce_unread
from grader.simulator.schedules import order_findings, sampled_blocks, shown
from grader.simulator.trace import access_table

# One program, its launches, one Trace each: the simulator's whole job on one screen.
#
# Both PTX variants run. The debug one has every access with its line, the optimised one is what
# the hardware would do: findings come from both, counters and outputs from the optimised one.

PATIENCE = 4


@dataclass(frozen=True)
class Variant:
    """One PTX variant of one kernel, decoded."""

    machine: Machine
    counts: bool


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
    """The traces of the launches, in order. `limit` is in seconds a launch, `steps` in warp
    instructions a block (0: the default). `schedules` other orders of blocks and warps are tried
    too; `table` asks for every access. With `sample` only so many blocks of each launch run, and a
    trace has nothing but what grader.simulator.schedules can tell of them.

    Raises MachineFault and LabFault.
    """
    made: dict[str, tuple[Variant, ...] | Finding] = {}
    out = []
    allowed = steps or Limits.steps
    for launch in launches:
        started = time.perf_counter()
        limits = Limits(allowed, limit, max(1, threads), blocks=sampled_blocks(launch.grid, sample))
        trace = _one(program, launch, made, limits)
        trace = shown(trace) if sample else trace
        if trace.ended and (schedules or table):
            trace = _looked_into(program, launch, made, trace, limits, schedules, table)
        if any(f.kind == "timeout" for f in trace.errors):
            allowed = max(allowed // PATIENCE, 1)  # what never ends once seldom ends elsewhere
        out.append(replace(trace, seconds={"run": time.perf_counter() - started}))
    return tuple(out)


def _one(
    program: Program, launch: Launch, made: dict[str, tuple[Variant, ...] | Finding], limits: Limits
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
    if kernel.symbol not in made:
        made[kernel.symbol] = _decoded(program, kernel)
    variants = made[kernel.symbol]
    if isinstance(variants, Finding):
        return _aborted(variants)
    if (bound := bounds_error(launch, variants[-1].machine.loader.kernel.limits)) is not None:
        return _aborted(program.at(bound, kernel.line))
    if limits.blocks and any(v.machine.image.waits for v in variants):
        return Trace("sim", toolchain=program.toolchain)  # for blocks that are not in the sample
    findings: tuple[Finding, ...] = ()
    for variant in variants:
        try:
            raw = variant.machine.run(launch, limits, variant.counts)
        except PtxError as error:
            return _aborted(_unreadable(program, error))
        explainer = Explainer(
            variant.machine.image, launch, raw, program.source, program.file, kernel.parameters
        )
        findings = merged(findings, explainer.findings())
        if not raw.ended:
            return Trace(
                "sim", findings, ended=False, toolchain=program.toolchain, printed=raw.printed
            )
    return _trace(program, kernel, launch, variants[-1].machine, raw, findings, explainer.line_of)


def _looked_into(
    program: Program,
    launch: Launch,
    made: dict[str, tuple[Variant, ...] | Finding],
    trace: Trace,
    limits: Limits,
    schedules: int,
    table: bool,
) -> Trace:
    """The trace with what further runs of the same launch show."""
    kernel = program.kernel(launch.kernel)
    variants = made[kernel.symbol] if kernel else ()
    if kernel is None or isinstance(variants, Finding):
        return trace
    names = tuple(p.name for p in kernel.parameters)
    debug, optimised = variants[0].machine, variants[-1].machine
    found = order_findings(optimised, launch, limits, schedules, names)
    placed = tuple(replace(f, file=program.file, line=kernel.line) for f in found)
    rows = access_table(debug, launch, limits, program.source, kernel.parameters) if table else None
    return replace(trace, findings=(*trace.findings, *placed), accesses=rows)


def _decoded(program: Program, kernel: Kernel) -> tuple[Variant, ...] | Finding:
    variants = []
    for text, counts in ((program.debug_ptx, False), (program.ptx, True)):
        try:
            module = parse(text)
            if refused := refused_attribute(module.functions[kernel.symbol].limits):
                raise NotSimulated(refused)
            if counts:
                contract(module)
                reduce_unread(module)
            image = decode(module, kernel.symbol, core().known, definedness=not counts)
            variants.append(Variant(Machine(module, image), counts))
        except NotSimulated as error:
            location = next((a for a in error.args[1:] if isinstance(a, Location)), Location())
            return _not_simulated(program, str(error.args[0]), location.line or kernel.line)
        except PtxError as error:
            return _unreadable(program, error)
    return tuple(variants)


def _not_simulated(program: Program, what: str, line: int) -> Finding:
    hint = "run it on a GPU: grader check ... --on gpu"
    found = Finding("missing-feature", "error", f"not simulated: {what}", hint=hint)
    return program.at(found, line)


def _unreadable(program: Program, error: PtxError) -> Finding:
    if isinstance(error, TooLarge):
        hint = "put a large array into global memory, or into shared memory a piece at a time"
        return program.at(Finding("launch-failure", "error", str(error), hint=hint), error.line)
    return Finding(
        "launch-failure",
        "error",
        f"invalid PTX: {error}",
        program.file,
        error.line,
        text=program.text(error.line),
        hint="inline asm on this line is not PTX that the hardware takes",
    )


def _aborted(finding: Finding) -> Trace:
    return Trace("sim", (finding,), ended=False)


def merged(first: tuple[Finding, ...], second: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The debug variant's findings, and those of the optimised one that it did not show."""
    shown = {(f.kind, f.severity, f.variable) for f in first}
    return first + tuple(f for f in second if (f.kind, f.severity, f.variable) not in shown)


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
        if not b.initialised:
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
    """The traces of a request's launches, as JSON and arrays."""
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
