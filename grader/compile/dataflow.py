"""Data flow of a source: which lines set the values of a line, and which conditions guard it.

A run reports the line of the symptom: the access out of bounds, the store of a wrong number. The
mistake is often on the line that computed the index, or in the guard around it. This is a backward
slice of one or two steps over the syntax tree. Names are not resolved, so the result may contain a
line too many. The text may be hostile, so all functions take time in proportion to its length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import islice

from grader import dataclass, regex
from grader.compile.functions import functions
from grader.compile.preprocessor import code, directives
from grader.compile.syntax import Node, Tree, parse
from grader.launch import Origin

MAX_ORIGINS = 3
"""Origins that are reported at most: a student reads three lines, and skips ten."""

MAX_MACRO_WORDS = 16
"""Words of a macro's text that are read."""

MAX_CONDITIONS = 8
"""Conditions around a `return` that are read, so that a long chain takes linear time."""

MAX_DEPTH = 32
"""Nodes around a `return`, or inside a declarator, that are read."""

_WORD = regex(r"[A-Za-z_]\w*")
_NUMBER = regex(r"(\w+)\s+\(?(\d{1,9})\)?\s*$")
_CONDITIONS: Mapping[str, str] = {
    "if_statement": "if", "for_statement": "for", "for_range_loop": "for",
    "while_statement": "while", "switch_statement": "switch",
}  # fmt: skip
_CASTS = ("reinterpret_cast", "static_cast", "const_cast")
_NOT_ARRAYS = ("parameter_declaration", "optional_parameter_declaration", "array_declarator")
CONSTANTS = ("true", "false", "0", "1")
"""The conditions that decide nothing."""

_NAMES = ("identifier", "type_identifier", "namespace_identifier", "statement_identifier")
_SETTING = (
    "assignment_expression", "init_declarator", "optional_parameter_declaration",
    "alias_declaration", "array_declarator",
)  # fmt: skip


@dataclass(frozen=True)
class Span:
    """Lines `first` to `last`: a function, or what the statement `name` at `line` guards."""

    name: str
    line: int
    first: int
    last: int


