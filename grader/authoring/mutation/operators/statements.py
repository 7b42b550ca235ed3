"""Mutations of conditions and assignments: comparisons, connectives, guards, accumulators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tree_sitter import Node

from grader.authoring.mutation.mutants import Edit, replaced
from grader.authoring.mutation.syntax import field, text, walk

# A comparison is off by its equality, or turned round.

OTHER: Mapping[str, str] = MappingProxyType(
    {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
)


def comparison_edits(tree: Node) -> Iterator[Edit]:
    """Each `<` becomes `<=`, each `==` becomes `!=`, and so on."""
    for comparison in walk(tree, "binary_expression"):
        sign = field(comparison, "operator")
        if text(sign) in OTHER:
            other = OTHER[text(sign)]
            left, right = text(field(comparison, "left")), text(field(comparison, "right"))
            change = f"{left} {text(sign)} {right} -> {left} {other} {right}"
            yield replaced(sign, other, change)


# A condition of several parts is joined wrongly, or lacks one of them.

CONNECTIVE_OTHER = (("&&", "||"), ("||", "&&"))


def connective_edits(tree: Node) -> Iterator[Edit]:
    """Each `&&` becomes `||` and each `||` becomes `&&`; each side of either is dropped."""
    for joined in walk(tree, "binary_expression"):
        sign, left, right = (field(joined, name) for name in ("operator", "left", "right"))
        other = dict(CONNECTIVE_OTHER).get(text(sign))
        if other is None:
            continue
        yield replaced(sign, other, f"{text(joined)}: {text(sign)} -> {other}")
        yield replaced(joined, text(right), f"{text(left)} dropped")
        yield replaced(joined, text(left), f"{text(right)} dropped")


# A guard lets everything through, or nothing.


def guard_edits(tree: Node) -> Iterator[Edit]:
    """The condition of each `if` and of each `? :` becomes true, and becomes false."""
    for guard in walk(tree, "if_statement", "conditional_expression"):
        condition = field(guard, "condition")
        inner = condition.child_by_field_name("value") or condition
        for constant in ("true", "false"):
            yield replaced(inner, constant, f"{text(inner)} -> {constant}")


# A sum keeps only its last term.


def accumulation_edits(tree: Node) -> Iterator[Edit]:
    """Each `+=` becomes `=`."""
    for assignment in walk(tree, "assignment_expression"):
        sign = field(assignment, "operator")
        if text(sign) == "+=":
            left, right = text(field(assignment, "left")), text(field(assignment, "right"))
            yield replaced(sign, "=", f"{left} += {right}: += -> =")


# A sum starts at one, a product at nothing.

INITIAL_VALUE_OTHER = (("0.0f", "1.0f"), ("1.0f", "0.0f"), ("0.0", "1.0"), ("1.0", "0.0"))


def initial_value_edits(tree: Node) -> Iterator[Edit]:
    """Each floating-point zero becomes one, each one zero."""
    for number in walk(tree, "number_literal"):
        if other := dict(INITIAL_VALUE_OTHER).get(text(number)):
            yield replaced(number, other)
