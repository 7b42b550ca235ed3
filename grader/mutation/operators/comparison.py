"""A comparison is off by its equality, or turned round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import field, text, walk

OTHER: Mapping[str, str] = MappingProxyType(
    {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
)


def edits(tree: Node) -> Iterator[Edit]:
    """Each `<` becomes `<=`, each `==` becomes `!=`, and so on."""
    for comparison in walk(tree, "binary_expression"):
        sign = field(comparison, "operator")
        if text(sign) in OTHER:
            other = OTHER[text(sign)]
            left, right = text(field(comparison, "left")), text(field(comparison, "right"))
            change = f"{left} {text(sign)} {right} -> {left} {other} {right}"
            yield replaced(sign, other, change)