@dataclass(frozen=True)
class DataFlow:
    """Where a source sets and uses its names. Lines and names are in order, without repetition.

    Attributes:
        set_at: The lines that set each name.
        named_at: The names on each line.
        conditions: The lines that each condition guards.
        functions: The functions at file scope.
        macros: Each macro's line and the words of its text.
        numbers: The macros whose text is a number, with that number.
        constant_conditions: The conditions that are a constant.
    """

    set_at: Mapping[str, Sequence[int]]
    named_at: Mapping[int, Collection[str]]
    conditions: Sequence[Span]
    functions: Sequence[Span]
    macros: Mapping[str, tuple[int, Sequence[str]]]
    numbers: Mapping[str, int] = field(default_factory=dict)
    constant_conditions: Sequence[Origin] = ()

    def origins(
        self,
        places: Collection[int],
        unwritten: str = "",
        first: Collection[Origin] = (),
        *,
        guarded: bool = False,
    ) -> tuple[Origin, ...]:
        """Select the origins of some lines that a message shows.

        Names that are set come before conditions, and conditions before sizes; of equal ones the
        nearest comes first.

        Args:
            places: The lines; they are no origins of themselves.
            unwritten: An array that should have been written earlier: the origins of its writes
                count too. "" for none.
            first: Origins to select before all others.
            guarded: Conditions count as much as names, because it is in question whether a line
                should run.

        Returns:
            At most MAX_ORIGINS, and one size more when none is among them, in the lines' order.
        """
        reaching = (o for line in places for o in self.reaching(line, unwritten))
        preferred = frozenset(first)
        candidates = {o for o in (*reaching, *preferred) if o.line not in places}

        def rank(origin: Origin) -> tuple[int, int, int, str]:
            condition = origin.name in _CONDITIONS.values() and not guarded
            group = 2 if origin.name in self.macros else condition
            group = -1 if origin in preferred else group
            return group, min(abs(origin.line - at) for at in places), origin.line, origin.name

        ranked = sorted(candidates, key=rank)
        selected, rest = ranked[:MAX_ORIGINS], ranked[MAX_ORIGINS:]
        if not any(origin.name in self.macros for origin in selected):
            selected += [origin for origin in rest if origin.name in self.numbers][:1]
        return tuple(sorted(selected, key=lambda o: (o.line, o.name)))

    def reaching(self, line: int, unwritten: str = "") -> set[Origin]:
        """Return all origins of a line; the line itself is among them where it sets a name."""
        inside = next((f for f in self.functions if f.first <= line <= f.last), None)
        if inside is None:
            return set()
        direct = self._direct((line,), inside)
        lines = {origin.line for origin in direct}
        written = sorted({origin.line for origin in direct if origin.name == unwritten})
        return direct | self._sizes(self._names_on(lines)) | self._direct(written, inside)

    def declared(self, name: str, places: Collection[int]) -> tuple[Origin, ...]:
        """Return where the pointers into an array are set that lines use, else its declaration."""
        used = (word for line in places for word in self.named_at.get(line, ()) if word != name)
        pointers = (
            Origin(word, at)
            for word in dict.fromkeys(used)
            for at in self.set_at.get(word, ())
            if at not in places and name in self.named_at.get(at, ())
        )
        first = (Origin(name, line) for line in sorted(self.set_at.get(name, ()))[:1])
        return tuple(pointers) or tuple(first)

    def numeric_macros_on(self, lines: Collection[int]) -> tuple[Origin, ...]:
        """Return the macros on some lines whose text is a number."""
        names = self._names_on(lines)
        return tuple(Origin(n, self.macros[n][0]) for n in names if n in self.numbers)

    def off_by_one_sizes(self, extents: Collection[int]) -> tuple[Origin, ...]:
        """Return the macros that are one more or one less than an extent, and no extent."""
        near = {extent + step for extent in extents for step in (1, -1)} - {*extents}
        names = (name for name, number in self.numbers.items() if number in near)
        return tuple(Origin(name, self.macros[name][0]) for name in names)

    def ordering(self, earlier: int, later: int) -> Iterator[tuple[int, int]]:
        """Yield the lines in which a barrier orders two accesses.

        They are the lines between both, or, where the later one is in the next iteration of a loop,
        those behind the one up to the loop's end.
        """
        if earlier <= later:
            yield earlier, later
            return
        loops = (s for s in self.conditions if s.name in ("for", "while"))
        ends = [s.last for s in loops if s.line <= later and earlier <= s.last]
        yield earlier, min(ends, default=earlier)

    def _names_on(self, lines: Iterable[int]) -> Collection[str]:
        """The names on some lines, each once."""
        return dict.fromkeys(name for line in lines for name in self.named_at.get(line, ()))

    def _direct(self, lines: Sequence[int], inside: Span) -> set[Origin]:
        """What sets the names on some lines, given in order, and the conditions that guard one."""
        names = self._names_on(lines)
        settings = {Origin(n, at) for n in names for at in self.set_at.get(n, ())}
        local = {o for o in settings if inside.first <= o.line <= inside.last}

        def guards_one(span: Span) -> bool:
            at = bisect_left(lines, span.first)
            return at < len(lines) and lines[at] <= span.last

        guards = {Origin(c.name, c.line) for c in self.conditions if guards_one(c)}
        return local | guards | self._sizes(names)

    def _sizes(self, names: Iterable[str]) -> set[Origin]:
        """The macros among the names, and those in their texts."""
        direct = {Origin(n, self.macros[n][0]) for n in names if n in self.macros}
        inner = {n for o in direct for n in self.macros[o.name][1] if n in self.macros}
        return direct | {Origin(n, self.macros[n][0]) for n in inner}


