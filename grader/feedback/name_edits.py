"""Candidate edits of names and declarations: another variable, a factor, a loop.

Each function ending in `_edits` offers the edits of one kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from grader.compile.syntax import Node
from grader.feedback.edits import (
    LOOPS,
    Edit,
    Kernel,
    Source,
    bracketed,
    enclosing,
    indent_of,
    replaced,
)

BARRIER = "__syncthreads();"
BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
MAX_NAMES = 12
"""The names that are tried in place of another one."""

MAX_ARGUMENTS = 6
"""The arguments of a call of which two are exchanged."""

MAX_USES = 180
"""The uses of names that are replaced."""


def macros_of(source: Source) -> list[str]:
    """The names of the macros that a source defines."""
    return [d.field("name").text for d in source.tree.walk("preproc_def")]


def name_edits(source: Source) -> Iterator[Edit]:
    """Another variable, size or macro in place of each name."""
    macros = macros_of(source)
    for kernel in source.kernels:
        names = list(dict.fromkeys((*kernel.sizes, *kernel.variables, *macros)))[:MAX_NAMES]
        arrays = list(kernel.shapes)
        parts = _shared_arrays(kernel)
        uses = [n for n in kernel.walk("identifier") if _is_use(n)][:MAX_USES]
        for use in uses:
            groups = (names, arrays, parts)
            choices = next((group for group in groups if use.text in group), [])
            for other in choices:
                if other != use.text:
                    cost = 0 if _is_counterpart(use.text, other) else 1
                    yield Edit("wrong-variable", use.line, (replaced(use, other),), cost)


def _is_use(name: Node) -> bool:
    above = name.parent
    declared = above is not None and above.part("declarator") == name
    return not declared and name.text not in BUILT_IN


def _is_counterpart(name: str, other: str) -> bool:
    """Return whether two names are one letter apart, or a row and a column."""
    pairs = {("row", "col"), ("width", "height"), ("i", "j"), ("tx", "ty"), ("m", "n"), ("n", "k")}
    return (name, other) in pairs or (other, name) in pairs or (
        len(name) == len(other) and sum(a != b for a, b in zip(name, other, strict=True)) == 1
    )  # fmt: skip


def _shared_arrays(kernel: Kernel) -> list[str]:
    """The names of the shared arrays, and of the pointers into them."""
    found = []
    for declaration in kernel.walk("declaration"):
        if "__shared__" in declaration.text or "*" in declaration.text.split("=")[0]:
            for node in declaration.walk("array_declarator", "pointer_declarator"):
                name = node.part("declarator")
                if name is not None and name.kind == "identifier":
                    found.append(name.text)
    return found


def condition_name_edits(source: Source) -> Iterator[Edit]:
    """Another name in place of all uses of one in a condition: `TILE * TILE`."""
    for kernel in source.kernels:
        names = list(dict.fromkeys((*macros_of(source), *kernel.sizes)))[:MAX_NAMES]
        for node in kernel.walk("binary_expression"):
            if node.field("operator").text not in ("<", "<=", ">", ">="):
                continue
            for old in names:
                uses = [n for n in node.walk("identifier") if n.text == old]
                for new in names if len(uses) > 1 else ():
                    changes = tuple(replaced(n, new) for n in uses)
                    yield Edit("wrong-condition", node.line, changes)


def exchange_edits(source: Source) -> Iterator[Edit]:
    """Two arguments of a call exchanged, two bounds of a condition, an addend and a factor."""
    for kernel in source.kernels:
        for call in kernel.walk("argument_list"):
            if len(call.named) == 2 and (call.parent or call).text.startswith("atomicAdd"):
                yield Edit("wrong-expression", call.line, (replaced(call.named[1], "1"),))
            given = [a for a in call.named if a.kind != "number_literal"][:MAX_ARGUMENTS]
            for one, other in combinations(given, 2):
                if one.text != other.text:
                    changes = replaced(one, other.text), replaced(other, one.text)
                    yield Edit("exchanged-arguments", call.line, changes)
        for node in kernel.walk("binary_expression"):
            sign, left, right = (node.field(n) for n in ("operator", "left", "right"))
            if sign.text in ("&&", "||") and left.kind == right.kind == "binary_expression":
                one, other = left.field("right"), right.field("right")
                changes = replaced(one, other.text), replaced(other, one.text)
                yield Edit("wrong-condition", node.line, changes)
            if sign.text == "+" and left.kind == "binary_expression":
                one = left.field("right")
                changes = replaced(one, right.text), replaced(right, one.text)
                is_product = left.field("operator").text == "*"
                yield Edit("wrong-index", node.line, changes, int(not is_product))
                if is_product:  # a row and a column of a linear index
                    row = left.field("left")
                    changes = replaced(row, right.text), replaced(right, row.text)
                    yield Edit("wrong-index", node.line, changes)


def offset_edits(source: Source) -> Iterator[Edit]:
    """One more or less than a name, or than an index that is computed."""
    macros = macros_of(source)
    for kernel in source.kernels:
        names = {*kernel.sizes, *kernel.variables, *macros}
        for use in [n for n in kernel.walk("identifier") if _is_use(n)][:MAX_USES]:
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


def factor_edits(source: Source) -> Iterator[Edit]:
    """A name times a size; an index that also counts a loop's steps; twice a side."""
    macros = macros_of(source)
    for kernel in source.kernels:
        sizes = list(dict.fromkeys((*macros, *kernel.sizes)))[:MAX_NAMES]
        for use in [n for n in kernel.walk("identifier") if _is_use(n)][:MAX_USES]:
            above = use.parent
            if use.text not in kernel.variables or above is None:
                continue
            if above.kind in ("binary_expression", "subscript_argument_list", "argument_list"):
                for size in sizes:
                    new = f"({use.text} * {size})"
                    yield Edit("wrong-index", use.line, (replaced(use, new),), 1)
            yield from _with_steps(use, sizes)
        for node in kernel.walk("binary_expression"):
            if node.field("operator").text in ("<", "<=", ">", ">="):
                side = node.field("left")
                change = (side.start, side.start, "2 * ")
                yield Edit("wrong-number", node.line, (change,), 1)


