"""Read the variables of a CUDA C++ source, for messages.

A shared array has its shape, and a register may hold a local variable that was declared without a
value. PTX has neither, so both are read from the syntax tree. Names serve messages only: what is
not certain has none. All functions take time in proportion to the length of the source.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

from grader import dataclass, regex
from grader.faults import LabFault
from grader.labs.expressions import MAX_LENGTH, evaluate_expression

if TYPE_CHECKING:
    from grader.compile.syntax import Node, Tree

TYPE_SIZES: Mapping[str, int] = {
    "char": 1, "int8_t": 1, "uint8_t": 1, "uchar": 1, "bool": 1,
    "short": 2, "half": 2,
    "int": 4, "unsigned": 4, "uint": 4, "int32_t": 4, "uint32_t": 4, "float": 4,
    "long": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8, "double": 8, "float2": 8, "int2": 8,
    "float4": 16, "int4": 16,
}  # fmt: skip

INTEGER_BITS: Mapping[str, int] = {
    "char": 8, "int8_t": 8, "uint8_t": 8, "uchar": 8, "short": 16, "int16_t": 16, "uint16_t": 16,
    "ushort": 16, "int": 32, "unsigned": 32, "uint": 32, "uint32_t": 32, "int32_t": 32, "long": 64,
    "long long": 64, "size_t": 64, "uint64_t": 64, "int64_t": 64,
}  # fmt: skip
"""The width of integer types, of which `unsigned` may stand before."""

_ZEROS = {
    "f32": {"float": "0.0f"},
    "f64": {"double": "0.0"},
    "b32": {"int": "0", "unsigned": "0", "unsigned int": "0", "int32_t": "0", "uint32_t": "0"},
    "b64": {"long long": "0", "unsigned long long": "0", "long": "0", "unsigned long": "0"}
    | {"int64_t": "0", "uint64_t": "0", "size_t": "0"},
    "b16": {"bool": "false", "char": "0", "unsigned char": "0", "short": "0"}
    | {"unsigned short": "0", "int8_t": "0", "uint8_t": "0", "int16_t": "0", "uint16_t": "0"},
}
_REGISTER_TYPES = {name: kind for kind, names in _ZEROS.items() for name in names}
"""The type of the PTX register that holds a variable of a C++ type."""

_NAMES = ("identifier", "type_identifier")
_SCOPES = (
    "compound_statement", "for_statement", "for_range_loop", "if_statement", "switch_statement",
    "while_statement",
)  # fmt: skip
_CONST = ("const", "constexpr")
_DROPPED = ("register", "volatile")
_NOT_LOCAL = regex(
    r"\b(?:alignas|extern|static|constexpr|typename|struct|class|union|enum|thread_local|__\w+__)\b"
)
_DEFINITION = regex(r"(\w+)\s+(\S.*)")
_WORD = regex(r"[A-Za-z_]\w*")
_MAX_DEPTH = 16
"""Constants within constants, and nodes between a declaration and its block, that are followed."""
_MAX_TOKENS = 256
"""Tokens of a declarator that are read."""


@dataclass(frozen=True)
class Shape:
    """The shape of an array: `dims` elements, slowest first, of `element` bytes each."""

    dims: tuple[int, ...]
    element: int

    def index(self, offset: int) -> str:
        """Return the element at a byte offset, such as `[1][3]`.

        The first index may be out of bounds.
        """
        flat, out = offset // self.element, []
        for size in reversed(self.dims[1:]):
            flat, at = divmod(flat, max(size, 1))
            out.append(at)
        return "".join(f"[{k}]" for k in (flat, *reversed(out)))


@dataclass(frozen=True)
class UninitializedLocal:
    """A local variable that is declared without a value.

    Attributes:
        name: its name.
        type: its type as it is written; a pointer's ends with `*`.
    """

    name: str
    type: str

    @property
    def declaration(self) -> str:
        """Its declaration with a value; empty for a pointer or when its type is not known."""
        value = _ZEROS.get(_REGISTER_TYPES.get(self.type, ""), {}).get(self.type, "")
        return f"{self.type} {self.name} = {value};" if value else ""

    def fits(self, kind: str) -> bool:
        """Whether a PTX register of this type may hold it; small integers are widened."""
        wants = "b64" if self.type.endswith("*") else _REGISTER_TYPES.get(self.type)
        if kind[0] in "usb":
            return wants is None or wants == f"b{kind[1:]}" or (wants, kind[1:]) == ("b16", "32")
        return wants is None or wants == kind


def initialized_declaration(name: str, kind: str, extent: str) -> str:
    """Declare a variable with a value.

    Args:
        name: the variable's name.
        kind: its C++ type.
        extent: the dimensions of an array; else empty.

    Returns:
        The declaration; empty when the type is not known. A pointer has none: through a null
        pointer, nothing could be read.
    """
    if not kind or kind.endswith("*") or len(kind) > MAX_LENGTH:
        return ""
    plain = "" if extent else UninitializedLocal(name, kind).declaration
    return plain or f"{kind} {name}{extent} = {{}};"


@dataclass(frozen=True)
class _Declared:
    """A name that a declaration declares.

    Attributes:
        name: the name.
        line: its line.
        type: the words of the type; a pointer's ends with `*`.
        element: the last word of the type; empty for a pointer.
        dims: the texts of an array's dimensions.
        has_value: whether it is declared with a value that is not computed from it.
        first: the index of the node that declares it.
        end: the index behind the block that it is visible in; 0 when there is none.
        function: the function around it; empty when there is none.
    """

    name: str
    line: int
    type: str
    element: str
    dims: tuple[str, ...]
    has_value: bool
    first: int
    end: int
    function: str

    @property
    def is_shared(self) -> bool:
        return "__shared__" in self.type


@dataclass
class SourceVariables:
    """The variables of a source, read once."""

    source: str
    tree: Tree = field(init=False)
    _declared: dict[str, list[_Declared]] = field(init=False)
    _texts: dict[str, str] = field(init=False)
    _values: dict[str, int | None] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        # imported here because few launches have findings, and the import takes 5 ms
        from grader.compile.preprocessor import code, directives
        from grader.compile.syntax import parse

        # the grammar knows alignas(16), but not __align__(16)
        self.tree = parse(code(self.source).replace("__align__", "alignas"))
        self._declared = defaultdict(list)
        for declaration in self.tree.walk("declaration"):
            for one in _names_of(declaration):
                self._declared[one.name].append(one)
        self._texts = {}
        for directive in directives(self.source):
            if directive.name == "define" and (match := _DEFINITION.match(directive.text)):
                self._texts.setdefault(match[1], match[2])
        for name, text in _constants(self.tree):
            self._texts.setdefault(name, text)

    def _in_function(self, name: str, function: str) -> list[_Declared]:
        """The declarations of a name in a function; all where it has none, or is not known."""
        every = self._declared.get(name, [])
        return [d for d in every if function and d.function == function] or every

    def shape(self, name: str, size: int, function: str = "") -> Shape | None:
        """Return the declared shape of a function's array of `size` bytes.

        Returns:
            None when it is not certain: the product of the dimensions must give that size.
        """
        for declared in self._in_function(name, function):
            dims = [self.number(text) for text in declared.dims]
            known = [d for d in dims if d is not None and d > 0]
            if not known or len(known) != len(dims):
                continue
            count = prod(known)
            if size and size % count == 0 and size // count in (1, 2, 4, 8, 16):
                return Shape(tuple(known), size // count)
        return None

    def array_at(self, name: str, at: int) -> tuple[str, tuple[int | None, ...]]:
        """The space and the dimensions of the array that a name at a node stands for; else none."""
        scopes = (d for d in self._declared.get(name, ()) if d.first < at < (d.end or at + 1))
        found = max((d for d in scopes if d.dims), key=lambda d: d.first, default=None)
        if found is None:
            return "", ()
        space = "shared" if found.is_shared else "local" if found.end else "global"
        return space, tuple(map(self.number, found.dims))

    def range_of(self, name: str, at: int) -> tuple[str, int, int] | None:
        """The type, the least and the largest value of the integer that a name at a node is."""
        scopes = (d for d in self._declared.get(name, ()) if d.first < at < (d.end or at + 1))
        found = max(scopes, key=lambda d: d.first, default=None)
        words = [] if found is None or found.dims else found.type.split()
        kind = " ".join(word for word in words if word not in _CONST).removeprefix("std::")
        bits = INTEGER_BITS.get(kind.removeprefix("unsigned ").removeprefix("signed "), 0)
        bits = INTEGER_BITS.get(kind, bits)
        if not bits:
            return None
        if kind.startswith(("u", "size_t")):
            return kind, 0, (1 << bits) - 1
        return kind, -(1 << bits - 1), (1 << bits - 1) - 1

    def element_bytes(self, name: str, function: str = "") -> int:
        """Return the bytes of an element of the array of this name; 0 if unknown."""
        arrays = (d for d in self._in_function(name, function) if d.dims)
        first = next(arrays, None)
        return TYPE_SIZES.get(first.element, 0) if first else 0

    def is_scalar(self, name: str, function: str = "") -> bool:
        """Whether the source declares a shared variable of this name that is not an array."""
        declared = self._in_function(name, function)
        return any(d.is_shared for d in declared) and not any(d.dims for d in declared)

    def uninitialized_type(self, name: str, line: int) -> str:
        """Return the type that a line declares this variable with; empty if with a value."""
        types = (d.type for d in self._declared.get(name, ()) if d.line == line and not d.has_value)
        return next(types, "")

    def used_local(self, line: int, kind: str) -> UninitializedLocal | None:
        """Return the variable without a value that `line` uses.

        Args:
            line: the line; its statement may continue in later lines.
            kind: the type of the PTX register that holds the variable.

        Returns:
            None when no variable fits, or more than one.
        """
        first, end = self._statement(line)
        tokens = list(self.tree.between(first, end))
        following = [*(token.kind for token in tokens[1:]), ""]
        names = dict.fromkeys(
            token.text
            for token, after in zip(tokens, following, strict=False)
            if token.kind in _NAMES and after != "="
        )
        visible = (self._visible(name, first, end) for name in names)
        used = [v for v in visible if v is not None and v.fits(kind)]
        return used[0] if len(used) == 1 else None

    def _statement(self, line: int) -> tuple[int, int]:
        """The nodes from a line's first to its last, or to the end of its statement."""
        lines = self.tree.lines
        first, end = bisect_left(lines, line), bisect_left(lines, line + 1)
        if not any(token.kind in (";", "{") for token in self.tree.between(first, end)):
            later = self.tree.between(end, len(lines))
            end = next((token.index for token in later if token.kind == ";"), end)
        return first, end

    def _visible(self, name: str, first: int, end: int) -> UninitializedLocal | None:
        """The variable without a value that a name between two nodes stands for."""
        scopes = [d for d in self._declared.get(name, ()) if d.first < end and first < d.end]
        found = scopes[-1] if scopes else None
        if found is None or found.has_value or found.dims or _NOT_LOCAL.search(found.type):
            return None
        return UninitializedLocal(name, found.type)

    def number(self, expression: str, depth: int = 0) -> int | None:
        """The value of an integer constant expression; None for any other expression."""
        if not expression or len(expression) > MAX_LENGTH or depth > _MAX_DEPTH:
            return None
        values = {name: self._constant(name, depth) for name in _WORD.findall(expression)}
        return _evaluated(expression, {name: v for name, v in values.items() if v is not None})

    def _constant(self, name: str, depth: int) -> int | None:
        """The value of a macro or constant; None when it is no integer."""
        if name not in self._values:
            self._values[name] = None  # a name that is defined by itself has no value
            self._values[name] = self.number(self._texts.get(name, ""), depth + 1)
        return self._values[name]


