"""Explain a race: which hazard it is, and where a barrier is missing.

Two accesses between the same two barriers have no order; the schedule that ran them says nothing.
The program text does: if the read can be reached from the write without crossing a barrier, and
not the other way round, the missing barrier belongs between them in that order. Paths go through
calls: into the callee, and from its returns to every caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from grader import dataclass
from grader.launch import Dim3, Finding, OtherAccess, Severity
from grader.simulator.decode.blocks import reachable, successors
from grader.simulator.decode.control_flow import (
    ALIGNED,
    ARRIVE,
    BARRIER,
    CALL,
    COUNTED,
    ORDERS,
    RETURN,
    WARPSYNC,
    Block,
)
from grader.simulator.decode.module import Image
from grader.simulator.diagnose.places import Gap, access_word, barrier_advice

SAME_VALUE, SAME_INSTRUCTION, WITHIN_WARP, ACROSS_BLOCKS, ATOMIC = 1, 2, 4, 8, 16
MISALIGNED, STORE, OTHER_STORE, UNKNOWN_BUFFER, FREED, READONLY, OTHER_ATOMIC = (
    1 << k for k in range(5, 12)
)
HEAP, IN_FLIGHT, BAD_FREE, BLOCK_SCOPE, MIXED_SIZE, UNWAITED, STALE_CACHE, FOREIGN_LOCAL = (
    1 << k for k in range(12, 20)
)
OF_BLOCK = BLOCK_SCOPE
"""Of a local variable that is FREED: by the end of its block."""
IMAGE_OBJECT, TEXTURE_CACHE = 1 << 20, 1 << 21
IN_LIBRARY = 1 << 24
PASSED_BY = 1 << 22
"""Of an early exit: the thread executed what is behind the barrier. The core does not set it."""
LATE = PASSED_BY
"""Of an old value: the access may be late, behind the other one of its thread. See late.py."""
RESTORED = PASSED_BY
"""Of a lost update: a compare-and-swap found the value that its thread had read. See pauses.py."""
ODD_SIZE, FAILED_SWAP, FOREIGN_SHARED, INNER_ARRAY = 1 << 23, 1 << 26, 1 << 27, 1 << 28
NO_PROXY_FENCE, KNOWN_OUTSIDE, NOT_GLOBAL = 1 << 29, 1 << 25, 1 << 30
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


Node = tuple[int, int]
"""The number of a function and of a basic block in it."""

_HAZARDS = {"RAW": "read-after-write", "WAR": "write-after-read", "WAW": "write-after-write"}


class ProgramOrder:
    """Reachability between instructions of one image without crossing a barrier."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.number = {f.name: k for k, f in enumerate(image.functions)}
        self.block_of: dict[int, Node] = {}
        self.position: dict[int, int] = {}
        self.return_sites: dict[int, list[Node]] = {}
        self.reached: dict[tuple[Node, bool], set[Node]] = {}
        for number, function in enumerate(image.functions):
            for k, block in enumerate(function.blocks):
                for position, code in enumerate(block.insns):
                    self.block_of[code.pc] = (number, k)
                    self.position[code.pc] = position
                self.block_of.setdefault(block.end.pc, (number, k))
                self.position.setdefault(block.end.pc, len(block.insns))
                if (callee := self.callee(block)) is not None:
                    self.return_sites.setdefault(callee, []).append((number, block.next))

    @cached_property
    def has_partial_barriers(self) -> bool:
        """Whether the code has barriers at which only some threads of a block arrive."""
        blocks = (block for f in self.image.functions for block in f.blocks)
        flags = [block.end.flag for block in blocks if block.end.kind == BARRIER]
        return any(flag & COUNTED or flag % ALIGNED == ARRIVE for flag in flags)

    def callee(self, block: Block) -> int | None:
        """The number of the function that a block ends with a direct call of."""
        call = block.end.call if block.end.kind == CALL else None
        return None if call is None or call.callee is None else self.number[call.callee]

    def follows(self, first: int, then: int, *, warp: bool = False) -> bool:
        """Whether `then` can run after `first` with no barrier between them.

        Args:
            first: the program counter of the first instruction.
            then: the program counter of the second instruction.
            warp: for two lanes of one warp, for which __syncwarp() is a barrier too.
        """
        a, b = self.block_of.get(first), self.block_of.get(then)
        if a is None or b is None:
            return False
        if a == b and self.position[then] > self.position[first]:
            return True
        if (a, warp) not in self.reached:
            self.reached[a, warp] = self._reach(a, warp)
        return b in self.reached[a, warp]

    def _reach(self, start: Node, warp: bool) -> set[Node]:
        """The blocks that lanes can reach from the end of a block."""
        visited: set[Node] = set()
        work = [*self._successors(start, warp)]
        while work:
            node = work.pop()
            if node not in visited:
                visited.add(node)
                work += self._successors(node, warp)
        return visited

    def _successors(self, node: Node, warp: bool) -> Iterator[Node]:
        """The blocks that follow without a barrier."""
        number, k = node
        block = self.image.functions[number].blocks[k]
        end, callee = block.end, self.callee(block)
        if end.kind == BARRIER or (warp and end.kind == WARPSYNC and end.flag & ORDERS):
            return
        if end.kind == RETURN:
            yield from self.return_sites.get(number, [])
        if callee is not None:
            yield callee, 0
        if callee is None or end.guard:
            yield from ((number, then) for then in successors(block))

    def share_a_loop(self, first: int, then: int) -> bool:
        """Whether a loop of one function has two instructions of it."""
        (number, a), (other, b) = (self.block_of.get(pc, (-1, 0)) for pc in (first, then))
        if number < 0 or number != other:
            return True
        after = [successors(block) for block in self.image.functions[number].blocks]
        return all(any(y in reachable(after, s) for s in after[x]) for x, y in ((a, b), (b, a)))

    def in_loop(self, pc: int) -> bool:
        """Whether an instruction is in a loop, or in a function that is called from one."""
        work = [self.block_of[pc]] if pc in self.block_of else []
        visited: set[Node] = set()
        while work:
            number, k = work.pop()
            after = [successors(block) for block in self.image.functions[number].blocks]
            if any(k in reachable(after, then) for then in after[k]):
                return True
            visited.add((number, k))
            work += [site for site in self._call_sites(number) if site not in visited]
        return False

    def _call_sites(self, callee: int) -> Iterator[Node]:
        """The blocks that end with a direct call of a function."""
        for number, function in enumerate(self.image.functions):
            for k, block in enumerate(function.blocks):
                if self.callee(block) == callee:
                    yield number, k

    def hazard(self, write: int, read: int, *, warp: bool = False) -> str:
        """RAW or WAR, by program order; RAW when both orders are possible."""
        before = self.follows(read, write, warp=warp) and not self.follows(write, read, warp=warp)
        return "WAR" if before else "RAW"


