"""All that a page tells of one kernel on one case: pure values, made from its trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.explain.picture import Panel, panels
from grader.explain.request import Request, requests
from grader.explain.touches import touches
from grader.launch import Dim3, Finding, Launch, Trace

_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
FIRST: Dim3 = (0, 0, 0)


@dataclass(frozen=True)
class Line:
    """One line of the source with what it costs in the whole launch: requests of warps to global
    memory and the 32-byte sectors that they move, passes through shared memory and those among
    them that bank conflicts add; and the findings that name the line."""

    number: int
    text: str
    requests: int = 0
    sectors: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def sectors_per_request(self) -> float:
        return self.sectors / self.requests if self.requests else 0.0


@dataclass(frozen=True)
class Story:
    """One launch: the kernel's file, its case and geometry, the panels and each line's first
    request of one block, the source's lines, findings that name no line, and why there are no
    panels where there are none."""

    lab: str
    title: str
    file: str
    kernel: str
    case: str
    size: str
    grid: Dim3
    block: Dim3
    shown: Dim3
    panels: tuple[Panel, ...]
    requests: tuple[Request, ...]
    lines: tuple[Line, ...]
    findings: tuple[Finding, ...]
    lacking: str = ""


def tell(
    lab: str, title: str, file: str, source: str, launch: Launch, size: str, trace: Trace
) -> Story:
    """The story of one traced launch, with pictures of block (0,0,0)."""
    traced = trace.accesses is not None
    seen = touches(trace, FIRST) if traced else ()
    lines = source_lines(source, trace)
    placed = {f for line in lines for f in line.findings}
    return Story(
        lab, title, file, launch.kernel, launch.name, size, launch.grid, launch.block, FIRST,
        panels(seen, launch),
        requests(seen, launch),
        lines,
        tuple(f for f in trace.findings if f not in placed),
        "" if traced else "the kernel did not end, so there is no picture of its accesses",
    )  # fmt: skip


def source_lines(source: str, trace: Trace) -> tuple[Line, ...]:
    """Every line of the source with its counters and findings. Lines are the compiler's: a form
    feed ends none."""
    counted = {held.line: held.counters for held in trace.lines}
    return tuple(
        _line(number, text.removesuffix("\r"), counted.get(number, {}), trace)
        for number, text in enumerate(source.removesuffix("\n").split("\n"), start=1)
    )


def _line(number: int, text: str, counters: Mapping[str, float], trace: Trace) -> Line:
    return Line(
        number,
        text,
        _sum(counters, *(_GLOBAL.format("requests", op) for op in ("ld", "st"))),
        _sum(counters, *(_GLOBAL.format("sectors", op) for op in ("ld", "st"))),
        _sum(counters, *(_WAVEFRONTS.format(op) for op in ("ld", "st"))),
        _sum(counters, *(_CONFLICTS.format(op) for op in ("ld", "st"))),
        tuple(dict.fromkeys(f for f in trace.findings if f.line == number)),
    )


def _sum(counters: Mapping[str, float], *names: str) -> int:
    return int(sum(counters.get(name, 0) for name in names))
