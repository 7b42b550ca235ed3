"""Candidate edits of a submission's source, in the order in which they are worth trying.

Each edit is the inverse of a mistake that students make. `list_edits` collects the edits of
`statement_edits` and `value_edits`, and ranks them by the findings of the run: edits whose kind
explains the findings come first, and of these the edits at the lines that the findings name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import islice

from grader import dataclass
from grader.checks.causes import CAUSE_KINDS, CORRECTNESS, Clue
from grader.compile.dataflow import DataFlow, read_dataflow
from grader.compile.functions import Function, functions, parameters
from grader.compile.syntax import Node, Tree, parse
from grader.labs.model import Lab
from grader.launch import Finding

GENERIC = ("wrong-number", "wrong-operator", "wrong-variable", "wrong-condition", "wrong-type")
"""The kinds of edits that can repair many kinds of errors, and that come behind others."""

SPECIFIC = ("weak-barrier", "barrier-not-called", "not-accumulated", "not-shared")
"""The kinds of edits of a text that a right kernel hardly has."""

FAR = 4
"""How far a line is from the findings that no value or condition connects with them."""

RINGS = 4
"""How many steps of the data flow count as near."""

LOOPS = ("for_statement", "while_statement", "do_statement")
MAX_DEPTH = 100
"""The nesting of a syntax tree whose edits are made; kernels of courses have a third."""

MAX_OF_A_KIND = 1500
"""The edits of one editor that are considered."""

SIMPLE = ("expression_statement", "declaration")

Change = tuple[int, int, str]
"""The first byte to replace, the one behind the last, and the text to put there."""


@dataclass(frozen=True)
class Edit:
    """One candidate.

    Attributes:
        kind: What the edit repairs, one of CAUSE_KINDS.
        line: The line of the student's file that it is about.
        changes: The replacements, which do not overlap.
        cost: How large or unlikely the edit is; 0 is a change of one word.
        name: What it is about, such as a variable; may be empty.
    """

    kind: str
    line: int
    changes: tuple[Change, ...]
    cost: int = 0
    name: str = ""

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
    """

    tree: Tree
    function: Function
    body: Node
    sizes: tuple[str, ...]
    shapes: Mapping[str, tuple[str, ...]]
    variables: tuple[str, ...]

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


