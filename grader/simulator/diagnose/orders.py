"""Explain races of threads that signal each other: which side lacks its half of the order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from grader import dataclass
from grader.simulator.diagnose.races import ACROSS_BLOCKS, BLOCK_SCOPE, OTHER_STORE, STORE, Report

Pair = tuple[int, int]
"""The program counters of the accesses of a race, the earlier one second."""

_LIBRARY = re.compile(
    r"memory_order|[.>](?:load|store|exchange|compare_exchange_\w{4,6}|fetch_\w{2,3}|test_and_set|"
    r"clear|test|wait)\s*\("
)
"""An operation of libcu++, which takes a memory order."""


@dataclass(frozen=True)
class Missing:
    """What makes the accesses of a race ordered, as trials show.

    Attributes:
        acquires: the line of a wait that has to acquire; 0 for none.
        releases: the line of a signal that has to release; 0 for none.
        widens: the line of an access that has to be of the device's scope, not the block's; 0 for
            none. The race follows from that of this access.
    """

    acquires: int = 0
    releases: int = 0
    widens: int = 0


def hazard_in_time(r: Report) -> str:
    """The hazard by the order of the run: signals of the threads themselves order the accesses."""
    if r.has(STORE) and r.has(OTHER_STORE):
        return "WAW"
    return "WAR" if r.has(STORE) else "RAW"


def order_hint(r: Report, missing: Missing, text: Callable[[int], str]) -> str:
    """The fix of a race that fences or memory orders end.

    Args:
        r: the report, with the earlier access as partner.
        missing: what was tried with success.
        text: the text of a line of the source.
    """
    fence = "__threadfence()" if r.has(ACROSS_BLOCKS) else "__threadfence_block()"
    says, fixes = list[str](), list[str]()
    if line := missing.widens:
        return (
            f"Line {line} orders the threads of one block, and other blocks access this. "
            f"{_wider(text(line))} there, and this race ends too."
        )
    if line := missing.acquires:
        says.append(
            f"Line {line} waits for another thread without acquire: line {r.line} may take effect "
            "before the wait ends."
        )
        fixes.append(_fix(text(line), "acquire", f"{fence} after line {line}", line))
    if line := missing.releases:
        says.append(
            f"Line {line} signals another thread without release: that thread may go on before "
            f"line {r.line2} takes effect."
        )
        fixes.append(_fix(text(line), "release", f"{fence} before line {line}", line))
    fix = ", and ".join(fixes)
    return f"{' '.join(says)} {fix[:1].upper()}{fix[1:]}. A run with that does not have this race."


def by_scope(reports: Sequence[Report], missing: Mapping[Pair, Missing]) -> list[bool]:
    """By report, whether it is a race that follows from an access of a block's scope.

    Of the races of such accesses to one object, all but the first do.
    """
    out, known = list[bool](), set[str]()
    for r in reports:
        found = missing.get((r.pc, r.pc2))
        out.append(bool(found and found.widens) or (r.has(BLOCK_SCOPE) and r.target.name in known))
        known |= {r.target.name} if r.has(BLOCK_SCOPE) else set()
    return out


def _wider(text: str) -> str:
    if "_block" in text:
        return "Call the function without `_block`"
    return "Use `.gpu`" if ".cta" in text else "Access an object of `thread_scope_device`"


def _fix(text: str, order: str, fence: str, line: int) -> str:
    return f"use memory_order_{order} in line {line}" if _LIBRARY.search(text) else f"call {fence}"
