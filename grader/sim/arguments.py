"""Which arguments of a call are used whatever happens: told from the callee's first instructions.

What a callee does up to its first branch it always does. An argument that it uses there, or hands
on to a function that does, must have a value; of any other argument nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from grader.sim.definedness import BRANCHES, sources, targets
from grader.sim.moves import carries
from grader.sim.ptx import TYPE_BYTES, Function, Instruction

_DEPTH = 8
"""Calls within calls that are looked into."""
_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")


def handed_over(f: Function, functions: Mapping[str, Function]) -> dict[str, int]:
    """The `.param` variables of `f` whose value a function that it calls is sure to use as a whole,
    and their bytes."""
    return {
        name: size
        for i in f.body
        if (call := _call(i, functions)) is not None
        for name, size in _of_use(call[0], call[1], functions, _DEPTH)
    }


def _call(i: Instruction, functions: Mapping[str, Function]) -> tuple[Function, list[str]] | None:
    """The function that an instruction calls and the variables that it gives it."""
    if not i.op.startswith("call"):
        return None
    result = any(x.startswith("(") for x in i.operands[:1])
    callee, *given = i.operands[int(result) :] or [""]
    called = functions.get(callee)
    return (called, _NAME.findall(given[0])) if called and given else None


def _of_use(
    callee: Function, given: list[str], functions: Mapping[str, Function], depth: int
) -> list[tuple[str, int]]:
    """Those of the given variables whose parameters the callee uses, and their bytes."""
    if depth == 0 or not callee.has_body or len(given) != len(callee.parameters):
        return []
    used = _used(callee, functions, depth)
    pairs = zip(given, callee.parameters, strict=True)
    return [(name, p.bytes) for name, p in pairs if p.name in used]


def _used(f: Function, functions: Mapping[str, Function], depth: int) -> set[str]:
    """The parameters of `f` that it uses before its first branch."""
    held: dict[str, str] = {}
    used: set[str] = set()
    whole = {p.name: p.bytes for p in f.parameters}
    for i in f.body:
        parts = i.op.split(".")
        if parts[0] in BRANCHES:
            break
        read = [held[name] for name in sources(i) if name in held]
        if (call := _call(i, functions)) is not None:
            inner = _of_use(call[0], call[1], functions, depth - 1)
            used |= {held[name] for name, _ in inner if name in held}
        elif parts[0] == "st" and i.operands:
            if "param" in parts and (value := i.operands[-1]) in held:
                held[_base(i.operands[0])] = held[value]
        elif not carries(i) and i.guard is None:
            used |= set(read)
        for name in targets(i):
            held.pop(name, None)
            if carries(i) and len(set(read)) == 1 and parts[0] in ("mov", "cvt", "and", "cvta"):
                held[name] = read[0]
            if parts[:2] == ["ld", "param"]:
                p = _base(i.operands[-1])
                if whole.get(p) == TYPE_BYTES.get(parts[-1]):
                    held[name] = p
    return used


def _base(where: str) -> str:
    """What an address starts from; the decoder tells of one that is not understood."""
    return next(iter(_NAME.findall(where)), "")