@dataclass(frozen=True)
class Evidence:
    """What the edits are ranked by.

    Attributes:
        kinds: The kinds of the errors.
        near: The lines that errors name, and those where a change of the PTX repairs the output.
        around: The lines that these depend on, those that those depend on, and so on.
        spans: The first and last line of each hazard.
        clues: Facts of the source.
    """

    kinds: frozenset[str]
    near: frozenset[int]
    around: tuple[frozenset[int], ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    clues: tuple[Clue, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Whether the results are wrong; otherwise a right kernel costs too much."""
        return not self.kinds.isdisjoint(CORRECTNESS)


def read_evidence(
    findings: Iterable[Finding], lines: Iterable[int], clues: Sequence[Clue], text: str
) -> Evidence:
    """Collect what edits are ranked by: the findings, the lines at fault, what those depend on."""
    errors = [f for f in findings if f.severity == "error"]
    both = [(f.other.line if f.other else f.line, f.line) for f in errors]
    near = {line for pair in both for line in pair} | {*lines} | {clue.line for clue in clues}
    flow = read_dataflow(text)
    around = {origin.line for f in errors for origin in f.origins}
    around |= {origin.line for line in near - {0} for origin in flow.reaching(line)}
    rings = [around - {0}]
    while len(rings) < RINGS:
        lines = {origin.line for line in rings[-1] for origin in flow.reaching(line)}
        rings.append(lines - {0}.union(*rings))
    races = [pair for pair, f in zip(both, errors, strict=True) if f.kind == "race"]
    spans = tuple(span for pair in races for span in _spans(*pair, flow))
    return Evidence(
        frozenset(f.kind for f in errors), frozenset(near - {0}),
        tuple(map(frozenset, rings)), spans, tuple(clues),
    )  # fmt: skip


def is_readable(tree: Tree) -> bool:
    """Return whether a tree nests no deeper than a program does, so that every walk is short."""
    depths = [0]
    for parent in tree.parents[1:]:
        depths.append(depths[parent] + 1)
    return max(depths) <= MAX_DEPTH


def _spans(earlier: int, later: int, flow: DataFlow) -> Iterator[tuple[int, int]]:
    """Yield the lines in which a barrier orders two accesses.

    They are the lines between both, or, where the later one is in the next iteration of a loop,
    those behind the one up to the loop's end.
    """
    if earlier <= later:
        yield earlier, later
        return
    loops = (s for s in flow.conditions if s.name in ("for", "while"))
    ends = [s.last for s in loops if s.line <= later and earlier <= s.last]
    yield earlier, min(ends, default=earlier)


def read_source(text: str, lab: Lab, graded: str = "") -> Source:
    """Parse a source, and find its kernels and what the lab says of their arguments.

    A source that nests too deep has no kernels. `graded` is the name of the kernel that is graded
    where it is not the lab's.
    """
    tree = parse(text)
    if not is_readable(tree):
        return Source(text, tree, ())
    found = [f for f in functions(tree) if f.defined and {"__global__", "__device__"} & {*f.head}]
    name = graded or lab.kernels[0].name
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
    return Kernel(tree, function, body, sizes, shapes, tuple(_integers(body)))


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


def statement_of(node: Node) -> Node | None:
    """Return the simple statement that a node is part of."""
    return node if node.kind in SIMPLE else enclosing(node, *SIMPLE)


def indent_of(node: Node) -> str:
    """Return the white space before a node on its line."""
    before = node.tree.data[: node.start]
    line = before[before.rfind(b"\n") + 1 :].decode(errors="replace")
    return line[: len(line) - len(line.lstrip())]


def replaced(node: Node, new: str) -> Change:
    """Return the change that replaces a node."""
    return node.start, node.end, new


Editor = Callable[[Source], Iterator[Edit]]
"""A function that offers edits of a source."""


def list_edits(
    source: Source, evidence: Evidence, editors: Sequence[Editor], most: int
) -> tuple[Edit, ...]:
    """Return at most `most` edits of a source without duplicates, those to try first in front."""
    seen = {source.data.decode(errors="replace")}
    ranked = sorted(
        (
            edit
            for editor in editors
            for edit in _offered(editor, source)
            if evidence.is_wrong or _explains(edit, evidence)
        ),
        key=lambda edit: (_rank(edit, evidence), len(edit.changes), edit.line, edit.changes),
    )
    kept: list[Edit] = []
    for edit in ranked:
        if len(kept) == most:
            break
        text = edit.applied(source.data)
        if text not in seen:
            seen.add(text)
            kept.append(edit)
    return tuple(kept)


def _offered(editor: Editor, source: Source) -> Iterator[Edit]:
    try:
        yield from islice(editor(source), MAX_OF_A_KIND)
    except ValueError:  # a node without the part that the grammar promises: the text is wrong
        return


def _rank(edit: Edit, evidence: Evidence) -> int:
    """Return how late an edit is tried: by its kind, its distance to the findings, its cost."""
    if any((clue.kind, clue.line) == (edit.kind, edit.line) for clue in evidence.clues):
        return edit.cost - len(CAUSE_KINDS)
    rank = 3 * edit.cost + _prior(edit, evidence)
    if edit.line in evidence.near or any(a <= edit.line <= b for a, b in evidence.spans):
        return rank
    rings = (ring for ring, lines in enumerate(evidence.around, start=1) if edit.line in lines)
    return rank + next(rings, FAR)


def _prior(edit: Edit, evidence: Evidence) -> int:
    """Return how unlikely the kind of an edit is, given the kinds of the errors."""
    known = CAUSE_KINDS[edit.kind].evidence
    if not evidence.is_wrong:  # an edit that keeps the results and the cost is soon found
        return min(known.index(kind) for kind in evidence.kinds if kind in known)
    if not _explains(edit, evidence):
        return 3
    return int(edit.kind in GENERIC) - int(edit.kind in SPECIFIC)


def _explains(edit: Edit, evidence: Evidence) -> bool:
    return any(kind in evidence.kinds for kind in CAUSE_KINDS[edit.kind].evidence)


def diff_of(source: Source, edit: Edit, file: str) -> str:
    """Return an edit as a unified diff."""
    before = source.text.splitlines(keepends=True)
    after = edit.applied(source.data).splitlines(keepends=True)
    return "".join(unified_diff(before, after, file, file, n=1))
