"""Mutations of synchronization and memory spaces: barriers, atomics, __shared__."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from grader.authoring.mutation.mutants import Edit, replaced
from grader.compile.syntax import Node, Tree

# A barrier is forgotten.

BARRIERS = ("__syncthreads", "__syncwarp")


def barrier_removed_edits(tree: Tree) -> Iterator[Edit]:
    """Each `__syncthreads();` and `__syncwarp();` becomes an empty statement."""
    for barrier in barriers(tree):
        yield replaced(barrier, ";", f"{barrier.text} removed")


def barriers(tree: Tree) -> Iterator[Node]:
    """The statements that are a call of a barrier and nothing else."""
    for statement in tree.walk("expression_statement"):
        inner = statement.named[0] if statement.named else statement
        called = inner.part("function")
        if inner.kind == "call_expression" and called is not None and called.text in BARRIERS:
            yield statement


# A barrier stands one statement too early or too late, inside a block or outside it.

COMPOUND = ("if_statement", "for_statement", "while_statement", "do_statement")


def barrier_moved_edits(tree: Tree) -> Iterator[Edit]:
    """Each barrier over the statement before it and after it, into either when that has a block
    of its own, and out of the loop or guard that it is the first or last statement of.
    """
    for barrier in barriers(tree):
        before, after = _neighbour(barrier, -1), _neighbour(barrier, 1)
        if before is not None:
            yield _swapped(barrier, before, barrier, f"moved before `{before.first_line()}`")
            yield from _into(barrier, before, last=True)
        else:
            yield from _out(barrier, last=False)
        if after is not None:
            yield _swapped(barrier, barrier, after, f"moved after `{after.first_line()}`")
            yield from _into(barrier, after, last=False)
        else:
            yield from _out(barrier, last=True)


def _neighbour(statement: Node, step: int) -> Node | None:
    """The statement beside it in its block, comments passed over."""
    around = statement.parent.named if statement.parent is not None else ()
    found = [other for other in around if other.kind != "comment"]
    at = found.index(statement) + step
    return found[at] if 0 <= at < len(found) else None


def _swapped(barrier: Node, first: Node, second: Node, how: str) -> Edit:
    source = barrier.tree.data
    between = source[first.end : second.start].decode()
    new = second.text + between + first.text
    return _moved(barrier, first.start, second.end, new, how)


def _into(barrier: Node, beside: Node, *, last: bool) -> Iterator[Edit]:
    """Into the block of the statement beside it: as its last statement when that comes before,
    as its first when it comes after.
    """
    block = _block(beside)
    if block is None:
        return
    source, call = barrier.tree.data, barrier.text
    how = f"moved to the {'end' if last else 'beginning'} of `{beside.first_line()}`"
    if last:
        end = block.end - 1
        new = f"{call} {source[end : barrier.start].decode()}"
        yield _moved(barrier, end, barrier.end, new, how)
    else:
        start = block.start + 1
        new = f"{source[barrier.end : start].decode()} {call}"
        yield _moved(barrier, barrier.start, start, new, how)


def _out(barrier: Node, *, last: bool) -> Iterator[Edit]:
    """Out of the loop or guard whose block it begins or ends."""
    block = barrier.parent
    outer = block.parent if block is not None else None
    if block is None or outer is None or outer.kind not in COMPOUND:
        return
    source, call = barrier.tree.data, barrier.text
    how = f"moved out of `{outer.first_line()}`, {'behind' if last else 'before'} it"
    if last:
        new = f"{source[barrier.end : outer.end].decode()} {call}"
        yield _moved(barrier, barrier.start, outer.end, new, how)
    else:
        new = f"{call} {source[outer.start : barrier.start].decode()}"
        yield _moved(barrier, outer.start, barrier.end, new, how)


def _block(statement: Node) -> Node | None:
    if statement.kind not in COMPOUND:
        return None
    name = "consequence" if statement.kind == "if_statement" else "body"
    body = statement.part(name)
    return body if body is not None and body.kind == "compound_statement" else None


def _moved(barrier: Node, start: int, end: int, new: str, how: str) -> Edit:
    return Edit(start, end, new, barrier.line, f"{barrier.text} {how}")


# An addition that was atomic is not.


def atomic_edits(tree: Tree) -> Iterator[Edit]:
    """Each `atomicAdd(to, value)` becomes `*(to) += value`."""
    for call in tree.walk("call_expression"):
        arguments = call.field("arguments").named
        if call.field("function").text == "atomicAdd" and len(arguments) == 2:
            to, value = (argument.text for argument in arguments)
            yield replaced(call, f"*({to}) += {value}")


# An array lies in another memory: what a block should share, each thread has for itself.

OTHER: Mapping[str, str] = MappingProxyType({"__shared__": "", "__constant__": "__device__"})


def memory_space_edits(tree: Tree) -> Iterator[Edit]:
    """`__shared__` is left out (not behind `extern`, where the text would not compile), and
    `__constant__` becomes `__device__`."""
    for declaration in tree.walk("declaration"):
        if any(child.text == "extern" for child in declaration.children):
            continue
        for word in declaration.children:
            if word.text in OTHER:
                other = OTHER[word.text]
                yield replaced(word, other, f"{word.text} -> {other or 'nothing'}")
