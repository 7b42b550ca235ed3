"""Which loads of a function may read from local memory what a store of it stores there.

A function's variables are in its frame, at `%SP`. An address is `%SP` and a number, or what is
computed from such a sum: then any element of the variable. What other functions do with a pointer
is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.module import Image
from grader.simulator.decode.stack import local_variables
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.model import Instruction

_FRAME = re.compile(r"\[?%SPL?(?:\+(\d{1,6}))?\]?$")
_ADDRESS = re.compile(r"\[([%\w]{1,40})(?:\+(\d{1,6}))?\]$")

Place = tuple[int, int | None]
"""The first byte of a variable, and that of a scalar in it; None for any part of it."""


class LocalPlaces:
    """The places of the local accesses of an image's functions.

    Args:
        image: the image.
        readers: by function, the instructions that read each register.
    """

    def __init__(self, image: Image, readers: Sequence[Mapping[str, Sequence[int]]]) -> None:
        self.image, self.readers = image, readers
        self.known: dict[int, dict[int, Place]] = {}

    def loads_after(self, store: int) -> list[int]:
        """The loads of a function that may read what a store of it stores in local memory."""
        places = self._places(self.image.owner[store])
        if store not in places:
            return []
        first, own = places[store]
        return [
            pc
            for pc, (start, part) in places.items()
            if start == first and (own is None or part is None or own == part)
            if self.image.instructions[pc].op.startswith("ld.")
        ]

    @cached_property
    def _variables(self) -> LocalVariables:
        return local_variables(self.image.module.sections)

    def _places(self, owner: int) -> dict[int, Place]:
        if owner not in self.known:
            self.known[owner] = self._found(owner) if self.image.functions[owner].local else {}
        return self.known[owner]

    def _found(self, owner: int) -> dict[int, Place]:
        """By program counter, the place of each access to the frame of a function."""
        places: dict[int, Place] = {}
        bases: dict[str, int] = {}
        for register in ("%SP", "%SPL"):
            for pc in self.readers[owner].get(register, ()):
                i = self.image.instructions[pc]
                made = _sum(i)
                if made is not None:
                    bases |= dict.fromkeys(targets(i), self._start(owner, made))
                elif (at := _direct(i)) is not None:
                    places[pc] = self._start(owner, at), at
        work = list(bases)
        for name in work:
            for pc in self.readers[owner].get(name, ()):
                i = self.image.instructions[pc]
                if any((m := _ADDRESS.match(x)) and m[1] == name for x in i.operands):
                    places.setdefault(pc, (bases[name], None))
                elif i.op.startswith(("add.", "sub.", "mov.", "cvta.", "mad.")):
                    new = [x for x in targets(i) if x not in bases]
                    bases |= dict.fromkeys(new, bases[name])
                    work += new
        return places

    def _start(self, owner: int, offset: int) -> int:
        """The first byte of the variable at a byte of a frame."""
        for frame, start in self.image.functions[owner].local_offsets.items():
            if (v := self._variables.at(frame, offset - start)) is not None:
                return v.offset + start
        return offset


def _sum(i: Instruction) -> int | None:
    """What an instruction adds to the frame's address."""
    if i.op.startswith("mov.") and i.operands[-1].startswith("%SP"):
        return 0
    sums = i.op.startswith("add.") and i.operands[1].startswith("%SP") and i.operands[2].isdecimal()
    return int(i.operands[2]) if sums else None


def _direct(i: Instruction) -> int | None:
    """The byte of the frame that an instruction accesses."""
    found = next((m for x in i.operands if x.startswith("[") and (m := _FRAME.match(x))), None)
    return int(found[1] or 0) if found else None
