"""Keep variables without a value in the debug build: the compiler folds what it computes of them.

Even with `-G`, `scale` of `int scale; out[i] = in[i] * scale;` is in no register: the product of an
undefined value is any value, such as 0. So the debug build gets, behind each declaration without a
value, an empty `asm` statement whose output is the variable (`scalar_types`). Nothing writes that
register, and where a use may read it, the decoder follows it as any other. It begins anew in each
iteration of a loop that the variable is declared in.

No statement can stand behind a declaration that a `switch` jumps over, or in the parentheses of an
`if`, `switch` or `for`: it moves before that statement, with braces around both. `int x = x + 1;`
becomes a declaration, the `asm` statement, and an assignment. No line end moves.

The text also gets the types of shared variables, which the debug sections do not describe. A
function's own `__shared__ float t[16][17];` has a symbol with a size there, and no type. So a null
pointer to its type stands behind the declaration (`shape_pointers`). That has an entry in the debug
sections, and no code, since nothing uses it. Arrays of scalars with one dimension need none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field

from grader import dataclass, regex
from grader.compile.preprocessor import code, source_offsets
from grader.compile.program import SHAPE
from grader.compile.scalar_types import STORED, ScalarTypes, declared
from grader.compile.syntax import Node, Tree, parse

_NO_STATEMENTS = regex(r"\bconstexpr\b")
_BLOCKS = ("compound_statement", "case_statement", "labeled_statement")
_DECLARING_MACRO = regex(r"(\w+)\(([\w\s,]*)\)\s*([\w\s:<>*,;#]+)")
_ARGUMENT = regex(r"\s*([\w:]+(?:\s+[\w:]+)*(?:\s*\*+)?)\s*")
_WORD = regex(r"\w+")
_STATIC = regex(r"\b(?:__shared__|__constant__|static\s+__device__|__device__\s+static)\b")
_SCALAR = regex(
    r"(?:\b(?:__\w+__|alignas)(?:\s*\([^()]*\))?|\b(?:static|const|volatile|unsigned|signed|char|"
    r"short|int|long|float|double|bool|half|__half|size_t|u?int\d+_t|std|cuda)\b|::|\s)*"
)
_MAX_LENGTH = 200
"""Bytes of the words of a type, and of a macro's definition, that are read."""
_MOST_EXPANSIONS = 200
"""Uses of macros that are expanded."""


def with_unset_variables(text: str, tree: Tree) -> str:
    """Return the text with a statement behind each declaration of variables without a value.

    Args:
        text: The source.
        tree: The tree of its code: see `preprocessor.code`.
    """
    if b"__align__" in tree.data:  # the grammar knows alignas(16) alone
        tree = parse(tree.data.decode(errors="replace").replace("__align__", "alignas  "))
    types, edits = ScalarTypes(text, tree), _Edits(text, tree)
    for declaration in tree.walk("declaration"):
        parent = declaration.parent
        if parent is None or (parent.kind not in _BLOCKS and parent.kind not in _HEADS):
            continue
        if parent.kind in _HEADS:
            _move_out_of_head(declaration, types, edits)
        elif (switch := _switch_around(parent, declaration.end)) is not None:
            _move_before_switch(declaration, switch, types, edits)
        else:
            edits.add_behind(declaration.end, _parted(declaration, types, edits))
    _declare_by_macros(tree, types, edits)
    for declaration, pointers in shape_pointers(tree):
        if _switch_around(declaration.parent, declaration.end) is None:
            edits.add_behind(declaration.end, pointers)
    return edits.applied()


_HEADS = ("init_statement", "for_statement")


@dataclass
class _Edits:
    """Changes of a text by the offsets of its code's bytes: what to remove, and what to insert."""

    text: str
    tree: Tree
    found: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, start: int, end: int, text: str) -> None:
        self.found.append((start, end, text))

    def add_behind(self, end: int, statements: list[str]) -> None:
        """Insert statements behind the semicolon that ends a declaration."""
        if statements and self.tree.data[end - 1 : end] == b";":
            self.add(end, end, " " + " ".join(statements))

    def has_pragma(self, line: int) -> bool:
        """Whether the last line before another one that is more than a comment is a directive."""
        rows = (row.strip() for row in reversed(self.text.split("\n")[: line - 1]))
        before = next((row for row in rows if row and not row.startswith("//")), "")
        return before.startswith(("#", "_Pragma", "%:"))

    def applied(self) -> str:
        """The text with all changes; its line ends stay."""
        if not self.found:
            return self.text
        to_source, data = source_offsets(self.text), self.tree.data
        parts, last, counted, chars = list[str](), 0, 0, 0
        for start, end, new in sorted(self.found):
            at = []
            for offset in (start, end):
                chars += len(data[counted:offset].decode(errors="replace"))
                counted = offset
                at.append(to_source(chars))
            first = max(at[0], last)
            removed = self.text[first : at[1]] if start < end else ""
            parts += [self.text[last:first], new, "\n" * removed.count("\n")]
            last = max(first, at[1]) if start < end else first
        return "".join(parts) + self.text[last:]


