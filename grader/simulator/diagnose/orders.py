"""Explain races of threads that signal each other: which side lacks its half of the order."""

from __future__ import annotations

import re
from collections.abc import Callable

from grader import dataclass
from grader.simulator.diagnose.races import ACROSS_BLOCKS, OTHER_STORE, STORE, Report

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
    """

    acquires: int = 0
    releases: int = 0


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


def _fix(text: str, order: str, fence: str, line: int) -> str:
    return f"use memory_order_{order} in line {line}" if _LIBRARY.search(text) else f"call {fence}"
