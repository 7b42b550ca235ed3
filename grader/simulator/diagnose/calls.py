"""Which calls lead to an instruction, and where two instructions part.

A function that the compiler inlined is in the code of its caller: the debug sections, or the
locations of the optimized code, name the call. Any other has a call; with more than one of it the
code alone does not say which one was executed, unless each has a copy of the function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

from grader import dataclass
from grader.launch import Call
from grader.simulator.decode.module import Image
from grader.simulator.diagnose.consequences import Flow
from grader.simulator.ptx.call_copies import original_name
from grader.simulator.ptx.debug_info import CallSite, call_sites
from grader.simulator.ptx.source_map import is_copy

MOST_CALLS = 8
"""Of the calls that lead to an instruction, those that are shown."""


@dataclass(frozen=True)
class Frame:
    """A place in a function that an execution is in: an instruction, or a call that leads to one.

    Attributes:
        key: what it is, other than frames of the same function.
        pc: an instruction of it.
        line: its line.
    """

    key: object
    pc: int
    line: int


class Calls:
    """The calls that lead to the instructions of an image.

    Args:
        flow: the calls of each function.
        lines: by program counter, the line of the source.
    """

    def __init__(self, flow: Flow, lines: Sequence[int]) -> None:
        self.flow, self.image, self.lines = flow, flow.image, lines

    def is_known(self, pc: int) -> bool:
        """Whether one chain of calls leads to an instruction."""
        return pc >= len(self.lines) or bool(self._frames(pc)[1])

    def leading_to(self, pc: int, text: Sequence[str]) -> tuple[Call, ...]:
        """The calls that lead to an instruction, the innermost first, as far as they are known.

        Args:
            pc: the program counter.
            text: the lines of the source.
        """
        if pc >= len(self.lines):
            return ()
        lines = [frame.line for frame in self._frames(pc)[0][1:] if frame.line]
        own = [Call(n, text[n - 1].strip()) for n in lines if n <= len(text)]
        return tuple(own[:MOST_CALLS])

    def parting(self, first: int, then: int) -> tuple[Frame, Frame] | None:
        """Where two instructions part: two places of one function; None if that is not known."""
        if max(first, then) >= len(self.lines):
            return None
        (a, known_a), (b, known_b) = self._frames(first), self._frames(then)
        if not (known_a and known_b):
            return None
        for one, other in zip(reversed(a), reversed(b), strict=False):
            if one.key != other.key:
                return one, other
        return None

    def around(self, first: int, then: int) -> list[Frame]:
        """The calls that lead to both of two instructions, the innermost first."""
        frames = (reversed(self._frames(pc)[0][1:]) for pc in (first, then))
        return [one for one, other in zip(*frames, strict=False) if one.key == other.key][::-1]

    def meeting_lines(self, first: int, then: int) -> set[tuple[int, int]]:
        """The lines of two instructions, or of calls that lead there, in a function that has both.

        One pair where it is known where they part.
        """
        if parting := self.parting(first, then):
            return {(parting[0].line, parting[1].line)}
        one, other = ([*chain.from_iterable(self._levels(pc))] for pc in (first, then))
        owner = self.image.owner
        return {(self.lines[a], self.lines[b]) for a in one for b in other if owner[a] == owner[b]}

    def lines_to(self, pcs: Iterable[int]) -> set[int]:
        """The lines of some instructions, and of all calls that lead to them."""
        return {self.lines[at] for pc in pcs for level in self._levels(pc) for at in level}

    def distance(self, pc: int, access: int) -> tuple[int, int]:
        """How far an instruction is from an access.

        Returns how many calls lead to the access from the nearest function that has both, or calls
        that lead to both, and the lines between these.
        """
        every = {at for level in self._levels(pc) for at in level}
        for depth, level in enumerate(self._levels(access)):
            apart = [
                abs(self.lines[a] - self.lines[b])
                for a in level
                for b in every
                if self.image.owner[a] == self.image.owner[b]
            ]
            if apart:
                return depth, min(apart)
        return MOST_CALLS, abs(self.lines[pc] - self.lines[access])

    def _levels(self, pc: int) -> list[set[int]]:
        """An instruction, the calls of its function, those of the functions with these, and on."""
        levels, known = [{pc}], {self.image.owner[pc]}
        while levels[-1] and len(levels) <= MOST_CALLS:
            owners = {self.image.owner[at] for at in levels[-1]}
            sites = {at for owner in owners for at in self.flow.calls_of[owner]}
            levels.append({at for at in sites if self.image.owner[at] not in known})
            known |= {self.image.owner[at] for at in sites}
        return levels

    def has_after(self, pc: int, others: Collection[int]) -> bool:
        """Whether some instructions, or calls to them, are behind another one in its function."""
        at = next(iter(self._frames(pc)[0]), None)
        if at is None:
            return False
        frames = (frame for other in others for frame in self._frames(other)[0])
        owner = self.image.owner
        return any(owner[f.pc] == owner[at.pc] and f.pc > at.pc for f in frames)

    def _frames(self, pc: int) -> tuple[list[Frame], bool]:
        """The frames of an instruction, the innermost first; whether they are all.

        The code of a header's function is at the line of the student's that calls it.
        """
        found, owners = list[Frame](), set[int]()
        while (owner := self.image.owner[pc]) not in owners:
            owners.add(owner)
            name = self.image.functions[owner].name
            if owner == 0 or not is_copy(name):
                found += [Frame(pc, pc, self.lines[pc]), *self._inlined(pc)]
            sites = self.flow.calls_of[owner]
            if owner == 0 or len(sites) != 1:
                return found, owner == 0
            pc = sites[0]
        return found, False

    def _inlined(self, pc: int) -> Iterator[Frame]:
        """The calls in the code of its function that an instruction was inlined for."""
        at = self.image.locations[pc].inlined
        while at is not None:
            yield Frame((at.line, at.column), pc, at.line)
            at = at.inlined
        owner = self.image.owner[pc]
        function = self.image.module.functions.get(_symbol(self.image, owner))
        if not self._sites or function is None:
            return
        body, labels = function.body, function.labels
        index = pc - self._ends[owner] + len(body)  # what was added is before it
        if not 0 <= index < len(body):
            return
        around = [
            s for s in self._sites if labels.get(s.start, len(body)) <= index < labels.get(s.end, 0)
        ]
        around.sort(key=lambda s: labels[s.end] - labels[s.start])
        files = {s.file for s in around}
        if body[index].location.file not in files:
            around = around[1:]  # its line is that of the innermost call
        yield from (Frame(s.start, pc, s.line) for s in around)

    @cached_property
    def _ends(self) -> dict[int, int]:
        """By function, the program counter behind its last instruction."""
        return {owner: pc + 1 for pc, owner in enumerate(self.image.owner)}

    @cached_property
    def _sites(self) -> Sequence[CallSite]:
        """The calls in the student's file that code of `-G` was inlined for."""
        kernel = self.image.module.functions[self.image.functions[0].name]
        own = next((i.location.file for i in kernel.body if i.location.line), 0)
        return [site for site in call_sites(self.image.module.sections) if site.file == own]


def _symbol(image: Image, owner: int) -> str:
    """The name that a function has in the module: copies for calls and of headers have others."""
    return original_name(image.functions[owner].name).partition("@")[0]
