"""Classes of PTX instructions, and the chain of instructions that a warp waits for.

The chain of a warp is the longest one of instructions that wait for each other, as on a
multiprocessor that issues a warp's instructions in order. It is found by basic block, within which
ptxas puts loads before what waits: an instruction starts when its operands are there, after what
the blocks before issued. A block that follows itself is a loop; its second iteration counts, so
that a load for the next one waits only where it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from grader import dataclass
from grader.simulator.decode.control_flow import MATRIX, Block
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.memory import LOCAL, SHARED, space_of
from grader.simulator.ptx.model import Instruction

NOMINAL = {
    "fma32": 4, "int32": 4, "mad32": 5, "fma64": 8, "conversion": 12, "special": 20,
    "division": 60, "integer_division": 100, "shuffle": 23, "shared": 25, "local": 35,
    "global": 250, "atomic": 300, "barrier": 25,
}  # fmt: skip
"""Cycles by which chains are compared: nothing else depends on them.

"shared", "local" and "global" are loads."""

_FREE = frozenset(("mov", "cvta", "bra", "ret", "exit", "isspacep", "prefetch", "pragma", "trap"))
"""PTX instructions that become no machine instruction, or one in a whole warp's life."""

_SPECIAL = frozenset(("ex2", "lg2", "sin", "cos", "rsqrt", "tanh"))
_ROUNDED = frozenset(("rn", "rz", "rm", "rp"))
_EXCHANGE = frozenset(("shfl", "vote", "match", "redux", "activemask"))
_LOADS = frozenset(("ld", "ldu"))
_STORES = frozenset(("st", "cp", "red"))
_FLOAT32 = frozenset(("f32", "f16", "f16x2", "bf16", "bf16x2"))
FUSED = frozenset(("fma", "add", "sub", "mul", "mad"))


class NotCounted(Exception):
    """The launch's work cannot be counted; the message says why, in a clause."""


def class_of(op: str) -> tuple[str, float]:
    """Return the class of a PTX instruction and the issue slots that it takes.

    The class is a key of NOMINAL, or "" for what only takes slots (stores, fences), or nothing.

    Raises:
        NotCounted: it uses units that are not modelled, such as tensor cores.
    """
    head, *parts = op.split(".")
    kind = parts[-1] if parts else ""
    if head in MATRIX or head in ("wgmma", "tex", "tld4", "suld", "sust", "mbarrier"):
        raise NotCounted(f"no model of `{head}`")
    if head in _FREE or (head in _LOADS and ("param" in parts or "const" in parts)):
        return "", 0.0
    if head in _LOADS:
        return {SHARED: "shared", LOCAL: "local"}.get(space_of([head, *parts]), "global"), 1.0
    if head == "atom":
        return "atomic", 1.0
    if head in _STORES or head in ("membar", "fence", "call"):
        return "", 1.0
    if head in ("bar", "barrier"):
        return "barrier", 1.0
    if head in _EXCHANGE:
        return "shuffle", 1.0
    return _arithmetic(head, parts, kind)


def _arithmetic(head: str, parts: Sequence[str], kind: str) -> tuple[str, float]:
    is_real = kind in _FLOAT32
    if head in ("div", "rem", "rcp", "sqrt"):
        if kind == "f64":
            return "fma64", 10.0
        exact = "approx" not in parts and "full" not in parts
        if is_real:
            return ("division", 10.0) if exact and _ROUNDED & set(parts) else ("special", 2.0)
        return "integer_division", 20.0
    if head in _SPECIAL:
        return "special", 2.0
    if head == "cvt":
        is_whole = all(part[0] in "usb" for part in parts[-2:])
        return ("int32", 1.0) if is_whole else ("conversion", 1.0)
    if kind == "f64":
        return "fma64", 1.0
    if is_real:
        return ("fma32", 1.0) if head in FUSED else ("int32", 1.0)
    return ("mad32" if head in ("mul", "mad", "mul24", "mad24", "dp4a") else "int32"), 1.0


@dataclass(frozen=True)
class _Node:
    """The end of a chain: its nominal length, and what it ends with."""

    length: float
    kind: str = ""
    before: _Node | None = None

    def then(self, kind: str) -> _Node:
        return _Node(self.length + NOMINAL[kind], kind, self)

    def counts(self) -> Counter[str]:
        out: Counter[str] = Counter()
        node: _Node | None = self
        while node is not None and node.kind:
            out[node.kind] += 1
            node = node.before
        return out


_START = _Node(0.0)


def block_chain(block: Block, index: int) -> Counter[str]:
    """Return the longest chain of one execution of a basic block, by class.

    Args:
        block: the block; its successors are numbers of blocks of the same function.
        index: its own number.
    """
    loops = index in (block.next, block.target) and bool(block.code)
    ready: dict[str, _Node] = {}
    first = _issue(block.code, ready, _START)
    if loops:
        counts = _issue(block.code, ready, first).counts()
        counts.subtract(first.counts())
        return +counts
    return _longest([first, *ready.values()]).counts()


def _issue(code: Sequence[Instruction], ready: dict[str, _Node], base: _Node) -> _Node:
    """Issue a block's instructions, none before `base`; return when the last one was issued."""
    last = base
    for instruction in code:
        kind, _ = class_of(instruction.op)
        guard = (instruction.guard[0],) if instruction.guard else ()
        read = (*sources(instruction), *guard)
        start = _longest([base, *(ready[name] for name in read if name in ready)])
        done = start.then(kind) if kind else start
        if kind == "barrier":
            base = done = _longest([last, *ready.values()]).then(kind)
        last = _longest([last, base, start])
        for name in targets(instruction):
            ready[name] = done
    return last


def _longest(nodes: Sequence[_Node]) -> _Node:
    return max(nodes, key=lambda node: node.length)