def _with_steps(use: Node, sizes: list[str]) -> Iterator[Edit]:
    """The name plus the elements that earlier iterations of the loop around it have handled."""
    loop = enclosing(use, *LOOPS)
    start = loop.part("initializer") if loop is not None else None
    counter = next(start.walk("init_declarator"), None) if start is not None else None
    if counter is None or loop is None or not any(a == loop for a in use.ancestors):
        return
    name = counter.field("declarator").text
    inside = enclosing(use, "subscript_argument_list") is not None
    for step in (name, *(f"{name} * {size}" for size in sizes)):
        if not inside or name == use.text:
            break
        new = f"({step} + {use.text})"
        yield Edit("wrong-index", use.line, (replaced(use, new),), 1)


def component_edits(source: Source) -> Iterator[Edit]:
    """Another component of a vector such as float4."""
    for kernel in source.kernels:
        nodes = [n for n in kernel.walk("field_expression")
                 if n.field("argument").text not in BUILT_IN
                 and n.field("field").text in ("x", "y", "z", "w")]  # fmt: skip
        used = Counter(node.text for node in nodes)
        for node in nodes:
            part, vector = node.field("field"), node.field("argument").text
            for other in "xyzw":
                if other == part.text:
                    continue
                repeated = used[node.text] > 1 and f"{vector}.{other}" not in used
                kind = "repeated-component" if repeated else "wrong-variable"
                yield Edit(kind, node.line, (replaced(part, other),))


def size_edits(source: Source) -> Iterator[Edit]:
    """Another extent of an array, or another start of a part of shared memory."""
    names = macros_of(source)
    for array in source.tree.walk("array_declarator"):
        extent = array.part("size")
        if extent is None:
            continue
        text = extent.text
        for new in (f"{text} + 1", f"{text} + 2", f"2 * {text}", f"{text} * {text}", *names):
            if new != text:
                yield Edit("wrong-size", array.line, (replaced(extent, new),))
    for kernel in source.kernels:
        for start in kernel.walk("pointer_expression"):
            extent = next((i.named[0] for i in start.walk("subscript_argument_list")), None)
            if extent is not None and start.text.startswith("&"):
                for new in ("{0} * {0}", "2 * {0}"):
                    change = replaced(extent, new.format(bracketed(extent.text)))
                    yield Edit("overlapping-arrays", start.line, (change,))
        for node in kernel.walk("init_declarator", "assignment_expression"):
            value = node.part("value") or node.part("right")
            is_pointer = any(c.kind == "pointer_declarator" for c in node.children)
            if value is not None and value.kind == "identifier" and is_pointer:
                for size in (*names, *kernel.sizes):
                    change = (value.end, value.end, f" + {size} * {size}")
                    yield Edit("overlapping-arrays", node.line, (change,))
            if value is None or value.kind != "binary_expression" or "sizeof" in value.text:
                continue
            base, extent = value.field("left"), value.field("right")
            if value.field("operator").text == "+" and base.kind == "identifier":
                for new in (f"{bracketed(extent.text)} * {bracketed(extent.text)}",
                            f"2 * {extent.text}"):  # fmt: skip
                    yield Edit("overlapping-arrays", node.line, (replaced(extent, new),), 0,
                               base.text)  # fmt: skip


