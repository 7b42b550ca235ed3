"""The table of a benchmark: what was measured, and whether its goal is met."""

from __future__ import annotations

from collections.abc import Sequence

Row = tuple[str, str, str, bool]
"""The quantity, the measured value, its goal or "", and whether the goal is met."""


def print_table(rows: Sequence[Row]) -> bool:
    """Print it; False when a goal is missed."""
    for what, measured, goal, met in rows:
        mark = f"{goal} {'met' if met else 'MISSED'}" if goal else ""
        print(f"{what:<24} {measured:>10}   {mark}")
    return all(met for *_, met in rows)
