"""The traffic check: how much global memory the kernel asks for, and how well it is coalesced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pydantic import Field

from grader.checks.result import CaseRun, CheckOptions, Dependency, Evidence, Verdict
from grader.compile.program import Program
from grader.labs.expressions import evaluate_expression
from grader.launch import Finding, LineCounters, Severity, Trace

# Which source lines waste memory transactions: uncoalesced accesses and bank conflicts.

SECTOR = 32
WASTE = 2.0
"""A line is told of when it moves this many times the sectors that its bytes fill."""


def line_hints(
    lines: Iterable[LineCounters], program: Program, severity: Severity
) -> tuple[Finding, ...]:
    """A finding for each line and direction that wastes sectors or shared-memory wavefronts."""
    return tuple(
        program.at(finding, line.line)
        for line in lines
        for op, word in (("ld", "load"), ("st", "store"))
        for finding in (*_uncoalesced(line, op, word, severity), *_banks(line, op, word, severity))
    )


def _uncoalesced(line: LineCounters, op: str, word: str, severity: Severity) -> Iterator[Finding]:
    requests = line.counters.get(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum", 0)
    sectors = line.counters.get(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum", 0)
    moved = line.counters.get(f"ptx__requested_bytes_mem_global_op_{op}.sum", 0)
    ideal = max(requests, moved / SECTOR)
    if requests and sectors > WASTE * ideal:
        yield Finding(
            "uncoalesced",
            severity,
            f"each warp's {word} touches {sectors / requests:.3g} sectors where "
            f"{ideal / requests:.3g} would hold its data",
            count=int(requests),
            space="global",
            hint="let threadIdx.x run along the array's last index",
        )


def _banks(line: LineCounters, op: str, word: str, severity: Severity) -> Iterator[Finding]:
    waves = line.counters.get(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum", 0)
    lost = line.counters.get(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum", 0)
    if lost and waves > lost and waves >= WASTE * (waves - lost):
        yield Finding(
            "bank-conflict",
            severity,
            f"{waves / (waves - lost):.3g}-way bank conflict: each shared {word} is served in as "
            "many turns",
            count=int(lost),
            space="shared",
            hint="pad the array's rows by one element, or swap the index that threadIdx.x drives",
        )


LOAD_BYTES = "ptx__requested_bytes_mem_global_op_ld.sum"
CONSTANT_LOADS = "ptx__thread_loads_mem_const.sum"
ATOMICS = "ptx__thread_atomics_mem_global.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
DATA_BYTES = "smsp__sass_data_bytes_mem_global_op_{}.sum"
USED = 31
"""Bytes of a sector's 32: where so many are used on average, no other order moves fewer sectors."""

DEPENDS: Dependency | None = Dependency("output", "one")


