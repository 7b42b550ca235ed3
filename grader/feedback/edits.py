"""Candidate edits of a submission's source: what one is, and what it needs to know of the source.

Each edit is the inverse of a mistake that students make. The modules whose names end in `_edits`
offer them, and `evidence` ranks them. `is_degenerate` recognizes an edit that nobody
means, such as `x * 1` for `x + 1`: it may be right, and still teaches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import unified_diff

from grader import dataclass, regex
from grader.compile.functions import Function, functions, parameters
from grader.compile.syntax import Node, Tree, parse
from grader.labs.model import Lab

LOOPS = ("for_statement", "while_statement", "do_statement")
MAX_EXPRESSION = 1 << 10
"""Characters of an expression that is examined; kernels of courses have a tenth."""

MAX_DEPTH = 100
"""The nesting of a syntax tree whose edits are made; kernels of courses have a third."""

SIMPLE = ("expression_statement", "declaration")

Change = tuple[int, int, str]
"""The first byte to replace, the one behind the last, and the text to put there."""


@dataclass(frozen=True)
class Edit:
    """One candidate.

    Attributes:
        kind: What the edit repairs, one of cause_kinds().
        line: The line of the student's file that it is about.
        changes: The replacements, which do not overlap.
        cost: How large or unlikely the edit is; 0 is a change of one word.
        name: What it is about, such as a variable; may be empty.
        more: The further lines that it is about.
    """

    kind: str
    line: int
    changes: tuple[Change, ...]
    cost: int = 0
    name: str = ""
    more: tuple[int, ...] = ()

    def applied(self, source: bytes) -> str:
        """Return the source after the edit."""
        for start, end, new in sorted(self.changes, reverse=True):
            source = source[:start] + new.encode() + source[end:]
        return source.decode(errors="replace")


@dataclass(frozen=True)
class Kernel:
    """One kernel of the source, with what its edits need to know.

    Attributes:
        tree: The syntax tree of the source.
        function: The kernel.
        body: The compound statement of its body.
        sizes: Its parameters that are passed by value.
        shapes: The extents of each array parameter, in the kernel's own names.
        variables: The names of its local variables of an integer type.
        required: The lab's parameters, type and name each; none of a function that is not graded.
    """

    tree: Tree
    function: Function
    body: Node
    sizes: tuple[str, ...]
    shapes: Mapping[str, tuple[str, ...]]
    variables: tuple[str, ...]
    required: tuple[tuple[str, str], ...] = ()

    def walk(self, *kinds: str) -> Iterator[Node]:
        """Yield the nodes of those kinds in the body."""
        return self.body.walk(*kinds)

    @property
    def stores(self) -> Iterator[Node]:
        """The statements that assign to an element of an array parameter."""
        for statement in self.walk("expression_statement"):
            inner = statement.named[0] if statement.named else statement
            if inner.kind == "assignment_expression" and self.array_of(inner.field("left")):
                yield statement

    def array_of(self, node: Node) -> str:
        """Return the array parameter that a subscript accesses; "" for anything else."""
        if node.kind != "subscript_expression":
            return ""
        name = node.field("argument").text
        return name if name in self.shapes else ""

    def guards(self, access: Node) -> Iterator[str]:
        """Yield conditions that keep an access inside its array, the fullest first."""
        array = self.array_of(access)
        shape, index = self.shapes.get(array, ()), index_of(access)
        if not shape or index is None:
            return
        row, column = split_index(index)
        if len(shape) >= 2 and row:
            yield f"{row} < {shape[-2]} && {column} < {shape[-1]}"
            if "-" in row + column or row.startswith("from") or column.startswith("from"):
                below = f"{row} >= 0 && {column} >= 0"
                yield f"{below} && {row} < {shape[-2]} && {column} < {shape[-1]}"
            yield f"{column} < {shape[-1]}"
            yield f"{row} < {shape[-2]}"
        product = " * ".join(shape)
        yield f"{bracketed(index.text)} < {product}"
        if len(shape) == 1 and "-" in index.text:
            yield f"{index.text} >= 0 && {index.text} < {product}"


@dataclass(frozen=True)
class Source:
    """A source with its kernels and device functions; `extents` are those of the lab's blocks."""

    text: str
    tree: Tree
    kernels: tuple[Kernel, ...]
    extents: tuple[str, ...] = ()

    @property
    def data(self) -> bytes:
        """The text in UTF-8, which the offsets of edits count in."""
        return self.tree.data


