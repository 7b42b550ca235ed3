"""Find the functions of a source, and the parameters of its kernels.

The compiler's results lack the names of parameters, so they are read here, in one pass over the
tokens of the syntax tree. A function's head ends at `;` or `{`, and the tree shows what it
declares. Braces are matched here, because the tree has no blocks where a text is wrong. Qualifiers
are searched for in the whole head, because the grammar does not know all of CUDA's.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import field

from grader import dataclass, replace
from grader.compile.syntax import Node, Tree

_DECLARATORS = ("function_declarator", "abstract_function_declarator")
_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration")
_DROPPED = ("__restrict__", "__restrict", "restrict", "__grid_constant__", "register")
_NAMES = ("identifier", "field_identifier", "type_identifier", "operator_name", "destructor_name")
_INNER = ("declarator", "identifier")


@dataclass(frozen=True)
class Function:
    """A function of a source.

    Attributes:
        name: Its name; "" when unknown.
        line: The line of its name.
        head: The words before its body or its `;`.
        declarator: The tree's node of its name and parameters.
        defined: Whether it has a body.
        outer: Whether it is at file scope or in a namespace.
        first_line: The line of the head's first word.
        last_line: The line of the closing brace.
        body: The index of the first node between its braces.
        end: The index of the first node behind those.
    """

    name: str
    line: int
    head: tuple[str, ...]
    declarator: Node | None
    defined: bool
    outer: bool
    first_line: int
    last_line: int
    body: int
    end: int


@dataclass(frozen=True)
class Declaration:
    """A `__global__` function in the source; `parameters` are (type, name), either may be ""."""

    name: str
    line: int
    parameters: tuple[tuple[str, str], ...]
    template: bool = False
    defined: bool = False


def declarations(
    tree: Tree, kernel_words: Container[str] = ("__global__",)
) -> tuple[Declaration, ...]:
    """Find the kernels that a source declares, definitions first.

    Args:
        tree: The tree of the source.
        kernel_words: The words that make a function a kernel: `preprocessor.kernel_words`.
    """
    kernels = [
        Declaration(f.name, f.line, parameters(f.declarator), "template" in f.head, f.defined)
        for f in functions(tree)
        if f.declarator is not None and any(word in kernel_words for word in f.head)
    ]
    return tuple(sorted(kernels, key=lambda d: not d.defined))


def parameters(declarator: Node) -> tuple[tuple[str, str], ...]:
    """Read (type, name) of each parameter: "const float* __restrict__ A" is ("const float*", "A").

    An array is a pointer, as for the compiler.
    """
    nodes = declarator.part("parameters")
    pairs = tuple(_parameter(p) for p in nodes.named if p.kind in _PARAMETERS) if nodes else ()
    return () if pairs == (("void", ""),) else pairs


def functions(tree: Tree) -> tuple[Function, ...]:
    """Find the functions of a source in the order of their names."""
    reader = _Reader(tree)
    for index, kind in enumerate(tree.kinds):
        if kind in _DECLARATORS and reader.declarator is None:
            reader.declarator = Node(tree, index)
        elif tree.afters[index] == index + 1 and tree.ends[index] > tree.starts[index]:
            reader.token(kind, index)
    return reader.functions_with_ends()


def function_line(tree: Tree, name: str) -> int:
    """Return the line where a function of that name has its body; 0 if nowhere."""
    return next((f.line for f in functions(tree) if f.name == name and f.defined), 0)


_SCOPE = -1
_OTHER = -2


def base_of(subscript: Node) -> Node:
    """Return the array of `a[i][j]`: `a`."""
    node = subscript
    while node.kind == "subscript_expression" and (inner := node.part("argument")) is not None:
        node = inner
    return node


def empty_bodies(tree: Tree) -> Iterator[tuple[Node, str, Node]]:
    """Yield the statements whose body is `;`, their keywords, and the `;`."""
    for statement in tree.walk("if_statement", "for_statement", "while_statement"):
        body = statement.part("consequence") or statement.part("body")
        if body is None or body.text != ";" or statement.part("alternative") is not None:
            continue
        above = statement.parent
        follows = [c for c in above.named if c.start >= statement.end] if above else []
        if follows and (
            statement.kind == "if_statement" or follows[0].kind == "compound_statement"
        ):
            yield statement, statement.kind.split("_")[0], body


def nodes_of(tree: Tree, function: Function, *kinds: str) -> Iterator[Node]:
    """Yield the nodes of those kinds in a function's body."""
    for index in range(function.body, function.end):
        if tree.kinds[index] in kinds:
            yield Node(tree, index)


def indices_of(subscript: Node) -> Iterator[Node]:
    """Yield the names in the indices of a subscript."""
    indices = subscript.part("indices") or subscript.part("index")
    if indices is not None:
        yield from indices.walk("identifier", "field_expression")


def thread_names(tree: Tree, kernel: Function) -> set[str]:
    """Return the names that are declared as a component of threadIdx alone."""
    names = set()
    for node in nodes_of(tree, kernel, "init_declarator"):
        value, name = node.part("value"), node.part("declarator")
        if value is not None and name is not None and value.text.startswith("threadIdx."):
            names.add(name.text)
    return names


