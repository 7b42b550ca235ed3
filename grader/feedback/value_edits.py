"""Candidate edits of values: conditions, numbers, indices, sizes, assignments, types.

Each function ending in `_edits` offers the edits of one kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from grader import regex
from grader.compile.functions import empty_bodies
from grader.compile.syntax import Node
from grader.feedback.edits import (
    LOOPS,
    Change,
    Edit,
    Kernel,
    Source,
    enclosing,
    replaced,
)

COMPARISONS: Mapping[str, tuple[str, ...]] = {
    "<": ("<=", ">", ">="), "<=": ("<", ">", ">="), ">": (">=", "<", "<="),
    ">=": (">", "<", "<="), "==": ("!=",), "!=": ("==", "<"),
}  # fmt: skip
ARITHMETIC: Mapping[str, tuple[str, ...]] = {
    "+": ("-", "*"), "-": ("+",), "*": ("+", "/"), "/": ("%", "*"), "%": ("/",),
    "<<": (">>",), ">>": ("<<",), "&": ("|", "%"), "|": ("&",),
}  # fmt: skip
CONNECTIVES: Mapping[str, str] = {"&&": "||", "||": "&&"}
BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
EXTENTS = ("blockDim.x", "blockDim.y", "gridDim.x", "blockDim.x * gridDim.x")
NARROW = ("__half", "half", "short", "unsigned short", "char", "unsigned char", "__nv_bfloat16",
          "float", "int", "bool")  # fmt: skip
WIDE = ("float", "int", "unsigned int", "double")
INTEGER = regex(r"(\d{1,9})([uUlL]*)")
FLOAT = regex(r"\d+\.\d*f?")
MIN_POWER, MIN_SIZE = 16, 8
"""The smallest powers of two that a number, and a macro, beside it is probably meant to be."""

STEPS = ("1", "2", "-1")

MAX_NAMES = 12
"""The numbers and sizes that are tried in place of a number."""


def condition_edits(source: Source) -> Iterator[Edit]:
    """Another comparison, another connective, one side of `&&` or `||` alone, the opposite."""
    for kernel in source.kernels:
        for node in kernel.walk("binary_expression"):
            sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
            usual = {_OPPOSITE.get(sign.text)} if _selects_an_operand(node) else set()
            for cost, other in enumerate(COMPARISONS.get(sign.text, ())):
                cost = 0 if other in usual else min(cost, 1)
                yield Edit("wrong-condition", node.line, (replaced(sign, other),), cost)
            if sign.text in CONNECTIVES:
                change = replaced(sign, CONNECTIVES[sign.text])
                yield Edit("wrong-condition", node.line, (change,))
                for side in (left, right):
                    yield Edit("wrong-condition", node.line, (replaced(node, side.text),), 1)
                yield from _all_comparisons(node)


_OPPOSITE = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _selects_an_operand(comparison: Node) -> bool:
    """Return whether a comparison chooses one of its operands, as in `a > b ? b : a`."""
    choice = comparison.parent
    while choice is not None and choice.kind in ("parenthesized_expression", "condition_clause"):
        choice = choice.parent
    if choice is None or choice.kind != "conditional_expression":
        return False
    ends = {choice.field(name).text for name in ("consequence", "alternative")}
    return not ends.isdisjoint(comparison.field(side).text for side in ("left", "right"))


def _all_comparisons(chain: Node) -> Iterator[Edit]:
    """Every comparison of a chain with the boundary on the other side: `>=` for `>`."""
    other = {">": ">=", "<": "<=", ">=": ">", "<=": "<"}
    signs = [node.field("operator") for node in chain.walk("binary_expression")]
    changes = tuple(replaced(s, other[s.text]) for s in signs if s.text in other)
    yield Edit("wrong-condition", chain.line, changes)


def empty_body_edits(source: Source) -> Iterator[Edit]:
    """The `;` that ends a condition or a loop before its body, taken out."""
    for statement, word, sign in empty_bodies(source.tree):
        yield Edit("empty-body", statement.line, (replaced(sign, ""),), 0, word)


def assignment_in_condition_edits(source: Source) -> Iterator[Edit]:
    """A comparison in place of `=` in a condition."""
    for kernel in source.kernels:
        for guard in kernel.walk("if_statement", "conditional_expression", *LOOPS):
            condition = guard.part("condition")
            for node in condition.walk("assignment_expression") if condition else ():
                sign = node.field("operator")
                for other in ("<", "==", "<=", ">=", ">", "!="):
                    if sign.text == "=":
                        name = node.field("left").text
                        change = (replaced(sign, other),)
                        yield Edit("assignment-in-condition", node.line, change, 0, name)


def arithmetic_edits(source: Source) -> Iterator[Edit]:
    """Another operator; a division rounded up or down; a factor taken out."""
    for kernel in source.kernels:
        for node in kernel.walk("binary_expression"):
            sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
            for other in ARITHMETIC.get(sign.text, ()):
                yield Edit("wrong-operator", node.line, (replaced(sign, other),))
            if sign.text == "/":
                up = f"({left.text} + {right.text} - 1) / {right.text}"
                yield Edit("rounded-down", node.line, (replaced(node, up),))
                up = f"({node.text} + 1)"
                yield Edit("rounded-down", node.line, (replaced(node, up),))
            if sign.text in "*/+-%":
                for side in (left, right):
                    kind = "wrong-size" if "sizeof" in node.text else "wrong-index"
                    is_offset = sign.text in "+-" and right.text in STEPS and side == left
                    cost = 0 if kind == "wrong-size" or is_offset else 1
                    yield Edit(kind, node.line, (replaced(node, side.text),), cost)
        for loop in kernel.walk("for_statement", "while_statement"):
            condition = loop.part("condition")
            for node in condition.walk("binary_expression") if condition is not None else ():
                sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
                if sign.text not in ("<", "<=") or left.kind != node.kind:
                    continue
                if left.field("operator").text == "+" and right.kind != "number_literal":
                    whole = f"{left.field('left').text} < {right.text}"  # the last round is partial
                    yield Edit("wrong-condition", node.line, (replaced(node, whole),))
        for node in kernel.walk("assignment_expression", "init_declarator"):
            value = node.part("right") or node.part("value")
            if value is not None and value.kind in ("identifier", "field_expression"):
                for size in ("TILE", "16", "blockDim.x"):
                    up = f"({value.text} + {size} - 1) / {size}"
                    yield Edit("rounded-down", node.line, (replaced(value, up),), 2)


def parenthesis_edits(source: Source) -> Iterator[Edit]:
    """Parentheses that a sum needs, or that it has too many: `x * (j + 1)` for `x * j + 1`."""
    for kernel in source.kernels:
        for node in kernel.walk("binary_expression"):
            sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
            if sign.text not in ("+", "-"):
                continue
            for product, at, end in ((left, "right", node.end), (right, "left", node.start)):
                operator = product.part("operator") if product.kind == node.kind else None
                if operator is None or operator.text not in ("*", "/", "%"):
                    continue
                inner = product.field(at)  # what becomes part of the sum
                outer = right if product == left else inner
                cost = int(outer.kind != "number_literal")
                first, last = sorted((inner.end if at == "left" else inner.start, end))
                yield Edit(
                    "wrong-parentheses", node.line, ((first, first, "("), (last, last, ")")), cost
                )
            outside = node.parent
            if outside is None or outside.kind != "parenthesized_expression":
                continue
            if outside.parent is not None and outside.parent.kind == node.kind:
                cost = int(right.kind != "number_literal")
                yield Edit("wrong-parentheses", node.line, (replaced(outside, node.text),), cost)


def operand_edits(source: Source) -> Iterator[Edit]:
    """The operands of a difference, a quotient or a remainder exchanged."""
    for kernel in source.kernels:
        for node in kernel.walk("binary_expression"):
            sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
            if sign.text in ("-", "/", "%") and right.kind != "number_literal":
                changes = replaced(left, right.text), replaced(right, left.text)
                cost = int(sign.text != "-" or left.kind != "identifier")
                yield Edit("wrong-expression", node.line, changes, cost)


def number_edits(source: Source) -> Iterator[Edit]:
    """Another number: one more or less, twice or half of it, another number or size."""
    others = _numbers(source)
    for node in source.tree.walk("number_literal"):
        match = INTEGER.fullmatch(node.text)
        sizes = [s for k in source.kernels if k.body.start <= node.start < k.body.end
                 for s in k.sizes]  # fmt: skip
        if node.text.startswith("-"):
            for other in ("0", "1") if INTEGER.fullmatch(node.text[1:]) else ():
                yield Edit("wrong-number", node.line, (replaced(node, other),))
            continue
        if match is None:
            for other in ("0.0f", "1.0f") if FLOAT.fullmatch(node.text) else ():
                yield Edit("wrong-initial-value", node.line, (replaced(node, other),))
            continue
        row = node.parent.part("left") if node.parent is not None else None
        factor = row.text if row is not None and row.start != node.start else ""
        for size in sizes if factor and f"{factor} * {node.text}" in source.text else ():
            if f"{factor} * {size}" in source.text:
                yield Edit("wrong-number", node.line, (replaced(node, size),), -1, factor)
        kind = "wrong-size" if enclosing(node, "array_declarator") is not None else "wrong-number"
        for cost, other in enumerate(_near(int(match[1]), others, sizes)):
            change, rounds = replaced(node, other + match[2]), _rounds(match[1], other, MIN_POWER)
            usual = 0 if cost < 2 or other in sizes or _is_doubled(match[1], other) else 1
            step = node.parent is not None and node.parent.text.endswith("+= 1") and other in sizes
            yield Edit(kind, node.line, (change,), -1 if rounds or step else usual)
    for body in source.tree.walk("preproc_arg"):
        for match in re.finditer(rf"\b{INTEGER.pattern}\b", body.text):
            start = body.start + len(body.text[: match.start()].encode())
            for cost, other in enumerate(_near(int(match[1]), others, list(source.extents))):
                change = (start, start + len(match[0]), other)
                usual = 0 if cost < 2 or other in source.extents else 1
                first = _rounds(match[1], other, MIN_SIZE)
                yield Edit("wrong-number", body.line, (change,), -1 if first else usual)


def _rounds(number: str, other: str, least: int) -> bool:
    """Return whether a number is one off the power of two that another one is: 127 for 128."""
    value, new = int(number), int(other) if other.isdigit() else 0
    return new >= least and new & (new - 1) == 0 and abs(value - new) == 1


def _is_doubled(number: str, other: str) -> bool:
    """Return whether a power of two is twice another one, or half of it."""
    value, new = int(number), int(other) if other.isdigit() else 0
    return value >= 4 and value & (value - 1) == 0 and new in (2 * value, value // 2)


def _numbers(source: Source) -> tuple[str, ...]:
    """The numbers and macros of a source that another number may be meant for."""
    numbers = {n.text for n in source.tree.walk("number_literal") if INTEGER.fullmatch(n.text)}
    names = {d.field("name").text for d in source.tree.walk("preproc_def")}
    return tuple(sorted(names | numbers - {"0", "1"}))[:MAX_NAMES]


def _near(value: int, others: tuple[str, ...], sizes: object) -> list[str]:
    names = [str(s) for s in sizes] if isinstance(sizes, list) else []
    close = [str(value + 1), str(value - 1) if value else "-1"]
    near = [str(other) for other in (value + 2, value - 2, 2 * value, value // 2, 0, 1)]
    return list(dict.fromkeys((*close, *near, *others, *names, *EXTENTS)))


def assignment_edits(source: Source) -> Iterator[Edit]:
    """`+=` for `=`, `=` for `+=`, another operator; a step of a loop."""
    for kernel in source.kernels:
        declared = (part for node in kernel.walk("declaration") for part in node.named)
        unset = {part.text for part in declared if part.kind == "identifier"}
        for node in kernel.walk("assignment_expression"):
            sign, left = node.field("operator"), node.field("left")
            right = node.field("right")
            for name in kernel.variables if right.kind == "number_literal" else ():
                yield Edit("wrong-variable", node.line, (replaced(right, name),), 1)
            is_sum = sign.text == "=" and right.kind != "number_literal"
            if is_sum and enclosing(node, *LOOPS) is not None:
                yield Edit("not-accumulated", node.line, (replaced(sign, "+="),), 0, left.text)
            if sign.text in ("+=", "-=", "*=", "/="):
                for other in ("=", "+=", "-=", "*=", "/="):
                    kind = "wrong-accumulation" if other == "=" else "wrong-operator"
                    cost = int(other == "=" and left.text in unset)  # the declaration is at fault
                    if other != sign.text:
                        yield Edit(kind, node.line, (replaced(sign, other),), cost, left.text)
        for node in kernel.walk("update_expression"):
            target = node.part("argument")
            for step in EXTENTS if target is not None else ():
                assert target is not None
                new = f"{target.text} += {step}"
                yield Edit("missing-stride", node.line, (replaced(node, new),), 1)


def atomic_edits(source: Source) -> Iterator[Edit]:
    """An update of an array's element becomes an atomic operation."""
    for kernel in source.kernels:
        for update in kernel.walk("update_expression"):
            target = update.part("argument")
            if target is not None and target.kind in ("subscript_expression", "pointer_expression"):
                step = "1" if "++" in update.text else "-1"
                yield _atomic(update, "Add", target.text, step)
        for update in kernel.walk("assignment_expression"):
            left, sign, right = (update.field(n) for n in ("left", "operator", "right"))
            if left.kind not in ("subscript_expression", "pointer_expression"):
                continue
            if sign.text in ("=", "+="):
                yield _atomic(update, "Add", left.text, right.text, int(sign.text == "="))
                call = f"if ({right.text}) atomicAdd(&{left.text}, {right.text})"
                if right.kind in ("identifier", "subscript_expression"):  # zeros cost as much
                    yield Edit("not-atomic", update.line, (replaced(update, call),), 1)
            if sign.text == "=" and right.kind == "binary_expression":
                terms = right.field("left").text, right.field("right").text
                if right.field("operator").text == "+" and left.text in terms:
                    rest = terms[1] if terms[0] == left.text else terms[0]
                    yield _atomic(update, "Add", left.text, rest)
            elif sign.text == "=" and right.kind == "call_expression":
                yield from _atomic_extreme(update, left, right)


