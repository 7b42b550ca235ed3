"""Reports of a run, and the hazard of a race.

Two accesses between the same two barriers have no order; the schedule that ran them says nothing.
The program text does: if the read can be reached from the write without crossing a barrier, and
not the other way round, the missing barrier belongs between them in that order. Paths go through
calls: into the callee, and from its returns to every caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Literal

from grader import dataclass, replace
from grader.launch import Dim3
from grader.simulator.core import bindings as c
from grader.simulator.core.memory import GRID_BARRIER
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
COMPUTED = SAME_VALUE
"""Of an undefined value: a library computes with it, and no run gives it another value."""
NEVER_WRITTEN = OTHER_STORE
"""Of an uninitialized read in global memory: no thread of the launch writes what it reads."""
NO_EFFECT = PASSED_BY
"""Of an uninitialized read: no output depends on its value. See outputs.py."""
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


def extent_of(dims: Sequence[int], size: int) -> str:
    """What an array consists of, such as `18 x 10 elements of 4 bytes`."""
    elements = "element" if tuple(dims) == (1,) else "elements"
    return f"{' x '.join(map(str, dims))} {elements} of {size} byte{'s' * (size > 1)}"


def allocation(offset: int, size: int) -> Target:
    """Memory from the device's malloc; `size` is 0 when it is not known."""
    extent = f"{size} bytes" if size else "an allocation"
    return Target("global", "memory from malloc", "memory from malloc", extent, offset, size)


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


def subject(r: Report) -> str:
    """The words for the variable of a report."""
    return f"`{r.target.name}`" if r.target.name else "this memory"


def plain_ends(r: Report) -> list[tuple[int, bool]]:
    """The accesses of a race that are no atomics, each with whether it stores."""
    own = [(r.pc, r.has(STORE))] * (not r.has(ATOMIC))
    return own + [(r.pc2, r.has(OTHER_STORE))] * (not r.has(OTHER_ATOMIC))


def both_ends(r: Report) -> list[tuple[int, bool]]:
    """The accesses of a race, each with whether it is an atomic."""
    return [(r.pc, r.has(ATOMIC)), (r.pc2, r.has(OTHER_ATOMIC))]


def is_atomic(r: Report) -> bool:
    """Whether an access of a race is an atomic."""
    return r.has(ATOMIC | OTHER_ATOMIC)


def written_twice(reports: Sequence[Report], name: str) -> set[int]:
    """The stores to elements of a variable that other threads store to, too.

    Where others only read the element, no update is lost: they read it too early.
    """
    races = (x for x in reports if x.kind == c.RACE and x.has(STORE) and x.has(OTHER_STORE))
    return {pc for x in races if x.target.name == name for pc in (x.pc, x.pc2)}


def volatile_fix(r: Report) -> str:
    """The fix of a volatile read that gets whatever value is there."""
    if r.has(ACROSS_BLOCKS):
        return (
            f"Let the writer call __threadfence() and set a flag; wait for the flag and call "
            f"__threadfence() before you read {subject(r)}."
        )
    barrier = "__syncwarp()" if r.has(WITHIN_WARP) else "__syncthreads()"
    return (
        f"Put {barrier} between the write and the read of {subject(r)}: the threads do not run in "
        "step, and volatile orders nothing between them."
    )


def index_of(number: int, extents: Dim3) -> Dim3:
    """The index (x, y, z) of the block or thread that is `number` in a grid of these extents."""
    x, y, _ = extents
    return number % x, number // x % y, number // x // y


Node = tuple[int, int]
"""The number of a function and of a basic block in it."""
Stops = Literal["block", "warp", "none"]
"""The barriers that order two threads: those of the block, of the warp as well, or none."""


