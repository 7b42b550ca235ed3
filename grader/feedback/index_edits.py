"""Candidate edits of indices and loops: axes, rows and columns, offsets, bounds, steps.

Each function ending in `_edits` offers the edits of one kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

from grader.compile.dataflow import CONSTANTS
from grader.compile.syntax import Node
from grader.feedback.edits import (
    LOOPS,
    Edit,
    Kernel,
    Source,
    enclosing,
    indent_of,
    index_of,
    negated,
    replaced,
    split_index,
)
from grader.feedback.name_edits import BUILT_IN, MAX_NAMES, MAX_USES, is_use, macros_of


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
            if turned := _turned(outer):
                yield Edit("wrong-index", outer.line, (replaced(outer, turned),))
            yield from _rebuilt(kernel, outer)
        for product in kernel.walk("binary_expression"):
            pair = [product.field("left"), product.field("right")]
            if all(side.kind == "subscript_expression" for side in pair):
                one, other = (side.field("indices") for side in pair)
                changes = replaced(one, other.text), replaced(other, one.text)
                yield Edit("wrong-index", product.line, changes)
                one_turned, other_turned = map(_turned, pair)
                if one_turned and other_turned:
                    changes = replaced(pair[0], one_turned), replaced(pair[1], other_turned)
                    yield Edit("wrong-index", product.line, changes)


def _turned(access: Node) -> str:
    """Return `a[j][i]` for `a[i][j]`; "" for other accesses."""
    inner = access.field("argument")
    if inner.kind != "subscript_expression":
        return ""
    array, first = inner.field("argument").text, inner.field("indices").text
    return f"{array}{access.field('indices').text}{first}"


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


def factor_edits(source: Source) -> Iterator[Edit]:
    """A name times a size; an index that also counts a loop's steps; twice a side."""
    macros = macros_of(source)
    for kernel in source.kernels:
        sizes = list(dict.fromkeys((*macros, *kernel.sizes)))[:MAX_NAMES]
        products = [n for n in kernel.walk("binary_expression") if n.field("operator").text == "*"]
        scaled = {(n.field("left").text, n.field("right").text) for n in products}
        for use in [n for n in kernel.walk("identifier") if is_use(n)][:MAX_USES]:
            above = use.parent
            if use.text not in kernel.variables or above is None:
                continue
            if above.kind in ("binary_expression", "subscript_argument_list", "argument_list"):
                for size in sizes:
                    new = f"({use.text} * {size})"
                    cost = int((use.text, size) not in scaled)  # forgotten in one of several places
                    yield Edit("wrong-index", use.line, (replaced(use, new),), cost)
            yield from _with_steps(use, sizes)
        for node in kernel.walk("binary_expression"):
            if node.field("operator").text in ("<", "<=", ">", ">="):
                side = node.field("left")
                change = (side.start, side.start, "2 * ")
                yield Edit("wrong-number", node.line, (change,), 1)


def scaled_twice_edits(source: Source) -> Iterator[Edit]:
    """`i` for every `i * TILE` in a loop that counts `i += TILE` already."""
    for kernel in source.kernels:
        for loop in kernel.walk("for_statement"):
            step, body = loop.part("update"), loop.part("body")
            if step is None or body is None or step.kind != "assignment_expression":
                continue
            both = {step.field("left").text, step.field("right").text}
            products = [n for n in body.walk("binary_expression") if n.field("operator").text == "*"
                        and {n.field("left").text, n.field("right").text} == both]  # fmt: skip
            changes = tuple(replaced(n, step.field("left").text) for n in products)
            if changes and len(both) == 2:
                yield Edit("wrong-index", products[0].line, changes)


def _with_steps(use: Node, sizes: list[str]) -> Iterator[Edit]:
    """The name plus the elements that earlier iterations of the loop around it have handled."""
    loop = enclosing(use, *LOOPS)
    start = loop.part("initializer") if loop is not None else None
    counter = next(start.walk("init_declarator"), None) if start is not None else None
    if counter is None or loop is None or not any(a == loop for a in use.ancestors):
        return
    name = counter.field("declarator").text
    inside = enclosing(use, "subscript_argument_list")
    own = {n.text for n in inside.walk("identifier")} if inside is not None else set()
    is_same = own.isdisjoint(_names_of_iterations(loop, name))
    for step in (name, *(f"{name} * {size}" for size in sizes)):
        if inside is None or name == use.text:
            break
        new = f"({step} + {use.text})"
        cost = int(not is_same)  # an index that is the same in every iteration is at fault itself
        yield Edit("wrong-index", use.line, (replaced(use, new),), cost)


