"""An array lies in another memory: what a block should share, each thread has for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import text, walk

OTHER: Mapping[str, str] = MappingProxyType({"__shared__": "", "__constant__": "__device__"})


def edits(tree: Node) -> Iterator[Edit]:
    """`__shared__` is left out (not behind `extern`, where the text would not compile), and
    `__constant__` becomes `__device__`."""
    for declaration in walk(tree, "declaration"):
        if any(text(child) == "extern" for child in declaration.children):
            continue
        for word in declaration.children:
            if text(word) in OTHER:
                other = OTHER[text(word)]
                yield replaced(word, other, f"{text(word)} -> {other or 'nothing'}")
