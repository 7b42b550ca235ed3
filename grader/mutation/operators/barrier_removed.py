"""A barrier is forgotten."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import text, walk

BARRIERS = ("__syncthreads", "__syncwarp")


def edits(tree: Node) -> Iterator[Edit]:
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