@lru_cache(maxsize=8)
def read_dataflow(source: str) -> DataFlow:
    """Read a source once; the result answers for each of its lines."""
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
    texts = [(d, _WORD.findall(d.text)[:MAX_MACRO_WORDS]) for d in defined]
    macros = {words[0]: (d.line, words[1:]) for d, words in texts if words}
    numbers = {match[1]: int(match[2]) for d, _ in texts if (match := _NUMBER.match(d.text))}
    return DataFlow(
        _settings(tree), named, (*_conditions(tree), *_exits(tree, spans)), spans, macros, numbers,
        tuple(_constant_conditions(tree)),
    )  # fmt: skip


def _settings(tree: Tree) -> Mapping[str, Sequence[int]]:
    """The lines on which each name is given a value, or declared as an array."""
    lines: dict[str, dict[int, None]] = defaultdict(dict)
    for node in tree.walk(*_SETTING):
        name = _set_name(node)
        if name is not None:
            lines[name.text][name.line] = None
    return {name: tuple(at) for name, at in lines.items()}


def _set_name(node: Node) -> Node | None:
    """The name that is set, behind stars and casts and before indices.

    None for a member, which is no variable, and for an array that is a parameter.
    """
    if node.kind == "array_declarator" and node.parent and node.parent.kind in _NOT_ARRAYS:
        return None
    inner = node.part("left") or node.part("declarator") or node.part("name")
    for _ in range(MAX_DEPTH):
        if inner is None or inner.kind.endswith("identifier") or inner.kind == "field_expression":
            break
        if inner.kind == "call_expression" and not inner.text.startswith(_CASTS):
            return None
        parts = (inner.part(n) for n in ("declarator", "argument", "value", "arguments", "left"))
        inner = next((part for part in parts if part is not None), next(iter(inner.named), None))
    return inner if inner is not None and inner.kind in _NAMES else None


def _conditions(tree: Tree) -> Iterator[Span]:
    """The statements that guard their lines, `else` included."""
    for node in tree.walk(*_CONDITIONS):
        yield Span(_CONDITIONS[node.kind], node.line, node.line, node.last_line)


def _exits(tree: Tree, functions: Sequence[Span]) -> Iterator[Span]:
    """The conditions of a `return`, which guard the rest of the function as well."""
    starts = [function.first for function in functions]
    indices = {c for node in tree.walk("return_statement") for c in _guards(node)}
    for index in sorted(indices):
        condition = Node(tree, index)
        at = bisect_left(starts, condition.line + 1) - 1
        if at >= 0 and condition.line <= functions[at].last:
            name, line = _CONDITIONS[condition.kind], condition.line
            yield Span(name, line, line, functions[at].last)


def _guards(node: Node) -> Iterator[int]:
    """The indices of the conditions around a node, up to its block, at most MAX_CONDITIONS."""
    blocks = conditions = 0
    for ancestor in islice(node.ancestors, MAX_DEPTH):
        blocks += ancestor.kind == "compound_statement"
        if blocks > 1 or conditions == MAX_CONDITIONS:
            return
        if ancestor.kind in _CONDITIONS:
            conditions += 1
            yield ancestor.index


def _constant_conditions(tree: Tree) -> Iterator[Origin]:
    """The conditions `if (false)` and `false ? ...`."""
    for node in tree.walk("if_statement", "conditional_expression"):
        condition = node.part("condition")
        value = condition and (condition.part("value") or condition)
        if value is not None and value.is_leaf and value.text in CONSTANTS:
            yield Origin("if" if node.kind == "if_statement" else "?", node.line)