def _names_of_iterations(loop: Node, counter: str) -> set[str]:
    """Return the names whose values an iteration decides: the counter, and what it assigns."""
    nodes = loop.walk("init_declarator", "assignment_expression", "update_expression")
    parts = (n.part("declarator") or n.part("left") or n.part("argument") for n in nodes)
    return {counter} | {part.text for part in parts if part is not None}


def offset_edits(source: Source) -> Iterator[Edit]:
    """One more or less than a name, or than an index that is computed."""
    macros = macros_of(source)
    for kernel in source.kernels:
        names = {*kernel.sizes, *kernel.variables, *macros}
        for use in [n for n in kernel.walk("identifier") if is_use(n)][:MAX_USES]:
            if use.text in names and _is_operand(use):
                limit = use.parent is not None and use.parent.kind == "argument_list"
                for new in (f"({use.text} - 1)", f"({use.text} + 1)"):
                    yield Edit("wrong-number", use.line, (replaced(use, new),), 0 if limit else 1)
        for node in kernel.walk("init_declarator"):
            value = node.part("value")
            if value is not None and node.field("declarator").text in kernel.variables:
                for step in (" - 1", " + 1"):
                    change = (value.end, value.end, step)
                    yield Edit("wrong-index", node.line, (change,))


def _is_operand(use: Node) -> bool:
    """Return whether a name is read as a value: not assigned, and not an array."""
    above = use.parent
    if above is None or above.kind in ("update_expression", "subscript_expression"):
        return False
    return above.kind != "assignment_expression" or above.part("right") == use


def stride_edits(source: Source) -> Iterator[Edit]:
    """`for` with the stride of the grid in place of `if`: a thread takes further elements."""
    for kernel in source.kernels:
        for guard in kernel.walk("if_statement"):
            condition = guard.part("condition")
            if condition is None or guard.part("alternative") is not None:
                continue
            name = re.split(r"\W", condition.text[1:-1].strip())[0]
            if name not in kernel.variables:
                continue
            head = f"for (; {condition.text[1:-1]}; {name} += gridDim.x * blockDim.x)"
            change = (guard.start, condition.end, head)
            yield Edit("missing-stride", guard.line, (change,), 0)


def endless_loop_edits(source: Source) -> Iterator[Edit]:
    """The step that a loop forgets; a step in the other direction."""
    for kernel in source.kernels:
        for update in kernel.walk("update_expression"):
            turned = update.text.translate(str.maketrans("+-", "-+"))
            yield Edit("wrong-loop", update.line, (replaced(update, turned),))
        yield from _steps_of_for(kernel, macros_of(source))
        for loop in kernel.walk("while_statement"):
            body, condition = loop.part("body"), loop.part("condition")
            if body is None or condition is None or body.kind != "compound_statement":
                continue
            name = re.split(r"\W", condition.text[1:-1].strip())[0]
            for step in ("gridDim.x * blockDim.x", "blockDim.x", "1"):
                if name in kernel.variables:
                    change = (body.end - 1, body.end - 1, f"    {name} += {step};\n")
                    yield Edit("missing-stride", loop.line, (change,))


def _steps_of_for(kernel: Kernel, macros: list[str]) -> Iterator[Edit]:
    """Another step of a `for` loop whose step does not change its counter."""
    for loop in kernel.walk("for_statement"):
        start, step, body = (loop.part(n) for n in ("initializer", "update", "body"))
        counter = next(start.walk("init_declarator"), None) if start is not None else None
        if counter is None or body is None:
            continue
        name, closing = (
            counter.field("declarator").text,
            kernel.tree.data.rfind(b")", 0, body.start),
        )
        names = (*kernel.sizes, *macros)
        for new in (f"++{name}", *(f"{name} += {size}" for size in (*names, "blockDim.x"))):
            place = (closing, closing, new) if step is None else replaced(step, new)
            known = step is not None and name in step.text and step.kind != "identifier"
            known = known and not ("++" in (step.text if step else "") and "__sync" in body.text)
            yield Edit(
                "wrong-loop", loop.line, (place,), int(known or (step is None and new[0] != "+"))
            )


