"""Where the values and conditions of a source line come from, as far as its syntax tree shows.

What a run shows is the line of the symptom: the access out of bounds, the store of a wrong number.
The mistake is often on the line that computed the index, or in the guard around it. Names are not
resolved, so a line too many may be named. The text is hostile, so everything here takes time in
proportion to its length.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from grader.compile.functions import functions
from grader.compile.preprocessor import code, directives
from grader.compile.syntax import Node, Tree, parse
from grader.launch import Origin

MOST = 3
"""Origins that are reported at most: a student reads three lines, and skips ten."""

WORDS = 16
"""Words of a macro's text that are read."""

DEEPEST = 8
"""Conditions around a `return` that are read: a chain of them must not cost its square."""

NESTED = 32
"""Nodes around a `return`, or inside a declarator, that are read."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(\w+)\s+\(?(\d{1,9})\)?\s*$")
_CONDITIONS: Mapping[str, str] = {
    "if_statement": "if", "for_statement": "for", "for_range_loop": "for",
    "while_statement": "while", "switch_statement": "switch",
}  # fmt: skip
_NO_ARRAYS = ("parameter_declaration", "optional_parameter_declaration", "array_declarator")
_CONSTANTS = ("true", "false", "0", "1")
_NAMES = ("identifier", "type_identifier", "namespace_identifier", "statement_identifier")
_SET = (
    "assignment_expression", "init_declarator", "optional_parameter_declaration",
    "alias_declaration", "array_declarator",
)  # fmt: skip


@dataclass(frozen=True)
class Span:
    """Lines `first` to `last`, which the word `name` at `line` decides about."""

    name: str
    line: int
    first: int
    last: int


@dataclass(frozen=True)
class Flow:
    """What a source says about its names: the lines that set each, the words on each line, the
    spans under a condition, the functions, and each macro's line and the words of its text.

    Lines and words are kept once each, in order."""

    set_at: Mapping[str, Sequence[int]]
    named_at: Mapping[int, Collection[str]]
    conditions: Sequence[Span]
    functions: Sequence[Span]
    macros: Mapping[str, tuple[int, Sequence[str]]]
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The macros that are a number."""
    settled: Sequence[Origin] = ()
    """The conditions that are a constant."""

    def origins(
        self,
        places: Collection[int],
        unwritten: str = "",
        first: Collection[Origin] = (),
        *,
        guarded: bool = False,
    ) -> tuple[Origin, ...]:
        """Where what stands on some lines comes from, in the order of the lines, themselves left
        out: what sets their names, the conditions around them, the sizes in all those, at most
        MOST in this order and one size more, the nearest first, but `first` before all. Of an
        array that should have been written before, `unwritten`, also what its writes come from.
        Where it is the question whether a line should run, `guarded`, conditions count as much as
        names.
        """
        every = (o for line in places for o in self.reaching(line, unwritten))
        before = frozenset(first)
        found = {origin for origin in (*every, *before) if origin.line not in places}

        def rank(origin: Origin) -> tuple[int, int, int, str]:
            condition = origin.name in _CONDITIONS.values() and not guarded
            least = 2 if origin.name in self.macros else condition
            least = -1 if origin in before else least
            return least, min(abs(origin.line - at) for at in places), origin.line, origin.name

        ranked = sorted(found, key=rank)
        told, rest = ranked[:MOST], ranked[MOST:]
        if not any(origin.name in self.macros for origin in told):
            told += [origin for origin in rest if origin.name in self.numbers][:1]
        return tuple(sorted(told, key=lambda o: (o.line, o.name)))

    def reaching(self, line: int, unwritten: str = "") -> set[Origin]:
        """All that what stands on a line comes from, itself included where it sets a name."""
        inside = next((f for f in self.functions if f.first <= line <= f.last), None)
        if inside is None:
            return set()
        found = self._direct((line,), inside)
        lines = {origin.line for origin in found}
        written = sorted({origin.line for origin in found if origin.name == unwritten})
        return found | self._sizes(self._named(lines)) | self._direct(written, inside)

    def declared(self, name: str, places: Collection[int]) -> tuple[Origin, ...]:
        """Where an array is declared, or where those pointers into it are set that lines use."""
        used = (word for line in places for word in self.named_at.get(line, ()) if word != name)
        pointers = (
            Origin(word, at)
            for word in dict.fromkeys(used)
            for at in self.set_at.get(word, ())
            if at not in places and name in self.named_at.get(at, ())
        )
        first = (Origin(name, line) for line in sorted(self.set_at.get(name, ()))[:1])
        return tuple(pointers) or tuple(first)

    def numbers_on(self, lines: Collection[int]) -> tuple[Origin, ...]:
        """The macros that are a number, of those that stand on some lines."""
        names = dict.fromkeys(name for line in lines for name in self.named_at.get(line, ()))
        return tuple(Origin(n, self.macros[n][0]) for n in names if n in self.numbers)

    def beside(self, extents: Collection[int]) -> tuple[Origin, ...]:
        """The macros that are one more or one less than an extent, and are none themselves."""
        near = {extent + step for extent in extents for step in (1, -1)} - {*extents}
        held = (name for name, number in self.numbers.items() if number in near)
        return tuple(Origin(name, self.macros[name][0]) for name in held)

    def _named(self, lines: Iterable[int]) -> Collection[str]:
        """The words on some lines, each once."""
        return dict.fromkeys(name for line in lines for name in self.named_at.get(line, ()))

    def _direct(self, lines: Sequence[int], inside: Span) -> set[Origin]:
        """What sets the names on some lines, in order, and the conditions around any of them."""
        names = self._named(lines)
        sets = {Origin(n, at) for n in names for at in self.set_at.get(n, ())}
        found = {o for o in sets if inside.first <= o.line <= inside.last}

        def holds_one(span: Span) -> bool:
            at = bisect_left(lines, span.first)
            return at < len(lines) and lines[at] <= span.last

        around = {Origin(c.name, c.line) for c in self.conditions if holds_one(c)}
        return found | around | self._sizes(names)

    def _sizes(self, names: Iterable[str]) -> set[Origin]:
        """The macros among the words, and those in their texts."""
        found = {Origin(n, self.macros[n][0]) for n in names if n in self.macros}
        inner = {n for o in found for n in self.macros[o.name][1] if n in self.macros}
        return found | {Origin(n, self.macros[n][0]) for n in inner}