def size_origins(source: str, line: int) -> tuple[Origin, ...]:
    """Return the macros whose numbers decide the extents of the arrays that a line declares.

    That is the extent itself, or the only macro that its text names, and so on. Empty where an
    extent is anything else.
    """
    flow, tree = read_dataflow(source), parse(code(source))
    around = [n for n in tree.walk("declaration") if n.line <= line <= n.last_line][-1:]
    extents = [
        part.text
        for declaration in around
        for array in declaration.walk("array_declarator")
        if (part := array.part("size")) is not None
    ]
    roots = []
    for name in extents:
        for _ in range(MAX_DEPTH):
            inner = {word for word in flow.macros.get(name, (0, ()))[1] if word in flow.macros}
            if name in flow.numbers or len(inner) != 1:
                break
            name = inner.pop()
        if name in flow.numbers:
            roots.append(Origin(name, flow.macros[name][0]))
    return tuple(roots) if len(roots) == len(extents) else ()


_ASSIGNS = ("assignment_expression", "update_expression", "init_declarator")
_HEADS = ("if_statement", "conditional_expression")


def value_origin(tree: Tree, line: int) -> Origin | None:
    """Return where the value that a line stores is computed; None where the line itself does.

    That is the last assignment before it of the variable that it stores: a loop's sum, not the
    zero that the sum starts with. Copies of copies are followed. Where a condition selects the
    variable that is copied, it is that condition.
    """
    found, name, store = None, _copied_name(tree, line), line
    for _ in range(MAX_CONDITIONS):
        sets = [node for node in tree.walk(*_ASSIGNS) if _target(node) == name != ""]
        before = [node for node in sets if node.line < line]
        if not before:
            break
        last = ([node for node in before if node.kind != "init_declarator"] or before)[-1]
        copied = _copied_name(tree, last.line)
        guard = next((a for a in last.ancestors if a.kind == "if_statement"), None)
        if copied and guard is not None and store > guard.last_line:
            return Origin(name, guard.line)
        found, name, line = Origin(name, last.line), copied, last.line
    return found


def _copied_name(tree: Tree, line: int) -> str:
    """Return the variable that an assignment on a line copies; "" where it computes a value."""
    for node in tree.walk("assignment_expression", "init_declarator"):
        value = node.part("right") or node.part("value")
        sign = node.part("operator")
        if node.line == line and value is not None and (sign is None or sign.text == "="):
            while value.kind in ("parenthesized_expression", "cast_expression") and value.named:
                value = value.named[-1]
            return value.text if value.kind == "identifier" else ""
    return ""


def _target(node: Node) -> str:
    target = node.part("left") or node.part("declarator") or node.part("argument")
    return target.text if target is not None and target.kind == "identifier" else ""


def guard_origin(tree: Tree, line: int) -> Origin | None:
    """Return the condition that decides whether a line runs, where there is only one.

    It is the nearest one around the line, or the only one before it that ends its function early.
    """
    inside = [n for n in tree.walk(*_HEADS) if n.line < line <= n.last_line]
    if inside:
        return Origin("if", inside[-1].line)
    function = next(
        (f for f in tree.walk("function_definition") if f.line <= line <= f.last_line), None
    )
    exits = {
        Node(tree, index).line
        for node in (function.walk("return_statement") if function is not None else ())
        for index in _guards(node)
        if node.line < line
    }
    return Origin("if", min(exits)) if len(exits) == 1 else None


def store_origin(tree: Tree, names: Collection[str]) -> Origin | None:
    """Return the last line that stores an element of an array, or of a pointer into one."""
    pointers = {
        target
        for node in tree.walk("init_declarator")
        if (target := _declared_pointer(node)) and not _words_of(node).isdisjoint(names)
    }
    stores = [
        node for node in tree.walk("assignment_expression")
        if (left := node.part("left")) is not None and left.kind != "identifier"
        and not {*_WORD.findall(left.text.split("[")[0])}.isdisjoint({*names} | pointers)
    ]  # fmt: skip
    return Origin("", stores[-1].line) if stores else None


def _declared_pointer(node: Node) -> str:
    declarator = node.part("declarator")
    is_pointer = declarator is not None and declarator.kind == "pointer_declarator"
    return declarator.text.lstrip("* ") if declarator is not None and is_pointer else ""


def _words_of(node: Node) -> set[str]:
    value = node.part("value")
    return {*_WORD.findall(value.text)} if value is not None else set()