def _atomic(update: Node, what: str, target: str, value: str, cost: int = 0) -> Edit:
    change = replaced(update, f"atomic{what}(&{target}, {value})")
    return Edit("not-atomic", update.line, (change,), cost)


def _atomic_extreme(update: Node, left: Node, call: Node) -> Iterator[Edit]:
    name, given = call.field("function").text, [a.text for a in call.field("arguments").named]
    if name in ("min", "max") and len(given) == 2 and left.text in given:
        rest = given[1] if given[0] == left.text else given[0]
        yield _atomic(update, name.capitalize(), left.text, rest)


def initial_value_edits(source: Source) -> Iterator[Edit]:
    """A declared variable starts at zero, or at another variable's value."""
    for kernel in source.kernels:
        for declaration in kernel.walk("declaration"):
            words = {child.text for child in declaration.children}
            if words & {"__shared__", "extern"}:
                continue
            for node in declaration.named:
                if node.kind == "identifier":
                    change = (node.end, node.end, " = 0")
                    yield Edit("wrong-initial-value", node.line, (change,), 0, node.text)
                elif node.kind == "array_declarator":
                    change = (node.end, node.end, " = {}")
                    name = node.text.split("[")[0]
                    yield Edit("wrong-initial-value", node.line, (change,), 0, name)
                elif node.kind == "init_declarator" and "[" not in node.text:
                    yield from _other_start(kernel, node)