def read_flow(source: str) -> Flow:
    """Read a source once, for the origins of any of its lines."""
    tree = parse(code(source))
    named: dict[int, dict[str, None]] = defaultdict(dict)
    for node in tree.walk(*_NAMES):
        named[node.line][node.text] = None
    spans = tuple(
        Span("", f.first_line, f.first_line, f.last_line)
        for f in functions(tree)
        if f.outer and f.defined
    )
    defined = (d for d in directives(source) if d.name == "define")
    texts = [(d, _WORD.findall(d.text)[:WORDS]) for d in defined]
    macros = {words[0]: (d.line, words[1:]) for d, words in texts if words}
    numbers = {found[1]: int(found[2]) for d, _ in texts if (found := _NUMBER.match(d.text))}
    return Flow(
        _settings(tree), named, (*_conditions(tree), *_exits(tree, spans)), spans, macros, numbers,
        tuple(_settled(tree)),
    )  # fmt: skip


def _settings(tree: Tree) -> Mapping[str, Sequence[int]]:
    """The lines on which each name is given a value, or declared as an array."""
    lines: dict[str, dict[int, None]] = defaultdict(dict)
    for node in tree.walk(*_SET):
        name = _set_name(node)
        if name is not None:
            lines[name.text][name.line] = None
    return {name: tuple(at) for name, at in lines.items()}


def _set_name(node: Node) -> Node | None:
    """The name that is set, behind stars and casts and before indices; none for a member, which is
    no variable, and for an array that is a parameter."""
    if node.kind == "array_declarator" and node.parent and node.parent.kind in _NO_ARRAYS:
        return None
    inner = node.part("left") or node.part("declarator") or node.part("name")
    for _ in range(NESTED):
        if inner is None or inner.kind.endswith("identifier") or inner.kind == "field_expression":
            break
        inner = inner.part("declarator") or inner.part("argument") or inner.part("value")
    return inner if inner is not None and inner.kind in _NAMES else None


def _conditions(tree: Tree) -> Iterator[Span]:
    """The statements that decide about their lines, `else` included."""
    for node in tree.walk(*_CONDITIONS):
        yield Span(_CONDITIONS[node.kind], node.line, node.line, node.last_line)


def _exits(tree: Tree, functions: Sequence[Span]) -> Iterator[Span]:
    """The conditions of a `return`, which decide about the rest of the function as well."""
    starts = [function.first for function in functions]
    found = {c for node in tree.walk("return_statement") for c in _around(node)}
    for index in sorted(found):
        condition = Node(tree, index)
        at = bisect_left(starts, condition.line + 1) - 1
        if at >= 0 and condition.line <= functions[at].last:
            name, line = _CONDITIONS[condition.kind], condition.line
            yield Span(name, line, line, functions[at].last)


def _around(node: Node) -> Iterator[int]:
    """The innermost conditions around a node: those of its block, at most DEEPEST."""
    blocks = conditions = 0
    for above in islice(node.ancestors, NESTED):
        blocks += above.kind == "compound_statement"
        if blocks > 1 or conditions == DEEPEST:
            return
        if above.kind in _CONDITIONS:
            conditions += 1
            yield above.index


def _settled(tree: Tree) -> Iterator[Origin]:
    """The conditions `if (false)` and `false ? ...`."""
    for node in tree.walk("if_statement", "conditional_expression"):
        condition = node.part("condition")
        value = condition and (condition.part("value") or condition)
        if value is not None and value.is_leaf and value.text in _CONSTANTS:
            yield Origin("if" if node.kind == "if_statement" else "?", node.line)
