"""The texts of findings about mbarrier objects (cuda::barrier) that are not used as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.launch import Finding, Severity
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.races import ACROSS_BLOCKS, SAME_VALUE, STORE, Report

_BAD_COUNT, _SET_AGAIN, _AFTER_INVALIDATION, _NEVER_SET, _PLAIN_ACCESS = range(1, 6)
_MORE_ARRIVE, _ARRIVE_TWICE = 6, 7
"""What is wrong with the use of an mbarrier: the low bits of `extra` of its report."""
_MISUSE, _ARRIVALS_SHIFT = 255, 8
_MISUSES: dict[int, tuple[str, str, Severity]] = {
    _BAD_COUNT: (
        "is initialized with a count of {count}: a barrier counts 1 to 1,048,575 arrivals",
        "Pass the number of threads that arrive in each phase.",
        "error",
    ),
    _SET_AGAIN: (
        "is initialized again while it is a barrier",
        "Initialize it once and use its next phase, or invalidate it first (mbarrier.inval, the "
        "destructor of cuda::barrier).",
        "warning",
    ),
    _AFTER_INVALIDATION: (
        "is used as a barrier after it was invalidated",
        "Invalidate it after its last use, or initialize it again before this line.",
        "error",
    ),
    _NEVER_SET: (
        "is used as a barrier, and was never initialized as one",
        "Let one thread initialize it, with a barrier of the block behind, before it is used.",
        "error",
    ),
    _PLAIN_ACCESS: (
        "is a barrier, and its memory is {access} as data",
        "Invalidate the barrier (mbarrier.inval, the destructor of cuda::barrier) before its "
        "memory is anything else, or use other memory.",
        "warning",
    ),
    _MORE_ARRIVE: (
        "is initialized with a count of {count}, but {arrivals} threads arrive at it: a phase ends "
        "before all of them have arrived",
        "Initialize it with the number of threads that arrive in each phase: {arrivals}, if each "
        "of these does.",
        "error",
    ),
    _ARRIVE_TWICE: (
        "gets a second arrival in one phase here, from {arrivals} of its threads, and its count is "
        "{count}: the phase ends before all threads have arrived",
        "Let each thread wait for the end of a phase before it arrives again. Where it is to "
        "arrive several times in each phase, initialize it with the number of all arrivals of a "
        "phase.",
        "error",
    ),
}

_FOLLOWS = (c.RACE, c.UNINIT, c.STANDSTILL, c.TIMEOUT, c.LIMIT)


def has_small_count(r: Report) -> bool:
    """Whether a report is about an mbarrier with more arrivals than a phase counts."""
    return r.kind == c.MBARRIER and r.extra & _MISUSE in (_MORE_ARRIVE, _ARRIVE_TWICE)


def follows_small_count(r: Report) -> bool:
    """Whether a report may follow from a phase that ends before all threads have arrived."""
    return r.kind in _FOLLOWS and not (r.kind == c.RACE and r.has(ACROSS_BLOCKS | SAME_VALUE))


def without_idle_counts(reports: list[Report]) -> list[Report]:
    """The reports, without those of small counts where nothing follows from them.

    Threads may arrive in turns, each in other phases.
    """
    if any(map(follows_small_count, reports)):
        return reports
    return [r for r in reports if not has_small_count(r)]


def mbarrier_finding(r: Report) -> Finding:
    """The finding of an mbarrier that is not used as one, or of other memory that is."""
    what, fix, severity = _MISUSES[r.extra & _MISUSE]
    access, arrivals = "written" if r.has(STORE) else "read", r.extra >> _ARRIVALS_SHIFT
    name = f"`{r.target.element}`" if r.target.name else "this memory"
    what = f"{name} {what.format(count=f'{r.bytes:,}', access=access, arrivals=arrivals)}"
    fix = fix.format(arrivals=arrivals)
    return Finding(
        "barrier-divergence", severity, what, space="shared", variable=r.target.name, hint=fix
    )


def with_first_hints(findings: Sequence[Finding], cause: str = "") -> list[Finding]:
    """Findings of which those of endless waits do not repeat or contradict another's hint.

    Args:
        findings: the findings.
        cause: the fix of all that follows from a wrong use of an mbarrier; empty where none is.
    """
    if cause:
        kinds = ("race", "timeout", "uninitialized-read", "barrier-divergence")
        wrong = [f.kind in kinds and f.severity == "error" for f in findings]
        return [
            replace(f, hint=cause) if own else f for f, own in zip(findings, wrong, strict=True)
        ]
    misused = {f.variable: f.hint for f in findings if f.kind == "barrier-divergence"}
    out = list[Finding]()
    for f in findings:
        waits = f.kind == "timeout" and bool(f.variable)
        same = [x for x in out if x.hint == f.hint and x.variable not in ("", f.variable)]
        if waits and f.follows and f.variable in misused:
            out.append(replace(f, hint=misused[f.variable]))
        elif waits and same and same[0].kind == "timeout":
            hint = (
                f"Correct the wait for `{same[0].variable}` in line {same[0].line} first: threads "
                "that wait there do not come to where others need them."
            )
            out.append(replace(f, hint=hint))
        else:
            out.append(f)
    return out
