"""Instructions that hand a value on without looking at it."""

from __future__ import annotations

from grader.sim.opcode import types_of
from grader.sim.ptx import Instruction

_WHOLE = frozenset(("1", "255", "65535"))
"""Masks with which debug code keeps a bool, char or short as wide as it is."""


def carries(i: Instruction) -> bool:
    """Whether an instruction moves, selects, packs or shuffles, and uses no value that it moves."""
    parts = i.op.split(".")
    if parts[0] in ("mov", "selp", "cvta", "shfl"):
        return True
    if parts[0] == "cvt":
        return all(kind[0] in "usb" and kind != "bf16" for kind in types_of(i.op))
    return parts[0] == "and" and not _WHOLE.isdisjoint(i.operands[-1:])
