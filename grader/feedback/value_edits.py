"""Candidate edits of values: conditions, numbers, indices, sizes, assignments, types.

Each function ending in `_edits` offers the edits of one kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from grader.compile.syntax import Node
from grader.feedback.edits import (
    LOOPS,
    Change,
    Edit,
    Kernel,
    Source,
    enclosing,
    index_of,
    replaced,
    split_index,
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
INTEGER = re.compile(r"(\d{1,9})([uUlL]*)")
FLOAT = re.compile(r"\d+\.\d*f?")
MAX_NAMES = 12
"""The numbers and sizes that are tried in place of a number."""


def condition_edits(source: Source) -> Iterator[Edit]:
    """Another comparison, another connective, one side of `&&` or `||` alone, the opposite."""
    for kernel in source.kernels:
        for node in kernel.walk("binary_expression"):
            sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
            for cost, other in enumerate(COMPARISONS.get(sign.text, ())):
                yield Edit("wrong-condition", node.line, (replaced(sign, other),), min(cost, 1))
            if sign.text in CONNECTIVES:
                change = replaced(sign, CONNECTIVES[sign.text])
                yield Edit("wrong-condition", node.line, (change,))
                for side in (left, right):
                    yield Edit("wrong-condition", node.line, (replaced(node, side.text),), 1)
                yield from _all_comparisons(node)


def _all_comparisons(chain: Node) -> Iterator[Edit]:
    """Every comparison of a chain with the boundary on the other side: `>=` for `>`."""
    other = {">": ">=", "<": "<=", ">=": ">", "<=": "<"}
    signs = [node.field("operator") for node in chain.walk("binary_expression")]
    changes = tuple(replaced(s, other[s.text]) for s in signs if s.text in other)
    yield Edit("wrong-condition", chain.line, changes)


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
                    is_offset = sign.text in "+-" and right.text in ("1", "2") and side == left
                    cost = 0 if kind == "wrong-size" or is_offset else 1
                    yield Edit(kind, node.line, (replaced(node, side.text),), cost)
        for node in kernel.walk("assignment_expression", "init_declarator"):
            value = node.part("right") or node.part("value")
            if value is not None and value.kind in ("identifier", "field_expression"):
                for size in ("TILE", "16", "blockDim.x"):
                    up = f"({value.text} + {size} - 1) / {size}"
                    yield Edit("rounded-down", node.line, (replaced(value, up),), 2)


def number_edits(source: Source) -> Iterator[Edit]:
    """Another number: one more or less, twice or half of it, another number or size."""
    others = _numbers(source)
    for node in source.tree.walk("number_literal"):
        match = INTEGER.fullmatch(node.text)
        sizes = [s for k in source.kernels if k.body.start <= node.start < k.body.end
                 for s in k.sizes]  # fmt: skip
        if match is None:
            for other in ("0.0f", "1.0f") if FLOAT.fullmatch(node.text) else ():
                yield Edit("wrong-initial-value", node.line, (replaced(node, other),))
            continue
        kind = "wrong-size" if enclosing(node, "array_declarator") is not None else "wrong-number"
        for cost, other in enumerate(_near(int(match[1]), others, sizes)):
            change = replaced(node, other + match[2])
            yield Edit(kind, node.line, (change,), 0 if cost < 2 or other in sizes else 1)
    for body in source.tree.walk("preproc_arg"):
        for match in re.finditer(rf"\b{INTEGER.pattern}\b", body.text):
            start = body.start + len(body.text[: match.start()].encode())
            for cost, other in enumerate(_near(int(match[1]), others, list(source.extents))):
                change = (start, start + len(match[0]), other)
                usual = cost < 2 or other in source.extents
                yield Edit("wrong-number", body.line, (change,), 0 if usual else 1)


def _numbers(source: Source) -> tuple[str, ...]:
    """The numbers and macros of a source that another number may be meant for."""
    numbers = {n.text for n in source.tree.walk("number_literal") if INTEGER.fullmatch(n.text)}
    names = {d.field("name").text for d in source.tree.walk("preproc_def")}
    return tuple(sorted(names | numbers - {"0", "1"}))[:MAX_NAMES]


def _near(value: int, others: tuple[str, ...], sizes: object) -> list[str]:
    names = [str(s) for s in sizes] if isinstance(sizes, list) else []
    close = [str(value + 1), str(value - 1) if value else "-1"]
    near = [
        str(value + 2),
        str(value - 2),
        str(2 * value),
        str(value // 2),
        "0",
        "1",
        *others,
        *names,
        *EXTENTS,
    ]
    return list(dict.fromkeys((*close, *near)))


def axis_edits(source: Source) -> Iterator[Edit]:
    """`.x` for `.y`; both of a pair of declarations exchanged; a missing block or thread."""
    for kernel in source.kernels:
        accesses = [
            node
            for node in kernel.walk("field_expression")
            if node.field("argument").text in BUILT_IN
        ]
        for node in accesses:
            for axis in "xyz":
                if axis != node.text[-1]:
                    change = replaced(node, f"{node.text[:-1]}{axis}")
                    cost = 1 if axis == "z" else 0
                    yield Edit("exchanged-axes", node.line, (change,), cost)
            for other in BUILT_IN:
                if other != node.field("argument").text:
                    change = replaced(node, f"{other}{node.text[-2:]}")
                    yield Edit("wrong-variable", node.line, (change,), 1)
            yield from _with_blocks(node)
        for first, second in combinations(accesses, 2):
            same_line = first.line == second.line and first.text[-1] == second.text[-1]
            if first.text != second.text and (same_line or first.text[:-1] == second.text[:-1]):
                changes = (replaced(first, second.text), replaced(second, first.text))
                yield Edit("exchanged-axes", first.line, changes)
        yield from _all_exchanged(accesses)


def _with_blocks(node: Node) -> Iterator[Edit]:
    axis = node.text[-1]
    if node.text.startswith("threadIdx"):
        for extent in (f"blockDim.{axis}", "TILE"):
            new = f"(blockIdx.{axis} * {extent} + {node.text})"
            yield Edit("wrong-index", node.line, (replaced(node, new),), 1)
    elif node.text.startswith("blockDim"):
        for new in (f"blockDim.{axis} * gridDim.{axis}", "(blockDim.x * blockDim.y)"):
            yield Edit("wrong-index", node.line, (replaced(node, new),))
    elif node.text.startswith("gridDim"):
        new = f"gridDim.{axis} * blockDim.{axis}"
        yield Edit("wrong-index", node.line, (replaced(node, new),), 1)
    elif node.text.startswith("blockIdx"):
        new = f"{node.text} * blockDim.{axis}"
        yield Edit("wrong-index", node.line, (replaced(node, new),), 1)


def _all_exchanged(accesses: list[Node]) -> Iterator[Edit]:
    """Every `.x` of threadIdx for `.y` and the other way round; the same of blockIdx, of both."""
    for names in (("threadIdx",), ("blockIdx",), ("threadIdx", "blockIdx", "blockDim")):
        chosen = [a for a in accesses if a.field("argument").text in names]
        turned = {"x": "y", "y": "x"}
        changes = tuple(
            replaced(a, f"{a.text[:-1]}{turned[a.text[-1]]}") for a in chosen if a.text[-1] in "xy"
        )
        if len(changes) > 1:
            yield Edit("exchanged-axes", chosen[0].line, changes)


def subscript_edits(source: Source) -> Iterator[Edit]:
    """`a[j][i]` for `a[i][j]`; another row, column or stride of a flat index."""
    for kernel in source.kernels:
        for outer in kernel.walk("subscript_expression"):
            inner = outer.field("argument")
            if inner.kind == "subscript_expression":
                array, first = inner.field("argument").text, inner.field("indices").text
                turned = f"{array}{outer.field('indices').text}{first}"
                yield Edit("wrong-index", outer.line, (replaced(outer, turned),))
            yield from _rebuilt(kernel, outer)
        for product in kernel.walk("binary_expression"):
            pair = [product.field("left"), product.field("right")]
            if all(side.kind == "subscript_expression" for side in pair):
                one, other = (side.field("indices") for side in pair)
                changes = replaced(one, other.text), replaced(other, one.text)
                yield Edit("wrong-index", product.line, changes)


def _rebuilt(kernel: Kernel, access: Node) -> Iterator[Edit]:
    """The index of an array parameter as row * extent + column, of the names that it uses."""
    index, shape = index_of(access), kernel.shapes.get(kernel.array_of(access), ())
    if index is None or not shape:
        return
    row, column = split_index(index)
    if row:
        strides = dict.fromkeys((shape[-1], *kernel.sizes))
        for cost, stride in enumerate(strides):
            for a, b in ((row, column), (column, row)):
                new = f"{_factor(a)} * {stride} + {b}"
                yield Edit("wrong-index", access.line, (replaced(index, new),), min(cost, 1))
    names = [n.text for n in index.walk("identifier") if n.text in kernel.variables]
    for a, b in combinations(dict.fromkeys(names), 2):
        for first, second in ((a, b), (b, a)):
            new = f"{first} * {shape[-1]} + {second}"
            yield Edit("wrong-index", access.line, (replaced(index, new),))


def _factor(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+", text) else f"({text})"


def shared_index_edits(source: Source) -> Iterator[Edit]:
    """One more or less in an index; an index without its last term."""
    for kernel in source.kernels:
        for access in kernel.walk("subscript_expression"):
            index = index_of(access)
            if index is None:
                continue
            for step in (" + 1", " - 1"):
                change = (index.end, index.end, step)
                yield Edit("wrong-index", access.line, (change,), 1)


def assignment_edits(source: Source) -> Iterator[Edit]:
    """`+=` for `=`, `=` for `+=`, another operator; a step of a loop."""
    for kernel in source.kernels:
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
                    if other != sign.text:
                        yield Edit(kind, node.line, (replaced(sign, other),), 0, left.text)
        for node in kernel.walk("update_expression"):
            target = node.part("argument")
            for step in EXTENTS if target is not None else ():
                assert target is not None
                new = f"{target.text} += {step}"
                yield Edit("missing-stride", node.line, (replaced(node, new),), 1)


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
        for guard in kernel.walk("if_statement"):
            body = guard.part("consequence")
            store = next(body.walk("assignment_expression"), None) if body is not None else None
            if body is None or store is None or guard.part("alternative") is not None:
                continue
            left = store.field("left")
            if left.kind == "subscript_expression" and not kernel.array_of(left):
                yield Edit(
                    "missing-else", body.line, ((guard.end, guard.end, f" else {left.text} = 0;"),)
                )


def clamp_edits(source: Source) -> Iterator[Edit]:
    """An index kept between zero and a size; `min` for `max`."""
    for kernel in source.kernels:
        calls = [c for c in kernel.walk("call_expression") if c.text.startswith(("min", "max"))]
        clamped = {name.text for call in calls for name in call.walk("identifier")}
        for call in kernel.walk("call_expression"):
            name = call.field("function")
            turned = {"min": "max", "max": "min", "fminf": "fmaxf", "fmaxf": "fminf"}
            if name.text in turned:
                yield Edit("wrong-operator", call.line, (replaced(name, turned[name.text]),))
        for node in kernel.walk("init_declarator"):
            value, name = node.field("value"), node.field("declarator")
            if name.text not in kernel.variables or not any(value.walk("identifier")):
                continue
            for size in kernel.sizes:
                own = f"(int)({value.text})"
                limits = (f"min(max({own}, 0), {size} - 1)", f"min({own}, {size} - 1)")
                for new in (*limits, f"max({own}, 0)"):
                    usual = "-" in value.text and name.text not in clamped
                    cost = 0 if usual else 1  # another clamp of the name is at fault itself
                    yield Edit("wrong-index", node.line, (replaced(value, new),), cost)


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
                    cost = int(not (is_sum and new == "float"))
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
