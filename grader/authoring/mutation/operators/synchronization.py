"""Mutations of synchronization and memory spaces: barriers, atomics, __shared__."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from grader.authoring.mutation.mutants import Edit, replaced
from grader.compile.syntax import Node, Tree

BARRIERS = ("__syncthreads", "__syncwarp")
COMPOUND = ("if_statement", "for_statement", "while_statement", "do_statement")
MEMORY_SPACES: Mapping[str, str] = MappingProxyType(
    {"__shared__": "", "__constant__": "__device__"}
)


def barrier_removed_edits(tree: Tree) -> Iterator[Edit]:
    """Each `__syncthreads();` and `__syncwarp();` becomes an empty statement."""
    for barrier in barriers(tree):
        yield replaced(barrier, ";", f"{barrier.text} removed")


def barriers(tree: Tree) -> Iterator[Node]:
    """Yield the statements that consist of a call of a barrier."""
    for statement in tree.walk("expression_statement"):
        inner = statement.named[0] if statement.named else statement
        called = inner.part("function")
        if inner.kind == "call_expression" and called is not None and called.text in BARRIERS:
            yield statement


def barrier_moved_edits(tree: Tree) -> Iterator[Edit]:
    """Each barrier moves by one statement.

    It moves before the previous statement and after the next one, into either when that has a
    block, and out of a loop or guard when it is the first or the last statement there.
    """
    for barrier in barriers(tree):
        previous, following = _neighbor(barrier, -1), _neighbor(barrier, 1)
        if previous is not None:
            yield _swapped(barrier, previous, barrier, f"moved before `{previous.first_line()}`")
            yield from _into(barrier, previous, last=True)
        else:
            yield from _out(barrier, last=False)
        if following is not None:
            yield _swapped(barrier, barrier, following, f"moved after `{following.first_line()}`")
            yield from _into(barrier, following, last=False)
        else:
            yield from _out(barrier, last=True)


def _neighbor(statement: Node, step: int) -> Node | None:
    """Return the previous or next statement in the block, skipping comments."""
    siblings = statement.parent.named if statement.parent is not None else ()
    statements = [sibling for sibling in siblings if sibling.kind != "comment"]
    position = statements.index(statement) + step
    return statements[position] if 0 <= position < len(statements) else None


def _swapped(barrier: Node, first: Node, second: Node, options: str) -> Edit:
    source = barrier.tree.data
    between = source[first.end : second.start].decode()
    new = second.text + between + first.text
    return _moved(barrier, first.start, second.end, new, options)


def _into(barrier: Node, neighbor: Node, *, last: bool) -> Iterator[Edit]:
    """Move the barrier into the block of its neighbor, as its last or first statement."""
    block = _block(neighbor)
    if block is None:
        return
    source, call = barrier.tree.data, barrier.text
    options = f"moved to the {'end' if last else 'beginning'} of `{neighbor.first_line()}`"
    if last:
        end = block.end - 1
        new = f"{call} {source[end : barrier.start].decode()}"
        yield _moved(barrier, end, barrier.end, new, options)
    else:
        start = block.start + 1
        new = f"{source[barrier.end : start].decode()} {call}"
        yield _moved(barrier, barrier.start, start, new, options)


def _out(barrier: Node, *, last: bool) -> Iterator[Edit]:
    """Move the barrier out of the loop or guard whose block it begins or ends."""
    block = barrier.parent
    outer = block.parent if block is not None else None
    if block is None or outer is None or outer.kind not in COMPOUND:
        return
    source, call = barrier.tree.data, barrier.text
    options = f"moved out of `{outer.first_line()}`, {'behind' if last else 'before'} it"
    if last:
        new = f"{source[barrier.end : outer.end].decode()} {call}"
        yield _moved(barrier, barrier.start, outer.end, new, options)
    else:
        new = f"{call} {source[outer.start : barrier.start].decode()}"
        yield _moved(barrier, outer.start, barrier.end, new, options)


def _block(statement: Node) -> Node | None:
    if statement.kind not in COMPOUND:
        return None
    name = "consequence" if statement.kind == "if_statement" else "body"
    body = statement.part(name)
    return body if body is not None and body.kind == "compound_statement" else None


def _moved(barrier: Node, start: int, end: int, new: str, options: str) -> Edit:
    return Edit(start, end, new, barrier.line, f"{barrier.text} {options}")


def atomic_edits(tree: Tree) -> Iterator[Edit]:
    """Each `atomicAdd(to, value)` becomes `*(to) += value`."""
    for call in tree.walk("call_expression"):
        arguments = call.field("arguments").named
        if call.field("function").text == "atomicAdd" and len(arguments) == 2:
            to, value = (argument.text for argument in arguments)
            yield replaced(call, f"*({to}) += {value}")


def memory_space_edits(tree: Tree) -> Iterator[Edit]:
    """`__shared__` is removed, and `__constant__` becomes `__device__`.

    `extern __shared__` stays, because the text would not compile without it.
    """
    for declaration in tree.walk("declaration"):
        if any(child.text == "extern" for child in declaration.children):
            continue
        for word in declaration.children:
            if word.text in MEMORY_SPACES:
                other = MEMORY_SPACES[word.text]
                yield replaced(word, other, f"{word.text} -> {other or 'nothing'}")
