"""What is known of a function's stack frame: its variables, and the arguments of `printf`.

The compiler stores the arguments one behind the other in the frame, where no variable of the source
is, directly before it calls `vprintf` with their address. That function reads them, and its code is
no part of the module: so the stores are the uses of what is printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

from grader.compile.program import Subscript
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.memory import PARAM, space_of
from grader.simulator.decode.operands import address_or_none, vector
from grader.simulator.ptx.debug_info import LocalVariable, LocalVariables
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction, Module

_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
_NUMBER = re.compile(r"\d{1,9}")
_SCALAR = re.compile(
    r"(?:(?:unsigned|signed|long|short|int|char|bool|float|double) ?)+|u?int\d+_t|size_t|.*\*"
)
STORE = 64  # in the flag of a check of bounds, as in a report


def local_variables(sections: Mapping[str, str]) -> LocalVariables:
    """The local variables of a module, by its debug sections: read once for all its kernels."""
    return _local_variables(tuple(sections.items()))


@lru_cache(maxsize=1)  # trials decode a dozen kernels of one module in turn
def _local_variables(sections: tuple[tuple[str, str], ...]) -> LocalVariables:
    return LocalVariables(dict(sections))


def is_scalar(v: LocalVariable) -> bool:
    """Whether a variable is a number or a pointer."""
    return _SCALAR.fullmatch(v.kind + v.extent) is not None


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


def scalar_copies(f: Function, variables: LocalVariables | None) -> frozenset[int]:
    """The stores, by id, of integer variables of the source, or elements: they have no padding."""
    frame = next((v.name for v in f.variables if v.space == "local"), "")
    whole, out = dict[str, int](), set[int]()
    for i in f.body if frame and variables else ():
        head, size = i.op.split(".")[0], TYPE_BYTES.get(i.op.split(".")[-1], 0)
        head = head if len(i.operands) == 2 else ""
        if head == "st" and whole.get(i.operands[1]) == size:
            out.add(id(i))
            continue
        base, offset = address_or_none(i.operands[-1]) if head == "ld" else ("", 0)
        v = variables.at(frame, offset) if variables and base == "%SP" else None
        bytes_ = whole.get(i.operands[-1], 0) if head == "mov" else 0
        if v is not None and _SCALAR.fullmatch(v.kind):
            element = v.bytes // max(prod(map(int, _NUMBER.findall(v.extent))), 1)
            bytes_ = size if element == size and (offset - v.offset) % size == 0 else 0
        whole |= dict.fromkeys(targets(i), bytes_)
    return frozenset(out)


def _last_argument(given: Mapping[str, str], call: Instruction) -> str:
    """The register with the address of what `printf` prints; empty for any other call."""
    names = _NAME.findall(call.operands[-1]) if "vprintf" in call.operands else []
    return given.get(names[1], "") if len(names) == 2 else ""


def subscripts_of(module: Module, kernel: str) -> tuple[Subscript, ...]:
    """The subscripts of a module that are outside their arrays wherever they are executed.

    One of a template is left out where another function has its line, too: it may be an instance
    that the subscript is inside in.
    """
    if not module.subscripts:
        return ()
    files = {i.location.file for i in module.functions[kernel].body if i.location.line}
    lines = [
        {i.location.line for i in f.body if i.location.file in files}
        for f in module.functions.values()
    ]
    return tuple(
        s
        for s in module.subscripts
        if not s.instances or sum(s.line in own for own in lines) == s.instances
    )


def is_watched(i: Instruction, subscripts: Sequence[Subscript]) -> bool:
    """Whether an instruction is an access in a line with a subscript outside its array."""
    parts = i.op.split(".")
    if i.via or i.library or parts[0] not in ("ld", "st", "atom", "red"):
        return False
    return space_of(parts) != PARAM and any(s.line == i.location.line for s in subscripts)


def subscript_check(i: Instruction) -> Insn:
    """The report that a watched access is executed."""
    store = i.op.startswith("st")
    size = TYPE_BYTES[i.op.split(".")[-1]] * len(vector(i.operands[1 - store]))
    return Insn("shadow_subscript", size=size, flag=STORE * store)
