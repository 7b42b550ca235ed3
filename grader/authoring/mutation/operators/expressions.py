"""Mutations of expressions: another operator, another constant, exchanged indices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tree_sitter import Node

from grader.authoring.mutation.mutants import Edit, replaced
from grader.authoring.mutation.syntax import field, first_line, line_of, text, walk

# Another sign of arithmetic.

OTHER: Mapping[str, str] = MappingProxyType({"+": "-", "-": "+", "*": "+", "/": "%", "%": "/"})


def arithmetic_edits(tree: Node) -> Iterator[Edit]:
    """Each `+` becomes `-`, each `*` becomes `+`, each `/` becomes `%`, and so on."""
    for term in walk(tree, "binary_expression"):
        sign = field(term, "operator")
        if other := OTHER.get(text(sign)):
            yield replaced(sign, other, f"{text(term)}: {text(sign)} -> {other}")


# A whole number is off by one.

WHOLE = re.compile(r"(\d+)([uUlL]*)")


def constant_edits(tree: Node) -> Iterator[Edit]:
    """Each decimal whole number, those of `#define` included, one more and one less."""
    for number in walk(tree, "number_literal"):
        if found := WHOLE.fullmatch(text(number)):
            for new in _beside(found):
                yield replaced(number, new, f"{found[0]} -> {new} in {_around(number)}")
    for body in walk(tree, "preproc_arg"):
        for found in re.finditer(rf"\b{WHOLE.pattern}\b", text(body)):
            start = body.start_byte + len(text(body)[: found.start()].encode())
            end = start + len(found[0])
            for new in _beside(found):
                yield Edit(start, end, new, line_of(body), f"{found[0]} -> {new} in {text(body)}")


def _beside(found: re.Match[str]) -> tuple[str, str]:
    value, suffix = int(found[1]), found[2]
    less = f"{value - 1}{suffix}" if value else f"-1{suffix}"
    return f"{value + 1}{suffix}", less


def _around(number: Node) -> str:
    """The expression that a number stands in, which tells it from others on its line."""
    above = number.parent
    while above is not None and above.type in (
        "parenthesized_expression",
        "subscript_argument_list",
    ):
        above = above.parent
    return first_line(above) if above is not None else text(number)


# Two indices are exchanged: x for y, a row for a column.

BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
AXES = (("row", "col"), ("col", "row"), ("width", "height"), ("height", "width"))


def index_edits(tree: Node) -> Iterator[Edit]:
    """`.x` and `.y` of each built-in variable, the indices of each `a[i][j]`, and each use of a
    variable that has a twin along the other axis in the same function (`row` and `col`, `tx` and
    `ty`): exchanged.
    """
    for access in walk(tree, "field_expression"):
        part = field(access, "field")
        if text(field(access, "argument")) in BUILT_IN and text(part) in ("x", "y"):
            yield replaced(access, f"{text(access)[:-1]}{'y' if text(part) == 'x' else 'x'}")
    for outer in walk(tree, "subscript_expression"):
        inner = field(outer, "argument")
        if inner.type == "subscript_expression":
            yield _exchanged(outer, inner)
    for function in walk(tree, "function_definition"):
        yield from _twins(function)


def _exchanged(outer: Node, inner: Node) -> Edit:
    array, first, second = (
        text(node)
        for node in (field(inner, "argument"), field(inner, "indices"), field(outer, "indices"))
    )
    return replaced(outer, f"{array}{second}{first}")


def _twins(function: Node) -> Iterator[Edit]:
    """Uses inside an index or in the computation of another variable's first value."""
    declared = {text(name) for name in walk(function, "identifier") if _is_declared(name)}
    for use in walk(function, "identifier"):
        other = twin(text(use))
        if not {other, text(use)} <= declared or _is_declared(use):
            continue
        if _inside(use, "subscript_argument_list") or _inside(use, "init_declarator"):
            yield replaced(use, other, f"{text(use)} -> {other} in {_around(use)}")


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
        and parent.type
        in ("init_declarator", "declaration", "parameter_declaration", "pointer_declarator",
            "array_declarator")
        and parent.child_by_field_name("declarator") == name
    )  # fmt: skip


def _inside(node: Node, kind: str) -> bool:
    above = node.parent
    while above is not None and above.type != kind:
        above = above.parent
    return above is not None


def _index_around(use: Node) -> str:
    """The statement's text, so that two uses on one line are told apart by the count alone."""
    above = use
    while above.parent is not None and not above.type.endswith(("statement", "declaration")):
        above = above.parent
    return text(above).splitlines()[0]
