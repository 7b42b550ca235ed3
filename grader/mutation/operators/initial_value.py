"""A sum starts at one, a product at nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import text, walk

OTHER = (("0.0f", "1.0f"), ("1.0f", "0.0f"), ("0.0", "1.0"), ("1.0", "0.0"))


def edits(tree: Node) -> Iterator[Edit]:
    """Each floating-point zero becomes one, each one zero."""
    for number in walk(tree, "number_literal"):
        if other := dict(OTHER).get(text(number)):
            yield replaced(number, other)
