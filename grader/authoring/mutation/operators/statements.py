"""Mutations of conditions and assignments: comparisons, connectives, guards, accumulators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from grader.authoring.mutation.mutants import Edit, replaced
from grader.compile.syntax import Tree

COMPARISONS: Mapping[str, str] = MappingProxyType(
    {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
)
CONNECTIVES: Mapping[str, str] = MappingProxyType({"&&": "||", "||": "&&"})
INITIAL_VALUES: Mapping[str, str] = MappingProxyType(
    {"0.0f": "1.0f", "1.0f": "0.0f", "0.0": "1.0", "1.0": "0.0"}
)


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
