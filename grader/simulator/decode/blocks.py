"""Order the basic blocks of a function, and merge those that always run one after the other.

The order in which a warp prefers its blocks is topological on the graph of loops: every loop is
contiguous, its exits follow it, and the same holds inside a loop without the edges to its header.
A warp that always runs the lowest block with active lanes then reconverges where the paths join.

`-G` code has many labels that only the line above reaches. A block with a single successor, of
which it is the single predecessor, is merged with it: no lanes can take another way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from grader import dataclass
from grader.simulator.decode.control_flow import (
    BRANCH,
    CALL,
    EXIT,
    FALL,
    RETURN,
    TABLE,
    TRAP,
    Block,
)
from grader.simulator.decode.dataflow import BRANCHES, sources, targets
from grader.simulator.decode.operands import RegisterFile, address_or_none
from grader.simulator.ptx.model import Function, Instruction

MAX_NESTING = 64
"""Nested loops whose blocks are ordered, so that the order takes linear time on any graph. Below
that depth, blocks stay as they are; no program is written so."""

MAX_INNER = 8
"""Levels of loops inside a loop whose repetition is detected."""

MAX_STATE = 512
"""Registers that are compared to find a loop's repetition, at most."""

_ACCESSES = ("ld", "ldu", "st", "atom", "red", "wmma", "ldmatrix", "stmatrix")
COMPUTES = frozenset((
    "add", "sub", "mul", "mad", "mul24", "mad24", "fma", "div", "rem", "abs", "neg", "min", "max",
    "popc", "clz", "bfind", "fns", "brev", "bfe", "bfi", "szext", "bmsk", "dp2a", "dp4a", "sad",
    "and", "or", "xor", "not", "cnot", "lop3", "shf", "shl", "shr", "prmt", "setp", "set", "selp",
    "slct", "cvt", "cvta", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "testp",
    "copysign", "isspacep", "vabsdiff2", "vabsdiff4"))  # fmt: skip
"""The instructions that make their results of registers and constants alone."""

_CLOCKS = ("mov_clock32", "mov_clock64")


def preferred_order(successors: Sequence[Sequence[int]], entry: int = 0) -> list[int]:
    """The nodes reachable from `entry`: loops are contiguous, and their exits follow them."""
    order: list[int] = []
    work: list[tuple[list[int], int, frozenset[int]]] = [
        (reachable(successors, entry), entry, frozenset())
    ]
    while work:
        nodes, header, cut = work.pop()
        if len(nodes) == 1:
            order.append(nodes[0])
            continue
        components = _components(successors, nodes, header, set(nodes), cut)
        heads = _headers(successors, nodes, components)
        for number, component in enumerate(components):  # sinks first: the first ends on top
            if len(component) == 1:
                work.append((component, component[0], cut))
                continue
            head = header if header in component else heads.get(number, min(component))
            if len(cut) == MAX_NESTING:
                work += [([n], n, cut) for n in reversed(_from(component, head))]
            else:
                work.append((_from(component, head), head, cut | {head}))
    return order


def reachable(successors: Sequence[Sequence[int]], entry: int) -> list[int]:
    """The nodes that are reachable from `entry`, itself first."""
    visited, stack = {entry: None}, [entry]
    while stack:
        for s in successors[stack.pop()]:
            if s not in visited:
                visited[s] = None
                stack.append(s)
    return list(visited)


def _from(component: list[int], head: int) -> list[int]:
    return [head, *(n for n in component if n != head)]


def _headers(
    successors: Sequence[Sequence[int]], nodes: list[int], components: list[list[int]]
) -> dict[int, int]:
    """The header of each loop, by its number: the first node that another component enters."""
    number_of = {node: number for number, nodes in enumerate(components) for node in nodes}
    heads: dict[int, int] = {}
    for node in sorted(nodes):
        for s in successors[node]:
            if number_of.get(s, number_of[node]) != number_of[node]:
                heads.setdefault(number_of[s], s)
    return heads


def _components(
    successors: Sequence[Sequence[int]],
    nodes: list[int],
    entry: int,
    inside: set[int],
    cut: frozenset[int],
) -> list[list[int]]:
    """The strongly connected components without edges into `cut`, sinks first (Tarjan)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    out: list[list[int]] = []
    for root in [entry, *nodes]:
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for k, s in enumerate(successors[node][at:], at):
                if s not in inside or s in cut:
                    continue
                if s not in index:
                    work += [(node, k + 1), (s, 0)]
                    break
                if s in on_stack:
                    low[node] = min(low[node], index[s])
            else:
                _close(node, work, index, low, stack, on_stack, out)
    return out


def _close(
    node: int,
    work: list[tuple[int, int]],
    index: dict[int, int],
    low: dict[int, int],
    stack: list[int],
    on_stack: set[int],
    out: list[list[int]],
) -> None:
    """Finish a node of Tarjan's algorithm; append its component when it is the root."""
    if work:
        parent = work[-1][0]
        low[parent] = min(low[parent], low[node])
    if low[node] != index[node]:
        return
    component = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        component.append(member)
        if member == node:
            break
    out.append(component)


