"""What is known of a function's stack frame: the arguments of `printf`, and numbers of variables.

The compiler stores the arguments one behind the other in the frame, where no variable of the source
is, directly before it calls `vprintf` with their address. That function reads them, and its code is
no part of the module: so the stores are the uses of what is printed.

An address that is made of a variable has the variable's number in high bits, which keep it whatever
is computed from it and wherever it is stored. So an access through any pointer must be to the
variable that the pointer was made from (`ptx_shadow_object`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from grader import dataclass
from grader.simulator.decode.operands import address_or_none
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.model import Function, Instruction

_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
_NUMBER = re.compile(r"\d{1,9}")
_MOST_VARIABLES, _VARIABLE_SHIFT = 63, 42
"""Numbers of variables, and where an address has them: see core/machine/launch.h."""


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


@dataclass(frozen=True)
class Numbered:
    """The variables of a function whose addresses it makes.

    Attributes:
        places: the first byte of each in the frame, and the one behind its last.
        displacements: by id, the instructions that add a variable's place to the frame's address,
            and what they add: the number, too.
    """

    places: list[tuple[int, int]] = field(default_factory=list)
    displacements: dict[int, int] = field(default_factory=dict)


def _numbered(f: Function, variables: LocalVariables, before: int) -> Numbered:
    """Number the variables of a function whose addresses it makes; none in a library's.

    A variable that the debug sections do not name has no number, nor has one after the most of a
    function. Those of functions with more in all share numbers.

    Args:
        f: the function.
        variables: the local variables of the module.
        before: how many variables of other functions have numbers.
    """
    numbered, numbers = Numbered(), dict[int, int]()
    frames = [v.name for v in f.variables if v.space == "local"]
    if len(frames) != 1 or f.library:
        return numbered
    for i in f.body:
        if i.op != "add.u64" or i.operands[1:2] != ["%SP"] or not _NUMBER.fullmatch(i.operands[2]):
            continue
        first = int(i.operands[2])
        end = variables.ends.get((frames[0], first), first)
        if first not in numbers and end > first and len(numbers) < _MOST_VARIABLES:
            numbers[first] = 1 + (before + len(numbers)) % _MOST_VARIABLES
            numbered.places.append((first, end))
        if first in numbers:
            numbered.displacements[id(i)] = first + (numbers[first] << _VARIABLE_SHIFT)
    return numbered


def numbered_in(
    functions: Sequence[Function], variables: LocalVariables | None
) -> dict[str, Numbered]:
    """The numbered variables of the functions that have any, in this order."""
    out, count = dict[str, Numbered](), 0
    if variables is None:
        return out
    for f in functions:
        if (found := _numbered(f, variables, count)).places:
            out[f.name] = found
            count += len(found.places)
    return out
