"""Which loads may read from local memory what a store stores there.

A function's variables are in its frame, at `%SP`. An address is `%SP` and a number, or what is
computed from such a sum: then any element of the variable. A pointer to a variable is followed to
the function that is called with it, and no further.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from grader import regex
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.module import Image
from grader.simulator.decode.stack import local_variables
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.model import FRAME, Instruction

_FRAME = regex(r"\[?%SPL?(?:\+(\d{1,6}))?\]?$")
_PARAMETER = regex(r"_param_(\d{1,3})\b")
_NAME = regex(r"[A-Za-z_$%][\w$%]*")
_ADDRESS = regex(r"\[([%\w]{1,40})(?:\+(\d{1,6}))?\]$")

_COMPUTES = ("add.", "sub.", "mov.", "cvta.", "mad.")

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
        self.bases: dict[int, dict[str, int]] = {}
        self.accesses: dict[int, dict[int, list[int]]] = {}

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

    def loads_elsewhere(self, store: int) -> list[int]:
        """The loads of another function that may read what a store stores in local memory.

        One of the two functions has the variable, and calls the other one with its address.
        """
        owner, found = self.image.owner[store], list[int]()
        through = [n for n, pcs in self._through(owner).items() if store in pcs]
        place = self._places(owner).get(store)
        for call, callee in self._calls:
            caller = self.image.owner[call]
            if callee == owner:
                starts = {self._passed(call, n) for n in through} - {None}
                found += [pc for pc, (start, _) in self._places(caller).items() if start in starts]
            if caller == owner and place is not None:
                for n, pcs in self._through(callee).items():
                    found += pcs if self._passed(call, n) == place[0] else ()
        return [pc for pc in found if self.image.instructions[pc].op.startswith("ld.")]

    @cached_property
    def _calls(self) -> list[tuple[int, int]]:
        """The direct calls, each with the number of the function."""
        number = {f.name: k for k, f in enumerate(self.image.functions)}
        calls = ((pc, i) for pc, i in enumerate(self.image.instructions) if i.op[:4] == "call")
        named = ((pc, number.get(x)) for pc, i in calls for x in i.operands[:2])
        return [(pc, callee) for pc, callee in named if callee is not None]

    def _through(self, owner: int) -> dict[int, list[int]]:
        """By parameter, the accesses of a function at addresses that are computed from it."""
        if owner not in self.accesses:
            found = defaultdict[int, list[int]](list)
            for name, pcs in self.readers[owner].items():
                if (m := _PARAMETER.search(name)) is not None:
                    work = [x for pc in pcs for x in targets(self.image.instructions[pc])]
                    found[int(m[1])] += self._accesses_at(owner, work)
            self.accesses[owner] = dict(found)
        return self.accesses[owner]

    def _accesses_at(self, owner: int, work: list[str]) -> list[int]:
        found = []
        for name in work:
            for pc in self.readers[owner].get(name, ()):
                i = self.image.instructions[pc]
                if any((m := _ADDRESS.match(x)) and m[1] == name for x in i.operands):
                    found.append(pc)
                elif i.op.startswith(_COMPUTES):
                    work += [x for x in targets(i) if x not in work]
        return found

    def _passed(self, call: int, number: int) -> int | None:
        """The first byte of the caller's variable whose address a call passes; None for others."""
        owner, i = self.image.owner[call], self.image.instructions[call]
        names = _NAME.findall(i.operands[-1])
        self._places(owner)
        for pc in range(call - 1, -1, -1):
            if number >= len(names) or self.image.owner[pc] != owner:
                return None
            before = self.image.instructions[pc]
            if before.op.startswith("st.param") and names[number] in before.operands[0]:
                return self.bases.get(owner, {}).get(before.operands[1].strip("{}"))
        return None

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
        for register in FRAME:
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
                elif i.op.startswith(_COMPUTES):
                    new = [x for x in targets(i) if x not in bases]
                    bases |= dict.fromkeys(new, bases[name])
                    work += new
        self.bases[owner] = bases
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
