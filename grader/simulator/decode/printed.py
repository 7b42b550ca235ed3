"""Which stores give `printf` its arguments.

The compiler stores them one behind the other in the frame, where no variable of the source is,
directly before it calls `vprintf` with their address. That function reads them, and its code is no
part of the module: so the stores are the uses of what is printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from grader.simulator.decode.operands import address_or_none
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.model import Function, Instruction

_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
_NUMBER = re.compile(r"\d{1,9}")


def printed_stores(f: Function, variables: LocalVariables | None) -> frozenset[int]:
    """The stores, by id, of what `printf` prints."""
    if not any(i.op.startswith("call") and "vprintf" in i.operands for i in f.body):
        return frozenset()  # as most functions; all are decoded
    frame = next((v.name for v in f.variables if v.space == "local"), "")
    printed: set[int] = set()
    stored: list[tuple[int, int]] = []
    given: dict[str, str] = {}
    offsets: dict[str, int] = {}
    starts = set(f.labels.values())
    for at, i in enumerate(f.body):
        if at in starts:
            stored.clear()
        head, *rest = i.op.split(".")
        if head == "call":
            first = offsets.get(_last_argument(given, i))
            printed.update(key for key, offset in stored if first is not None and offset >= first)
            stored.clear()
        elif head == "st" and len(i.operands) == 2:
            base, offset = address_or_none(i.operands[0])
            if "param" in rest:
                given[base] = i.operands[1]
            elif base in ("%SP", "%SPL") and not (variables and variables.at(frame, offset)):
                stored.append((id(i), offset))
        elif head == "add" and i.operands[1:2] == ["%SP"] and _NUMBER.fullmatch(i.operands[-1]):
            offsets[i.operands[0]] = int(i.operands[-1])
    return frozenset(printed)


def _last_argument(given: Mapping[str, str], call: Instruction) -> str:
    """The register with the address of what `printf` prints; empty for any other call."""
    names = _NAME.findall(call.operands[-1]) if "vprintf" in call.operands else []
    return given.get(names[1], "") if len(names) == 2 else ""
