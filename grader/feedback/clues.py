"""Facts of the source alone that explain wrong results: `=` in a condition, a forgotten call.

Each is something that no correct kernel of a course does, and that the findings of a run show only
through its consequences. `find_clues` reads the syntax tree; whether a clue explains anything is
decided with the findings (grader.checks.causes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.checks.causes import Clue
from grader.compile.functions import Function, functions, parameters
from grader.compile.preprocessor import code
from grader.compile.program import Program
from grader.compile.syntax import Node, Tree, parse
from grader.feedback.edits import is_readable

BARRIERS = ("__syncthreads", "__syncwarp", "__threadfence", "__threadfence_block")
MAX_CLUES = 8
"""The most clues of one source: more say that the text is not a program of a course."""

_CONDITIONAL = ("if_statement", "while_statement", "do_statement", "for_statement")
_COMPARES = ("==", "!=", "<", ">", "<=", ">=")
_THREAD = re.compile(r"\bthreadIdx\b")


def find_clues(program: Program) -> tuple[Clue, ...]:
    """Find the clues of a source, those that say most first."""
    tree = parse(code(program.source))
    if not is_readable(tree):
        return ()
    kernels = [f for f in functions(tree) if "__global__" in f.head and f.defined]
    found = [
        *_assignments(tree),
        *_barriers_without_a_call(tree),
        *(clue for kernel in kernels for clue in _private_arrays(tree, kernel)),
        *(clue for kernel in kernels for clue in _early_exits(tree, kernel)),
        *(clue for kernel in kernels for clue in _unused_sizes(tree, kernel)),
    ]
    return tuple(
        Clue(clue.kind, clue.line, clue.name, program.text(clue.line)) for clue in found[:MAX_CLUES]
    )


def _assignments(tree: Tree) -> Iterator[Clue]:
    """`if (row = m)`: an assignment whose value is the condition."""
    for statement in tree.walk(*_CONDITIONAL, "conditional_expression"):
        condition = statement.part("condition")
        for node in condition.walk("assignment_expression") if condition else ():
            sign = node.part("operator")
            if sign is not None and sign.text == "=" and not _is_compared(node):
                left = node.field("left")
                yield Clue("assignment-in-condition", node.line, left.first_line())


def _is_compared(node: Node) -> bool:
    """Return whether the value of an assignment in parentheses is compared, as idiom has it."""
    outer = node.parent
    above = outer.parent if outer is not None else None
    if outer is None or above is None or outer.kind != "parenthesized_expression":
        return False
    sign = above.part("operator") if above.kind == "binary_expression" else None
    return sign is not None and sign.text in _COMPARES


def _barriers_without_a_call(tree: Tree) -> Iterator[Clue]:
    """`__syncthreads;`: a statement that is only the name of a barrier."""
    for statement in tree.walk("expression_statement"):
        inner = statement.named
        if len(inner) == 1 and inner[0].kind == "identifier" and inner[0].text in BARRIERS:
            yield Clue("barrier-not-called", statement.line, inner[0].text)


def nodes_of(tree: Tree, function: Function, *kinds: str) -> Iterator[Node]:
    """Yield the nodes of those kinds in a function's body."""
    for index in range(function.body, function.end):
        if tree.kinds[index] in kinds:
            yield Node(tree, index)


def _early_exits(tree: Tree, kernel: Function) -> Iterator[Clue]:
    """`if (row >= m) return;` before a barrier of the same kernel."""
    calls = list(nodes_of(tree, kernel, "call_expression"))
    last = max((c.start for c in calls if c.text.startswith("__syncthreads")), default=-1)
    for statement in nodes_of(tree, kernel, "return_statement"):
        guard = next((a for a in statement.ancestors if a.kind == "if_statement"), None)
        if guard is not None and statement.start < last:
            yield Clue("early-exit", guard.line)


def _unused_sizes(tree: Tree, kernel: Function) -> Iterator[Clue]:
    """The parameters passed by value, where the body names none of them."""
    used = {node.text for node in nodes_of(tree, kernel, "identifier")}
    own = parameters(kernel.declarator) if kernel.declarator else ()
    sizes = [name for kind, name in own if name and not kind.endswith("*")]
    if used.isdisjoint(sizes):
        yield from (Clue("unused-size", kernel.line, name) for name in sizes)


def _private_arrays(tree: Tree, kernel: Function) -> Iterator[Clue]:
    """An array of each thread alone whose elements are indexed by the thread's own index."""
    own = _names_of_threads(tree, kernel)
    indexed = {
        base_of(node).text
        for node in nodes_of(tree, kernel, "subscript_expression")
        if any(_THREAD.search(i.text) or i.text in own for i in _indices(node))
    }
    for declaration in nodes_of(tree, kernel, "declaration"):
        words = {child.text for child in declaration.children}
        if words & {"__shared__", "extern", "static", "const", "constexpr"}:
            continue
        for array in declaration.walk("array_declarator"):
            name = array.part("declarator")
            if name is not None and name.kind == "identifier" and name.text in indexed:
                yield Clue("not-shared", declaration.line, name.text)


def _indices(subscript: Node) -> Iterator[Node]:
    indices = subscript.part("indices") or subscript.part("index")
    if indices is not None:
        yield from indices.walk("identifier", "field_expression")


def base_of(subscript: Node) -> Node:
    """Return the array of `a[i][j]`: `a`."""
    node = subscript
    while node.kind == "subscript_expression" and (inner := node.part("argument")) is not None:
        node = inner
    return node


def _names_of_threads(tree: Tree, kernel: Function) -> set[str]:
    """The names that are declared as a component of threadIdx alone."""
    names = set()
    for node in nodes_of(tree, kernel, "init_declarator"):
        value, name = node.part("value"), node.part("declarator")
        if value is not None and name is not None and value.text.startswith("threadIdx."):
            names.add(name.text)
    return names
