"""What ptxas makes of an atomic on global memory whose old value nobody reads: a RED.

It counts as `..._op_red` then, on the hardware and here (read on a GPU: tests/counters). Shared
memory has no RED. `exch` and `cas` have none either: PTX ISA, "red".
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from grader.sim.ptx import Function, Instruction, Module

_REDUCES = {"add", "min", "max", "inc", "dec", "and", "or", "xor"}
_REGISTER = re.compile(r"%[\w$]+")


def reduce_unread(module: Module) -> None:
    """Turn each `atom.global` whose result no instruction uses into `red.global`, in place."""
    for function in module.functions.values():
        if any(i.op.startswith("atom.") for i in function.body):
            _reduce(function)


def _reduce(function: Function) -> None:
    uses = Counter(r for i in function.body for o in i.operands for r in _REGISTER.findall(o))
    uses.update(i.guard[0] for i in function.body if i.guard)
    function.body[:] = [
        replace(i, op=f"red{i.op[4:]}", operands=i.operands[1:]) if _is_unread(i, uses) else i
        for i in function.body
    ]


def _is_unread(i: Instruction, uses: Counter[str]) -> bool:
    parts = i.op.split(".")
    if parts[0] != "atom" or "global" not in parts or not _REDUCES & set(parts):
        return False
    return i.operands[:1] == ["_"] or uses[i.operands[0]] == 1