def _other_start(kernel: Kernel, node: Node) -> Iterator[Edit]:
    value, name = node.field("value"), node.field("declarator").text
    first = next((f"{array}[i]" for array in kernel.shapes), "")
    for new in ("0", "1", "-1e30f", "threadIdx.x", first):
        if new and new != value.text and value.kind in ("number_literal", "unary_expression"):
            cost = 0 if new in "01" else 1
            yield Edit("wrong-initial-value", node.line, (replaced(value, new),), cost, name)


def missing_else_edits(source: Source) -> Iterator[Edit]:
    """Zero where the condition of a store does not hold."""
    for kernel in source.kernels:
        every, lines = list[Change](), list[int]()
        for guard in kernel.walk("if_statement"):
            body = guard.part("consequence")
            store = next(body.walk("assignment_expression"), None) if body is not None else None
            if body is None or store is None or guard.part("alternative") is not None:
                continue
            left = store.field("left")
            if left.kind == "subscript_expression" and not kernel.array_of(left):
                every.append((guard.end, guard.end, f" else {left.text} = 0;"))
                lines.append(guard.last_line)
                yield Edit("missing-else", body.line, (every[-1],))
        if len(every) > 1:
            yield Edit("missing-else", lines[0], tuple(every))


def type_edits(source: Source) -> Iterator[Edit]:
    """A wider type of a variable; calls that narrow a value taken out."""
    for kernel in source.kernels:
        for declaration in kernel.walk("declaration", "type_descriptor"):
            kind = declaration.part("type")
            if kind is None or kind.text not in NARROW:
                continue
            is_sum = kind.text == "int" and "0;" in declaration.text
            for new in ("unsigned char",) if kind.text == "char" else WIDE:
                if new != kind.text:
                    cost = int(not (is_sum and new == "float") and kind.text != "char")
                    yield Edit("wrong-type", declaration.line, (replaced(kind, new),), cost)
        for call in kernel.walk("call_expression"):
            given = call.field("arguments").named
            if len(given) == 1 and re.search("half|bfloat|float2|int", call.field("function").text):
                yield Edit("wrong-type", call.line, (replaced(call, given[0].text),))
        yield from _without_casts(kernel)
        yield from _without_half(kernel)


def _without_casts(kernel: Kernel) -> Iterator[Edit]:
    for cast in kernel.walk("cast_expression"):
        value = cast.part("value")
        if value is not None:
            yield Edit("wrong-type", cast.line, (replaced(cast, value.text),), 1)


def _without_half(kernel: Kernel) -> Iterator[Edit]:
    """Every half of a kernel becomes a float, and the conversions go."""
    changes: list[Change] = []
    for node in kernel.walk("type_identifier", "primitive_type"):
        if node.text in ("__half", "half"):
            changes.append(replaced(node, "float"))
    lines = [n.line for n in kernel.walk("type_identifier") if n.text in ("__half", "half")]
    for call in kernel.walk("call_expression"):
        name = call.field("function")
        if name.text in ("__float2half", "__half2float"):
            changes.append(replaced(name, "float"))
    if changes and lines:
        yield Edit("wrong-type", lines[0], tuple(changes))


EDITORS = tuple(value for name, value in list(globals().items()) if name.endswith("_edits"))
"""The functions of this module that offer edits."""
