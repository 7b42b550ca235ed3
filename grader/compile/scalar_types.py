"""Which types of a source are scalars, and the statement that leaves a variable of one undefined.

Types are known by their words: the built-in ones, and the names that typedefs, aliases, macros and
enumerations of the source give them, in whatever class they are. A type parameter of a template is
decided where the template is instantiated. Of a type that only the compiler knows, as
`decltype(x)` or `Traits::type`, the variable is kept in memory, which is watched by the byte: this
takes nothing from an object of a class either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader import regex
from grader.compile.preprocessor import Directive, directives
from grader.compile.syntax import Node, Tree

STORED = regex(r"\b(?:static|extern|constexpr|volatile|register|typedef|thread_local|__\w+__)\b")
"""Words before a declarator that make a variable another one than a local of a thread."""

_CLASS, _MEMORY, _TEMPLATE = "", "memory", "template"
_FORMS = {
    **{x: f'asm("" : "={x}"(NAME));' for x in "hrlfd"},
    "char": '{ short unset_; asm("" : "=h"(unset_)); NAME = (char)unset_; }',
    "bool": '{ short unset_; asm("" : "=h"(unset_)); '
    "NAME = __builtin_bit_cast(bool, (char)unset_); }",
    "enum": '{ int unset_; asm("" : "=r"(unset_)); NAME = (decltype(NAME))unset_; }',
    _MEMORY: 'asm volatile("" : : "l"(__builtin_addressof(NAME)));',
}
"""The statement for a variable, by the constraint of PTX for its type."""
_OF_PARAMETER = (
    'if constexpr (__is_constructible(TYPE *, float *)) asm("" : "=f"(NAME)); '
    'else if constexpr (__is_constructible(TYPE *, double *)) asm("" : "=d"(NAME)); '
    f"else if constexpr (__is_constructible(TYPE *, bool *)) {_FORMS['bool']} "
    "else if constexpr (__is_class(TYPE) || __is_union(TYPE)) { } "
    'else if constexpr (sizeof(NAME) == 8) asm("" : "=l"(NAME)); '
    'else if constexpr (sizeof(NAME) == 4) asm("" : "=r"(NAME)); '
    'else if constexpr (sizeof(NAME) == 2) asm("" : "=h"(NAME)); '
    'else if constexpr (sizeof(NAME) == 1) { short unset_; asm("" : "=h"(unset_)); '
    "NAME = (TYPE)unset_; }"
)
"""The statement for a variable of a template's type parameter."""
_NAMED = {
    **dict.fromkeys(("int16_t", "uint16_t", "ushort", "char16_t"), "h"),
    **dict.fromkeys(("int32_t", "uint32_t", "uint", "char32_t", "wchar_t"), "r"),
    **dict.fromkeys(("int64_t", "uint64_t", "size_t", "ptrdiff_t", "ulong"), "l"),
    **dict.fromkeys(("intptr_t", "uintptr_t", "intmax_t", "uintmax_t"), "l"),
    **dict.fromkeys(("cudaTextureObject_t", "cudaSurfaceObject_t"), "l"),
    **dict.fromkeys(("int8_t", "uint8_t", "uchar", "byte"), "char"),
    "float": "f",
    "double": "d",
    "bool": "bool",
}
_INTEGER = frozenset(("signed", "unsigned", "char", "short", "int", "long"))
_QUALIFIED = regex(r"\b(?:cuda\s*::\s*)?std\s*::\s*|\[\[[^\[\]]*\]\]|\balignas\s*\([^()]*\)")
_TAG = regex(r"^\s*enum\s+(?:(?:class|struct)\s+)?")
_LAST_NAME = regex(r"(?:typename\s+)?(?:::\s*)?(?:\w+\s*::\s*)*(\w+)")
_OF_COMPILER = regex(r"decltype\s*\(.*\)|typename\b.*|[\w:\s]*_t(?:\s*<.*>)?", re.DOTALL)
_WRAPPERS = ("attributed_declarator", "pointer_declarator", "parenthesized_declarator")
_MACRO = regex(r"(\w+)(?!\()\b\s*(.*)", re.DOTALL)


