"""The traffic check: global memory traffic, coalescing and atomics, against the lab's limits.

`line_hints` also reports each source line that wastes sectors or shared-memory wavefronts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pydantic import Field

from grader.checks.result import CaseRun, CheckOptions, Dependency, Evidence, Verdict
from grader.compile.program import Program
from grader.labs.expressions import evaluate_expression
from grader.launch import Finding, LineCounters, Severity, Trace

SECTOR_BYTES = 32
WASTE_RATIO = 2.0
"""A line is reported when it moves this many times the sectors that its bytes fill."""


def line_hints(
    lines: Iterable[LineCounters], program: Program, severity: Severity
) -> tuple[Finding, ...]:
    """Return a finding for each line and direction that wastes sectors or wavefronts."""
    return tuple(
        program.at(finding, line.line)
        for line in lines
        for op, word in (("ld", "load"), ("st", "store"))
        for finding in (
            *_uncoalesced(line, op, word, severity),
            *_bank_conflicts(line, op, word, severity),
        )
    )


def _uncoalesced(line: LineCounters, op: str, word: str, severity: Severity) -> Iterator[Finding]:
    requests = line.counters.get(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum", 0)
    sectors = line.counters.get(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum", 0)
    moved = line.counters.get(f"ptx__requested_bytes_mem_global_op_{op}.sum", 0)
    ideal = max(requests, moved / SECTOR_BYTES)
    if requests and sectors > WASTE_RATIO * ideal:
        yield Finding(
            "uncoalesced",
            severity,
            f"each {word} of a warp touches {sectors / requests:.3g} sectors of 32 bytes; "
            f"coalesced it touches {ideal / requests:.3g}",
            count=int(requests),
            space="global",
            hint="index the array's last dimension with threadIdx.x",
        )


def _bank_conflicts(
    line: LineCounters, op: str, word: str, severity: Severity
) -> Iterator[Finding]:
    waves = line.counters.get(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum", 0)
    lost = line.counters.get(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum", 0)
    if lost and waves > lost and waves >= WASTE_RATIO * (waves - lost):
        yield Finding(
            "bank-conflict",
            severity,
            f"{waves / (waves - lost):.3g}-way bank conflict: each shared {word} of a warp takes "
            "that many wavefronts",
            count=int(lost),
            space="shared",
            hint="pad the array's rows by one element, or use threadIdx.x in the other index",
        )


LOAD_BYTES = "ptx__requested_bytes_mem_global_op_ld.sum"
CONSTANT_LOADS = "ptx__thread_loads_mem_const.sum"
ATOMICS = "ptx__thread_atomics_mem_global.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
DATA_BYTES = "smsp__sass_data_bytes_mem_global_op_{}.sum"
FULL_SECTOR_BYTES = 31
"""Bytes used of a sector's 32 on average. Above it, reordering the accesses saves no sector."""

DEPENDS: Dependency | None = Dependency("output", "one")


