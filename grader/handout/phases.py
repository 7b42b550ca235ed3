"""The table of phases of the 4 x 4 product: what each thread loads and adds, and when."""

from __future__ import annotations

from collections.abc import Sequence

from grader.explain.touches import Touch
from grader.handout.figures.tile_phases import SIDE, TILE, trace

PHASES = SIDE // TILE
JOINED = "\u2060"
"""Keeps a line from breaking between two indices."""


def phase_table() -> str:
    """A Markdown table of block (0,0), one row a thread."""
    seen = trace()
    heads = [f"phase {n} {what}" for n in range(PHASES) for what in ("loads", "adds")]
    rows = [f"| thread (tx,ty) | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    for thread in dict.fromkeys(t.thread for t in seen):
        parts = [part for n in range(PHASES) for part in (loads(seen, thread, n),
                                                          adds(seen, thread, n))]  # fmt: skip
        rows.append(f"| ({thread[0]},{thread[1]}) | {' | '.join(parts)} |")
    return "\n".join(rows)


def loads(seen: Sequence[Touch], thread: tuple[int, int, int], phase: int) -> str:
    """`A[0][0], B[0][0]`: what a thread fetches from global memory in a phase."""
    return ", ".join(
        _named(t)
        for t in seen
        if t.space == "global" and t.access == "read" and (t.thread, t.phase) == (thread, 2 * phase)
    )


def adds(seen: Sequence[Touch], thread: tuple[int, int, int], phase: int) -> str:
    """`A[0][0] B[0][0] + A[0][1] B[1][0]`: the products of a phase, by where their factors come
    from: what the thread reads of a tile was stored there just before, by whom it may be."""
    origin: dict[str, str] = {}
    for touch in seen:
        if touch.phase != 2 * phase:
            continue
        if touch.space == "global":
            origin[f"{touch.thread}{touch.line}"] = _named(touch)
        else:
            origin[touch.element] = origin[f"{touch.thread}{touch.line}"]
    read = [
        origin[t.element]
        for t in seen
        if t.space == "shared"
        and t.access == "read"
        and (t.thread, t.phase) == (thread, 2 * phase + 1)
    ]
    return " + ".join(f"{a} {b}" for a, b in zip(read[::2], read[1::2], strict=True))


def _named(touch: Touch) -> str:
    row, column = divmod(touch.number, SIDE)
    return f"{touch.variable}[{row}]{JOINED}[{column}]"