class ProgramOrder:
    """Reachability between instructions of one image without crossing a barrier."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.number = {f.name: k for k, f in enumerate(image.functions)}
        self.block_of: dict[int, Node] = {}
        self.position: dict[int, int] = {}
        self.return_sites: dict[int, list[Node]] = {}
        self.reached: dict[tuple[Node, Stops], set[Node]] = {}
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

    def follows(self, first: int, then: int, stops: Stops = "block") -> bool:
        """Whether `then` can run after `first` with no barrier between them.

        Args:
            first: the program counter of the first instruction.
            then: the program counter of the second instruction.
            stops: which barriers count.
        """
        a, b = self.block_of.get(first), self.block_of.get(then)
        if a is None or b is None:
            return False
        if a == b and self.position[then] > self.position[first]:
            return True
        return b in self._reached(a, stops)

    def may_meet(self, pc: int, other: int) -> bool:
        """Whether threads that passed the same barriers may execute two instructions.

        One follows the other without a barrier between them, or both follow one branch so.
        """
        if self.follows(pc, other) or self.follows(other, pc):
            return True
        both = {self.block_of.get(pc), self.block_of.get(other)}
        own = {node for node in both if node is not None}
        nodes = {node for node in self.block_of.values() if node[0] in {n for n, _ in own}}
        return len(own) == 2 and any(own <= self._reached(node, "block") for node in nodes)

    def _reached(self, start: Node, stops: Stops) -> set[Node]:
        """The blocks that lanes can reach from the end of a block, found once."""
        if (start, stops) not in self.reached:
            self.reached[start, stops] = self._reach(start, stops)
        return self.reached[start, stops]

    def _reach(self, start: Node, stops: Stops) -> set[Node]:
        """The blocks that lanes can reach from the end of a block."""
        visited: set[Node] = set()
        work = [*self._successors(start, stops)]
        while work:
            node = work.pop()
            if node not in visited:
                visited.add(node)
                work += self._successors(node, stops)
        return visited

    def _successors(self, node: Node, stops: Stops) -> Iterator[Node]:
        """The blocks that follow without a barrier."""
        number, k = node
        block = self.image.functions[number].blocks[k]
        end, callee = block.end, self.callee(block)
        waits = end.kind == BARRIER
        waits |= stops == "warp" and end.kind == WARPSYNC and bool(end.flag & ORDERS)
        if waits and stops != "none":
            return
        if end.kind == RETURN:
            yield from self.return_sites.get(number, [])
        if callee is not None:
            yield callee, 0
        if callee is None or end.guard:
            yield from ((number, then) for then in successors(block))

    def with_first(self, r: Report) -> Report:
        """A report with that of its two places first from which threads come to the other one."""
        back = self.follows(r.pc2, r.pc, "none") and not self.follows(r.pc, r.pc2, "none")
        return r.swapped() if back and r.pc != r.pc2 else r

    def share_a_loop(self, first: int, then: int) -> bool:
        """Whether a loop of one function has two instructions of it."""
        (number, a), (other, b) = (self.block_of.get(pc, (-1, 0)) for pc in (first, then))
        if number < 0 or number != other:
            return True
        after = [successors(block) for block in self.image.functions[number].blocks]
        return all(any(y in reachable(after, s) for s in after[x]) for x, y in ((a, b), (b, a)))

    def in_one_block(self, first: int, then: int) -> bool:
        """Whether an instruction is before another one in a basic block."""
        return first < then and self.block_of.get(first) == self.block_of.get(then)

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

    def hazard(self, write: int, read: int, stops: Stops = "block") -> str:
        """RAW or WAR, by program order; RAW when both orders are possible."""
        before = self.follows(read, write, stops) and not self.follows(write, read, stops)
        return "WAR" if before else "RAW"


def leads_astray(r: Report, other: Report, lines_of: Callable[[int], set[int]]) -> bool:
    """Whether a report follows from an access outside an array, or from a read of what is unset.

    Args:
        r: the report of such an access or read.
        other: the other report.
        lines_of: the lines of an access, and of the calls that lead there.
    """
    if r.kind == c.UNINIT:
        return _is_never_written(r, other)
    if r.kind != c.INVALID or not r.target.name:
        return False
    return _is_met_outside(r, other, lines_of) or _is_read_back(r, other)


def _is_read_back(stray: Report, read: Report) -> bool:
    """Whether an access outside a variable reads what another one stored there."""
    if read.kind != c.INVALID or not stray.has(STORE) or read.has(STORE):
        return False
    a, b = stray.target, read.target
    return (a.space, a.name, a.offset) == (b.space, b.name, b.offset)


def _is_met_outside(stray: Report, race: Report, lines_of: Callable[[int], set[int]]) -> bool:
    """Whether an access of a race is one that leaves its array elsewhere, by a wrong index.

    It meets others' elements there. So do stores of several threads to one element, and accesses of
    one statement.
    """
    if race.kind != c.RACE or stray.target.name != race.target.name:
        return False
    both = race.has(STORE) and race.has(OTHER_STORE) and stray.has(STORE)
    if both or stray.pc in (race.pc, race.pc2):
        return True
    statements = lines_of(stray.pc) & lines_of(race.pc) & lines_of(race.pc2)
    return bool(statements - {0})


def _is_never_written(read: Report, race: Report) -> bool:
    """Whether a race is for an array of which its reader reads elements that no thread writes.

    Reads that a race explains are not counted: a barrier gives those elements their values.
    """
    if race.kind != c.RACE or not read.count or read.target.space != "shared":
        return False
    ends = ((race.line, STORE), (race.line2, OTHER_STORE))
    reads = {line for line, stores in ends if not race.has(stores)}
    return read.target.name == race.target.name and read.line in reads


def hazard_in_time(r: Report) -> str:
    """The hazard by the order of the run: signals of the threads themselves order the accesses."""
    if r.has(STORE) and r.has(OTHER_STORE):
        return "WAW"
    return "WAR" if r.has(STORE) else "RAW"


def skips_grid_barrier(end: Report, race: Report) -> bool:
    """Whether a race may be behind a barrier of the grid that some threads never reach."""
    missed = end.kind == c.STANDSTILL and end.target.name == GRID_BARRIER
    return missed and race.kind == c.RACE and race.target.space == "global"