def _statements(declaration: Node, types: ScalarTypes, site: Node | None = None) -> Iterator[str]:
    """The statements for the variables that a declaration leaves without a value.

    `site` is a node where the declaration stands, if that is in a macro.
    """
    words, site = _words(declaration, site or declaration), site or declaration
    for declarator in _declarators(declaration) if words else ():
        inner, is_pointer = declared(declarator)
        if inner.kind == "identifier":
            statement = types.statement(site, words, inner.text, is_pointer=is_pointer)
            yield from [statement] if statement else []


def _declarators(declaration: Node) -> list[Node]:
    tree = declaration.tree
    return [c for c in declaration.children if tree.names[c.index] == "declarator"]


def _words(declaration: Node, site: Node) -> str:
    """The words of a declaration's type; empty where no statement may follow."""
    declarators = _declarators(declaration)
    if not declarators or declarators[0].start - declaration.start > _MAX_LENGTH:
        return ""
    words = declaration.tree.data[declaration.start : declarators[0].start]
    found = words.decode(errors="replace")
    return "" if STORED.search(found) or not _may_have_statements(site) else found


def _may_have_statements(declaration: Node) -> bool:
    """Whether asm statements may stand beside a declaration: not in a constexpr function."""
    for above in declaration.ancestors:
        if above.kind == "function_definition":
            return _NO_STATEMENTS.search(above.text.partition("{")[0]) is None
    return True


def _parted(declaration: Node, types: ScalarTypes, edits: _Edits) -> list[str]:
    """The statements behind a declaration, after it was parted where one cannot wait.

    That is one for a variable that its own value reads, or that a later value sets.
    """
    words, declarators = _words(declaration, declaration), _declarators(declaration)
    commas = [c for c in declaration.children if c.kind == ","]
    apart, behind = dict[int, str](), list[str]()
    values = [v for d in declarators if (v := d.part("value")) is not None]
    read = {x.text for v in values for x in v.walk("identifier")} if words else frozenset()
    for k, node in enumerate(declarators if words and len(commas) < len(declarators) else ()):
        own, value = node.part("declarator"), node.part("value")
        inner, is_pointer = declared(own if own and value else node)
        if inner.kind != "identifier":
            continue
        statement = types.statement(declaration, words, inner.text, is_pointer=is_pointer)
        if not statement or (value and inner.text not in read):
            continue
        if own and value and any(x.text == inner.text for x in value.walk("identifier")):
            edits.add(own.end, value.start, f"; {statement} {inner.text} = ")
            apart |= dict.fromkeys([k - 1, k], "") | apart
        elif not value and inner.text in read:
            apart[k] = statement
        elif not value:
            behind.append(statement)
    for k, comma in enumerate(commas):
        if k in apart:
            edits.add(comma.start, comma.end, f"; {apart[k]} {' '.join(words.split())} ")
    return behind + [s for k, s in apart.items() if k == len(commas)]


def _switch_around(block: Node | None, end: int) -> Node | None:
    """The `switch` with a label behind a declaration in its block that ends there; else None."""
    while block is not None and block.kind == "case_statement":
        block = block.parent
    switch = block.parent if block is not None else None
    if block is None or switch is None or switch.kind != "switch_statement":
        return None
    labels = (node for node in block.named if node.kind == "case_statement")
    return switch if any(label.start >= end for label in labels) else None


def _is_free(names: set[str], switch: Node, end: int) -> bool:
    """Whether a `switch` uses none of these names up to an offset."""
    between = switch.tree.data[switch.start : end].decode(errors="replace")
    return names.isdisjoint(_WORD.findall(between))


def _move_before_switch(declaration: Node, switch: Node, types: ScalarTypes, edits: _Edits) -> None:
    """Move a declaration that labels jump over; where its name means another variable, not."""
    statements = list(_statements(declaration, types))
    names = {declared(d)[0].text for d in _declarators(declaration)}
    if not statements or '"' in declaration.text:
        return
    if not _is_free(names, switch, declaration.start):
        edits.add_behind(declaration.end, statements)
        return
    _move(declaration.text, switch, statements, edits)
    edits.add(declaration.start, declaration.end, ";")


