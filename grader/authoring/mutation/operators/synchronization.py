"""Mutations of synchronization and memory spaces: barriers, atomics, __shared__."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tree_sitter import Node

from grader.authoring.mutation.mutants import Edit, replaced
from grader.authoring.mutation.syntax import field, first_line, line_of, text, walk

# A barrier is forgotten.

BARRIERS = ("__syncthreads", "__syncwarp")


def barrier_removed_edits(tree: Node) -> Iterator[Edit]:
    """Each `__syncthreads();` and `__syncwarp();` becomes an empty statement."""
    for barrier in barriers(tree):
        yield replaced(barrier, ";", f"{text(barrier)} removed")


def barriers(tree: Node) -> Iterator[Node]:
    """The statements that are a call of a barrier and nothing else."""
    for statement in walk(tree, "expression_statement"):
        inner = statement.named_children[0] if statement.named_children else statement
        called = inner.child_by_field_name("function")
        if inner.type == "call_expression" and text(called) in BARRIERS:
            yield statement


# A barrier stands one statement too early or too late, inside a block or outside it.

COMPOUND = ("if_statement", "for_statement", "while_statement", "do_statement")


def barrier_moved_edits(tree: Node) -> Iterator[Edit]:
    """Each barrier over the statement before it and after it, into either when that has a block
    of its own, and out of the loop or guard that it is the first or last statement of.
    """
    for barrier in barriers(tree):
        before, after = _neighbour(barrier, -1), _neighbour(barrier, 1)
        if before is not None:
            yield _swapped(barrier, before, barrier, f"moved before `{first_line(before)}`")
            yield from _into(barrier, before, last=True)
        else:
            yield from _out(barrier, last=False)
        if after is not None:
            yield _swapped(barrier, barrier, after, f"moved after `{first_line(after)}`")
            yield from _into(barrier, after, last=False)
        else:
            yield from _out(barrier, last=True)


def _neighbour(statement: Node, step: int) -> Node | None:
    """The statement beside it in its block, comments passed over."""
    beside = statement
    while True:
        found = beside.prev_named_sibling if step < 0 else beside.next_named_sibling
        if found is None or found.type != "comment":
            return found
        beside = found


def _swapped(barrier: Node, first: Node, second: Node, how: str) -> Edit:
    source = _source(barrier)
    between = source[first.end_byte : second.start_byte].decode()
    new = text(second) + between + text(first)
    return _moved(barrier, first.start_byte, second.end_byte, new, how)


def _into(barrier: Node, beside: Node, *, last: bool) -> Iterator[Edit]:
    """Into the block of the statement beside it: as its last statement when that comes before,
    as its first when it comes after.
    """
    block = _block(beside)
    if block is None:
        return
    source, call = _source(barrier), text(barrier)
    how = f"moved to the {'end' if last else 'beginning'} of `{first_line(beside)}`"
    if last:
        end = block.end_byte - 1
        new = f"{call} {source[end : barrier.start_byte].decode()}"
        yield _moved(barrier, end, barrier.end_byte, new, how)
    else:
        start = block.start_byte + 1
        new = f"{source[barrier.end_byte : start].decode()} {call}"
        yield _moved(barrier, barrier.start_byte, start, new, how)


def _out(barrier: Node, *, last: bool) -> Iterator[Edit]:
    """Out of the loop or guard whose block it begins or ends."""
    block = barrier.parent
    outer = block.parent if block is not None else None
    if block is None or outer is None or outer.type not in COMPOUND:
        return
    source, call = _source(barrier), text(barrier)
    how = f"moved out of `{first_line(outer)}`, {'behind' if last else 'before'} it"
    if last:
        new = f"{source[barrier.end_byte : outer.end_byte].decode()} {call}"
        yield _moved(barrier, barrier.start_byte, outer.end_byte, new, how)
    else:
        new = f"{call} {source[outer.start_byte : barrier.start_byte].decode()}"
        yield _moved(barrier, outer.start_byte, barrier.end_byte, new, how)


def _block(statement: Node) -> Node | None:
    if statement.type not in COMPOUND:
        return None
    name = "consequence" if statement.type == "if_statement" else "body"
    body = statement.child_by_field_name(name)
    return body if body is not None and body.type == "compound_statement" else None


def _moved(barrier: Node, start: int, end: int, new: str, how: str) -> Edit:
    return Edit(start, end, new, line_of(barrier), f"{text(barrier)} {how}")


def _source(node: Node) -> bytes:
    root = node
    while root.parent is not None:
        root = root.parent
    return b"\0" * root.start_byte + (root.text or b"")  # the root starts at its first token


# An addition that was atomic is not.


def atomic_edits(tree: Node) -> Iterator[Edit]:
    """Each `atomicAdd(to, value)` becomes `*(to) += value`."""
    for call in walk(tree, "call_expression"):
        arguments = field(call, "arguments").named_children
        if text(field(call, "function")) == "atomicAdd" and len(arguments) == 2:
            to, value = map(text, arguments)
            yield replaced(call, f"*({to}) += {value}")


# An array lies in another memory: what a block should share, each thread has for itself.

OTHER: Mapping[str, str] = MappingProxyType({"__shared__": "", "__constant__": "__device__"})


def memory_space_edits(tree: Node) -> Iterator[Edit]:
    """`__shared__` is left out (not behind `extern`, where the text would not compile), and
    `__constant__` becomes `__device__`.
    """
    for declaration in walk(tree, "declaration"):
        if any(text(child) == "extern" for child in declaration.children):
            continue
        for word in declaration.children:
            if text(word) in OTHER:
                other = OTHER[text(word)]
                yield replaced(word, other, f"{text(word)} -> {other or 'nothing'}")
