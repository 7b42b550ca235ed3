"""The syntax tree of CUDA C++ text, by tree-sitter's grammar of it; nothing is compiled here."""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser


def parse(source: bytes) -> Node:
    """The root of the tree; offsets are bytes. What the grammar does not know is an ERROR node."""
    return Parser(Language(tree_sitter_cuda.language())).parse(source).root_node


def walk(node: Node, *kinds: str) -> Iterator[Node]:
    """The nodes of those kinds (all, when none is named) at and below `node`, in the text's
    order; strings and what belongs to a declaration's attributes included.
    """
    if not kinds or node.type in kinds:
        yield node
    for child in node.children:
        yield from walk(child, *kinds)


def text(node: Node | None) -> str:
    """The source text of a node; empty for none."""
    return (node.text or b"").decode() if node else ""


def line_of(node: Node) -> int:
    """The line, from 1, that a node starts on."""
    return node.start_point.row + 1


def field(node: Node, name: str) -> Node:
    """A child that the grammar says is there."""
    child = node.child_by_field_name(name)
    if child is None:
        raise ValueError(f"{node.type} without {name}: {text(node)}")
    return child


def first_line(node: Node) -> str:
    """A node as a message shows it: its first line, shortened."""
    lines = text(node).strip().splitlines() or [""]
    more = len(lines) > 1
    return lines[0][:40] + ("..." if more or len(lines[0]) > 40 else "")