def is_readable(tree: Tree) -> bool:
    """Return whether a tree nests no deeper than a program does, so that every walk is short."""
    depths = [0]
    for parent in tree.parents[1:]:
        depths.append(depths[parent] + 1)
    return max(depths) <= MAX_DEPTH


def read_source(text: str, lab: Lab, graded: str = "") -> Source:
    """Parse a source, and find its kernels and what the lab says of their arguments.

    A source that nests too deep has no kernels. `graded` is the name of the kernel that is graded
    where it is not the lab's.
    """
    tree = parse(text)
    if not is_readable(tree):
        return Source(text, tree, ())
    name = graded or lab.kernels[0].name
    found = [f for f in functions(tree) if f.defined and {"__global__", "__device__"} & {*f.head}]
    kernels = (_kernel(tree, f, lab if f.name == name else None) for f in found)
    extents = tuple(str(n) for n in lab.geometry.block if isinstance(n, int))
    return Source(text, tree, tuple(k for k in kernels if k is not None), extents)


def _kernel(tree: Tree, function: Function, lab: Lab | None) -> Kernel | None:
    body = enclosing(Node(tree, function.body), "compound_statement")
    if body is None or function.declarator is None:
        return None
    own = parameters(function.declarator)
    sizes = tuple(name for kind, name in own if name and not kind.endswith("*"))
    shapes = _shapes(own, lab) if lab is not None else {}
    required = lab.kernels[0].parameters if lab is not None else ()
    return Kernel(tree, function, body, sizes, shapes, tuple(_integers(body)), required)


def _shapes(own: Sequence[tuple[str, str]], lab: Lab) -> Mapping[str, tuple[str, ...]]:
    """Return the extents of the array parameters, with the kernel's names of the sizes."""
    pairs = list(zip(own, lab.arguments, strict=False))
    names = {str(spec.value): name for (_, name), spec in pairs if spec.role == "value"}
    return {
        name: tuple(names.get(str(extent), str(extent)) for extent in spec.shape)
        for (_, name), spec in pairs
        if spec.role != "value" and name
    }


def _integers(body: Node) -> Iterator[str]:
    for declaration in body.walk("declaration"):
        kind = declaration.part("type")
        if kind is None or kind.text not in ("int", "unsigned", "size_t", "unsigned int", "auto"):
            continue
        for node in declaration.named:
            name = node.part("declarator") if node.kind == "init_declarator" else node
            if name is not None and name.kind == "identifier":
                yield name.text


def index_of(subscript: Node) -> Node | None:
    """Return the expression in the brackets of `a[i]`."""
    indices = subscript.part("indices")
    return indices.named[0] if indices is not None and indices.named else None


def split_index(index: Node) -> tuple[str, str]:
    """Return row and column of an index `row * stride + column`; an empty row for others."""
    if index.kind != "binary_expression" or index.field("operator").text != "+":
        return "", index.text
    left, right = index.field("left"), index.field("right")
    for product, other in ((left, right), (right, left)):
        if product.kind == "binary_expression" and product.field("operator").text == "*":
            return _bare(product.field("left")), _bare(other)
    inner = split_index(left)  # row * stride + a + b
    return (inner[0], f"{inner[1]} + {right.text}") if inner[0] else ("", index.text)


def _bare(node: Node) -> str:
    inner = node.named[0] if node.kind == "parenthesized_expression" and node.named else node
    return inner.text


