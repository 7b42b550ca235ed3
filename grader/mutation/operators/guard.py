"""A guard lets everything through, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import field, text, walk


def edits(tree: Node) -> Iterator[Edit]:
    """The condition of each `if` and of each `? :` becomes true, and becomes false."""
    for guard in walk(tree, "if_statement", "conditional_expression"):
        condition = field(guard, "condition")
        inner = condition.child_by_field_name("value") or condition
        for constant in ("true", "false"):
            yield replaced(inner, constant, f"{text(inner)} -> {constant}")
