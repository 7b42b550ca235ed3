"""What the findings of all launches of one decoded kernel read from its code and its source."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, lru_cache

from grader.simulator.decode.module import Image
from grader.simulator.diagnose.confirmation import Confirmation
from grader.simulator.diagnose.places import Branches
from grader.simulator.diagnose.races import ProgramOrder
from grader.simulator.diagnose.variables import SourceVariables, indexed_variable
from grader.simulator.ptx.debug_info import LocalVariables

RECENT = 4
"""Images and sources that are remembered: two variants of the kernels of a lab that has two."""


class KernelCode:
    """One image and the source that it was compiled from; each part is read when it is needed."""

    def __init__(self, image: Image, source: str) -> None:
        self.image, self.source = image, source
        self.line_of = _source_lines(image)
        self._indexed: dict[int, str] = {}

    @cached_property
    def order(self) -> ProgramOrder:
        """The reachability between the instructions."""
        return ProgramOrder(self.image)

    @cached_property
    def confirmation(self) -> Confirmation:
        """Which loads have a value that the program may discard."""
        return Confirmation(self.image)

    @cached_property
    def locals(self) -> LocalVariables:
        """The local variables that the module's debug sections describe."""
        return LocalVariables(self.image.sections)

    @cached_property
    def branches(self) -> Branches:
        """The branches of the source that only some threads enter."""
        return Branches(self.variables.tree)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the source."""
        return self.source.split("\n")

    @property
    def variables(self) -> SourceVariables:
        """The variables that the source declares."""
        return _source_variables(self.source)

    def indexed(self, pc: int, names: Collection[str]) -> str:
        """The only one of the shared variables that an instruction's address is computed from.

        Args:
            pc: the instruction.
            names: the symbols of the shared variables, which are those of every launch.
        """
        if pc not in self._indexed:
            image = self.image
            self._indexed[pc] = indexed_variable(image.instructions, image.owner, pc, names)
        return self._indexed[pc]


@lru_cache(maxsize=RECENT)
def kernel_code(image: Image, source: str) -> KernelCode:
    """The code of an image, which the launches of a kernel share."""
    return KernelCode(image, source)


@lru_cache(maxsize=1)
def _source_variables(source: str) -> SourceVariables:
    """The variables of a source, which both variants share."""
    return SourceVariables(source)


def _source_lines(image: Image) -> list[int]:
    """The source line of each program counter; where the compiler gives none, the line before."""
    out, last, owner = [], 0, -1
    for location, number in zip(image.locations, image.owner, strict=True):
        last = 0 if number != owner else last
        owner = number
        at = location
        while at.file != 1 and at.inlined is not None:
            at = at.inlined
        last = at.line or last
        out.append(last)
    return out
