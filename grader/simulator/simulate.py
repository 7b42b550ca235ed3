"""Simulate launches of a program: one Trace each.

Both PTX variants run. The debug one (`-G`) has every access with its line, the optimized one is
what the hardware would execute: findings come from both, counters and outputs from the optimized
one.
`run` is the entry point in the simulator's own process; `grader.sandbox.call` calls it by name.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import replace
from grader.compile import launch_limits
from grader.compile.program import Kernel, Program
from grader.launch import Arrays, Finding, Launch, Trace, WorkMeasure, unpack_launches
from grader.simulator.barrier_trials import BarrierTrials, SignalTrials
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.counters import access_table, counted_values, launch_counters, line_counters
from grader.simulator.diagnose.aborts import unread_ptx
from grader.simulator.diagnose.barriers import BARRIER_KINDS
from grader.simulator.diagnose.confirmation import synchronizations
from grader.simulator.diagnose.findings import Explainer
from grader.simulator.diagnose.merging import merge_findings, unconfirmed, with_calls_of
from grader.simulator.exchange import pack_traces, too_large, too_much_static, unpack_program
from grader.simulator.missing_orders import OrderTrials
from grader.simulator.order_runs import How, OneRun, Runs
from grader.simulator.other_orders import OtherOrders
from grader.simulator.outputs import (
    Unset,
    left_behind,
    run_confirmed,
    run_with_passers,
    unset_members,
)
from grader.simulator.ptx.model import PtxError
from grader.simulator.records import Conflicts, arrivals_of
from grader.simulator.schedules import (
    most_of_one,
    sample_trace,
    sampled_blocks,
    strong_loads,
    updates,
)
from grader.simulator.variants import Variant, Variants, decode_variants
from grader.simulator.wait_trials import WaitTrials

TIMEOUT_SHARE = 4
LEAST_STEPS = 1_000_000
"""After a timeout, later launches get this fraction of the steps: they seldom end either. At least
so many are enough to find a loop that repeats the same values."""

MEASURES: Mapping[WorkMeasure, int | None] = MappingProxyType(
    {"nothing": None, "work": 0, "sharing": c.COUNT_FOREIGN | c.COUNT_DISTINCT}
)
"""What the core measures, by the caller's request."""


MOST_TRIALS = 3
"""Of the orders of a launch with races, those in which it is tried what would order these."""

TRIAL_STEPS, TRIAL_SHARE = 1 << 14, 8
"""The steps of a run with changed code: so many, and so often those of the run that it is like."""

