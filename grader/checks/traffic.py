"""The traffic check: global memory traffic, coalescing and atomics, against the lab's limits.

`line_hints` also reports each source line that wastes sectors or shared-memory wavefronts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from grader import dataclass
from grader.checks.findings import LimitResult, evaluate_cases, spread_work
from grader.checks.result import CaseRun, Dependency, Evidence, MeasuredOptions, Verdict, limited
from grader.compile.program import Program
from grader.labs.expressions import evaluate_expression
from grader.launch import Array, Finding, LineCounters, Severity, Trace

SECTOR_BYTES = 32
WARP_BYTES = 128
"""Bytes that a warp requests when each lane loads one word."""
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
MOVED_BYTES = tuple(f"ptx__requested_bytes_mem_global_op_{op}.sum" for op in ("ld", "atom", "red"))
"""What counts as loading: loads and cp.async by every path, atomics and reductions, whether or not
they change memory. Shared, constant and local memory, and values passed within a warp, do not."""

WORKING_THREADS = "ptx__threads_accessing_mem_global.sum"
CONSTANT_LOADS = "ptx__thread_loads_mem_const.sum"
ATOMICS = "ptx__thread_atomics_mem_global.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
WASTED = "ptx__wasted_sectors_mem_global_op_{}.sum"
DATA_BYTES = "smsp__sass_data_bytes_mem_global_op_{}.sum"
OPS: Mapping[str, tuple[tuple[str, ...], str]] = MappingProxyType(
    {"ld": (("ld", "ldgsts"), "load"), "st": (("st",), "store"),
     "atom": (("atom", "red"), "atomic")}
)  # fmt: skip
"""The kinds of access: the operations of the counters, and the word for one of them. Requests and
sectors of cp.async (ldgsts) are among those of loads; its bytes and wasted sectors are not."""

MAX_TOTAL_RATIO = 2.0
"""The sectors of all loads and atomics over what the limit for each of the baseline's requests
comes to: partial results are merged by further atomics, and ends of arrays by further loads."""

FULL_SECTOR_BYTES = 31
"""Bytes used of a sector's 32 on average. Above it, reordering the accesses saves no sector."""

ATOMIC_SECTORS = 4.0
"""Sectors that a warp's atomics on adjacent words touch; no limit is below it."""

MAX_WASTED_RATIO = 0.25
"""Wasted sectors over those that the bytes which the baseline loads would fill, at most."""

DEPENDS: Dependency | None = Dependency("output", "one")