def _names_of(declaration: Node) -> Iterator[_Declared]:
    """The variables that a declaration declares."""
    tree = declaration.tree
    declarators = [c for c in declaration.children if tree.names[c.index] == "declarator"]
    if not declarators:
        return
    around = list(islice(declaration.ancestors, _MAX_DEPTH))
    end = next((tree.afters[node.index] for node in around if node.kind in _SCOPES), 0)
    function = next(map(_defined_name, (x for x in around if x.kind == "function_definition")), "")
    words = _type_words(tree, declaration.start, declarators[0].start)
    for declarator in declarators:
        has_value = declarator.kind == "init_declarator"
        inner = declarator.part("declarator") if has_value else declarator
        if inner is None:
            continue
        leaves = list(islice(tree.between(inner.index, tree.afters[inner.index]), _MAX_TOKENS))
        kinds = [leaf.kind for leaf in leaves]
        opening = kinds.index("[") if "[" in kinds else len(kinds)
        names = [leaf for leaf in leaves[:opening] if leaf.kind in _NAMES]
        if not names or not {"(", "&", "&&"}.isdisjoint(kinds[:opening]):
            continue  # a function, a reference, or a pointer to an array
        is_pointer = "*" in kinds[:opening]
        yield _Declared(
            names[-1].text,
            names[-1].line,
            " ".join(words) + " *" * is_pointer,
            # behind a macro the grammar takes the type for a name
            "" if is_pointer else _last_word(words, names[:-1]),
            tuple(_dimensions(leaves[opening:])),
            has_value and sum(x.text == names[-1].text for x in declarator.walk("identifier")) == 1,
            declaration.index,
            end,
            function,
        )