def all_extents_edits(source: Source) -> Iterator[Edit]:
    """Every extent of an array by one other name, or larger by one or two."""
    names = macros_of(source)
    for kernel in source.kernels:
        for declaration in kernel.walk("declaration"):
            extents = [
                part
                for array in declaration.walk("array_declarator")
                if (part := array.part("size")) is not None
            ]
            if len(extents) < 2:
                continue
            for name in names:
                changes = tuple(replaced(part, name) for part in extents)
                yield Edit("wrong-size", declaration.line, changes)
            for step in (" + 1", " + 2"):
                changes = tuple((part.end, part.end, step) for part in extents)
                yield Edit("wrong-size", declaration.line, changes, 1)


def unused_size_edits(source: Source) -> Iterator[Edit]:
    """A size that is never used in place of a number, or of a macro, everywhere."""
    for kernel in source.kernels:
        used = {node.text for node in kernel.walk("identifier")}
        nodes = [n for n in kernel.walk("number_literal", "identifier") if not _is_extent(n)]
        macros = {d.field("name").text for d in source.tree.walk("preproc_def")}
        texts = {n.text for n in nodes if n.text in macros or re.fullmatch(r"\d{1,9}", n.text)}
        for size in kernel.sizes:
            for text in sorted(texts - {"0", "1"}) if size not in used else ():
                changes = tuple(replaced(n, size) for n in nodes if n.text == text)
                yield Edit("unused-size", kernel.function.line, changes, 0, size)


def memory_space_edits(source: Source) -> Iterator[Edit]:
    """An array that each thread has for itself becomes shared; `__device__` becomes constant."""
    for kernel in source.kernels:
        for declaration in kernel.walk("declaration"):
            words = {child.text for child in declaration.children}
            arrays = list(declaration.walk("array_declarator"))
            if not arrays or words & {"__shared__", "extern", "static", "const", "constexpr"}:
                continue
            if enclosing(declaration, *LOOPS) is not None:
                continue
            change = (declaration.start, declaration.start, "__shared__ ")
            name = arrays[0].text.split("[")[0]
            yield Edit("not-shared", declaration.line, (change,), 0, name)
    for declaration in source.tree.walk("declaration"):
        for word in declaration.children:
            if word.text == "__device__" and "[" in declaration.text:
                yield Edit("missing-qualifier", word.line, (replaced(word, "__constant__"),))


def zeroed_edits(source: Source) -> Iterator[Edit]:
    """The elements of a shared array start at zero, with a barrier behind."""
    for kernel in source.kernels:
        for declaration in kernel.walk("declaration"):
            words = [child.text for child in declaration.children]
            if "__shared__" not in words or "extern" in words:
                continue
            array = next(declaration.walk("array_declarator"), None)
            if array is None:
                continue
            name, *extents = [part.rstrip("]") for part in array.text.split("[")]
            total = " * ".join(bracketed(extent) for extent in extents)
            pad = indent_of(declaration)
            spec = declaration.part("type")
            kind = spec.text if spec is not None else "float"
            text = (
                f"\n{pad}for (int z = threadIdx.y * blockDim.x + threadIdx.x; z < {total}; "
                f"z += blockDim.x * blockDim.y) (({kind}*){name})[z] = 0;\n{pad}{BARRIER}"
            )
            at = declaration.end
            yield Edit("wrong-initial-value", declaration.line, ((at, at, text),), 1, name)


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


def break_edits(source: Source) -> Iterator[Edit]:
    """A loop that ends where its result is found."""
    for kernel in source.kernels:
        for loop in kernel.walk(*LOOPS):
            for node in loop.walk("compound_statement"):
                if node.parent is not None and node.parent.kind == "if_statement":
                    change = (node.end - 1, node.end - 1, "break; ")
                    yield Edit("missing-break", node.line, (change,), 1)


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


def unroll_edits(source: Source) -> Iterator[Edit]:
    """`#pragma unroll` before each loop; `#pragma unroll 1` taken out."""
    for kernel in source.kernels:
        for loop in kernel.walk("for_statement"):
            text = f"#pragma unroll\n{indent_of(loop)}"
            yield Edit("not-unrolled", loop.line, ((loop.start, loop.start, text),), 1)
        for pragma in kernel.walk("preproc_call"):
            if "unroll" in pragma.text:
                yield Edit("not-unrolled", pragma.line, (replaced(pragma, "#pragma unroll\n"),))


def _is_extent(number: Node) -> bool:
    return number.parent is not None and number.parent.kind == "array_declarator"


EDITORS = tuple(value for name, value in list(globals().items()) if name.endswith("_edits"))
"""The functions of this module that offer edits."""