def bracketed(text: str) -> str:
    """Return an expression that can be an operand of a comparison."""
    return text if text.isidentifier() else f"({text})"


def negated(condition: str) -> str:
    """Return the opposite of a condition, without `!` where it is a chain of comparisons."""
    opposite = {">=": "<", "<=": ">", "<": ">=", ">": "<=", "==": "!=", "!=": "=="}
    if re.fullmatch(r"!\w+\([^()]*\)", condition.strip()):
        return condition.strip()[1:]
    parts = condition.split("||")
    turned = []
    for part in parts:
        words = part.split()
        sign = [w for w in words if w in opposite]
        if len(sign) != 1 or "&&" in part or "(" in part:
            return f"!({condition.strip()})"
        turned.append(" ".join(opposite.get(w, w) for w in words))
    return " && ".join(turned)


def statements(block: Node) -> list[Node]:
    """Return the statements of a block, without comments and directives."""
    skipped = ("comment", "preproc_call", "preproc_def")
    return [node for node in block.named if node.kind not in skipped]


def enclosing(node: Node, *kinds: str) -> Node | None:
    """Return the nearest node of those kinds around a node."""
    return next((above for above in node.ancestors if above.kind in kinds), None)


def is_inside(node: Node, outer: Node, part: str) -> bool:
    """Return whether a node is in the part of that name of a node around it."""
    inner = outer.part(part)
    return inner is not None and inner.start <= node.start and node.end <= inner.end


def statement_of(node: Node) -> Node | None:
    """Return the simple statement that a node is part of."""
    return node if node.kind in SIMPLE else enclosing(node, *SIMPLE)


def indent_of(node: Node) -> str:
    """Return the white space before a node on its line."""
    line = node.tree.data[: node.start].rpartition(b"\n")[2].decode(errors="replace")
    return line[: len(line) - len(line.lstrip())]


def removed(statement: Node) -> Change:
    """Return the change that takes a statement out, with its line where that has nothing else."""
    data, above = statement.tree.data, statement.parent
    if above is not None and above.kind != "compound_statement":
        return statement.start, statement.end, ";"
    start = data.rfind(b"\n", 0, statement.start) + 1
    end = data.find(b"\n", statement.end) + 1
    if end and not (data[start : statement.start] + data[statement.end : end]).strip():
        return start, end, ""
    return statement.start, statement.end, ""


def replaced(node: Node, new: str) -> Change:
    """Return the change that replaces a node."""
    return node.start, node.end, new


Editor = Callable[[Source], Iterator[Edit]]
"""A function that offers edits of a source."""

_EXPRESSIONS = ("_expression", "argument_list", "condition_clause", "init_declarator")
_STATEMENT = regex(r"[;{}]|\b(?:if|for)\b")
_NUMBER = regex(r"-?\d+[uUlL]*")
_BUILT_IN = regex(r"(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_SAME_OPERANDS = (*_COMPARISONS, "-", "/", "%", "&&", "||", "&", "|", "^")
_NEUTRAL: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "+": (("0",), ("0",)), "-": ((), ("0",)), "*": (("0", "1"), ("0", "1")), "/": (("0",), ("1",)),
    "%": (("0",), ("1",)), "<<": (("0",), ("0",)), ">>": (("0",), ("0",)), "|": (("0",), ("0",)),
    "^": (("0",), ("0",)), "&": (("0",), ("0",)),
}  # fmt: skip
"""The left and the right operands with which an operator computes nothing, by operator."""


def is_degenerate(source: Source, edit: Edit) -> bool:
    """Return whether an edit makes an expression that nobody means: `x * 1`, `(n + 1) - 1`.

    Such an expression of the student's own is no reason to reject an edit.
    """
    whole: dict[Node, list[Change]] = {}
    for change in edit.changes:
        if not _STATEMENT.search(change[2]):
            whole.setdefault(_expression_around(source.tree, change), []).append(change)
    for node, changes in whole.items():
        after = source.data
        for start, end, new in sorted(changes, reverse=True):
            after = after[:start] + new.encode() + after[end:]
        text = after[node.start : len(after) - len(source.data) + node.end].decode(errors="replace")
        known = node.kind == "condition_clause" and _NUMBER.fullmatch(text[1:-1].strip())
        if known or len([*_idle_parts(text)]) > len([*_idle_parts(node.text)]):
            return True
    return False