def _defined_name(function: Node) -> str:
    """The name of a function that is defined, without its namespace or class."""
    declarator = function.part("declarator")
    while declarator is not None and (inner := declarator.part("declarator")) is not None:
        declarator = inner
    return re.split(r"\W+", declarator.text)[-1] if declarator is not None else ""


def _last_word(words: list[str], names: list[Node]) -> str:
    """The last word of a type without its namespace."""
    last = [*words, *(name.text for name in names)][-1:]
    return last[0].split("::")[-1] if last else ""


def _type_words(tree: Tree, start: int, end: int) -> list[str]:
    """The words of a type, `const` first; none of a very long one."""
    if end - start > MAX_LENGTH:
        return []
    words = tree.data[start:end].decode(errors="replace").split()
    words = [word for word in words if word not in _DROPPED]
    if "{" in words:
        return words
    return sorted(words, key=lambda word: word != "const")


def _dimensions(leaves: Sequence[Node]) -> Iterator[str]:
    """The texts between brackets."""
    words: list[str] = []
    for leaf in leaves:
        if leaf.kind == "[":
            words = []
        elif leaf.kind == "]":
            yield " ".join(words)
        else:
            words.append(leaf.text)


def _constants(tree: Tree) -> Iterator[tuple[str, str]]:
    """The constants that a source declares, with the texts of their values."""
    for node in tree.walk("declaration", "enumerator_list"):
        children = list(node.children)
        if node.kind == "declaration" and not any(
            child.kind == "type_qualifier" and child.text in _CONST for child in children
        ):
            continue
        for child in children:
            name, value = child.part("declarator") or child.part("name"), child.part("value")
            if name is not None and value is not None and name.kind == "identifier":
                yield name.text, value.text


def _evaluated(text: str, constants: dict[str, int]) -> int | None:
    cleaned = re.sub(r"(?<=\d)[uUlL]+\b", "", text).replace("/", "//")
    try:
        value = evaluate_expression(cleaned, constants)
    except (LabFault, ArithmeticError, ValueError, TypeError):
        return None
    return int(value) if value == int(value) else None