class Options(CheckOptions):
    """Options of the traffic check; a limit that is absent is not evaluated.

    Attributes:
        max_global_bytes_ratio: bytes that active lanes load from global memory over those of the
            lab's baseline; a number or an expression over the case's dims.
        max_sectors_per_request: 32-byte sectors that one warp's access touches, loads and stores
            each (4 when coalesced). An access that uses all of their bytes, such as a float4 per
            thread, may touch more.
        min_bytes_per_sector: bytes used of each 32-byte sector, loads and stores each. A single
            thread that does a warp's work uses 4, although each access touches one sector.
        max_global_atomics: atomic operations of single threads on global memory; a number or an
            expression over the case's dims.
    """

    max_global_bytes_ratio: float | str | None = None
    max_sectors_per_request: float | None = Field(None, gt=0)
    min_bytes_per_sector: float | None = Field(None, gt=0, le=32)
    max_global_atomics: float | str | None = None

    @property
    def needs_baseline(self) -> bool:
        """Whether a limit compares with the lab's baseline kernel."""
        return self.max_global_bytes_ratio is not None


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The kernel loads no more from global memory than it needs, in coalesced accesses.

    Evaluated on the largest public case, and only when its output is right: a kernel that skips
    work loads little.
    """
    run = evidence.largest
    if run is None or not evidence.is_right(run.case.name):
        return Verdict("blocked", "not evaluated: the output of the measured case is wrong")
    if LOAD_BYTES not in run.trace.counters:
        return Verdict("unjudged", "this backend has no memory counters")
    if options.needs_baseline and run.case.name not in evidence.baseline:
        return Verdict("unjudged", "the baseline was not measured")
    limits = (_sectors, _bytes_per_sector, _atomics)
    results = (_bytes_ratio(options, run, evidence), *(limit(options, run) for limit in limits))
    parts = [part for part in results if part]
    faults = [evidence.program.at(p.fault, p.line) for p in parts if p.fault]
    hints = line_hints(run.trace.lines, evidence.program, "warning" if faults else "info")
    reported = {(fault.kind, fault.line) for fault in faults}
    kept = [*faults, *(hint for hint in hints if (hint.kind, hint.line) not in reported)]
    findings = [replace(finding, cases=(run.case.name,)) for finding in kept]
    return Verdict(
        status="fail" if faults else "pass",
        summary="; ".join(part.summary for part in parts) or "no limit set",
        share=0.0 if faults else 1.0,
        findings=tuple(findings),
        measurements={name: value for part in parts for name, value in part.measured.items()},
        measured_on=run.case.name,
    )


@dataclass(frozen=True)
class LimitResult:
    """One limit: what was measured, and the finding when the limit is exceeded."""

    summary: str
    measured: Mapping[str, float]
    fault: Finding | None = None
    line: int = 0


def _bytes_ratio(options: Options, run: CaseRun, evidence: Evidence) -> LimitResult | None:
    base = evidence.baseline.get(run.case.name)
    if options.max_global_bytes_ratio is None or base is None:
        return None
    most = float(evaluate_expression(options.max_global_bytes_ratio, run.case.dims))
    loaded, naive = run.trace.counters[LOAD_BYTES], base.counters.get(LOAD_BYTES, 0)
    ratio = loaded / naive if naive else float("inf")
    measured = {
        "global_load_bytes": loaded,
        "baseline_global_load_bytes": naive,
        "global_bytes_ratio": round(ratio, 6),
        "max_global_bytes_ratio": most,
    }
    summary = f"loads {ratio:.3g} of the baseline's global bytes, at most {most:.3g}"
    if ratio <= most:
        return LimitResult(summary, measured)
    fault = Finding(
        "missing-feature",
        "error",
        f"{loaded:,.0f} bytes loaded from global memory, {ratio / most:.1f} times the "
        f"{most * naive:,.0f} that this lab allows (the baseline loads {naive:,.0f})",
        space="global",
        hint=_load_hint(run, evidence),
    )
    return LimitResult(summary, measured, fault, _busiest_line(run, LOAD_BYTES))


def _load_hint(run: CaseRun, evidence: Evidence) -> str:
    """Suggest how to load fewer bytes."""
    if evidence.lab.globals and not run.trace.counters.get(CONSTANT_LOADS):
        named = ", ".join(f"`{variable.name}`" for variable in evidence.lab.globals)
        return f"declare {named} __constant__: one read then serves all threads of a warp"
    return "load each element into shared memory once per block, and let all its threads read it"


def _sectors(options: Options, run: CaseRun) -> LimitResult | None:
    most = options.max_sectors_per_request
    if most is None:
        return None
    rates = {op: sectors_per_request(run.trace, op) for op in ("ld", "st")}
    over = {op: rate for op, rate in rates.items() if rate > most}
    wasteful = {op: over[op] for op in over if bytes_per_sector(run.trace, op) < FULL_SECTOR_BYTES}
    op, worst = max((wasteful or rates).items(), key=lambda item: item[1])
    word = "load" if op == "ld" else "store"
    measured = {f"sectors_per_request_{op}": round(rate, 4) for op, rate in rates.items()}
    sectors = "sector" if f"{worst:.3g}" == "1" else "sectors"
    limit = f"at most {most:g}" if wasteful or not over else "all of their bytes used"
    summary = f"{worst:.3g} {sectors} per {word} request, {limit}"
    if not wasteful:
        return LimitResult(summary, measured)
    fault = Finding(
        "uncoalesced",
        "error",
        f"a warp's global {word} touches {worst:.3g} sectors of 32 bytes; at most {most:g} are "
        "allowed",
        space="global",
        hint="index the array's last dimension with threadIdx.x: neighboring threads then access "
        "adjacent elements",
    )
    return LimitResult(summary, measured, fault, _busiest_line(run, SECTORS.format(op)))


def _bytes_per_sector(options: Options, run: CaseRun) -> LimitResult | None:
    least = options.min_bytes_per_sector
    if least is None:
        return None
    used = {op: bytes_per_sector(run.trace, op) for op in ("ld", "st")}
    op, worst = min(used.items(), key=lambda item: item[1])
    word = "load" if op == "ld" else "store"
    measured = {f"bytes_per_sector_{op}": round(held, 4) for op, held in used.items()}
    summary = f"{word}s use {worst:.3g} of a sector's 32 bytes, at least {least:g}"
    if worst >= least:
        return LimitResult(summary, measured)
    fault = Finding(
        "uncoalesced",
        "error",
        f"global {word}s use {worst:.3g} bytes of each sector of 32 that they touch; this "
        f"lab requires {least:g}",
        space="global",
        hint="let all threads of a warp work, neighboring threads on adjacent elements: a thread "
        "that works alone moves a whole sector for each of its elements",
    )
    return LimitResult(summary, measured, fault, _busiest_line(run, SECTORS.format(op)))


def _atomics(options: Options, run: CaseRun) -> LimitResult | None:
    if options.max_global_atomics is None:
        return None
    most = float(evaluate_expression(options.max_global_atomics, run.case.dims))
    made = run.trace.counters.get(ATOMICS, 0.0)
    measured = {"global_atomics": made, "max_global_atomics": most}
    summary = f"{made:,.0f} atomics on global memory, at most {most:,.0f}"
    if made <= most:
        return LimitResult(summary, measured)
    fault = Finding(
        "missing-feature",
        "error",
        f"{made:,.0f} atomics on global memory, {made / most:.1f} times the {most:,.0f} that this "
        "lab allows"
        if most
        else f"{made:,.0f} atomics on global memory; this lab allows none",
        space="global",
        hint="accumulate the block's result in shared memory, then add it once per block",
    )
    return LimitResult(summary, measured, fault, _busiest_line(run, ATOMICS))


def sectors_per_request(trace: Trace, op: str) -> float:
    """Return the mean 32-byte sectors that a warp's global access touches; `op`: "ld" or "st"."""
    requests = trace.counters.get(REQUESTS.format(op), 0)
    return trace.counters.get(SECTORS.format(op), 0) / requests if requests else 0.0


def bytes_per_sector(trace: Trace, op: str) -> float:
    """Return the mean bytes used of each 32-byte sector of global memory, 32 without accesses.

    `op` is "ld" or "st".
    """
    sectors = trace.counters.get(SECTORS.format(op), 0)
    return trace.counters.get(DATA_BYTES.format(op), 0) / sectors if sectors else 32.0


def _busiest_line(run: CaseRun, counter: str) -> int:
    """Return the source line with the highest value of a counter, 0 when no line is known."""
    lines = [line for line in run.trace.lines if line.counters.get(counter, 0) and line.line]
    return max(lines, key=lambda line: line.counters[counter]).line if lines else 0
