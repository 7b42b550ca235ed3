"""Keep variables without a value in the debug build: the compiler folds what it computes of them.

Even with `-G`, `scale` of `int scale; out[i] = in[i] * scale;` is in no register: the product of an
undefined value is any value, such as 0. So the debug build gets, behind each declaration without a
value, an empty `asm` statement whose output is the variable. Nothing writes that register, and
where a use may read it, the decoder follows it as any other. It begins anew in each iteration of a
loop that the variable is declared in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from grader.compile.syntax import Node, Tree

_FORMS = {
    **{x: f'asm("" : "={x}"(NAME));' for x in "hrlfd"},
    "char": '{ short unset_; asm("" : "=h"(unset_)); NAME = (char)unset_; }',
    "bool": '{ short unset_; asm("" : "=h"(unset_)); '
    "NAME = __builtin_bit_cast(bool, (char)unset_); }",
}
"""The statement for a variable, by the constraint of PTX for its type."""
_NAMED = {
    **dict.fromkeys(("int16_t", "uint16_t", "ushort", "char16_t"), "h"),
    **dict.fromkeys(("int32_t", "uint32_t", "uint", "char32_t", "wchar_t"), "r"),
    **dict.fromkeys(("int64_t", "uint64_t", "size_t", "ptrdiff_t", "ulong"), "l"),
    **dict.fromkeys(("int8_t", "uint8_t", "uchar"), "char"),
    "float": "f",
    "double": "d",
    "bool": "bool",
}
_INTEGER = frozenset(("signed", "unsigned", "char", "short", "int", "long"))
_QUALIFIED = re.compile(r"\b(?:cuda\s*::\s*)?std\s*::\s*|\[\[[^\[\]]*\]\]")
_DEFINED = re.compile(r"\b(?:struct|class|union|enum)\s+(\w+)|#[ \t]*define[ \t]+(\w+)")
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([\w:\s]+);|\btypedef\s+([\w:\s]+?)\s+(\w+)\s*;")
_STORED = re.compile(
    r"\b(?:static|extern|constexpr|volatile|register|typedef|thread_local|alignas|__\w+__)\b"
)
_NO_STATEMENTS = re.compile(
    r"\bconstexpr\b|^\s*(?:typedef\s+)?(?:struct|class|union)\b[^{]*__align__"
)
_BLOCKS = ("compound_statement", "case_statement", "labeled_statement")
_WRAPPERS = ("pointer_declarator", "parenthesized_declarator")
_MAX_LENGTH = 200
"""Bytes of the words of a type that are read."""


def with_unset_variables(text: str, tree: Tree) -> str:
    """Return the text with a statement behind each declaration of variables without a value.

    Args:
        text: The source.
        tree: The tree of its code: see `preprocessor.code`.
    """
    rows = text.split("\n")
    code_rows: list[bytes] | None = None
    forms = _forms_of(text, tree)
    for declaration in reversed(list(tree.walk("declaration"))):
        statements = list(_statements(declaration, forms))
        if not statements:
            continue
        code_rows = code_rows or tree.data.split(b"\n")
        line = declaration.last_line
        before = declaration.end - tree.data.rfind(b"\n", 0, declaration.end) - 1
        at = len(code_rows[line - 1][:before].decode(errors="replace"))
        row = rows[line - 1] if line <= len(rows) else ""
        if row[at - 1 : at] == ";":  # else it is spliced, or written in digraphs
            rows[line - 1] = f"{row[:at]} {' '.join(statements)}{row[at:]}"
    return "\n".join(rows)


def _forms_of(text: str, tree: Tree) -> dict[str, str]:
    """The forms of the named types of a source, without those that it defines as something else."""
    forms = dict(_NAMED)
    for name in (m[1] or m[2] for m in _DEFINED.finditer(text)):
        forms.pop(name, None)
    code = tree.data.decode(errors="replace")
    for one, kind, other, another in (m.groups() for m in _ALIAS.finditer(code)):
        name, words = (one, kind) if one else (another, other)
        form = _form_of(words, forms)
        if name in forms and forms[name] != form:  # another one elsewhere
            form = ""
        forms[name] = form
    return forms


def _form_of(words: str, forms: Mapping[str, str]) -> str:
    """The form of a type by its words; empty for a type that has none, or is not known."""
    found = _QUALIFIED.sub("", words).split()
    if found and _INTEGER.issuperset(found):
        sized = {"char": "char", "short": "h", "long": "l"}
        return next((form for word, form in sized.items() if word in found), "r")
    return forms.get(found[0], "") if len(found) == 1 else ""


def _statements(declaration: Node, forms: Mapping[str, str]) -> Iterator[str]:
    """The statements for the variables that a declaration leaves without a value.

    `forms` has those of the named types.
    """
    tree, parent = declaration.tree, declaration.parent
    if parent is None or parent.kind not in _BLOCKS:
        return
    declarators = [c for c in declaration.children if tree.names[c.index] == "declarator"]
    if not declarators or declarators[0].start - declaration.start > _MAX_LENGTH:
        return
    words = tree.data[declaration.start : declarators[0].start].decode(errors="replace")
    if _STORED.search(words) or not _may_have_statements(declaration):
        return
    for declarator in declarators:
        inner, is_pointer = declarator, False
        while inner.kind in _WRAPPERS and inner.named:
            is_pointer |= inner.kind == "pointer_declarator"
            inner = inner.named[-1]
        form = "l" if is_pointer else _form_of(words, forms)
        if inner.kind == "identifier" and form:
            yield _FORMS[form].replace("NAME", inner.text)


def _may_have_statements(declaration: Node) -> bool:
    """Whether asm statements may stand beside a declaration: not in a constexpr function.

    The grammar takes `struct __align__(16) Pair { int a; }` for a function.
    """
    for above in declaration.ancestors:
        if above.kind == "function_definition":
            return _NO_STATEMENTS.search(above.text.partition("{")[0]) is None
    return True