class Options(CheckOptions):
    """`max_global_bytes_ratio`: the bytes that active lanes load from global memory, over those of
    the lab's baseline; a number or an expression over the case's dims. `max_sectors_per_request`:
    32-byte sectors that one warp's access touches, loads and stores each (4 when coalesced); one
    that uses all of their bytes, such as a float4 a thread, may touch more.
    `min_bytes_per_sector`: bytes used of each sector of 32, loads and stores each; a lone thread
    that does a warp's work uses 4, although each of its accesses touches one sector only.
    `max_global_atomics`: atomic operations of single threads on global memory, a number or an
    expression over the case's dims.
    """

    max_global_bytes_ratio: float | str | None = None
    max_sectors_per_request: float | None = Field(None, gt=0)
    min_bytes_per_sector: float | None = Field(None, gt=0, le=32)
    max_global_atomics: float | str | None = None

    @property
    def needs_baseline(self) -> bool:
        return self.max_global_bytes_ratio is not None


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The kernel loads no more from global memory than it must, in coalesced accesses.

    Judged on the largest public case, and only when its output is right: a kernel that skips
    work loads little.
    """
    run = evidence.largest
    if run is None or not evidence.is_right(run.case.name):
        return Verdict("blocked", "waits for `output`: the case it is measured on is not right")
    if LOAD_BYTES not in run.trace.counters:
        return Verdict("unjudged", "no memory counters on this backend")
    if options.needs_baseline and run.case.name not in evidence.baseline:
        return Verdict("unjudged", "the baseline was not measured")
    limits = (_sectors, _bytes_per_sector, _atomics)
    judged = (_bytes_ratio(options, run, evidence), *(limit(options, run) for limit in limits))
    parts = [part for part in judged if part]
    faults = [evidence.program.at(p.fault, p.line) for p in parts if p.fault]
    hints = line_hints(run.trace.lines, evidence.program, "warning" if faults else "info")
    said = {(fault.kind, fault.line) for fault in faults}
    told = [*faults, *(hint for hint in hints if (hint.kind, hint.line) not in said)]
    findings = [replace(finding, cases=(run.case.name,)) for finding in told]
    return Verdict(
        status="fail" if faults else "pass",
        summary="; ".join(part.summary for part in parts) or "no limit set",
        share=0.0 if faults else 1.0,
        findings=tuple(findings),
        measurements={name: value for part in parts for name, value in part.measured.items()},
        measured_on=run.case.name,
    )


@dataclass(frozen=True)
class Part:
    """One limit: what was measured against it, and the fault when it is exceeded."""

    summary: str
    measured: Mapping[str, float]
    fault: Finding | None = None
    line: int = 0


def _bytes_ratio(options: Options, run: CaseRun, evidence: Evidence) -> Part | None:
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
        return Part(summary, measured)
    fault = Finding(
        "missing-feature",
        "error",
        f"{loaded:,.0f} bytes loaded from global memory, {ratio / most:.1f} times the "
        f"{most * naive:,.0f} that this lab allows (the baseline loads {naive:,.0f})",
        space="global",
        hint=_saving(run, evidence),
    )
    return Part(summary, measured, fault, _heaviest(run, LOAD_BYTES))


def _saving(run: CaseRun, evidence: Evidence) -> str:
    """Where what is loaded too often belongs."""
    if evidence.lab.globals and not run.trace.counters.get(CONSTANT_LOADS):
        named = ", ".join(f"`{variable.name}`" for variable in evidence.lab.globals)
        return f"declare {named} __constant__: what all threads read at once costs no load there"
    return "load each element into shared memory once a block, and let all its threads read it"


def _sectors(options: Options, run: CaseRun) -> Part | None:
    most = options.max_sectors_per_request
    if most is None:
        return None
    rates = {op: sectors_per_request(run.trace, op) for op in ("ld", "st")}
    over = {op: rate for op, rate in rates.items() if rate > most}
    wasteful = {op: over[op] for op in over if bytes_per_sector(run.trace, op) < USED}
    op, worst = max((wasteful or rates).items(), key=lambda item: item[1])
    word = "load" if op == "ld" else "store"
    measured = {f"sectors_per_request_{op}": round(rate, 4) for op, rate in rates.items()}
    sectors = "sector" if f"{worst:.3g}" == "1" else "sectors"
    limit = f"at most {most:g}" if wasteful or not over else "all of their bytes used"
    summary = f"{worst:.3g} {sectors} a {word} request, {limit}"
    if not wasteful:
        return Part(summary, measured)
    fault = Finding(
        "uncoalesced",
        "error",
        f"a warp's global {word} touches {worst:.3g} sectors of 32 bytes; at most {most:g} are "
        "allowed",
        space="global",
        hint="let threadIdx.x run along the array's last index, so that neighbours are adjacent",
    )
    return Part(summary, measured, fault, _heaviest(run, SECTORS.format(op)))


def _bytes_per_sector(options: Options, run: CaseRun) -> Part | None:
    least = options.min_bytes_per_sector
    if least is None:
        return None
    used = {op: bytes_per_sector(run.trace, op) for op in ("ld", "st")}
    op, worst = min(used.items(), key=lambda item: item[1])
    word = "load" if op == "ld" else "store"
    measured = {f"bytes_per_sector_{op}": round(held, 4) for op, held in used.items()}
    summary = f"{word}s use {worst:.3g} of a sector's 32 bytes, at least {least:g}"
    if worst >= least:
        return Part(summary, measured)
    fault = Finding(
        "uncoalesced",
        "error",
        f"global {word}s use {worst:.3g} bytes of each sector of 32 that they touch; at least "
        f"{least:g} are due",
        space="global",
        hint="let all threads of a warp take elements, neighbours adjacent ones: a thread that "
        "works alone moves a whole sector for each of its elements",
    )
    return Part(summary, measured, fault, _heaviest(run, SECTORS.format(op)))


def _atomics(options: Options, run: CaseRun) -> Part | None:
    if options.max_global_atomics is None:
        return None
    most = float(evaluate_expression(options.max_global_atomics, run.case.dims))
    made = run.trace.counters.get(ATOMICS, 0.0)
    measured = {"global_atomics": made, "max_global_atomics": most}
    summary = f"{made:,.0f} atomics on global memory, at most {most:,.0f}"
    if made <= most:
        return Part(summary, measured)
    fault = Finding(
        "missing-feature",
        "error",
        f"{made:,.0f} atomics on global memory, {made / most:.1f} times the {most:,.0f} that this "
        "lab allows"
        if most
        else f"{made:,.0f} atomics on global memory; this lab wants none",
        space="global",
        hint="gather the block's own result in shared memory, then add it once a block",
    )
    return Part(summary, measured, fault, _heaviest(run, ATOMICS))


def sectors_per_request(trace: Trace, op: str) -> float:
    """Mean 32-byte sectors that one warp's global access touches; `op` is "ld" or "st"."""
    requests = trace.counters.get(REQUESTS.format(op), 0)
    return trace.counters.get(SECTORS.format(op), 0) / requests if requests else 0.0


def bytes_per_sector(trace: Trace, op: str) -> float:
    """Mean bytes used of each 32-byte sector of global memory, 32 when there is no access; `op` is
    "ld" or "st".
    """
    sectors = trace.counters.get(SECTORS.format(op), 0)
    return trace.counters.get(DATA_BYTES.format(op), 0) / sectors if sectors else 32.0


def _heaviest(run: CaseRun, counter: str) -> int:
    """The source line with the most of a counter, 0 when no line is known."""
    lines = [line for line in run.trace.lines if line.counters.get(counter, 0) and line.line]
    return max(lines, key=lambda line: line.counters[counter]).line if lines else 0
