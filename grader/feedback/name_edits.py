"""Candidate edits of names and declarations: another variable, a factor, a loop.

Each function ending in `_edits` offers the edits of one kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from grader.compile.functions import parameters
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

MAX_COMPONENTS = 16
"""The components of vectors of which two are exchanged."""

MIN_ACCESSES = 3
"""The accesses of an array of which one may have the wrong name in its index."""

MAX_USES = 180
"""The uses of names that are replaced."""


def macros_of(source: Source) -> list[str]:
    """The names of the macros that a source defines."""
    return [d.field("name").text for d in source.tree.walk("preproc_def")]


def name_edits(source: Source) -> Iterator[Edit]:
    """Another variable, size or macro in place of each name: a counterpart of it first."""
    macros = macros_of(source)
    for usual in (True, False):
        for kernel in source.kernels:
            names = list(dict.fromkeys((*kernel.sizes, *kernel.variables, *macros)))
            groups = (names, list(kernel.shapes), _shared_arrays(kernel))
            uses = [n for n in kernel.walk("identifier") if is_use(n)][:MAX_USES]
            odd = _odd_names(kernel)
            for use in uses:
                choices = next((group for group in groups if use.text in group), [])
                for other in choices if usual else choices[:MAX_NAMES]:
                    alike = (use.text in kernel.variables) == (other in kernel.variables)
                    counterpart = alike and _is_counterpart(use.text, other)
                    if other != use.text and counterpart == usual:
                        cost = -1 if other in odd.get(use.start, ()) else int(not usual)
                        yield Edit("wrong-variable", use.line, (replaced(use, other),), cost)


def _odd_names(kernel: Kernel) -> dict[int, set[str]]:
    """Return the only uses of a name in an index of an array whose other accesses use other names.

    By the offset of each such use: the names of the others, in the same index of the array.
    """
    uses: dict[tuple[str, int], list[Node]] = {}
    for access in kernel.walk("subscript_expression"):
        index, array, place = access.part("indices"), access.part("argument"), 0
        while array is not None and array.kind == "subscript_expression":
            array, place = array.part("argument"), place + 1
        names = list(index.walk("identifier")) if index is not None else []
        if len(names) == 1 and array is not None:
            uses.setdefault((array.text, place), []).append(names[0])
    found = {}
    for names in uses.values():
        counts = Counter(node.text for node in names)
        for node in names:
            if counts[node.text] == 1 and len(names) >= MIN_ACCESSES:
                found[node.start] = {*counts} - {node.text}
    return found


def is_use(name: Node) -> bool:
    """Return whether an identifier is a use of a variable, and not its declaration."""
    above = name.parent
    declared = above is not None and above.part("declarator") == name
    return not declared and name.text not in BUILT_IN


def _is_counterpart(name: str, other: str) -> bool:
    """Return whether two names are one letter apart, or a row and a column."""
    (head, _, one), (other_head, _, two) = name.rpartition("_"), other.rpartition("_")
    if head and head == other_head:
        return _is_counterpart(one, two)
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
            for old in kernel.variables:
                uses = [n for n in node.walk("identifier") if n.text == old]
                for new in (f"({old} + 1)", f"({old} - 1)") if len(uses) > 1 else ():
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
        for one, two in combinations(nodes[:MAX_COMPONENTS], 2):
            parts = one.field("field"), two.field("field")
            is_same = one.field("argument").text == two.field("argument").text
            if is_same and parts[0].text != parts[1].text and one.line != two.line:
                changes = replaced(parts[0], parts[1].text), replaced(parts[1], parts[0].text)
                yield Edit("exchanged-components", one.line, changes)


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


def second_array_edits(source: Source) -> Iterator[Edit]:
    """A second array of the dynamic shared memory behind the first: both start at byte 0."""
    for kernel in source.kernels:
        arrays = [
            (declaration, array.field("declarator").text)
            for declaration in kernel.walk("declaration")
            if {"extern", "__shared__"} <= {child.text for child in declaration.children}
            for array in declaration.walk("array_declarator")
        ]
        for declaration, name in arrays[1:]:
            sizes = (f"{size} * {size}" for size in (*kernel.sizes, *macros_of(source)))
            for size in (*sizes, "blockDim.x * blockDim.y", "blockDim.x"):
                new = f"{declaration.field('type').text}* {name} = {arrays[0][1]} + {size};"
                change = replaced(declaration, new)
                yield Edit("overlapping-arrays", declaration.line, (change,), 0, name)


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


def parameter_edits(source: Source) -> Iterator[Edit]:
    """The parameters in the lab's order, by their names or by what is constant; the lab's type."""
    for kernel in source.kernels:
        declarator = kernel.function.declarator
        if declarator is None or not kernel.required:
            continue
        nodes = [n for n in declarator.walk("parameter_declaration") if n.line >= declarator.line]
        own = parameters(declarator)
        if len(nodes) != len(own) or len(own) != len(kernel.required):
            continue
        listed = ", ".join(name for _, name in own)
        for order in _orders(own, kernel.required):
            changes = tuple(
                replaced(node, nodes[k].text) for node, k in zip(nodes, order, strict=True)
            )
            yield Edit("wrong-order", kernel.function.line, changes, 0, listed)
        for node, (kind, _), (wanted, _) in zip(nodes, own, kernel.required, strict=True):
            spec = node.part("type")
            base = wanted.replace("const", "").replace("*", "").strip()
            if spec is not None and "*" in kind and "*" in wanted and spec.text != base:
                yield Edit("wrong-type", node.line, (replaced(spec, base),))


def _orders(
    own: Sequence[tuple[str, str]], required: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, ...]]:
    """Yield, for each place in the lab's order, the number of the parameter to put there."""
    names = [name for _, name in required]
    pointers = [[k for k, (kind, _) in enumerate(rows) if "*" in kind] for rows in (own, required)]
    if sorted(names) == sorted(name for _, name in own):
        yield tuple([name for _, name in own].index(name) for name in names)
    if len(pointers[0]) != len(pointers[1]):
        return
    others = [k for k in range(len(own)) if k not in pointers[0]]

    def is_constant(row: tuple[str, str]) -> bool:
        return row[0].lstrip().startswith("const")

    for key in (lambda row: row[1], is_constant):
        known = [(key(own[k]), k) for k in pointers[0]]
        wanted = [key(required[k]) for k in pointers[1]]
        if sorted(str(a) for a, _ in known) != sorted(map(str, wanted)):
            continue
        found = dict[int, int]()
        for place, want in zip(pointers[1], wanted, strict=True):
            found[place] = next(k for a, k in known if a == want and k not in found.values())
        free = iter(others)
        yield tuple(found[k] if k in found else next(free) for k in range(len(own)))


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


def _is_extent(number: Node) -> bool:
    return number.parent is not None and number.parent.kind == "array_declarator"


EDITORS = tuple(value for name, value in list(globals().items()) if name.endswith("_edits"))
"""The functions of this module that offer edits."""
