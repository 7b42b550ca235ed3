"""Which instructions of a function may run after others."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from grader.simulator.ptx.model import Function


def successors_of(f: Function, at: int) -> Iterator[int]:
    """The instructions that may run next."""
    i = f.body[at]
    kind = i.op.split(".")[0]
    if kind == "bra" and i.operands:
        yield f.labels.get(i.operands[0], at + 1)
    if kind == "brx" and len(i.operands) > 1:
        yield from (f.labels[x] for x in f.tables.get(i.operands[1], ()) if x in f.labels)
    if i.guard is not None or kind not in ("bra", "brx", "ret", "exit", "trap"):
        yield at + 1


def successors(f: Function) -> dict[int, list[int]]:
    """By instruction, those that may run next."""
    return {at: [*successors_of(f, at)] for at in range(len(f.body))}


def predecessors_of(f: Function) -> dict[int, list[int]]:
    """By instruction, those that may run just before it."""
    before: dict[int, list[int]] = {}
    for at in range(len(f.body)):
        for then in successors_of(f, at):
            before.setdefault(then, []).append(at)
    return before


def reached(
    starts: Iterable[int], stops: Container[int], then: Mapping[int, Sequence[int]]
) -> set[int]:
    """The instructions reached from some, up to and with the first of others."""
    work, found = [*starts], set[int]()
    while work:
        at = work.pop()
        new = set(then.get(at, ())) - found if at not in stops else set[int]()
        found |= new
        work += new
    return found
