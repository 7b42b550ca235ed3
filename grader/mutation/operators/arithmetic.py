"""Another sign of arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import field, text, walk

OTHER: Mapping[str, str] = MappingProxyType({"+": "-", "-": "+", "*": "+", "/": "%", "%": "/"})


def edits(tree: Node) -> Iterator[Edit]:
    """Each `+` becomes `-`, each `*` becomes `+`, each `/` becomes `%`, and so on."""
    for term in walk(tree, "binary_expression"):
        sign = field(term, "operator")
        if other := OTHER.get(text(sign)):
            yield replaced(sign, other, f"{text(term)}: {text(sign)} -> {other}")
