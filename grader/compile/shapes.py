"""Name the types of shared variables in the debug build: its debug sections do not describe them.

A function's own `__shared__ float t[16][17];` has a symbol with a size there, and no type. So the
debug build gets a null pointer to its type behind the declaration. That has an entry in the debug
sections, and no code, since nothing uses it. Arrays of scalars with one dimension need none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.compile.program import SHAPE
from grader.compile.syntax import Node, Tree

_STATIC = re.compile(r"\b(?:__shared__|__constant__|static\s+__device__|__device__\s+static)\b")
_SCALAR = re.compile(
    r"(?:\b(?:__\w+__|alignas)(?:\s*\([^()]*\))?|\b(?:static|const|volatile|unsigned|signed|char|"
    r"short|int|long|float|double|bool|half|__half|size_t|u?int\d+_t|std|cuda)\b|::|\s)*"
)


def shape_pointers(tree: Tree) -> Iterator[tuple[Node, list[str]]]:
    """The declarations of functions' shared variables, with those of the pointers.

    Args:
        tree: The tree of a source's code.
    """
    for declaration in tree.walk("declaration"):
        if pointers := list(_pointers(declaration)):
            yield declaration, pointers


def _pointers(declaration: Node) -> Iterator[str]:
    parent, tree = declaration.parent, declaration.tree
    if parent is None or parent.kind != "compound_statement":
        return
    declarators = [c for c in declaration.children if tree.names[c.index] == "declarator"]
    words = declaration.text[: declarators[0].start - declaration.start] if declarators else ""
    if not _STATIC.search(words) or "extern" in words.split():
        return
    for declarator in declarators:
        inner, dimensions = declarator.part("declarator"), 0
        inner = inner if declarator.kind == "init_declarator" and inner else declarator
        while inner.kind == "array_declarator":
            inner, dimensions = inner.field("declarator"), dimensions + 1
        if inner.kind == "identifier" and (dimensions > 1 or not _SCALAR.fullmatch(words)):
            yield f"decltype({inner.text}) *{inner.text}{SHAPE} = nullptr;"