@dataclass(frozen=True)
class Options(MeasuredOptions):
    """Options of the traffic check; a limit that is absent is not evaluated.

    Attributes:
        max_global_bytes_ratio: bytes that active lanes load from global memory over those of the
            lab's baseline, atomics included; a number or an expression over the case's dims.
        whole_blocks: whether the ratio is that of blocks in which all threads work. A case in which
            a part of the baseline's threads works may then load as much as if all did.
        max_sectors_per_request: 32-byte sectors that one warp's access touches: loads, stores and
            atomics each (4 when coalesced). An access that uses all of their bytes, such as a
            float4 per thread, may touch more. Sectors that adjacent elements would not touch are
            also limited in all, so that further accesses cannot hide them in the average.
        min_bytes_per_sector: bytes used of each 32-byte sector: loads, stores and atomics each,
            apart from the sector in which an array ends. A single thread that does a warp's work
            uses 4, although each access touches one sector.
        max_global_atomics: atomic operations of single threads on global memory; a number or an
            expression over the case's dims.
    """

    max_global_bytes_ratio: float | str | None = None
    whole_blocks: bool = False
    max_sectors_per_request: float | None = limited(None, gt=0)
    min_bytes_per_sector: float | None = limited(None, gt=0, le=32)
    max_global_atomics: float | str | None = None

    @property
    def needs_baseline(self) -> bool:
        """Whether a limit compares with the lab's baseline kernel."""
        return self.max_global_bytes_ratio is not None


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The kernel loads no more from global memory than it needs, in coalesced accesses.

    Evaluated on every case, and only when its output is right: a kernel that skips work loads
    little. The work has to be spread over the threads of the launch.
    """
    main = evidence.largest
    if main is not None and evidence.is_sound(main):
        if LOAD_BYTES not in main.trace.counters:
            return Verdict("unjudged", "this backend has no memory counters")
        if options.needs_baseline and main.case.name not in evidence.baseline:
            return Verdict("unjudged", "the baseline was not measured")

    def limits(run: CaseRun) -> tuple[LimitResult, ...]:
        results = (
            _bytes_ratio(options, run, evidence),
            _sectors(options, run),
            _wasted(options, run, evidence),
            _all_sectors(options, run, evidence),
            _bytes_per_sector(options, run),
            _atomics(options, run),
            spread_work(options.max_thread_work, run, evidence),
        )
        return tuple(result for result in results if result)

    def hints(run: CaseRun, failed: bool) -> tuple[Finding, ...]:
        return line_hints(run.trace.lines, evidence.program, "warning" if failed else "info")

    return evaluate_cases(evidence, limits, hints)


def _bytes_ratio(options: Options, run: CaseRun, evidence: Evidence) -> LimitResult | None:
    base = evidence.baseline.get(run.case.name)
    if options.max_global_bytes_ratio is None or base is None:
        return None
    most = float(evaluate_expression(options.max_global_bytes_ratio, run.case.dims))
    if options.whole_blocks and (working := base.counters.get(WORKING_THREADS, 0)):
        most *= evidence.baseline_threads(run) / working
    loaded, naive = moved_bytes(run.trace), moved_bytes(base)
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
    return LimitResult(summary, measured, fault, _busiest_line(run, *MOVED_BYTES))


def moved_bytes(trace: Trace) -> float:
    """Return the bytes that a launch loads from global memory by loads and by atomics."""
    return sum(trace.counters.get(name, 0.0) for name in MOVED_BYTES)


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
    limits = {op: max(most, ATOMIC_SECTORS) if op == "atom" else most for op in _accesses(run)}
    rates = {op: sectors_per_request(run.trace, op) for op in limits}
    over = {op: rate for op, rate in rates.items() if rate > limits[op]}
    spare = _spare_bytes(run)
    used = {op: bytes_per_sector(run.trace, op, spare) for op in over}
    wasteful = {op: over[op] for op in over if used[op] < FULL_SECTOR_BYTES}
    op, worst = max((wasteful or rates).items(), key=lambda item: item[1] / limits[item[0]])
    word, most = OPS[op][1], limits[op]
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
        hint=COALESCE,
    )
    return LimitResult(summary, measured, fault, _busiest_line(run, *_names(SECTORS, op)))


COALESCE = (
    "index the array's last dimension with threadIdx.x: neighboring threads then access adjacent "
    "elements"
)


def _wasted(options: Options, run: CaseRun, evidence: Evidence) -> LimitResult | None:
    """Limit the wasted sectors of loads and stores in all, which no further access can hide."""
    base = evidence.baseline.get(run.case.name)
    if options.max_sectors_per_request is None or base is None:
        return None
    wasted = sum(_total(run.trace, WASTED, op) for op in ("ld", "st"))
    allowed = MAX_WASTED_RATIO * moved_bytes(base) / SECTOR_BYTES + _array_count(run)
    if wasted <= allowed:
        return None
    fault = Finding(
        "uncoalesced",
        "error",
        f"{wasted:,.0f} sectors of 32 bytes are touched that adjacent elements would not touch; "
        f"at most {allowed:,.0f} are allowed",
        space="global",
        hint=COALESCE,
    )
    names = (*_names(WASTED, "ld"), *_names(WASTED, "st"))
    return LimitResult("", {"wasted_sectors": wasted}, fault, _busiest_line(run, *names))


def _all_sectors(options: Options, run: CaseRun, evidence: Evidence) -> LimitResult | None:
    """Limit the sectors of all loads and atomics, which no further request can dilute.

    A kernel that makes no more requests than the baseline stays within this limit when it stays
    within that of each request. Where most of the baseline's threads only test their bounds, its
    requests are taken as if all had worked.
    """
    base = evidence.baseline.get(run.case.name)
    if options.max_sectors_per_request is None or base is None:
        return None
    requests = _total(base, REQUESTS, "ld") + _total(base, REQUESTS, "atom")
    if not requests:
        return None
    if working := base.counters.get(WORKING_THREADS, 0):
        full = moved_bytes(base) / WARP_BYTES * evidence.baseline_threads(run) / working
        requests = max(requests, full)
    allowed = MAX_TOTAL_RATIO * options.max_sectors_per_request * requests + _array_count(run)
    touched = _total(run.trace, SECTORS, "ld") + _total(run.trace, SECTORS, "atom")
    if touched <= allowed:
        return None
    fault = Finding(
        "uncoalesced",
        "error",
        f"loads and atomics touch {touched:,.0f} sectors of 32 bytes; at most {allowed:,.0f} are "
        "allowed",
        space="global",
        hint=COALESCE,
    )
    names = (*_names(SECTORS, "ld"), *_names(SECTORS, "atom"))
    return LimitResult("", {"sectors": touched}, fault, _busiest_line(run, *names))


def _bytes_per_sector(options: Options, run: CaseRun) -> LimitResult | None:
    least = options.min_bytes_per_sector
    if least is None:
        return None
    used = {op: bytes_per_sector(run.trace, op, _spare_bytes(run)) for op in _accesses(run)}
    op, worst = min(used.items(), key=lambda item: item[1])
    word = OPS[op][1]
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
    return LimitResult(summary, measured, fault, _busiest_line(run, *_names(SECTORS, op)))


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


def _array_count(run: CaseRun) -> int:
    """Return how many arrays the kernel gets."""
    return sum(isinstance(a, Array) for a in run.prepared.launch.args) if run.prepared else 0


def _spare_bytes(run: CaseRun) -> int:
    """Return the bytes of sectors that a kernel may leave unused where its arrays end.

    The last sector of an array may reach beyond it, and a kernel that loads vectors of four may
    access one sector of each array again for each of the three elements that fill no vector.
    """
    arguments = run.prepared.launch.args if run.prepared else ()
    arrays = [a for a in arguments if isinstance(a, Array)]
    return sum(-a.nbytes % SECTOR_BYTES + 3 * SECTOR_BYTES for a in arrays)


def _accesses(run: CaseRun) -> tuple[str, ...]:
    """Return the kinds of access to measure: loads, stores, and atomics where there are any."""
    return tuple(op for op in OPS if op != "atom" or _total(run.trace, REQUESTS, op))


def _names(counter: str, op: str) -> tuple[str, ...]:
    return tuple(counter.format(name) for name in OPS[op][0])


def _total(trace: Trace, counter: str, op: str) -> float:
    return sum(trace.counters.get(name, 0.0) for name in _names(counter, op))


def sectors_per_request(trace: Trace, op: str) -> float:
    """Return the mean 32-byte sectors that a warp's global access touches; `op` is a key of OPS."""
    requests = _total(trace, REQUESTS, op)
    return _total(trace, SECTORS, op) / requests if requests else 0.0


def bytes_per_sector(trace: Trace, op: str, spare: int = 0) -> float:
    """Return the mean bytes used of each 32-byte sector of global memory, 32 without accesses.

    Args:
        trace: the launch.
        op: a key of OPS.
        spare: bytes of sectors that the arrays do not have.
    """
    sectors, moved = _total(trace, SECTORS, op), _total(trace, DATA_BYTES, op)
    if not sectors:
        return 32.0
    return min(32.0, (moved + spare) / sectors) if spare else moved / sectors


def _busiest_line(run: CaseRun, *counters: str) -> int:
    """Return the source line with the highest sum of counters, 0 when no line is known."""
    sums = {line.line: sum(line.counters.get(c, 0) for c in counters) for line in run.trace.lines}
    known = {line: total for line, total in sums.items() if line and total}
    return max(known, key=known.__getitem__) if known else 0