def race_finding(r: Report, hazard: str, gap: Gap | None, *, strays: bool = False) -> Finding:
    """The finding of a race.

    Args:
        r: the report; its partner is the access that the program orders first.
        hazard: RAW, WAR or WAW.
        gap: where a barrier is missing; None where no barrier can help.
        strays: whether one of the two instructions also accesses the array out of bounds.
    """
    own = access_word(r.has(STORE), r.has(ATOMIC))
    other = access_word(r.has(OTHER_STORE), r.has(OTHER_ATOMIC))
    severity: Severity = (
        "info" if r.has(SAME_VALUE) else "warning" if r.has(SAME_INSTRUCTION) else "error"
    )
    return Finding(
        "race",
        severity,
        f"{_HAZARDS[hazard]} hazard on {r.target.space} `{r.target.element}`{_circumstance(r)}",
        space=r.target.space,
        hazard=hazard,
        access=own,
        variable=r.target.name,
        other=OtherAccess(r.line2, r.thread2, r.block2, other),
        hint=_fix(r, hazard, gap, strays),
    )


def _circumstance(r: Report) -> str:
    if r.has(SAME_VALUE):
        return " (both threads write the same value)"
    if r.has(SAME_INSTRUCTION):
        return ": lanes of one warp write it in the same instruction, and any of them may win"
    if r.has(IN_FLIGHT):
        to = "to" if r.has(OTHER_STORE) else "from"
        return f": the asynchronous copy {to} it has not completed"
    if r.has(STALE_CACHE):
        reads = "a texture fetch" if r.has(TEXTURE_CACHE) else "`__ldg`"
        return f": {reads} reads through a cache that does not see what the kernel writes"
    if r.has(MIXED_SIZE):
        return ": two atomic accesses of different sizes, which are not atomic to each other"
    if r.has(UNWAITED):
        return ": volatile does not make the read wait for the write"
    if r.has(WITHIN_WARP):
        return " within a warp (warp-level programming)"
    return " between two blocks" if r.has(ACROSS_BLOCKS) else ""


