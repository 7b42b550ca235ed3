"""One raw report of the core with its numbers resolved to lines, threads and variables."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader.launch import Dim3

SAME_VALUE, SAME_INSTRUCTION, WITHIN_WARP, ACROSS_BLOCKS, ATOMIC = 1, 2, 4, 8, 16
MISALIGNED, STORE, OTHER_STORE, UNKNOWN_BUFFER, FREED, READONLY, OTHER_ATOMIC = (
    1 << k for k in range(5, 12)
)
HEAP, IN_FLIGHT, BAD_FREE, BLOCK_SCOPE = 1 << 12, 1 << 13, 1 << 14, 1 << 15
UNUSUAL = SAME_VALUE | SAME_INSTRUCTION | WITHIN_WARP | ACROSS_BLOCKS
"""A race with none of these flags is between two warps of a block and about different values."""


@dataclass(frozen=True)
class Target:
    """The memory that an access touched.

    Attributes:
        space: the state space: global, shared or local.
        name: the variable's name in the source; empty when it has none.
        element: the element with its index, such as `As[1][3]`.
        extent: the variable's size in words; for an undefined local variable, a declaration that
            initializes it.
        offset: bytes from the variable's start; an address when the variable is not known.
        size: the variable's size in bytes.
        size_hint: a fix for an array whose size does not match the block; empty if there is none.
        dynamic: whether the launch sets the variable's size.
    """

    space: str
    name: str
    element: str
    extent: str
    offset: int
    size: int
    size_hint: str = ""
    dynamic: bool = False


@dataclass(frozen=True)
class Report:
    """A resolved report; fields that end in 2 describe the second access of a race."""

    kind: int
    flags: int
    pc: int
    pc2: int
    line: int
    line2: int
    count: int
    bytes: int
    extra: int
    address: int
    target: Target
    block: Dim3
    thread: Dim3
    block2: Dim3
    thread2: Dim3

    def has(self, flag: int) -> bool:
        """Whether a flag of the report is set."""
        return bool(self.flags & flag)

    def swapped(self) -> Report:
        """The same race with its two accesses exchanged."""
        kept = self.flags & ~(STORE | OTHER_STORE | ATOMIC | OTHER_ATOMIC)
        for own, other in ((STORE, OTHER_STORE), (ATOMIC, OTHER_ATOMIC)):
            kept |= (other if self.has(own) else 0) | (own if self.has(other) else 0)
        return replace(
            self,
            flags=kept,
            pc=self.pc2,
            pc2=self.pc,
            line=self.line2,
            line2=self.line,
            block=self.block2,
            block2=self.block,
            thread=self.thread2,
            thread2=self.thread,
        )


def index_of(number: int, extents: Dim3) -> Dim3:
    """The index (x, y, z) of the block or thread that is `number` in a grid of these extents."""
    x, y, _ = extents
    return number % x, number // x % y, number // x // y
