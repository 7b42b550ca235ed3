"""Candidate edits of idioms, whose parts depend on each other.

The quotient and the remainder of one index; calls of one function; pointers that advance;
accesses of several elements. Each function ending in `_edits` offers the edits of one kind.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from grader import regex
from grader.compile.syntax import Node
from grader.feedback.edits import Edit, Kernel, Source, bracketed, replaced, statement_of
from grader.feedback.name_edits import MAX_ARGUMENTS, MAX_NAMES, macros_of

MAX_TERMS = 8
"""The terms of one statement of which two change their signs."""

MAX_CALLS = 8
"""The calls of a function whose arguments are exchanged."""

VECTOR = regex(r"\b(?:u?(?:int|char|short|long)|float|double)([234])\b")
"""The types of several elements, and how many they have."""

OTHER_SIDE = {">": ">=", "<": "<=", ">=": ">", "<=": "<"}
"""The comparisons with the boundary on the other side."""


def divisor_edits(source: Source) -> Iterator[Edit]:
    """One divisor for the row and the column of an index: `i / 18` for `i / 16` beside `i % 18`."""
    for kernel in source.kernels:
        divided: dict[str, list[tuple[str, Node]]] = defaultdict(list)
        for node in kernel.walk("binary_expression"):
            sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
            if sign.text in ("/", "%"):
                divided[left.text].append((sign.text, right))
        for parts in divided.values():
            for (operator, one), (other_operator, other) in combinations(parts, 2):
                if operator != other_operator and one.text != other.text:
                    for old, new in ((one, other.text), (other, one.text)):
                        yield Edit("wrong-number", old.line, (replaced(old, new),), -1)


def calls_edits(source: Source) -> Iterator[Edit]:
    """Two arguments exchanged in all calls of a function, or one argument of two calls."""
    for kernel in source.kernels:
        calls: dict[tuple[str, int], list[Sequence[Node]]] = defaultdict(list)
        for call in kernel.walk("call_expression"):
            given = call.field("arguments").named
            calls[call.field("function").text, len(given)].append(given)
        for (_, count), found in calls.items():
            if not 2 <= len(found) <= MAX_CALLS:
                continue
            for a, b in combinations(range(min(count, MAX_ARGUMENTS)), 2):
                pairs = [(given[a], given[b]) for given in found]
                changes = [c for one, other in pairs for c in _exchanged(one, other)]
                yield Edit("exchanged-arguments", pairs[0][0].line, tuple(changes))
            for one_call, other_call in combinations(found, 2):
                for one, other in zip(one_call, other_call, strict=True):
                    if one.text != other.text:
                        changes = _exchanged(one, other)
                        yield Edit("exchanged-arguments", one.line, tuple(changes))


def _exchanged(one: Node, other: Node) -> list[tuple[int, int, str]]:
    return [replaced(one, other.text), replaced(other, one.text)]


def like_term_edits(source: Source) -> Iterator[Edit]:
    """The term that another name of a statement has: `dx + R` for `dx` beside `(dy + R) * D`."""
    for kernel in source.kernels:
        for node in kernel.walk("binary_expression"):
            sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
            above, statement = node.parent, statement_of(node)
            if sign.text not in ("+", "-") or above is None or statement is None:
                continue
            if left.kind != "identifier" or above.kind != "parenthesized_expression":
                continue
            if right.kind not in ("identifier", "number_literal"):
                continue
            rest = node.text[len(left.text) :]
            for use in statement.walk("identifier"):
                outside = use.parent
                is_other = use.text != left.text and use.text in kernel.variables
                is_operand = outside is not None and outside.kind == "binary_expression"
                if is_other and is_operand and outside and outside.text != f"{use.text}{rest}":
                    new = f"({use.text} {sign.text} {right.text})"
                    yield Edit("wrong-index", use.line, (replaced(use, new),))


def pointer_step_edits(source: Source) -> Iterator[Edit]:
    """The step of a pointer times a size, or a size in its place: `b += n` for `++b`."""
    for kernel in source.kernels:
        pointers, sizes = {*_pointers(kernel)}, (*kernel.sizes, *macros_of(source))[:MAX_NAMES]
        for node in kernel.walk("update_expression"):
            target = node.part("argument")
            if target is not None and target.text in pointers and "++" in node.text:
                for size in sizes:
                    change = replaced(node, f"{target.text} += {size}")
                    yield Edit("wrong-index", node.line, (change,))
        for node in kernel.walk("assignment_expression"):
            left, sign, right = (node.field(n) for n in ("left", "operator", "right"))
            if sign.text != "+=" or left.text not in pointers:
                continue
            for size in sizes:
                if not re.search(rf"\b{size}\b", right.text):
                    change = replaced(right, f"{_factor(right)} * {size}")
                    yield Edit("wrong-index", node.line, (change,))


def _factor(node: Node) -> str:
    sign = node.part("operator") if node.kind == "binary_expression" else None
    return node.text if sign is None or sign.text == "*" else bracketed(node.text)


def _pointers(kernel: Kernel) -> Iterator[str]:
    yield from kernel.shapes
    for node in kernel.walk("pointer_declarator"):
        name = node.part("declarator")
        if name is not None and name.kind == "identifier":
            yield name.text


def some_comparison_edits(source: Source) -> Iterator[Edit]:
    """All comparisons of one sign in a chain with the boundary on the other side."""
    for kernel in source.kernels:
        for chain in kernel.walk("binary_expression"):
            above = chain.parent
            if chain.field("operator").text not in ("&&", "||"):
                continue
            if above is not None and above.kind == "binary_expression":
                continue
            signs = [node.field("operator") for node in chain.walk("binary_expression")]
            counts = Counter(sign.text for sign in signs)
            for text, other in OTHER_SIDE.items():
                changes = tuple(replaced(sign, other) for sign in signs if sign.text == text)
                excludes_zero = len(re.findall(r"> 0\b", chain.text)) == counts[">"]
                cost = -1 if text == ">" and excludes_zero else 0  # an index may be 0
                if counts[text] > 1:
                    yield Edit("wrong-condition", chain.line, changes, cost)


def signs_edits(source: Source) -> Iterator[Edit]:
    """The signs of two terms of one statement turned: `x + dx, y + dy` for `x - dx, y - dy`."""
    for kernel in source.kernels:
        terms: dict[tuple[int, str], list[Node]] = {}
        for node in kernel.walk("binary_expression"):
            sign, statement = node.field("operator"), statement_of(node)
            is_term = node.field("right").kind in ("identifier", "field_expression")
            if sign.text in ("+", "-") and statement is not None and is_term:
                terms.setdefault((statement.start, sign.text), []).append(sign)
        for (_, sign_text), signs in terms.items():
            other = "-" if sign_text == "+" else "+"
            for one, two in combinations(signs[:MAX_TERMS], 2):
                changes = replaced(one, other), replaced(two, other)
                yield Edit("wrong-operator", one.line, changes, int(sign_text == "+"))


def byte_size_edits(source: Source) -> Iterator[Edit]:
    """Elements times their size where they are compared with a number of bytes."""
    for kernel in source.kernels:
        for node in kernel.walk("binary_expression"):
            sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
            if (
                sign.text in OTHER_SIDE
                and "byte" in right.text.lower()
                and "sizeof" not in left.text
            ):
                new = f"{_factor(left)} * (int)sizeof(float)"
                yield Edit("wrong-size", node.line, (replaced(left, new),))


def wide_guard_edits(source: Source) -> Iterator[Edit]:
    """The last element of an access of several for the first: `i + 3 < n` before a `float4`."""
    for kernel in source.kernels:
        for guard in kernel.walk("if_statement", "for_statement", "while_statement"):
            condition, body = (
                guard.part("condition"),
                guard.part("consequence") or guard.part("body"),
            )
            if condition is None or body is None:
                continue
            counts = {int(match[1]) for match in VECTOR.finditer(body.text)}
            for node in condition.walk("binary_expression") if counts else ():
                sign, left = node.field("operator"), node.field("left")
                if sign.text == "<" and left.kind == "identifier":
                    for count in sorted(counts):
                        change = (left.end, left.end, f" + {count - 1}")
                        yield Edit("wrong-condition", node.line, (change,), -1)


EDITORS = tuple(value for name, value in list(globals().items()) if name.endswith("_edits"))
"""The functions of this module that offer edits."""
