"""Mutations of expressions: another operator, another constant, exchanged indices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from grader.authoring.mutation.mutants import Edit, replaced
from grader.compile.syntax import Node, Tree

# Another sign of arithmetic.

OTHER: Mapping[str, str] = MappingProxyType({"+": "-", "-": "+", "*": "+", "/": "%", "%": "/"})


def arithmetic_edits(tree: Tree) -> Iterator[Edit]:
    """Each `+` becomes `-`, each `*` becomes `+`, each `/` becomes `%`, and so on."""
    for term in tree.walk("binary_expression"):
        sign = term.field("operator")
        if other := OTHER.get(sign.text):
            yield replaced(sign, other, f"{term.text}: {sign.text} -> {other}")


# A whole number is off by one.

WHOLE = re.compile(r"(\d+)([uUlL]*)")


def constant_edits(tree: Tree) -> Iterator[Edit]:
    """Each decimal whole number, those of `#define` included, one more and one less."""
    for number in tree.walk("number_literal"):
        if found := WHOLE.fullmatch(number.text):
            for new in _beside(found):
                yield replaced(number, new, f"{found[0]} -> {new} in {_around(number)}")
    for body in tree.walk("preproc_arg"):
        for found in re.finditer(rf"\b{WHOLE.pattern}\b", body.text):
            start = body.start + len(body.text[: found.start()].encode())
            end = start + len(found[0])
            for new in _beside(found):
                yield Edit(start, end, new, body.line, f"{found[0]} -> {new} in {body.text}")


def _beside(found: re.Match[str]) -> tuple[str, str]:
    value, suffix = int(found[1]), found[2]
    less = f"{value - 1}{suffix}" if value else f"-1{suffix}"
    return f"{value + 1}{suffix}", less


def _around(number: Node) -> str:
    """The expression that a number stands in, which tells it from others on its line."""
    above = number.parent
    while above is not None and above.kind in (
        "parenthesized_expression",
        "subscript_argument_list",
    ):
        above = above.parent
    return above.first_line() if above is not None else number.text


# Two indices are exchanged: x for y, a row for a column.

BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
AXES = (("row", "col"), ("col", "row"), ("width", "height"), ("height", "width"))


def index_edits(tree: Tree) -> Iterator[Edit]:
    """`.x` and `.y` of each built-in variable, the indices of each `a[i][j]`, and each use of a
    variable that has a twin along the other axis in the same function (`row` and `col`, `tx` and
    `ty`): exchanged."""
    for access in tree.walk("field_expression"):
        part = access.field("field")
        if access.field("argument").text in BUILT_IN and part.text in ("x", "y"):
            yield replaced(access, f"{access.text[:-1]}{'y' if part.text == 'x' else 'x'}")
    for outer in tree.walk("subscript_expression"):
        inner = outer.field("argument")
        if inner.kind == "subscript_expression":
            yield _exchanged(outer, inner)
    for function in tree.walk("function_definition"):
        yield from _twins(function)


def _exchanged(outer: Node, inner: Node) -> Edit:
    array, first, second = (
        node.text
        for node in (inner.field("argument"), inner.field("indices"), outer.field("indices"))
    )
    return replaced(outer, f"{array}{second}{first}")


def _twins(function: Node) -> Iterator[Edit]:
    """Uses inside an index or in the computation of another variable's first value."""
    declared = {name.text for name in function.walk("identifier") if _is_declared(name)}
    for use in function.walk("identifier"):
        other = twin(use.text)
        if not {other, use.text} <= declared or _is_declared(use):
            continue
        if _inside(use, "subscript_argument_list") or _inside(use, "init_declarator"):
            yield replaced(use, other, f"{use.text} -> {other} in {_around(use)}")


def twin(name: str) -> str:
    """The name of the same thing along the other axis; empty when it has none."""
    for one, other in AXES:
        if re.search(rf"(^|_){one}$", name):
            return name[: -len(one)] + other
    if re.search(r"(^|_)[a-z]?[xy]$", name):
        return name[:-1] + ("y" if name[-1] == "x" else "x")
    return ""


def _is_declared(name: Node) -> bool:
    parent = name.parent
    return (
        parent is not None
        and parent.kind
        in ("init_declarator", "declaration", "parameter_declaration", "pointer_declarator",
            "array_declarator")
        and parent.part("declarator") == name
    )  # fmt: skip


def _inside(node: Node, kind: str) -> bool:
    above = node.parent
    while above is not None and above.kind != kind:
        above = above.parent
    return above is not None


def _index_around(use: Node) -> str:
    """The statement's text, so that two uses on one line are told apart by the count alone."""
    above = use
    while above.parent is not None and not above.kind.endswith(("statement", "declaration")):
        above = above.parent
    return above.text.splitlines()[0]
