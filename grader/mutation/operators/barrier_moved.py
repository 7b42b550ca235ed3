"""A barrier stands one statement too early or too late, inside a block or outside it."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.mutation.edit import Edit
from grader.mutation.operators.barrier_removed import barriers
from grader.mutation.syntax import first_line, line_of, text

COMPOUND = ("if_statement", "for_statement", "while_statement", "do_statement")


def edits(tree: Node) -> Iterator[Edit]:
    """Each barrier over the statement before it and after it, into either when that has a block
    of its own, and out of the loop or guard that it is the first or last statement of."""
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
    as its first when it comes after."""
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