def merge_chains(blocks: list[Block]) -> list[Block]:
    """Merge each chain of blocks into one.

    Returns the blocks in their order, renumbered; the first is the entry. The `steps` of the parts
    add up, so that a chain costs as much as its parts.
    """
    follow = _followers(blocks)
    absorbed = set(follow.values())
    kept = [n for n in range(len(blocks)) if n not in absorbed]
    renumber: dict[int, int] = {}
    out = []
    for number, n in enumerate(kept):
        chain = [n]
        while chain[-1] in follow:
            chain.append(follow[chain[-1]])
        renumber[n] = number
        out.append(_joined([blocks[k] for k in chain]))
    for block in out:
        block.next = renumber.get(block.next, 0)
        block.target = renumber.get(block.target, 0)
        block.table = [renumber[t] for t in block.table]
    return out


def successors(block: Block) -> list[int]:
    """The blocks that lanes can go to from the end of a block; of a call, the return site."""
    kind = block.end.kind
    out = [block.target] if kind == BRANCH else list(block.table) if kind == TABLE else []
    if block.end.guard or kind not in (BRANCH, TABLE, RETURN, EXIT, TRAP):
        out.append(block.next)
    return out


def _followers(blocks: list[Block]) -> dict[int, int]:
    """The block that each block is merged with. The entry has no predecessor in a chain."""
    entered = [0] * len(blocks)
    for block in blocks:
        for s in successors(block):
            entered[s] += 1
    follow: dict[int, int] = {}
    for n, block in enumerate(blocks):
        if block.end.kind not in (FALL, BRANCH) or block.end.guard:
            continue
        (then,) = successors(block)
        if then in (0, n) or entered[then] > 1 or _must_not_merge(block, blocks[then]):
            continue
        follow[n] = then
    return follow


def _must_not_merge(first: Block, then: Block) -> bool:
    """Whether two blocks must remain apart.

    An indirect call is executed again for its other targets, alone. Two reads of a clock in one
    block would measure no time. Other threads may run before the end of an update, or at a stop.
    """
    call = then.end.call if then.end.kind == CALL else None
    apart = any(i.stops for i in first.code[-1:]) or (call is not None and call.callee is None)
    insns = first.insns + then.insns
    return apart or any(x.exec in _CLOCKS or (x.used and x.exec[:2] != "ld") for x in insns)


def _joined(chain: list[Block]) -> Block:
    last = chain[-1]
    insns = [insn for block in chain for insn in block.insns]
    steps = sum(block.steps for block in chain)
    code = [i for block in chain for i in block.code]
    return Block(insns, last.end, last.next, last.target, last.table, steps, code)


@dataclass(frozen=True)
class Loop:
    """A loop that leaves its blocks, or not, by the values of registers alone.

    What its branches depend on is made, inside it, from registers and constants. A lane that comes
    to its header twice with the same values in `state` never leaves it.

    Attributes:
        first, last: its blocks; the first is the header.
        outer: the loop around it: its number + 1, or 0.
        pc: the program counter of the first line that computes what its branches depend on; of
            the branch back to the header where they depend on nothing.
        state: the place and the bytes of each register that its branches or its addresses depend
            on and that it writes; the core has 4 bytes for a predicate, else those of 32 lanes.
    """

    first: int
    last: int
    outer: int
    pc: int
    state: list[tuple[int, int]]


def find_loops(
    blocks: Sequence[Block],
    function: Function,
    functions: Mapping[str, Function],
    registers: RegisterFile,
    pc: int,
) -> list[Loop]:
    """The loops whose repetition the core can detect; the `loop` of their blocks is set.

    Only the loops with fewer than MAX_INNER levels inside are examined, in linear time.

    Args:
        blocks: the blocks of the function, in their order.
        function: the function.
        functions: all functions that may be called.
        registers: the places of the function's registers.
        pc: the program counter of its first instruction.
    """
    loops: list[Loop] = []
    reads = _Dependencies(function, functions)
    for first, last, height in sorted(loop_ranges(blocks)):
        inside = blocks[first : last + 1]
        if height >= MAX_INNER or (found := reads.state(inside)) is None:
            continue
        names, condition = found
        back = [b.end.pc for b in inside if first in successors(b) and b.end.kind == BRANCH]
        if condition is not None:
            back = [pc + next(k for k, i in enumerate(function.body) if i is condition)]
        places = [(registers.at[n], 32 * registers.width[n] or 4) for n in names]
        at = max(back, default=inside[0].end.pc)
        loops.append(Loop(first, last, inside[0].loop, at, places))
        for block in inside:
            block.loop = len(loops)
    return loops


