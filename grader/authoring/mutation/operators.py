"""Mutation operators: functions `<name>_edits(tree)`, one for each kind of mistake.

Expressions, conditions and assignments: another arithmetic operator, constant or comparison,
exchanged indices, guards that always or never hold, sums that keep only their last term. Then
synchronization and memory spaces: barriers, atomics, __shared__. `mutants` finds an operator by the
name of its function; there is no list to edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from grader import regex
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
INTEGER = regex(r"(\d+)([uUlL]*)")
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


BARRIERS = ("__syncthreads", "__syncwarp")
COMPOUND = ("if_statement", "for_statement", "while_statement", "do_statement")
MEMORY_SPACES: Mapping[str, str] = MappingProxyType(
    {"__shared__": "", "__constant__": "__device__"}
)


def barrier_removed_edits(tree: Tree) -> Iterator[Edit]:
    """Each `__syncthreads();` and `__syncwarp();` becomes an empty statement."""
    for barrier in barriers(tree):
        yield replaced(barrier, ";", f"{barrier.text} removed")


def barriers(tree: Tree) -> Iterator[Node]:
    """Yield the statements that consist of a call of a barrier."""
    for statement in tree.walk("expression_statement"):
        inner = statement.named[0] if statement.named else statement
        called = inner.part("function")
        if inner.kind == "call_expression" and called is not None and called.text in BARRIERS:
            yield statement


def barrier_moved_edits(tree: Tree) -> Iterator[Edit]:
    """Each barrier moves by one statement.

    It moves before the previous statement and after the next one, into either when that has a
    block, and out of a loop or guard when it is the first or the last statement there.
    """
    for barrier in barriers(tree):
        previous, following = _neighbor(barrier, -1), _neighbor(barrier, 1)
        if previous is not None:
            yield _swapped(barrier, previous, barrier, f"moved before `{previous.first_line()}`")
            yield from _into(barrier, previous, last=True)
        else:
            yield from _out(barrier, last=False)
        if following is not None:
            yield _swapped(barrier, barrier, following, f"moved after `{following.first_line()}`")
            yield from _into(barrier, following, last=False)
        else:
            yield from _out(barrier, last=True)


def _neighbor(statement: Node, step: int) -> Node | None:
    """Return the previous or next statement in the block, skipping comments."""
    siblings = statement.parent.named if statement.parent is not None else ()
    statements = [sibling for sibling in siblings if sibling.kind != "comment"]
    position = statements.index(statement) + step
    return statements[position] if 0 <= position < len(statements) else None


def _swapped(barrier: Node, first: Node, second: Node, options: str) -> Edit:
    source = barrier.tree.data
    between = source[first.end : second.start].decode()
    new = second.text + between + first.text
    return _moved(barrier, first.start, second.end, new, options)


def _into(barrier: Node, neighbor: Node, *, last: bool) -> Iterator[Edit]:
    """Move the barrier into the block of its neighbor, as its last or first statement."""
    block = _block(neighbor)
    if block is None:
        return
    source, call = barrier.tree.data, barrier.text
    options = f"moved to the {'end' if last else 'beginning'} of `{neighbor.first_line()}`"
    if last:
        end = block.end - 1
        new = f"{call} {source[end : barrier.start].decode()}"
        yield _moved(barrier, end, barrier.end, new, options)
    else:
        start = block.start + 1
        new = f"{source[barrier.end : start].decode()} {call}"
        yield _moved(barrier, barrier.start, start, new, options)


def _out(barrier: Node, *, last: bool) -> Iterator[Edit]:
    """Move the barrier out of the loop or guard whose block it begins or ends."""
    block = barrier.parent
    outer = block.parent if block is not None else None
    if block is None or outer is None or outer.kind not in COMPOUND:
        return
    source, call = barrier.tree.data, barrier.text
    options = f"moved out of `{outer.first_line()}`, {'behind' if last else 'before'} it"
    if last:
        new = f"{source[barrier.end : outer.end].decode()} {call}"
        yield _moved(barrier, barrier.start, outer.end, new, options)
    else:
        new = f"{call} {source[outer.start : barrier.start].decode()}"
        yield _moved(barrier, outer.start, barrier.end, new, options)


def _block(statement: Node) -> Node | None:
    if statement.kind not in COMPOUND:
        return None
    name = "consequence" if statement.kind == "if_statement" else "body"
    body = statement.part(name)
    return body if body is not None and body.kind == "compound_statement" else None


def _moved(barrier: Node, start: int, end: int, new: str, options: str) -> Edit:
    return Edit(start, end, new, barrier.line, f"{barrier.text} {options}")


def atomic_edits(tree: Tree) -> Iterator[Edit]:
    """Each `atomicAdd(to, value)` becomes `*(to) += value`."""
    for call in tree.walk("call_expression"):
        arguments = call.field("arguments").named
        if call.field("function").text == "atomicAdd" and len(arguments) == 2:
            to, value = (argument.text for argument in arguments)
            yield replaced(call, f"*({to}) += {value}")


def memory_space_edits(tree: Tree) -> Iterator[Edit]:
    """`__shared__` is removed, and `__constant__` becomes `__device__`.

    `extern __shared__` stays, because the text would not compile without it.
    """
    for declaration in tree.walk("declaration"):
        if any(child.text == "extern" for child in declaration.children):
            continue
        for word in declaration.children:
            if word.text in MEMORY_SPACES:
                other = MEMORY_SPACES[word.text]
                yield replaced(word, other, f"{word.text} -> {other or 'nothing'}")