def break_edits(source: Source) -> Iterator[Edit]:
    """A loop that ends where its result is found."""
    for kernel in source.kernels:
        for loop in kernel.walk(*LOOPS):
            for node in loop.walk("compound_statement"):
                if node.parent is not None and node.parent.kind == "if_statement":
                    change = (node.end - 1, node.end - 1, "break; ")
                    yield Edit("missing-break", node.line, (change,), 1)


def unroll_edits(source: Source) -> Iterator[Edit]:
    """`#pragma unroll` before each loop; `#pragma unroll 1` taken out."""
    for kernel in source.kernels:
        for loop in kernel.walk("for_statement"):
            text = f"#pragma unroll\n{indent_of(loop)}"
            yield Edit("not-unrolled", loop.line, ((loop.start, loop.start, text),), 1)
        for pragma in kernel.walk("preproc_call"):
            if "unroll" in pragma.text:
                yield Edit("not-unrolled", pragma.line, (replaced(pragma, "#pragma unroll\n"),))


def whole_index_edits(source: Source) -> Iterator[Edit]:
    """`blockIdx.x * blockDim.x + threadIdx.x` as the value of a variable; then of all of them."""
    for kernel in source.kernels:
        changes, lines = [], []
        for node in kernel.walk("init_declarator"):
            value = node.part("value")
            axes = {*re.findall(r"threadIdx\.([xyz])", value.text)} if value is not None else set()
            if value is None or len(axes) != 1 or node.field("declarator").kind != "identifier":
                continue
            axis = axes.pop()
            change = replaced(value, f"blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}")
            if f"blockIdx.{axis} *" in value.text:
                continue  # one word of it is wrong, if anything
            changes.append(change)
            lines.append(value.line)
            cost = int("blockIdx" not in value.text and f"blockIdx.{axis}" in kernel.body.text)
            yield Edit("wrong-index", node.line, (change,), cost)
        if len(changes) > 1:
            yield Edit("wrong-index", lines[0], tuple(changes), int("blockIdx" in kernel.body.text))


def twin_edits(source: Source) -> Iterator[Edit]:
    """The last term of a declaration's value for the declaration before or after it, too."""
    for kernel in source.kernels:
        nodes = list(kernel.walk("init_declarator"))
        for pair in pairwise(nodes):
            for node, other in (pair, pair[::-1]):
                value, twin = node.part("value"), other.part("value")
                term = re.search(r" [+-] \w+$", twin.text) if twin is not None else None
                if value is not None and term and not value.text.endswith(term[0]):
                    change = (value.end, value.end, term[0])
                    yield Edit("wrong-index", node.line, (change,))


def constant_condition_edits(source: Source) -> Iterator[Edit]:
    """A condition of the accesses, or of a value that is added, in place of a constant."""
    for kernel in source.kernels:
        stores = [store.named[0].field("left") for store in kernel.stores]
        for guard in kernel.walk("if_statement", "conditional_expression"):
            condition, body = guard.part("condition"), guard.part("consequence")
            inner = condition and (condition.part("value") or condition)
            if inner is None or body is None or inner.text not in CONSTANTS:
                continue
            own = [a for a in guard.walk("subscript_expression") if kernel.array_of(a)]
            tests = [test for access in own for test in kernel.guards(access)]
            if body.text.strip("{} \n\t;") == "return":
                tests = [negated(test) for access in stores for test in kernel.guards(access)]
            for call in guard.walk("call_expression"):
                given = call.field("arguments").named
                if call.text.startswith("atomicAdd") and len(given) == 2:
                    tests.insert(0, f"{given[1].text} != 0")
            for cost, test in enumerate(dict.fromkeys(tests)):
                yield Edit("constant-condition", guard.line, (replaced(inner, test),), cost // 2)
        for node in kernel.walk("binary_expression"):
            sign, limit = node.field("operator"), node.field("right")
            if (sign.text, limit.text) in ((">=", "0"), (">", "-1")):
                new = f"{node.field('left').text} > 0"
                yield Edit("constant-condition", node.line, (replaced(node, new),), 1)


EDITORS = tuple(value for name, value in list(globals().items()) if name.endswith("_edits"))
"""The functions of this module that offer edits."""
