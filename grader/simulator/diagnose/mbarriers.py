"""The texts of findings about mbarrier objects (cuda::barrier) that are not used as such."""

from __future__ import annotations

from grader.launch import Finding, Severity
from grader.simulator.diagnose.races import STORE, Report

_BAD_COUNT, _SET_AGAIN, _AFTER_INVALIDATION, _NEVER_SET, _PLAIN_ACCESS = range(1, 6)
"""What is wrong with the use of an mbarrier: `extra` of its report."""
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
}


def mbarrier_finding(r: Report) -> Finding:
    """The finding of an mbarrier that is not used as one, or of other memory that is."""
    what, fix, severity = _MISUSES[r.extra]
    access = "written" if r.has(STORE) else "read"
    name = f"`{r.target.element}`" if r.target.name else "this memory"
    what = f"{name} {what.format(count=f'{r.bytes:,}', access=access)}"
    return Finding(
        "barrier-divergence", severity, what, space="shared", variable=r.target.name, hint=fix
    )