def _expression_around(tree: Tree, change: Change) -> Node:
    """Return the largest expression around a change."""
    start, end, _ = change
    node = covering(tree, start - (start == end and start > 0), end)
    while node.parent is not None and node.parent.kind.endswith(_EXPRESSIONS):
        node = node.parent
    return node


def covering(tree: Tree, start: int, end: int) -> Node:
    """Return the smallest node that contains the bytes from `start` to before `end`."""
    node = tree.root
    while inner := next((c for c in node.children if c.start <= start and end <= c.end), None):
        node = inner
    return node


def _idle_parts(expression: str) -> Iterator[str]:
    """Yield the parts of an expression that compute nothing, or always the same."""
    if len(expression) > MAX_EXPRESSION:
        return
    tree = parse(f"void f() {{ x = {expression}; }}")
    for node in tree.walk("binary_expression"):
        sign, left, right = (node.part(name) for name in ("operator", "left", "right"))
        if sign and left and right and _is_idle(node, sign.text, _inner(left), _inner(right)):
            yield node.text
    for choice in tree.walk("conditional_expression"):
        condition = choice.part("condition")
        if condition is not None and _inner(condition).kind in ("number_literal", "true", "false"):
            yield choice.text


def _is_idle(node: Node, sign: str, left: Node, right: Node) -> bool:
    """Return whether an operator's result is known, or is one of its operands."""
    a, b = left.text, right.text
    firsts, seconds = _NEUTRAL.get(sign, ((), ()))
    if a in firsts or b in seconds or (sign in _SAME_OPERANDS and a == b):
        return True
    if sign in ("+", "-"):  # one number for two: `n` for `(n + 1) - 1`
        return sum(term.text in ("0", "1", "2") for term in _operands(node, "+-")) > 1
    if sign in ("&&", "||"):
        return _compares_twice(node)
    if sign in _COMPARISONS:
        is_index = bool(_BUILT_IN.fullmatch(a))
        never = is_index and (b.startswith("-") or (b == "0" and sign in (">=", "<")))
        both = bool(_NUMBER.fullmatch(a) and _NUMBER.fullmatch(b))
        return never or both or (sign in ("==", "!=") and b.startswith("-"))
    return sign == "/" and b in [factor.text for factor in _operands(left, "*")]


def _operands(node: Node, signs: str) -> Iterator[Node]:
    """Yield the operands of a chain of operators, through parentheses."""
    left = [node]
    while left:
        node = _inner(left.pop())
        sign = node.part("operator") if node.kind == "binary_expression" else None
        if sign is not None and sign.text in signs:
            left += [node.field("right"), node.field("left")]
        else:
            yield node


def _inner(node: Node) -> Node:
    while node.kind == "parenthesized_expression" and node.named:
        node = node.named[0]
    return node


def _compares_twice(chain: Node) -> bool:
    """Return whether a chain of conditions compares the same two operands twice."""
    pairs = [
        frozenset((operand.field("left").text, operand.field("right").text))
        for operand in _operands(chain, "&&||")
        if operand.kind == "binary_expression" and operand.field("operator").text in _COMPARISONS
    ]
    return len({*pairs}) < len(pairs)


def diff_of(source: Source, edit: Edit, file: str) -> str:
    """Return an edit as a unified diff."""
    texts = (source.text, edit.applied(source.data))  # in the compiler's lines
    old, new = ([f"{row}\n" for row in one.removesuffix("\n").split("\n")] for one in texts)
    return "".join(unified_diff(old, new, file, file, n=1))