class ScalarTypes:
    """The scalar types of a source.

    Attributes:
        macros: the definitions of macros with parameters, by name.
    """

    def __init__(self, text: str, tree: Tree) -> None:
        self.macros: dict[str, str] = {}
        self._named: dict[str, str] = {**_NAMED}
        own: dict[str, set[str]] = {}
        for name, form in (*self._macro_types(directives(text)), *self._types(tree)):
            own.setdefault(name, set()).add(form)
            self._named[name] = form if len(own[name]) == 1 else _MEMORY

    def statement(self, declaration: Node, words: str, name: str, *, is_pointer: bool) -> str:
        """The statement that leaves a variable undefined; empty where its type is no scalar.

        Args:
            declaration: What declares it.
            words: The words of its type.
            name: Its name.
            is_pointer: Whether it is a pointer to that type.
        """
        form = "l" if is_pointer else self._form_of(words)
        if not is_pointer and _is_parameter(declaration, words.strip()):
            return _OF_PARAMETER.replace("TYPE", words.strip()).replace("NAME", name)
        return _FORMS[form].replace("NAME", name) if form else ""

    def _form_of(self, words: str) -> str:
        """The form of a type by its words; empty for a class, and for a type that is not known."""
        bare = _TAG.sub("", _QUALIFIED.sub("", words)).strip()
        found = bare.split()
        if found and _INTEGER.issuperset(found):
            sized = {"char": "char", "short": "h", "long": "l"}
            return next((form for word, form in sized.items() if word in found), "r")
        last = _LAST_NAME.fullmatch(bare)
        if last and last[1] in self._named and not bare.startswith("typename"):
            form = self._named[last[1]]
            return _MEMORY if form == _TEMPLATE else form
        if self._named.get(bare.partition("<")[0].strip()) == _TEMPLATE and bare.endswith(">"):
            return _MEMORY
        return _MEMORY if _OF_COMPILER.fullmatch(bare) else _CLASS

    def _macro_types(self, found: Iterator[Directive]) -> Iterator[tuple[str, str]]:
        """The macros that stand for types; those with parameters are noted."""
        for directive in found:
            if directive.name != "define":
                continue
            name, at, _ = directive.text.partition("(")
            if at and name.isidentifier():
                self.macros[name] = directive.text if name not in self.macros else ""
            elif own := _MACRO.fullmatch(directive.text):
                form = "" if STORED.search(own[2]) else self._form_of(own[2])
                yield from [(own[1], form)] if form or own[1] in _NAMED else []

    def _types(self, tree: Tree) -> Iterator[tuple[str, str]]:
        """The types that a source defines, in its order."""
        kinds = ("class_specifier", "struct_specifier", "union_specifier", "enum_specifier")
        for node in tree.walk("type_definition", "alias_declaration", *kinds):
            if node.kind in kinds:
                name, body = node.part("name"), node.part("body")
                if name is not None and body is not None:
                    yield name.text, _enumeration(node) if node.kind == kinds[3] else _CLASS
            elif node.kind == "alias_declaration":
                yield from self._alias(node)
            else:
                yield from self._typedef(node)

    def _alias(self, node: Node) -> Iterator[tuple[str, str]]:
        name, of = node.part("name"), node.part("type")
        if name is None or of is None:
            return
        form = "l" if of.part("declarator") else self._form_of(of.text)
        known = form or (_CLASS if self._named.get(_last(of.text)) == _CLASS else _MEMORY)
        is_template = node.parent is not None and node.parent.kind == "template_declaration"
        yield name.text, _TEMPLATE if is_template else known

    def _typedef(self, node: Node) -> Iterator[tuple[str, str]]:
        of = node.part("type")
        for declarator in node.children:
            if node.tree.names[declarator.index] != "declarator" or of is None:
                continue
            inner, is_pointer = declared(declarator)
            form = "l" if is_pointer else self._form_of(of.text)
            is_class = of.part("body") is not None or self._named.get(_last(of.text)) == _CLASS
            if of.kind == "enum_specifier" and of.part("body") is not None:
                form, is_class = _enumeration(of), False
            plain = inner.kind in ("type_identifier", "primitive_type", "identifier")
            yield inner.text, form or (_CLASS if is_class else _MEMORY) if plain else _CLASS


def declared(declarator: Node) -> tuple[Node, bool]:
    """What a declarator declares: the node of its name or else of an array or a function.

    Also returns whether it is a pointer.
    """
    inner, is_pointer = declarator, False
    while True:
        kind, inside = inner.kind, inner.named
        around = kind in ("array_declarator", "function_declarator") and inside
        if around and not _is_pointer_in_parentheses(inside[0]):
            return inner, is_pointer
        if not inside or not (around or kind in _WRAPPERS):
            return inner, is_pointer
        is_pointer |= kind == "pointer_declarator"
        inner = inside[-1 if kind == "pointer_declarator" else 0]


def _is_pointer_in_parentheses(node: Node) -> bool:
    inside = node.named if node.kind == "parenthesized_declarator" else ()
    return bool(inside) and inside[0].kind == "pointer_declarator"


def _last(words: str) -> str:
    return words.rpartition("::")[2].strip()


def _enumeration(node: Node) -> str:
    """The form of an enumeration; one of bools, which no cast gives, is kept in memory."""
    base = node.part("base")
    return _MEMORY if base is not None and "bool" in base.text else "enum"


def _is_parameter(declaration: Node, name: str) -> bool:
    """Whether a name is a type parameter of a template around a declaration."""
    if not name.isidentifier():
        return False
    for above in declaration.ancestors:
        if above.kind == "template_declaration" and (own := above.part("parameters")) is not None:
            kinds = "type_parameter_declaration", "optional_type_parameter_declaration"
            if any(p.kind in kinds and p.named and p.named[0].text == name for p in own.named):
                return True
    return False
