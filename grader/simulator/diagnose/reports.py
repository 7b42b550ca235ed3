"""One report of the core with its numbers made into places."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader.launch import Dim3

SAME_VALUE, SAME_INSTRUCTION, WITHIN_WARP, ACROSS_BLOCKS, ATOMIC = 1, 2, 4, 8, 16
MISALIGNED, STORE, OTHER_STORE, UNKNOWN_BUFFER, FREED, READONLY, OTHER_ATOMIC = (
    1 << k for k in range(5, 12)
)
HEAP, IN_FLIGHT, BAD_FREE, BLOCK_SCOPE = 1 << 12, 1 << 13, 1 << 14, 1 << 15
UNUSUAL = SAME_VALUE | SAME_INSTRUCTION | WITHIN_WARP | ACROSS_BLOCKS
"""A race with none of these is between two warps of a block, about different values."""


@dataclass(frozen=True)
class Target:
    """What an access hit: the student's name for it, the element, and its extent in words;
    `remark` is what the launch tells of its size, `dynamic` that the launch gives its bytes.
    """

    space: str
    name: str
    element: str
    extent: str
    offset: int
    size: int
    remark: str = ""
    dynamic: bool = False


@dataclass(frozen=True)
class Report:
    """One raw report with its numbers made into places."""

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
        return bool(self.flags & flag)

    def swapped(self) -> Report:
        """The same race told from the other access's side."""
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
