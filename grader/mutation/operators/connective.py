"""A condition of several parts is joined wrongly, or lacks one of them."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import field, text, walk

OTHER = (("&&", "||"), ("||", "&&"))


def edits(tree: Node) -> Iterator[Edit]:
    """Each `&&` becomes `||` and each `||` becomes `&&`; each side of either is dropped."""
    for joined in walk(tree, "binary_expression"):
        sign, left, right = (field(joined, name) for name in ("operator", "left", "right"))
        other = dict(OTHER).get(text(sign))
        if other is None:
            continue
        yield replaced(sign, other, f"{text(joined)}: {text(sign)} -> {other}")
        yield replaced(joined, text(right), f"{text(left)} dropped")
        yield replaced(joined, text(left), f"{text(right)} dropped")