@dataclass
class _Reader:
    """The state of the pass over the tokens.

    Attributes:
        tree: The tree.
        began: The index of the first node of the current head.
        declarator: The function that the current head declares.
        blocks: The open blocks: a function's number, _SCOPE for a namespace, or _OTHER.
        functions: The functions so far, by number.
        ends: The index and line of the closing brace, by function.
    """

    tree: Tree
    began: int = 0
    declarator: Node | None = None
    blocks: list[int] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)

    def token(self, kind: str, index: int) -> None:
        """Take one more token into account."""
        if kind == "{":
            self._opens(index)
        elif kind == "}" and self.blocks:
            number = self.blocks.pop()
            self.ends[number] = (index, self.tree.lines[index])
        elif kind == ";" and self.declarator is not None:
            head = self._head(index)
            if any(token.kind == "__global__" for token in head):
                self._add(head, index)
        elif kind not in "};":
            return
        self.began, self.declarator = index + 1, None

    def functions_with_ends(self) -> tuple[Function, ...]:
        """The functions with their ends; an unclosed one reaches to the end of the text."""
        end = (len(self.tree.kinds), self.tree.data.count(b"\n") + 1)
        ends = (self.ends.get(number, end) for number in range(len(self.functions)))
        return tuple(
            replace(f, end=index, last_line=line) if f.defined else f
            for f, (index, line) in zip(self.functions, ends, strict=True)
        )

    def _opens(self, index: int) -> None:
        outer = self._is_outer()
        head = self._head(index) if outer or self.declarator is not None else []
        kinds = {token.kind for token in head}
        if self.declarator is not None or (outer and "(" in kinds):
            self._add(head, index, defined=True)
            self.blocks.append(len(self.functions) - 1)
        else:
            self.blocks.append(_SCOPE if kinds & {"namespace", "extern"} else _OTHER)

    def _is_outer(self) -> bool:
        return not self.blocks or self.blocks[-1] == _SCOPE

    def _head(self, end: int) -> list[Node]:
        return list(self.tree.between(self.began, end))

    def _add(self, head: list[Node], end: int, *, defined: bool = False) -> None:
        name = _name(self.declarator, head)
        first = head[0].line if head else self.tree.lines[end]
        words = tuple(token.text for token in head)
        self.functions.append(
            Function(
                name.text if name else "", name.line if name else first, words, self.declarator,
                defined, self._is_outer(), first, first, end + 1, end + 1,
            )
        )  # fmt: skip


def _name(declarator: Node | None, head: list[Node]) -> Node | None:
    """The declared name, else the first word before a parenthesis."""
    if declarator is not None:
        inner = declarator.part("declarator")
        words = [n for n in inner.walk() if n.is_leaf and n.kind in _NAMES] if inner else []
        return words[-1] if words else inner
    pairs = zip(head, head[1:], strict=False)
    return next((one for one, two in pairs if two.kind == "(" and one.kind in _NAMES), None)


def _parameter(parameter: Node) -> tuple[str, str]:
    """A parameter's (type, name).

    The type is its text without name and default value. An array is a pointer to its elements: of
    `int a[][4]` it is "int(*)[4]", as of `int (*a)[4]`.
    """
    name = _declared_name(parameter)
    skipped = [(name.start, name.end)] if name else []
    has_value, arrays = parameter.part("default_value") is not None, list[tuple[int, int]]()
    for node in parameter.walk():
        if node.kind == "=" and has_value:
            skipped.append((node.start, parameter.end))
        elif node.kind == "[" and node.parent and node.parent.kind.endswith("array_declarator"):
            arrays.append((node.start, node.parent.end))
        elif node.is_leaf and node.text in _DROPPED:
            skipped.append((node.start, node.end))
    text = _spaced(_without(parameter, [*skipped, *arrays]))
    data = parameter.tree.data
    extents = [data[start:end].decode(errors="replace") for start, end in sorted(arrays)]
    if extents and not text.endswith(")"):
        text, extents = text + ("(*)" if extents[1:] else "*"), extents[1:]
    text = text.replace(" (", "(") if extents else text
    return text + "".join(extents), name.text if name else ""


def _declared_name(parameter: Node) -> Node | None:
    """The name below a parameter's declarators."""
    node = parameter.part("declarator")
    while node is not None and not node.is_leaf:
        inner = node.part("declarator")
        node = inner or next((n for n in node.named if n.kind.endswith(_INNER)), None)
    return node if node is not None and node.kind == "identifier" else None


def _without(node: Node, skipped: list[tuple[int, int]]) -> str:
    data, at, parts = node.tree.data, node.start, []
    for start, end in sorted(skipped):
        parts.append(data[at : max(start, at)])
        at = max(at, end)
    return b" ".join([*parts, data[at : node.end]]).decode(errors="replace")


def _spaced(text: str) -> str:
    """One space between words, none before a star."""
    return re.sub(r" ?([*&]) ?", r"\1", " ".join(text.split())).strip()


def lines_across_calls(tree: Tree, own: Sequence[Function], lines: set[int]) -> set[int]:
    """Return the lines of functions that lines call, and the lines that call the lines' functions.

    A call of a lambda is one of the lambda's lines.
    """
    rows = tree.data.decode(errors="replace").split("\n")
    found: set[int] = set()
    for function in own:
        inside = {*range(function.first_line, function.last_line + 1)}
        name = re.compile(rf"\b{re.escape(function.name)}\s*\(")
        calls = {k for k, row in enumerate(rows, 1) if k not in inside and name.search(row)}
        found |= inside if calls & lines else set()
        found |= calls if inside & lines else set()
    for node in tree.walk("lambda_expression"):
        above = next((n for n in node.ancestors if n.kind == "init_declarator"), None)
        if above is not None and node.line in lines:
            name = re.compile(rf"\b{re.escape(above.field('declarator').text)}\s*\(")
            found |= {k for k, row in enumerate(rows, 1) if name.search(row)}
    return found