def _move_out_of_head(declaration: Node, types: ScalarTypes, edits: _Edits) -> None:
    """Move a declaration before its `if`, `switch` or `for`; not what a pragma is before."""
    heads = "if_statement", "switch_statement", "for_statement"
    head = next((above for above in declaration.ancestors if above.kind in heads), None)
    statements = list(_statements(declaration, types))
    names = {declared(d)[0].text for d in _declarators(declaration)}
    values = (v for d in _declarators(declaration) if (v := d.part("value")) is not None)
    is_used = any(x.text in names for v in values for x in v.walk("identifier"))
    if head is None or not statements or is_used or '"' in declaration.text:
        return
    is_loop = head.kind == "for_statement"
    if head.line == declaration.last_line and not (is_loop and edits.has_pragma(head.line)):
        _move(declaration.text, head, statements, edits)
        edits.add(declaration.start, declaration.end, ";" if is_loop else "")


def _move(declaration: str, statement: Node, statements: list[str], edits: _Edits) -> None:
    words = " ".join(declaration.split())
    edits.add(statement.start, statement.start, f"{{ {words} {' '.join(statements)} ")
    edits.add(statement.end, statement.end, " }")


def _declare_by_macros(tree: Tree, types: ScalarTypes, edits: _Edits) -> None:
    """Add statements behind the uses of macros that declare variables without a value."""
    macros = {name: m for name, text in types.macros.items() if (m := _DECLARING_MACRO.match(text))}
    macros = {name: m for name, m in macros.items() if m.end() == len(m.string) <= _MAX_LENGTH}
    names, expanded = "|".join(map(re.escape, macros)), dict[str, list[Node]]()
    pattern = rf"\b({names})[ \t]*\(([^()\n]*)\)(\s*;)?".encode()
    last = 0
    for use in re.finditer(pattern, tree.data) if macros else ():
        name, given = use[1].decode(), use[2].decode(errors="replace").split(",")
        text, is_ended = _expanded(macros[name], given), bool(use[3])
        before = tree.data[max(use.start() - _MAX_LENGTH, last) : use.start()].rstrip()[-1:]
        if not text or not (is_ended or text.endswith(";")) or before not in b";{}:":
            continue
        last = use.end()
        if text not in expanded and len(expanded) < _MOST_EXPANSIONS:
            inside = parse(code(f"void f() {{ {text}; }}"))
            expanded[text] = [d for d in inside.walk("declaration") if len([*d.ancestors]) == 4]
        site = Node(tree, bisect_right(tree.starts, use.start(1)) - 1)
        own = expanded.get(text, ()) if _is_in_function(site) else ()
        found = [s for d in own for s in _statements(d, types, site)]
        declares = {declared(x)[0].text for d in own for x in _declarators(d)}
        block = next((x for x in site.ancestors if x.kind in _BLOCKS), None)
        switch = _switch_around(block, use.end()) if found else None
        if switch is not None and _is_free(declares, switch, use.start()):
            _move(use[0].decode(errors="replace"), switch, found, edits)
            edits.add(use.start(), use.end(), ";")
        elif found:
            edits.add(use.end(), use.end(), " " + " ".join(found))


def _is_in_function(site: Node) -> bool:
    return any(x.kind == "function_definition" for x in site.ancestors)


def _expanded(macro: re.Match[str], given: list[str]) -> str:
    """What a use of a macro stands for; empty where that is no declaration of variables."""
    names = [name.strip() for name in macro[2].split(",")]
    found = [m[1] for text in given if (m := _ARGUMENT.fullmatch(text))]
    if len(names) != len(given) or len(found) != len(given):
        return ""
    values = dict(zip(names, found, strict=True))
    text = _WORD.sub(lambda m: values.get(m[0], m[0]), macro[3])
    return "" if "#" in (pasted := re.sub(r"\s*##\s*", "", text)) else pasted.strip()


def shape_pointers(tree: Tree) -> Iterator[tuple[Node, list[str]]]:
    """The declarations of functions' shared variables, with those of the pointers.

    Args:
        tree: The tree of a source's code.
    """
    for declaration in tree.walk("declaration"):
        if pointers := list(_pointers(declaration)):
            yield declaration, pointers


def _pointers(declaration: Node) -> Iterator[str]:
    parent, tree = declaration.parent, declaration.tree
    if parent is None or parent.kind != "compound_statement":
        return
    declarators = [c for c in declaration.children if tree.names[c.index] == "declarator"]
    words = declaration.text[: declarators[0].start - declaration.start] if declarators else ""
    if not _STATIC.search(words) or "extern" in words.split():
        return
    for declarator in declarators:
        inner, dimensions = declarator.part("declarator"), 0
        inner = inner if declarator.kind == "init_declarator" and inner else declarator
        while inner.kind == "array_declarator":
            inner, dimensions = inner.field("declarator"), dimensions + 1
        if inner.kind == "identifier" and (dimensions > 1 or not _SCALAR.fullmatch(words)):
            yield f"decltype({inner.text}) *{inner.text}{SHAPE} = nullptr;"