def _fix(r: Report, hazard: str, gap: Gap | None, strays: bool) -> str:
    across, no_barrier = r.has(ACROSS_BLOCKS), gap is None or r.has(ACROSS_BLOCKS)
    if r.has(STALE_CACHE):
        other = "through a pointer or a surface, not a texture" if r.has(TEXTURE_CACHE) else ""
        return (
            f"Read {_subject(r)} {other or 'without `__ldg`'}, which is for data that no thread "
            "writes while the kernel runs."
        )
    if r.has(MIXED_SIZE):
        return (
            f"Access {_subject(r)} with one type only. Atomics are atomic to each other when they "
            "access the same bytes."
        )
    if r.has(UNWAITED):
        return _volatile_fix(r)
    if r.has(BLOCK_SCOPE):
        return (
            "A block-scoped atomic is atomic within its own block only. Use the device-scoped "
            "form: atomicAdd instead of atomicAdd_block, or thread_scope_device."
        )
    if hazard == "WAW" and no_barrier and r.target.size_hint:
        return r.target.size_hint
    if hazard == "WAW" and no_barrier and strays:
        return (
            f"Line {r.line} also accesses {_subject(r)} out of bounds. Fix that first: guard the "
            "store, so that a thread without an element of its own does not store. An index past "
            "the end of its row reaches another thread's element; an atomic would only hide it."
        )
    return _across_blocks_fix(r, hazard) if across else _within_block_fix(r, hazard, gap)


def _within_block_fix(r: Report, hazard: str, gap: Gap | None) -> str:
    """The fix of a race between two threads of a block."""
    if hazard == "WAW" and (gap is None or r.has(SAME_INSTRUCTION)):
        return (
            "Two threads write the same element. Check the index, let one thread write, "
            "or use an atomic."
        )
    if gap is None:
        return (
            "Several threads update the same element at once, and no barrier can order them. Use "
            "an atomic such as atomicAdd, or give each thread its own element."
        )
    advice = barrier_advice(gap, hazard, warp=r.has(WITHIN_WARP))
    if gap.kind == "library":
        return advice
    if hazard != "WAW":
        return f"{_not_ordered(r, hazard)} {advice}"
    if gap.kind != "between":
        return f"Two threads write the same element. Check the index. {advice}"
    return f"Two threads write the same element. Check the index, or p{advice[1:]}"


def _across_blocks_fix(r: Report, hazard: str) -> str:
    """The fix of a race between two blocks."""
    atomic = r.has(ATOMIC) or r.has(OTHER_ATOMIC)
    if hazard == "RAW":
        return (
            f"A block reads {_subject(r)} before another block has written it, and no barrier "
            "orders blocks. Read it in a second launch, or after an atomic that signals the write; "
            "the writer calls __threadfence() before that atomic, and the reader after it."
        )
    if atomic and hazard != "WAW":
        return (
            f"Blocks read and update {_subject(r)} in no defined order, and no barrier orders "
            "blocks. Read it with an atomic too, such as atomicAdd of 0, or in a second launch."
        )
    return (
        f"Blocks access {_subject(r)} in no defined order, and no barrier orders blocks. Let "
        "only one block write each element, or update it with an atomic such as atomicAdd."
    )


def _volatile_fix(r: Report) -> str:
    """The fix of a volatile read that gets whatever value is there."""
    if r.has(ACROSS_BLOCKS):
        return (
            f"Let the writer call __threadfence() and set a flag; wait for the flag and call "
            f"__threadfence() before you read {_subject(r)}."
        )
    barrier = "__syncwarp()" if r.has(WITHIN_WARP) else "__syncthreads()"
    return (
        f"Put {barrier} between the write and the read of {_subject(r)}: the threads do not run in "
        "step, and volatile orders nothing between them."
    )


def _not_ordered(r: Report, hazard: str) -> str:
    """What goes wrong in a RAW or WAR hazard."""
    atomic = r.has(ATOMIC) or r.has(OTHER_ATOMIC)
    written, write = ("updated", "update") if atomic else ("written", "overwrite")
    if hazard == "RAW":
        return f"Threads read {_subject(r)} before other threads have {written} it."
    return f"Threads {write} {_subject(r)} before other threads have read it."


def _subject(r: Report) -> str:
    return f"`{r.target.name}`" if r.target.name else "this memory"
