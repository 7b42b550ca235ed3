"""Which source lines waste memory transactions: uncoalesced accesses and bank conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.compile.program import Program
from grader.launch import Finding, LineCounters, Severity

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
