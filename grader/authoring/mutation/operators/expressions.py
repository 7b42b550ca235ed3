"""Mutations of expressions, conditions and assignments.

Another arithmetic operator, constant or comparison, exchanged indices, guards that always or never
hold, sums that keep only their last term.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from grader.authoring.mutation.mutants import Edit, replaced
from grader.compile.syntax import Node, Tree

ARITHMETIC: Mapping[str, str] = MappingProxyType({"+": "-", "-": "+", "*": "+", "/": "%", "%": "/"})
COMPARISONS: Mapping[str, str] = MappingProxyType(
    {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
)
CONNECTIVES: Mapping[str, str] = MappingProxyType({"&&": "||", "||": "&&"})
INITIAL_VALUES: Mapping[str, str] = MappingProxyType(
    {"0.0f": "1.0f", "1.0f": "0.0f", "0.0": "1.0", "1.0": "0.0"}
)
INTEGER = re.compile(r"(\d+)([uUlL]*)")
BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
AXES = (("row", "col"), ("col", "row"), ("width", "height"), ("height", "width"))


def arithmetic_edits(tree: Tree) -> Iterator[Edit]:
    """Each `+` becomes `-`, each `*` becomes `+`, each `/` becomes `%`, and so on."""
    for term in tree.walk("binary_expression"):
        sign = term.field("operator")
        if other := ARITHMETIC.get(sign.text):
            yield replaced(sign, other, f"{term.text}: {sign.text} -> {other}")


def constant_edits(tree: Tree) -> Iterator[Edit]:
    """Each decimal integer, including those of `#define`, plus one and minus one."""
    for number in tree.walk("number_literal"):
        if match := INTEGER.fullmatch(number.text):
            for new in _off_by_one(match):
                yield replaced(number, new, f"{match[0]} -> {new} in {_context(number)}")
    for body in tree.walk("preproc_arg"):
        for match in re.finditer(rf"\b{INTEGER.pattern}\b", body.text):
            start = body.start + len(body.text[: match.start()].encode())
            end = start + len(match[0])
            for new in _off_by_one(match):
                yield Edit(start, end, new, body.line, f"{match[0]} -> {new} in {body.text}")


def _off_by_one(match: re.Match[str]) -> tuple[str, str]:
    value, suffix = int(match[1]), match[2]
    less = f"{value - 1}{suffix}" if value else f"-1{suffix}"
    return f"{value + 1}{suffix}", less


def _context(number: Node) -> str:
    """Return the expression around a number, which distinguishes it from others on its line."""
    above = number.parent
    while above is not None and above.kind in (
        "parenthesized_expression",
        "subscript_argument_list",
    ):
        above = above.parent
    return above.first_line() if above is not None else number.text


def index_edits(tree: Tree) -> Iterator[Edit]:
    """Exchanged indices: x for y, a row for a column.

    Edits exchange `.x` and `.y` of each built-in variable, the indices of each `a[i][j]`, and each
    use of a variable that has a counterpart on the other axis in the same function (`row` and
    `col`, `tx` and `ty`).
    """
    for access in tree.walk("field_expression"):
        part = access.field("field")
        if access.field("argument").text in BUILT_IN and part.text in ("x", "y"):
            yield replaced(access, f"{access.text[:-1]}{'y' if part.text == 'x' else 'x'}")
    for outer in tree.walk("subscript_expression"):
        inner = outer.field("argument")
        if inner.kind == "subscript_expression":
            yield _exchanged_subscripts(outer, inner)
    for function in tree.walk("function_definition"):
        yield from _exchanged_variables(function)


def _exchanged_subscripts(outer: Node, inner: Node) -> Edit:
    array, first, second = (
        node.text
        for node in (inner.field("argument"), inner.field("indices"), outer.field("indices"))
    )
    return replaced(outer, f"{array}{second}{first}")


def _exchanged_variables(function: Node) -> Iterator[Edit]:
    """Yield edits of the uses inside an index or an initializer."""
    declared = {name.text for name in function.walk("identifier") if _is_declared(name)}
    for use in function.walk("identifier"):
        other = other_axis(use.text)
        if not {other, use.text} <= declared or _is_declared(use):
            continue
        if _inside(use, "subscript_argument_list") or _inside(use, "init_declarator"):
            yield replaced(use, other, f"{use.text} -> {other} in {_context(use)}")


def other_axis(name: str) -> str:
    """Return the name of the counterpart on the other axis; empty when there is none."""
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


def comparison_edits(tree: Tree) -> Iterator[Edit]:
    """Each `<` becomes `<=`, each `==` becomes `!=`, and so on."""
    for comparison in tree.walk("binary_expression"):
        sign = comparison.field("operator")
        if sign.text in COMPARISONS:
            other = COMPARISONS[sign.text]
            left, right = comparison.field("left").text, comparison.field("right").text
            change = f"{left} {sign.text} {right} -> {left} {other} {right}"
            yield replaced(sign, other, change)


def connective_edits(tree: Tree) -> Iterator[Edit]:
    """Each `&&` becomes `||` and each `||` becomes `&&`; each side of either is dropped."""
    for joined in tree.walk("binary_expression"):
        sign, left, right = (joined.field(name) for name in ("operator", "left", "right"))
        other = CONNECTIVES.get(sign.text)
        if other is None:
            continue
        yield replaced(sign, other, f"{joined.text}: {sign.text} -> {other}")
        yield replaced(joined, right.text, f"{left.text} dropped")
        yield replaced(joined, left.text, f"{right.text} dropped")


def guard_edits(tree: Tree) -> Iterator[Edit]:
    """The condition of each `if` and of each `? :` becomes true, and becomes false."""
    for guard in tree.walk("if_statement", "conditional_expression"):
        condition = guard.field("condition")
        inner = condition.part("value") or condition
        for constant in ("true", "false"):
            yield replaced(inner, constant, f"{inner.text} -> {constant}")


def accumulation_edits(tree: Tree) -> Iterator[Edit]:
    """Each `+=` becomes `=`, so that a sum keeps only its last term."""
    for assignment in tree.walk("assignment_expression"):
        sign = assignment.field("operator")
        if sign.text == "+=":
            left, right = assignment.field("left").text, assignment.field("right").text
            yield replaced(sign, "=", f"{left} += {right}: += -> =")


def initial_value_edits(tree: Tree) -> Iterator[Edit]:
    """Each floating-point zero becomes one, and each one becomes zero."""
    for number in tree.walk("number_literal"):
        if other := INITIAL_VALUES.get(number.text):
            yield replaced(number, other)
