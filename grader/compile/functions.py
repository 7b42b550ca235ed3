"""The functions of a source: kernels with the names of their parameters, which the compiler drops,
and what stands around them.

One pass over the tokens of the syntax tree: a head ends at `;` or `{`, and the tree says what it
declares. Braces are paired here, since the tree has no blocks where a text is wrong, and qualifiers
are looked for in the whole head, since the grammar does not know all of CUDA's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from grader.compile.syntax import Node, Tree

_DECLARATORS = ("function_declarator", "abstract_function_declarator")
_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration")
_DROPPED = ("__restrict__", "__restrict", "restrict", "__grid_constant__", "register")
_NAMES = ("identifier", "field_identifier", "type_identifier", "operator_name", "destructor_name")
_INNER = ("declarator", "identifier")


@dataclass(frozen=True)
class Function:
    """A function of a source; `head` are the words before its body or its `;`.

    The nodes from index `body` to `end` are between its braces; `first_line` is that of the head's
    first word, `last_line` that of the closing brace. `outer` is False inside another block than a
    namespace's.
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
    """A `__global__` function in the source; `parameters` are (type, name), a name may be ""."""

    name: str
    line: int
    parameters: tuple[tuple[str, str], ...]
    template: bool = False
    defined: bool = False


def declarations(tree: Tree) -> tuple[Declaration, ...]:
    """Find the kernels that a source declares, definitions first.

    The first of a name is the one to show.
    """
    found = [
        Declaration(f.name, f.line, parameters(f.declarator), "template" in f.head, f.defined)
        for f in functions(tree)
        if "__global__" in f.head and f.declarator is not None
    ]
    return tuple(sorted(found, key=lambda d: not d.defined))


def parameters(declarator: Node) -> tuple[tuple[str, str], ...]:
    """Read (type, name) of each parameter: "const float* __restrict__ A" is ("const float*", "A").

    An array is a pointer, as the compiler takes it.
    """
    listed = declarator.part("parameters")
    found = tuple(_parameter(p) for p in listed.named if p.kind in _PARAMETERS) if listed else ()
    return () if found == (("void", ""),) else found


def functions(tree: Tree) -> tuple[Function, ...]:
    """Find the functions of a source in the order of their names."""
    reader = _Reader(tree)
    for index, kind in enumerate(tree.kinds):
        if kind in _DECLARATORS and reader.declarator is None:
            reader.declarator = Node(tree, index)
        elif tree.afters[index] == index + 1 and tree.ends[index] > tree.starts[index]:
            reader.token(kind, index)
    return reader.all_found()


def function_line(tree: Tree, name: str) -> int:
    """Return the line where a function of that name has its body; 0 if nowhere."""
    return next((f.line for f in functions(tree) if f.name == name and f.defined), 0)


_SCOPE = -1
_OTHER = -2


@dataclass
class _Reader:
    """One pass over the tokens: where the head began that is being read, what it declares, and the
    blocks that are open, each a function's number, a namespace or another."""

    tree: Tree
    began: int = 0
    declarator: Node | None = None
    blocks: list[int] = field(default_factory=list)
    found: list[Function] = field(default_factory=list)
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

    def all_found(self) -> tuple[Function, ...]:
        """The functions with their ends; what is never closed goes to the end of the text."""
        end = (len(self.tree.kinds), self.tree.data.count(b"\n") + 1)
        ends = (self.ends.get(number, end) for number in range(len(self.found)))
        return tuple(
            replace(f, end=index, last_line=line) if f.defined else f
            for f, (index, line) in zip(self.found, ends, strict=True)
        )

    def _opens(self, index: int) -> None:
        outer = self._is_outer()
        head = self._head(index) if outer or self.declarator is not None else []
        kinds = {token.kind for token in head}
        if self.declarator is not None or (outer and "(" in kinds):
            self._add(head, index, defined=True)
            self.blocks.append(len(self.found) - 1)
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
        self.found.append(
            Function(
                name.text if name else "", name.line if name else first, words, self.declarator,
                defined, self._is_outer(), first, first, end + 1, end + 1,
            )
        )  # fmt: skip


def _name(declarator: Node | None, head: list[Node]) -> Node | None:
    """The name that is declared, else the first word before a parenthesis."""
    if declarator is not None:
        inner = declarator.part("declarator")
        words = [n for n in inner.walk() if n.is_leaf and n.kind in _NAMES] if inner else []
        return words[-1] if words else inner
    pairs = zip(head, head[1:], strict=False)
    return next((one for one, two in pairs if two.kind == "(" and one.kind in _NAMES), None)


def _parameter(parameter: Node) -> tuple[str, str]:
    """A parameter's (type, name): its text without its name, value and brackets, a star for each
    pair of them."""
    name = _declared_name(parameter)
    skipped = [(name.start, name.end)] if name else []
    has_value, arrays = parameter.part("default_value") is not None, 0
    for node in parameter.walk():
        if node.kind == "=" and has_value:
            skipped.append((node.start, parameter.end))
        elif node.kind == "[" and node.parent and node.parent.kind.endswith("array_declarator"):
            skipped.append((node.start, node.parent.end))
            arrays += 1
        elif node.is_leaf and node.text in _DROPPED:
            skipped.append((node.start, node.end))
    return _spaced(_without(parameter, skipped) + "*" * arrays), name.text if name else ""


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