def loop_ranges(blocks: Sequence[Block]) -> list[tuple[int, int, int]]:
    """The first and last block of each loop, and how many levels of loops are inside it."""
    last_of: dict[int, int] = {}
    for number, block in enumerate(blocks):
        for s in successors(block):
            if s <= number:
                last_of[s] = number
    out: list[tuple[int, int, int]] = []
    outermost: list[tuple[int, int, int]] = []
    for first in sorted(last_of, reverse=True):
        last, height = last_of[first], 0
        while outermost and outermost[-1][0] <= last:
            inner = outermost.pop()
            last, height = max(last, inner[1]), max(height, inner[2] + 1)
        outermost.append((first, last, height))
        out.append((first, last, height))
    return out


class _Dependencies:
    """What the branches and the addresses of loops depend on."""

    def __init__(self, function: Function, functions: Mapping[str, Function]) -> None:
        self.registers = function.registers
        self.parameters = {p.name for p in function.parameters}
        self.functions = functions
        self.known: dict[int, tuple[tuple[str, ...], list[str], bool]] = {}

    def of(self, i: Instruction) -> tuple[tuple[str, ...], list[str], bool]:
        """The registers that an instruction writes and reads; whether it computes from these."""
        if id(i) not in self.known:
            read = [name for name in sources(i) if name in self.registers]
            if i.guard is not None:
                read.append(i.guard[0])
            self.known[id(i)] = targets(i), read, self.computes(i)
        return self.known[id(i)]

    def computes(self, i: Instruction) -> bool:
        """Whether an instruction makes the same result of the same registers each time."""
        parts = i.op.split(".")
        if parts[0] in ("ld", "ldu"):
            own = address_or_none(i.operands[-1])[0] in self.parameters
            return "const" in parts or ("param" in parts and own)
        if parts[0] == "mov":
            return not any(x.startswith(("%clock", "%globaltimer")) for x in i.operands)
        return parts[0] in COMPUTES and "cc" not in parts

    @cached_property
    def calls_end(self) -> bool:
        """Whether a called function may end its caller's lanes, or the launch."""
        called = (f for f in self.functions.values() if not f.entry)
        return any(
            i.op.split(".")[0] in ("exit", "trap", "brkpt")
            or (i.op.startswith("call") and "__assertfail" in i.operands)
            for f in called
            for i in f.body
        )

    def state(self, inside: Sequence[Block]) -> tuple[list[str], Instruction | None] | None:
        """The registers to compare; None where a branch depends on anything else.

        With the instruction of the first line that the branches depend on.
        """
        writers: dict[str, list[Instruction]] = {}
        branches: list[str] = []
        addresses: list[str] = []
        for block in inside:
            if block.end.call is not None and (block.end.call.callee is None or self.calls_end):
                return None
            for i in block.code:
                written, read, _ = self.of(i)
                for name in written:
                    writers.setdefault(name, []).append(i)
                head = i.op.split(".")[0]
                if head in BRANCHES:
                    branches += read
                elif i.op == "st.param.b64":  # an address, perhaps
                    addresses += read
                elif head in _ACCESSES:
                    where = next((x for x in i.operands if x.startswith("[")), "")
                    addresses.append(address_or_none(where)[0])
        control = self._origins(branches, writers, strict=True)
        if control is None:
            return None
        accessed = self._origins(addresses, writers, strict=False) or frozenset()
        names = sorted(n for n in control | accessed if n in writers and n in self.registers)
        if len(names) > MAX_STATE:
            return None
        lines = [i for name in sorted(control) for i in writers.get(name, ()) if i.location.line]
        return names, min(lines, key=lambda i: i.location.line, default=None)

    def _origins(
        self, names: list[str], writers: Mapping[str, list[Instruction]], *, strict: bool
    ) -> frozenset[str] | None:
        """The registers that these are computed from; None if `strict` and from anything else."""
        work, visited = list(names), set(names)
        while work:
            for i in writers.get(work.pop(), ()):
                _, read, computes = self.of(i)
                if computes:
                    work += set(read) - visited
                    visited.update(read)
                elif strict:
                    return None
        return frozenset(visited)
