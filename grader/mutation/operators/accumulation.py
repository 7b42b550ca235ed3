"""A sum keeps only its last term."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import field, text, walk


def edits(tree: Node) -> Iterator[Edit]:
    """Each `+=` becomes `=`."""
    for assignment in walk(tree, "assignment_expression"):
        sign = field(assignment, "operator")
        if text(sign) == "+=":
            left, right = text(field(assignment, "left")), text(field(assignment, "right"))
            yield replaced(sign, "=", f"{left} += {right}: += -> =")
