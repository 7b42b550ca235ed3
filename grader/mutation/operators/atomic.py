"""An addition that was atomic is not."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import field, text, walk


def edits(tree: Node) -> Iterator[Edit]:
    """Each `atomicAdd(to, value)` becomes `*(to) += value`."""
    for call in walk(tree, "call_expression"):
        arguments = field(call, "arguments").named_children
        if text(field(call, "function")) == "atomicAdd" and len(arguments) == 2:
            to, value = map(text, arguments)
            yield replaced(call, f"*({to}) += {value}")
