"""Calls of `memcpy`, which must not copy an object to a place that overlaps it.

The compiler makes a loop of a call, a byte in each round. It is told from a loop of the program by
its code and by its line, which calls `memcpy`; the copy of a large struct has the same loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from grader import dataclass, regex
from grader.simulator.decode.dataflow import targets
from grader.simulator.ptx.model import Function, Instruction

_CALL = regex(r"(?<!\w)memcpy\s*\(")
_MOST_LETTERS = 1000
_NEAR = 8
"""Instructions behind the load of a byte that are searched for the rest of its loop."""


@dataclass(frozen=True)
class Copy:
    """The registers of a loop: the addresses, the round, and how many bytes it copies in all.

    The last one may be a number.
    """

    to: str
    source: str
    round: str
    bytes: str


def memcpy_lines(lines: Iterable[str]) -> frozenset[int]:
    """The lines of a source that call `memcpy`."""
    return frozenset(n for n, row in enumerate(lines, 1) if _CALL.search(row[:_MOST_LETTERS]))


def copies(f: Function, called: Collection[int]) -> dict[int, Copy]:
    """By id, the loads of the loops that the calls of `memcpy` in these lines became."""
    if not called or f.library:
        return {}
    written = defaultdict(list)
    for i in f.body:
        for name in targets(i):
            written[name].append(i)
    once = {name: by[0] for name, by in written.items() if len(by) == 1}
    out = dict[int, Copy]()
    for at, i in enumerate(f.body):
        if i.op == "ld.u8" and i.location.line in called:
            found = _loop(i, f.body[at + 1 : at + 1 + _NEAR], once)
            out |= {id(i): found} if found else {}
    return out


def _loop(
    load: Instruction, behind: Sequence[Instruction], once: Mapping[str, Instruction]
) -> Copy | None:
    """The loop of a load, if it copies bytes one by one."""
    value, where = load.operands
    source = once.get(where.strip("[]"))
    stores = (i for i in behind if i.op == "st.u8" and i.operands[1] == value)
    ends = (i for i in behind if i.op == "setp.lt.u64")
    store, end = next(stores, None), next(ends, None)
    to = once.get(store.operands[0].strip("[]")) if store else None
    if source is None or to is None or end is None:
        return None
    if not (source.op == to.op == "add.s64" and source.operands[2] == to.operands[2]):
        return None
    step, round_ = once.get(end.operands[1]), source.operands[2]
    if step is None or step.op != "add.s64" or step.operands[1:] != [round_, "1"]:
        return None
    return Copy(to.operands[1], source.operands[1], round_, end.operands[2])