LEAST_SECONDS = 0.05
"""What a run may take when the launch has used up its time."""


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
    measure: WorkMeasure = "nothing",
    decoded: Variants | None = None,
    proof: bool = True,
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
        measure: what to measure of the threads' work.
        decoded: what was decoded of the program before; more is added.
        proof: whether blocks that are proven to do the same are watched less; traces are equal.

    Returns the traces in the order of the launches. Raises MachineFault and LabFault.
    """
    variants_of = Variants() if decoded is None else decoded
    out = []
    allowed = steps or Limits.steps
    for launch in launches:
        started = time.perf_counter()
        limits = Limits(allowed, limit, max(1, threads), measures=MEASURES[measure], proof=proof)
        limits = replace(limits, blocks=sampled_blocks(launch.grid, sample))
        simulation = _Simulation(program, launch, variants_of, limits)
        trace = simulation.trace()
        trace = sample_trace(trace) if sample else trace
        if trace.ended and not sample:
            trace = simulation.with_other_orders(trace, schedules)
        if trace.ended and table:
            trace = replace(trace, accesses=simulation.accesses())
        if not trace.ended and any(f.kind == "timeout" for f in trace.errors):
            allowed = max(allowed // TIMEOUT_SHARE, min(allowed, LEAST_STEPS))
        out.append(replace(trace, seconds={"run": time.perf_counter() - started}))
    return tuple(out)


class _Simulation:
    """One launch: its runs share the time limit."""

    def __init__(
        self, program: Program, launch: Launch, variants_of: Variants, limits: Limits
    ) -> None:
        self.program, self.launch, self.variants_of = program, launch, variants_of
        self.limits, self.started = limits, time.thread_time()
        self.kernel = program.kernel(launch.kernel)
        self.steps: list[int] = []  # of each variant in the usual order
        self.may_be_old = False  # whether loads might have given old values in another order
        self.unset: Unset = {}
        self.trials = MOST_TRIALS

    def left(self) -> Limits:
        """What the next run may take."""
        seconds = self.limits.seconds - (time.thread_time() - self.started)
        return replace(self.limits, seconds=max(seconds, LEAST_SECONDS))

    def variants(self) -> tuple[Variant, ...] | Finding:
        """The decoded kernel, or what prevents the launch."""
        launch, program, kernel = self.launch, self.program, self.kernel
        if kernel is None:
            return Finding(
                "launch-failure",
                "error",
                f"no kernel `{launch.kernel}` (cudaErrorInvalidDeviceFunction)",
            )
        refused = launch_limits.launch_error(launch, kernel) or too_large(launch)
        refused = refused or too_much_static(program.ptx)
        if refused is not None:
            return program.at(refused, kernel.line)
        known = self.variants_of.kernels
        if kernel.symbol not in known:
            known[kernel.symbol] = decode_variants(program, kernel, self.variants_of.modules)
        variants = known[kernel.symbol]
        if isinstance(variants, Finding):
            return variants
        bounds = variants[-1].machine.loader.kernel.limits
        refusal = launch_limits.launch_bounds_error(launch, bounds)
        refusal = refusal or launch_limits.cooperative_error(launch, kernel)
        return variants if refusal is None else program.at(refusal, kernel.line)

    def trace(self) -> Trace:
        """The trace of the usual order."""
        program, kernel, launch = self.program, self.kernel, self.launch
        variants = self.variants()
        if isinstance(variants, Finding) or kernel is None:
            assert isinstance(variants, Finding)
            return _aborted(variants)
        if self.limits.blocks and any(v.machine.image.may_wait for v in variants):
            # It may wait for blocks that are not in the sample.
            return Trace("sim", toolchain=program.toolchain)
        self.optimized = variants[-1].machine.image
        try:
            raw, findings, explainer = self.run(variants, self.left())
        except PtxError as error:
            return _aborted(program.at(unread_ptx(error), error.line))
        if not raw.ended:
            return Trace(
                "sim", findings, ended=False, toolchain=program.toolchain, printed=raw.printed
            )
        self.usual = raw
        machine = variants[-1].machine
        lines = explainer.code.line_of
        return _trace(program, kernel, launch, machine, raw, findings, lines, self.unset)

    def explainer(self, variant: Variant, raw: Raw) -> Explainer:
        """What explains the reports of a run of a variant."""
        program, kernel, image = self.program, self.kernel, variant.machine.image
        assert kernel is not None
        return Explainer(image, self.launch, raw, program.source, program.file, kernel.parameters)

    def run(
        self, variants: Sequence[Variant], limits: Limits
    ) -> tuple[Raw, tuple[Finding, ...], Explainer]:
        """Run the variants in turn, up to one that does not end: the last run and all findings."""
        debug = None
        findings: tuple[Finding, ...] = ()
        for variant in variants:
            image = variant.machine.image
            limits = replace(limits, seconds=self.left().seconds)
            proof = limits.proof and (variant.counts or variants[-1].counts)
            stale = strong_loads(image) if limits.schedule else frozenset()
            limits = replace(limits, proof=proof, stale=stale)
            raw = run_confirmed(variant, self.launch, limits, self.optimized)
            old = raw.reports["kind"] == c.OLD_VALUE
            self.may_be_old |= bool(old.any())
            raw = replace(raw, reports=raw.reports[~old])
            raw = unconfirmed(raw, image, self.optimized)
            self.steps += [] if limits.schedule else [raw.steps]
            if not (variant.counts or limits.schedule) and raw.ended:
                self.unset = unset_members(raw, image, self.kernel)
            explainer = self.explainer(variant, raw)
            if not variant.counts:
                self.add_trials(variant, raw, limits, explainer)
            counts = synchronizations(image, raw)
            debug = debug or counts
            doubts = explainer.code.confirmation.doubts if variant.counts else None
            same = explainer.findings(doubts if counts == debug else None)
            if explainer.calls_unknown and not (variant.counts or limits.schedule):
                same = self.with_calls(same, raw, limits)
            findings = merge_findings(findings, same)
            if not raw.ended:
                break
        return raw, findings, explainer

    def with_calls(
        self, findings: tuple[Finding, ...], raw: Raw, limits: Limits
    ) -> tuple[Finding, ...]:
        """The findings of a run of the debug variant, with the calls that lead to their places."""
        if not set(raw.reports["kind"]).isdisjoint((c.TIMEOUT, c.LIMIT)):
            return findings
        assert self.kernel is not None
        apart = self.variants_of.apart_of(self.kernel.symbol)
        limits = replace(limits, seconds=self.left().seconds, proof=False)
        other = run_confirmed(apart, self.launch, limits, self.optimized)
        other = replace(other, reports=other.reports[other.reports["kind"] != c.OLD_VALUE])
        other = unconfirmed(other, apart.machine.image, self.optimized)
        explainer = self.explainer(apart, other)
        self.add_trials(apart, other, limits, explainer)
        return with_calls_of(findings, explainer.findings())

    def add_trials(self, variant: Variant, raw: Raw, limits: Limits, explainer: Explainer) -> None:
        """Let an explainer know what runs with a change of the code show of a run's findings."""
        most = min(limits.steps, TRIAL_STEPS + TRIAL_SHARE * raw.steps)
        run = self.changed_run(replace(limits, steps=most))
        machine, code, kinds = variant.machine, explainer.code, {*raw.reports["kind"].tolist()}
        if isinstance(variants := self.variants(), Finding) or self.left().seconds <= LEAST_SECONDS:
            return
        own = replace(limits, steps=most, seconds=self.left().seconds)
        if c.STANDSTILL in kinds and prod(self.launch.grid) > 1:
            explainer.came = arrivals_of(machine, code, self.launch, own)
        if c.RACE in kinds and raw.ended and machine.image.exact and self.trials:
            self.trials -= 1
            orders = OrderTrials(machine, code, run, self.launch)
            explainer.missing = found = orders.missing(raw)
            if not limits.schedule:
                sides = orders.waits_and_signals(orders.pairs)
                signals = SignalTrials(variants[0].machine, code, *sides, run).missing(raw, found)
                explainer.missing = {**found, **signals}
        explainer.cause = "" if limits.schedule else WaitTrials(machine, code, run).cause(raw)
        if not (limits.schedule or kinds.isdisjoint((c.RACE, c.STANDSTILL, *BARRIER_KINDS))):
            traced = Conflicts(machine, self.launch, own)
            explainer.trials = BarrierTrials(machine, variants[0].machine, code, raw, run, traced)

    def changed_run(self, limits: Limits) -> Callable[[Machine, int], Raw]:
        """What runs a changed machine, in the order of some limits (0) or in another one."""

        def run(machine: Machine, schedule: int) -> Raw:
            own = replace(limits, seconds=self.left().seconds, schedule=schedule or limits.schedule)
            return run_with_passers(machine, self.launch, replace(own, proof=False), count=False)

        return run

    def run_once(self, variant: Variant, limits: Limits) -> OneRun:
        """Run a variant: what is found beside old values, and what explains each of them."""
        raw = run_confirmed(variant, self.launch, limits, self.optimized)
        raw = unconfirmed(raw, variant.machine.image, self.optimized)
        old = raw.reports["kind"] == c.OLD_VALUE
        pcs = frozenset(int(pc) for pc in raw.reports["pc"][old])
        if not raw.reports.size:
            return OneRun(raw, (), (), pcs)
        found, reads = (
            self.explainer(variant, replace(raw, reports=raw.reports[which]))
            for which in (~old, old)
        )
        return OneRun(raw, found.findings(found.code.confirmation.doubts), reads.findings(), pcs)

    def with_other_orders(self, trace: Trace, schedules: int) -> Trace:
        """Add what other orders find and leave, and with `schedules` say which outputs differ."""
        variants, kernel = self.variants(), self.kernel
        assert not isinstance(variants, Finding) and kernel is not None  # the launch ended
        machines = [v.machine for v in variants]
        tried = variants if schedules or updates(machines) else variants[:1]

        def run(steps: int, schedule: int) -> tuple[Raw, tuple[Finding, ...], bool]:
            limits = replace(self.left(), schedule=schedule, steps=max(steps, 1))
            self.may_be_old = False
            return *self.run(tried, limits)[:2], self.may_be_old

        def run_once(steps: int, how: How) -> OneRun:
            limits = how.limits(replace(self.left(), steps=max(steps, 1)))
            machine = how.machine or variants[-1].machine
            return self.run_once(Variant(machine, variants[-1].counts), limits)

        def explain(raw: Raw, report: NDArray[np.void]) -> tuple[Finding, ...]:
            return self.explainer(variants[-1], replace(raw, reports=report)).findings()

        names = tuple(p.name for p in kernel.parameters)
        most = most_of_one(self.steps[0], self.limits.steps, self.launch)
        runs = Runs(run, run_once, explain)
        orders = OtherOrders(self.usual, self.steps[0], most, self.launch, names, runs)
        findings = orders.findings(trace, machines, schedules)
        differ = orders.differences() if schedules else ()
        findings += tuple(replace(f, file=self.program.file, line=kernel.line) for f in differ)
        wrong = any(f.severity == "error" for f in findings)
        return replace(trace, findings=findings, others={} if wrong else orders.outputs())

    def accesses(self) -> NDArray[np.void]:
        """The table of all accesses."""
        variants = self.variants()
        assert not isinstance(variants, Finding) and self.kernel is not None
        return access_table(
            variants[0].machine,
            self.launch,
            self.limits,
            self.program.source,
            self.kernel.parameters,
        )


def _aborted(finding: Finding) -> Trace:
    return Trace("sim", (finding,), ended=False)


def _trace(
    program: Program,
    kernel: Kernel,
    launch: Launch,
    machine: Machine,
    raw: Raw,
    findings: tuple[Finding, ...],
    lines: list[int],
    unset: Unset,
) -> Trace:
    outputs, unwritten = left_behind(launch, raw, unset)
    resources = replace(
        kernel.resources,
        theoretical_occupancy=launch_limits.theoretical_occupancy(
            (int(program.architecture[3:-1]), int(program.architecture[-1])),
            prod(launch.block),
            kernel.resources.registers or 0,
            (kernel.resources.static_shared_bytes or 0) + launch.shared,
        ),
    )
    values = counted_values(machine.image, raw)
    return Trace(
        "sim",
        findings,
        outputs,
        unwritten,
        counters=launch_counters(raw, values),
        lines=line_counters(values, lines),
        resources=resources,
        toolchain=program.toolchain,
        printed=raw.printed,
    )


@lru_cache(maxsize=1)
def _decoded(program: str) -> Variants:
    return Variants()  # filled by those who use it


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
        measure=request["measure"],
        decoded=_decoded(json.dumps(request["program"])),
    )
    return pack_traces(traces)
